"""The vocabulary: frozen values that every stage takes and returns, and two protocols.

A *message* is what somebody said; a *passage* is the unit that is stored and recalled (one message,
or a part of a long one); a *triple* is what an extractor reads out of a passage; a *fact* is a
triple as the store believes it, with the passages it rests on; a *scope* says whose memory it is.
All times are timezone-aware. This module imports nothing of graphmem's but errors, identity, and
of ``display`` what knows no class of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from graphmem.display import markup
from graphmem.display.plain import shortened
from graphmem.errors import InvalidInput
from graphmem.identity import clean_text, normal_form

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Actor",
    "ActorKind",
    "Ban",
    "Candidate",
    "Changes",
    "Diff",
    "Embedder",
    "Entity",
    "Extraction",
    "Extractor",
    "Fact",
    "FactHit",
    "LogCheck",
    "LogEntry",
    "LogKind",
    "Message",
    "Passage",
    "RankedPassage",
    "Recall",
    "Receipt",
    "Role",
    "Route",
    "Scope",
    "Seed",
    "Source",
    "Stats",
    "Status",
    "Triple",
    "Usage",
    "VectorKind",
    "Vectors",
]

Role = Literal["user", "assistant", "system", "tool", "document"]
VectorKind = Literal["passage", "fact", "entity"]
Route = Literal["graph", "dense", "lexical", "empty"]
ActorKind = Literal["person", "agent", "application", "extractor", "embedder", "system"]
LogKind = Literal["passage", "fact", "entity", "ban", "verdict", "scope", "log"]
Status = Literal["candidate", "asserted", "verified", "disputed", "rejected"]


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Whose memory: part of the identity of everything stored. There is no read without one.

    Attributes:
        user: the person (or tenant) that the memory belongs to; not empty.
        agent: one of the person's agents, where each keeps a memory of its own; ``""`` is the
            person's common memory. The two are different scopes: neither reads the other.
    """

    user: str
    agent: str = ""

    def __post_init__(self) -> None:
        for name, value in (("user", self.user), ("agent", self.agent)):
            if not isinstance(value, str):
                raise InvalidInput(f"Scope.{name} must be a string, not {type(value).__name__}")
            if clean_text(value) != value:
                raise InvalidInput(f"Scope.{name} holds NUL or a lone surrogate: {value!r}")
        if not self.user.strip():
            raise InvalidInput("Scope.user is empty: name whose memory it is, e.g. Scope('ana')")

    @classmethod
    def of(cls, value: Scope | str) -> Scope:
        """The scope itself, or the common memory of the user named by a string."""
        if isinstance(value, Scope):
            return value
        if isinstance(value, str):
            return cls(value)
        raise InvalidInput(f"a scope is a string or a Scope, not {type(value).__name__}")

    def __str__(self) -> str:
        return f"{self.user}/{self.agent}" if self.agent else self.user


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, as handed to ``remember``.

    Attributes:
        text: the words. Cleaned on the way in (see ``identity.clean_text``).
        role: who speaks in the protocol's sense. Two people talking are both ``"user"``.
        speaker: the name of who speaks; ``None`` for the scope's own user, or "assistant".
        said_at: when it was said, timezone-aware; ``None`` is unknown and stays unknown.
        title: a document's title; only for ``role="document"``.
        metadata: JSON-able values that the application wants back.
    """

    text: str
    role: Role = "user"
    speaker: str | None = None
    said_at: datetime | None = None
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """The unit of text that is stored and recalled: one message, or a part of a long one.

    Attributes:
        id: content id; equal for equal words of one speaker in one session.
        message_id: the message it is, or is a part of.
        text: its words, without the title.
        role: role of the message.
        speaker: who said it; ``""`` for a document.
        session: the conversation it belongs to; ``""`` where none was named.
        thread: passages of one thread are neighbours in order: the session of a chat message, the
            message itself for a document or a lone text.
        said_at: when it was said (earliest occurrence); ``None`` is unknown.
        ordinal: arrival number of the message within its thread, from 0.
        part: which part of the message, from 0.
        title: a document's title, or ``""``.
        metadata: the message's.
        before: the passages just before it in its thread, oldest first: what an extractor may look
            back at to resolve "she" or "there". Filled only for extraction.
    """

    id: str
    message_id: str
    text: str
    role: Role = "user"
    speaker: str = ""
    session: str = ""
    thread: str = ""
    said_at: datetime | None = None
    ordinal: int = 0
    part: int = 0
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    before: tuple[Passage, ...] = field(default=(), compare=False, repr=False)

    @property
    def full_text(self) -> str:
        """Title line and text: what is embedded, searched and read by an extractor."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Triple:
    """What an extractor read: a subject, a predicate and an object, as names.

    Attributes:
        polarity: False when the passage denies it ("does not eat meat").
        valid_from, valid_to: when it holds in the world, as ISO 8601 of the known precision
            (``"2025"``, ``"2025-09"``, ``"2025-09-14"``, or a full time); ``None`` is unknown.
        speaker: who claims it, where that is not the passage's speaker.
    """

    subject: str
    predicate: str
    object: str
    polarity: bool = True
    valid_from: str | None = None
    valid_to: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor made of one passage: triples (maybe none), or a failure and why.

    "Nothing to learn" is ``Extraction(id)``; "could not read" is ``Extraction(id, error="…")``.

    Attributes:
        passage_id: the passage.
        triples: in the order read.
        error: why it failed; ``None`` when it did not.
        is_retryable: whether a failed passage may do better later.
        dropped: reasons for items of the reply that were no triples.
    """

    passage_id: str
    triples: tuple[Triple, ...] = ()
    error: str | None = None
    is_retryable: bool = True
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple as the store believes it.

    Attributes:
        id: content id of normalised subject, predicate, object and polarity.
        subject_id, object_id: ids of the entities at its ends.
        subject, predicate, object: display forms.
        polarity: False for a denial.
        valid_from, valid_to: when it holds in the world (ISO 8601 prefix); ``None`` is unknown.
        recorded_at: when the store first believed it.
        retired_at: when the store ceased to; ``None`` while it is live.
        status: only ``asserted`` and ``verified`` facts seed recalls and reach the context.
        replaced_by: the fact that superseded it.
        passages: ids of the passages that state it, sorted, never empty; ``GraphMemory.sources``
            tells who said them, and when.
    """

    id: str
    subject_id: str
    object_id: str
    subject: str
    predicate: str
    object: str
    polarity: bool = True
    valid_from: str | None = None
    valid_to: str | None = None
    recorded_at: datetime | None = None
    retired_at: datetime | None = None
    status: Status = "asserted"
    replaced_by: str | None = None
    passages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The fact as words: what is embedded and shown."""
        predicate = self.predicate if self.polarity else f"(not) {self.predicate}"
        return f"{self.subject} {predicate} {self.object}"

    @property
    def is_trusted(self) -> bool:
        """Whether it is, or was, believed: not withheld."""
        return self.status in ("asserted", "verified")

    @property
    def is_live(self) -> bool:
        """Whether it may seed a recall: believed now, and neither withheld nor superseded."""
        return self.retired_at is None and self.is_trusted

    def _repr_html_(self) -> str:
        return markup.fact_html(self)


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that a fact was read from: who said it, when, and in which words.

    Attributes:
        passage_id: the passage.
        message_id: the message that it is, or is a part of.
        session: the conversation; ``""`` where none was named.
        role: role of the message.
        speaker: who said the message; ``""`` for a document.
        claimed_by: whom the triple names as the one who claims it, where that is somebody else
            than the speaker; ``None`` otherwise.
        said_at: every known time at which the message was said, earliest first, timezone-aware;
            ``()`` is unknown. The earliest has the zone with which it was given, and the store
            keeps one zone for a message: the others are shown in it as well.
        recorded_at: when the fact was first read from this passage, in UTC.
        extractor: what read it, with its version.
        grounded: whether the passage, with those just before it, names both ends of the fact.
            False where one end was known only by name from elsewhere, and where an extractor may
            have made it up: then the passage is not among ``Fact.passages``, unless none holds it.
        quote: the passage's words, without the title.
        heard_at: when the store first got the message, in UTC; ``None`` is unknown, as for some in
            files of older versions.
    """

    passage_id: str
    message_id: str
    session: str
    role: Role
    speaker: str
    claimed_by: str | None
    said_at: tuple[datetime, ...]
    recorded_at: datetime
    extractor: str
    grounded: bool
    quote: str
    heard_at: datetime | None = None

    def _repr_html_(self) -> str:
        return markup.source_html(self)


@dataclass(frozen=True, slots=True)
class Entity:
    """A vertex: everything whose name has one normal form, within one scope."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that a question touches, and its share of the reset distribution (0 to 1)."""

    entity: Entity
    weight: float
    reason: Literal["fact", "name"]


@dataclass(frozen=True, slots=True)
class FactHit:
    """A seed fact of a recall with its score (higher is better; comparable within one recall)."""

    fact: Fact
    score: float


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A recalled passage.

    Attributes:
        passage: the passage.
        score: higher is better; comparable within one recall only, no probability. What was said
            later stands above what it brings up to date, whatever the scores.
        facts: the facts on its way: seed facts it states and facts that share an entity with them.
        outdated: facts that it states and that are no longer so: retired, or found wrong.
    """

    passage: Passage
    score: float
    facts: tuple[Fact, ...] = ()
    outdated: tuple[Fact, ...] = ()

    def _repr_html_(self) -> str:
        return markup.ranked_html(self)


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a question: passages, best first, and how they were found.

    Attributes:
        query: the question.
        scope: whose memory was asked.
        passages: at most ``top_k``, best first, ties by id.
        route: ``graph`` (PageRank), ``dense`` (vectors fused with words, no seed or no graph),
            ``lexical`` (words only: no vectors yet), ``empty`` (nothing stored, or nothing asked).
        reason: why this route.
        facts: the seed facts, best first.
        seeds: entities of the reset distribution, heaviest first.
        withheld: how many facts were kept out, by reason.
        timings: milliseconds by stage; ``total`` is all of them.
        as_of: the time in the world that was asked for; ``None`` is now.
        known_at: the time of the memory that was asked for; ``None`` is now.
    """

    query: str
    scope: Scope
    passages: tuple[RankedPassage, ...] = ()
    route: Route = "empty"
    reason: str = ""
    facts: tuple[FactHit, ...] = ()
    seeds: tuple[Seed, ...] = ()
    withheld: Mapping[str, int] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    as_of: datetime | None = None
    known_at: datetime | None = None

    @property
    def statements(self) -> tuple[Fact, ...]:
        """The live seed facts, best first, without those that say the same words cut otherwise.

        Of another time those that held then, whatever replaced them since.
        """
        first: dict[str, Fact] = {}
        for hit in self.facts:
            if hit.fact.is_live or self.as_of is not None:
                first.setdefault(normal_form(hit.fact.text), hit.fact)
        return tuple(first.values())

    def __iter__(self) -> Iterator[RankedPassage]:
        return iter(self.passages)

    def __len__(self) -> int:
        return len(self.passages)

    def __getitem__(self, rank: int) -> RankedPassage:
        return self.passages[rank]

    def __repr__(self) -> str:
        best = f", best {shortened(self.passages[0].passage.text, 60)!r}" if self.passages else ""
        return (
            f"<Recall {shortened(self.query, 60)!r}: {self.route} route, "
            f"{len(self.passages)} passages{best}>"
        )

    def _repr_html_(self) -> str:
        return markup.recall_html(self)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change.

    Attributes:
        name: as the caller gives it; ``""`` is unnamed.
        kind: what it is. Only a person may verify a fact or lift a ban.
    """

    name: str = ""
    kind: ActorKind = "person"

    @classmethod
    def of(cls, value: Actor | str) -> Actor:
        """An actor, or a person by name.

        Raises:
            InvalidInput: neither, or no such kind.
        """
        if isinstance(value, str):
            return cls(clean_text(value))
        if not isinstance(value, Actor):
            raise InvalidInput(f"actor must be an Actor or a name, not {type(value).__name__}")
        if not isinstance(value.name, str):
            raise InvalidInput(f"an actor's name is a string, not {type(value.name).__name__}")
        if value.kind not in get_args(ActorKind):
            raise InvalidInput(
                f"unknown kind of actor {value.kind!r:.80}: use {', '.join(get_args(ActorKind))}"
            )
        return cls(clean_text(value.name), value.kind)


@dataclass(frozen=True, slots=True)
class Ban:
    """Something that a scope shall not store again. What it is, it does not say.

    Attributes:
        id: of the ban, for ``GraphMemory.unforget``.
        kind: ``fact`` (a value, in any words), ``entity`` (a name), ``text`` (a message or a part
            of one) or ``sentence``.
        cause: ``forget``, or ``reject``: found wrong.
        at: since when.
        actor, actor_kind: who wanted it.
        reason: why, where somebody said so.
        fact_id: the fact that was found wrong; ``None`` for what was forgotten.
    """

    id: str
    kind: Literal["fact", "entity", "text", "sentence"]
    cause: Literal["forget", "reject"]
    at: datetime
    actor: str = ""
    actor_kind: ActorKind = "person"
    reason: str = ""
    fact_id: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that words may mean which ask to forget.

    Attributes:
        kind: what it is.
        id: its id, to be passed to ``GraphMemory.forget`` by the name of its kind.
        text: its words.
        reason: why it may be meant.
        score: 0 to 1: how much of the words it holds.
    """

    kind: Literal["fact", "passage", "entity"]
    id: str
    text: str
    reason: str
    score: float


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One change of a scope.

    Attributes:
        seq: number within the scope, from 1.
        at: when it was made.
        action: what was done: ``add``, ``merge``, ``supersede``, ``forget`` …
        kind: of the row that changed: ``passage``, ``fact``, ``entity``, ``ban``, ``verdict`` or
            ``scope``; ``log``, where words of earlier entries were erased.
        id: of the row that changed.
        actor: who or what changed it.
        reason: why, where somebody said so.
        before, after: the row's values; ``None`` where there were none, or where they were erased.
        actor_kind: what the actor is; ``""`` in entries of older versions.
    """

    seq: int
    at: datetime
    action: str
    kind: str
    id: str
    actor: str = ""
    reason: str = ""
    before: Mapping[str, Any] | None = field(default=None, hash=False)
    after: Mapping[str, Any] | None = field(default=None, hash=False)
    actor_kind: str = ""


@dataclass(frozen=True, slots=True)
class LogCheck:
    """Whether a scope's log is what was written.

    Attributes:
        entries: how many there are.
        erased: how many of them had words that were erased since, as a later entry says.
        broken_at: number of the first entry that was changed, removed, inserted or moved, or that
            of the first entry of the same transaction; ``None`` when all is as it was written.
        head: the chain's newest link, as hexadecimal digits; ``""`` before any. Noted elsewhere, it
            shows later whether the whole chain was made anew: see ``GraphMemory.verify_log``.
    """

    entries: int
    erased: int = 0
    broken_at: int | None = None
    head: str = ""

    @property
    def is_intact(self) -> bool:
        """Whether nothing was tampered with."""
        return self.broken_at is None

    def _repr_html_(self) -> str:
        return markup.check_html(self)


@dataclass(frozen=True, slots=True)
class Diff:
    """What a scope came to believe, and ceased to, between two times.

    Attributes:
        added: facts that were believed at the end and not at the start.
        ended: facts that were believed at the start and not at the end, as they are now.
        changed: (before, after) of facts that were believed at both, with other words or times.
        forgotten: how many facts were forgotten in between; their words are gone.
    """

    added: tuple[Fact, ...] = ()
    ended: tuple[Fact, ...] = ()
    changed: tuple[tuple[Fact, Fact], ...] = ()
    forgotten: int = 0

    def _repr_html_(self) -> str:
        return markup.diff_html(self)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write did, item by item; nothing is dropped without a line here.

    Attributes:
        scope: whose memory was written.
        stored: ids of passages that are new.
        merged: ids of passages that were there already (another occurrence, or redelivery).
        dropped: (what, why) for input that is no memory: empty text, system prompts, tool noise.
        forgotten: ids of passages erased.
        deferred: ids or reasons of what waits (spilled to memory because the disk refused, pages
            that an open reader still holds).
        facts: ids of facts that are gone, or whose ruling changed.
        cut: ids of passages that lost sentences and keep others.
        bans: ids of bans that were laid, or lifted.
        refused: (what, why) for input that is not stored because it was forgotten.
        candidates: what may be meant by words that ask to forget; nothing was changed yet.
        outside: where the words may be that this store cannot reach.
        unclear: of a preview: why nothing would be forgotten by these words; ``""`` where it would.
    """

    scope: Scope
    stored: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    forgotten: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    bans: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    candidates: tuple[Candidate, ...] = ()
    outside: tuple[str, ...] = ()
    unclear: str = ""

    @property
    def state(self) -> Literal["erased", "deferred", "preview", ""]:
        """What became of what was to be forgotten; ``""`` where nothing was."""
        if self.candidates and not self.forgotten and not self.cut:
            return "preview"
        # A ruling names facts, too, and nothing is out of its reach.
        if not (self.forgotten or self.cut or (self.facts and self.outside)):
            return ""
        return "deferred" if self.deferred else "erased"

    @property
    def passages(self) -> tuple[str, ...]:
        """Ids of all passages that the input stands for, new or known."""
        return self.stored + self.merged

    def _repr_html_(self) -> str:
        return markup.receipt_html(self)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model was asked: calls made, and tokens as the server counted them."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.calls - other.calls,
            self.prompt_tokens - other.prompt_tokens,
            self.completion_tokens - other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one scope (or of a whole store) and of this process's work on it.

    Attributes:
        messages, passages, facts, entities: rows. ``facts`` counts live ones.
        withheld: facts that are stored but kept out of recall.
        pending: passages not yet extracted.
        failed: passages among the pending that have failed at least once.
        unembedded: texts that have no vector yet.
        spilled: messages in memory because the disk refused them.
        usage: the extractor's calls and tokens in this process.
        faults: swallowed faults in this process, by kind.
        last_error: the newest extraction, embedding or storage error, or ``""``.
    """

    messages: int = 0
    passages: int = 0
    facts: int = 0
    entities: int = 0
    withheld: int = 0
    pending: int = 0
    failed: int = 0
    unembedded: int = 0
    spilled: int = 0
    usage: Usage = Usage()
    faults: Mapping[str, int] = field(default_factory=dict)
    last_error: str = ""

    def _repr_html_(self) -> str:
        return markup.stats_html(self)


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors by id: ``rows`` has shape (len(ids), dims), float32, unit length."""

    ids: tuple[str, ...]
    rows: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What an index must learn to be up to date with the store's rows of one scope.

    Applying the same changes twice, or newer rows first, does no harm: rows are whole and keyed.

    Attributes:
        seq: the scope's log sequence number after these changes.
        passages: new or changed.
        facts: new or changed, of any status.
        vectors: new, by kind.
        removed: ids of passages, facts and entities that are gone.
        is_whole: these are all rows of the scope; whatever was known before is void.
    """

    seq: int
    passages: tuple[Passage, ...] = ()
    facts: tuple[Fact, ...] = ()
    vectors: Mapping[VectorKind, Vectors] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    is_whole: bool = False


@runtime_checkable
class Extractor(Protocol):
    """Reads triples out of passages. Called from worker threads, several at a time."""

    @property
    def name(self) -> str:
        """What made the triples, with its version (``"rules/1"``): kept with each fact."""
        ...

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """One Extraction for each passage, in any order. All passages are of one scope, in order.

        A failure of some passages is reported in their Extraction; raising fails them all.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Called from worker threads and from recalls."""

    @property
    def name(self) -> str:
        """The model's name, kept with each vector: two models of one name must agree."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array of shape (len(texts), dims), float32; rows of length 1 (or 0 for "no sense")."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Array of shape (dims,), as ``embed``, for a question."""
        ...
