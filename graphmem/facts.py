"""Facts out of triples: rules only, no state and no clock.

The store keeps *evidence*: one row for each triple that a passage gave. What it believes is
computed from the rows, so that it depends neither on their order nor on how they were cut into
batches, and so that taking a row away leaves what would have been without it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from graphmem.grounding import Ground, ground
from graphmem.identity import content_id, normal_form
from graphmem.times import earliest, latest, span
from graphmem.types import Fact, Role, Triple

__all__ = [
    "SINGLE_VALUED",
    "Evidence",
    "Ground",
    "Retirement",
    "Ruling",
    "entity_id",
    "fact_id",
    "ground",
    "is_trusted",
    "merge",
    "reject_reason",
    "slot",
    "supersede",
]

# fmt: off
SINGLE_VALUED: frozenset[str] = frozenset({
    "lives in", "lives at", "live in", "live at", "is living in", "is living at", "resides in",
    "resides at", "home is", "home address is", "address is", "has address",
    "works at", "works for", "is employed by", "employer is", "new employer", "new employer is",
    "job is", "has job", "job title is", "has job title",
    "is married to", "spouse is", "has spouse",
    "name is", "age is", "has age", "birthday is", "was born on", "time zone is",
    "phone number is", "has phone number", "email is", "has email", "email address is",
    "has email address",
    "favourite is", "favourite *", "favourite * is", "favourite * * is", "has favourite *",
    "has favourite * *", "preferred * is", "has preferred *",
    "ceo is", "has ceo", "president is", "has president", "capital is", "has capital",
})
# fmt: on
"""Predicates of which a subject has one value at a time: a newer value replaces the older.

Declared, never guessed: whatever is not here replaces nothing. Spelled as normal forms; ``*``
stands for one word that does not look like a plural. ``SINGLE_VALUED | {"drives"}`` declares more.
"""

# The longest of 27,000 triples that models read out of documents and chats has 352. What is far
# longer is a model that repeats itself.
MAX_NAME_CHARS = 1_000

_PEOPLE = frozenset({"user", "document"})
_NOW = frozenset({"now", "currently", "presently"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A triple as one passage states it: a row, from which facts are computed.

    Attributes:
        passage_id: the passage that states it.
        subject, predicate, object: as the extractor wrote them.
        polarity: False for a denial.
        valid_from, valid_to: as stated; ``None`` is unknown.
        speaker: who claims it.
        grounded: whether both ends are in the passage (see ``ground``), or one is and the other is
            a name that a grounded triple of a person or a document brought up elsewhere.
        by_name: whether it is grounded by such a name only: enough to believe it, not to retire
            another fact.
        role: role of the passage.
        said_at: when the passage was said (latest occurrence); ``None`` is unknown.
        ordinal: place of the passage in its thread.
        recorded_at: when the store learnt of it.
        extractor: what read it.
        thread: the passage's thread, within which ordinals compare; ``None`` is unknown.
        heard_at: when the store first got the message; ``None`` is unknown.
        mood: how it was meant, where that was not in earnest: ``"joke"``; ``""`` otherwise.
    """

    passage_id: str
    subject: str
    predicate: str
    object: str
    polarity: bool = True
    valid_from: str | None = None
    valid_to: str | None = None
    speaker: str = ""
    grounded: bool = True
    by_name: bool = False
    role: Role = "user"
    said_at: datetime | None = None
    ordinal: int = 0
    recorded_at: datetime | None = None
    extractor: str = ""
    thread: str | None = None
    heard_at: datetime | None = None
    mood: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a person ruled on a fact.

    Attributes:
        verdict: that it is so, that it is in doubt, or that it is wrong.
        at: when.
    """

    verdict: Literal["verified", "disputed", "rejected"]
    at: datetime


@dataclass(frozen=True, slots=True)
class Retirement:
    """Why a fact is no longer live: a newer value of the same single-valued predicate.

    Attributes:
        replaced_by: id of the fact that holds now.
        retired_at: when the store had recorded both, and so ceased to believe the older.
        valid_to: until when the older held in the world; ``None`` is unknown.
    """

    replaced_by: str
    retired_at: datetime
    valid_to: str | None = None


def reject_reason(triple: Triple) -> str:
    """Why it can be no fact, whatever the passage says; ``""`` when it can."""
    ends = normal_form(triple.subject), normal_form(triple.object)
    for name, form in zip(("subject", "object"), ends, strict=True):
        if not form:
            return f"its {name} is empty"
    for name, value in (("subject", triple.subject), ("object", triple.object)):
        if len(value) > MAX_NAME_CHARS:
            return f"its {name} is no name: {len(value)} characters"
    if len(triple.predicate) > MAX_NAME_CHARS:
        return f"its predicate is no relation: {len(triple.predicate)} characters"
    if not normal_form(triple.predicate):
        return "its predicate is empty"
    if ends[0] == ends[1]:
        return "its subject and object are one name"
    return ""


# Asked of each triple when it is read, and of its evidence when it is believed.
@lru_cache(maxsize=1 << 12)
def fact_id(subject: str, predicate: str, object_: str, polarity: bool) -> str:
    """Id of the fact that a triple states, however it spells it."""
    names = map(normal_form, (subject, predicate, object_))
    return content_id("f", *names, "+" if polarity else "-")


@lru_cache(maxsize=1 << 14)
def entity_id(name: str) -> str:
    """Id of the entity of a name."""
    return content_id("e", normal_form(name))


def merge(evidence: Sequence[Evidence]) -> Fact:
    """The fact that the evidence of one fact id adds up to, in whatever order it came.

    A fact is ``asserted`` when a person (or a document) says so in words that hold it, otherwise a
    ``candidate``. What it shows rests on that trusted evidence alone, or on all while it is a
    candidate: the spelling used most often (ties: the smallest), the span in which it is known to
    hold (from the earliest stated start to the latest stated end, each as precise as stated; an end
    before the start is unknown), the time of its first record. Its passages are those that hold it,
    whoever speaks, or all when none does.

    Args:
        evidence: at least one row; all of them have the subject, predicate, object and polarity of
            one fact, in normal form.

    Raises:
        ValueError: no evidence, or evidence of several facts.
    """
    ids = {fact_id(row.subject, row.predicate, row.object, row.polarity) for row in evidence}
    if len(ids) != 1:
        raise ValueError(f"merge takes the evidence of one fact, not of {len(ids)}")
    trusted = _trusted(evidence)
    shown = trusted or evidence
    holding = [row for row in evidence if row.grounded] or evidence
    subject = _most_used(row.subject for row in shown)
    object_ = _most_used(row.object for row in shown)
    valid_from = earliest(row.valid_from for row in shown)
    return Fact(
        id=ids.pop(),
        subject_id=entity_id(subject),
        object_id=entity_id(object_),
        subject=subject,
        predicate=_most_used(row.predicate for row in shown),
        object=object_,
        polarity=evidence[0].polarity,
        valid_from=valid_from,
        valid_to=latest((row.valid_to for row in shown), after=valid_from),
        recorded_at=min((row.recorded_at for row in shown if row.recorded_at), default=None),
        status="asserted" if trusted else "candidate",
        passages=tuple(sorted({row.passage_id for row in holding})),
    )


def _trusted(evidence: Iterable[Evidence]) -> list[Evidence]:
    return [row for row in evidence if row.grounded and is_trusted(row.role)]


def is_trusted(role: Role) -> bool:
    """Whether what a passage of this role states is believed: an assistant may guess."""
    return role in _PEOPLE


def _most_used(spellings: Iterable[str]) -> str:
    spaced = [" ".join(spelling.split()) for spelling in spellings]
    if len(set(spaced)) == 1:
        return spaced[0]
    counts = Counter(spaced)
    return min(counts, key=lambda spelling: (-counts[spelling], spelling))


def supersede(
    beliefs: Iterable[tuple[Fact, Sequence[Evidence]]],
    single_valued: Collection[str] = SINGLE_VALUED,
) -> dict[str, Retirement]:
    """Which facts a later value of the same single-valued predicate has replaced, by fact id.

    Two facts compete when both are asserted, affirmed and recorded, have one subject and one
    predicate in normal form (underscores are spaces, "now" and "currently" do not count), different
    objects, and the predicate is declared single-valued. The time of a fact is that of its latest
    statement: when it began, where that is stated, or else when it was said (or ended, if earlier).
    A fact is replaced by the latest of those that are later than it. With equal times, or
    with none on both, the later in one thread is later; where the order is not known both stay. A
    fact that is known to have ended before the other began contradicts nothing, and stays.

    Taking the newer fact away brings the older back: nothing but the rows counts.

    Args:
        beliefs: facts as ``merge`` made them, each with its evidence; facts of many subjects and
            predicates may be mixed.
        single_valued: predicates that have one value at a time; see ``SINGLE_VALUED``.
    """
    slots: dict[str, list[_Claim]] = {}
    for fact, evidence in beliefs:
        filled = slot(fact, single_valued)
        if filled and fact.status in ("asserted", "verified") and fact.recorded_at:
            slots.setdefault(filled, []).append(_Claim.of(fact, evidence))
    return {
        loser.fact.id: _retirement(loser.fact, winner.fact)
        for claims in slots.values()
        for last in [_last(claims)]
        for loser in claims
        if (winner := _winner(loser, last))
    }


def slot(fact: Fact, single_valued: Collection[str] = SINGLE_VALUED) -> str | None:
    """What the fact is a value of: an id of subject and predicate, where one value is possible.

    Facts of one slot compete (see ``supersede``); ``None`` for denials and any other predicate.
    """
    predicate = _relation(fact.predicate)
    if not fact.polarity or not _matcher(frozenset(single_valued)).fullmatch(predicate):
        return None
    return content_id("s", normal_form(fact.subject), predicate)


@lru_cache(maxsize=16)
def _matcher(single_valued: frozenset[str]) -> re.Pattern[str]:
    patterns = sorted(map(_relation, single_valued))
    return re.compile("|".join(re.escape(item).replace(r"\*", r"\S*[^\Ws]") for item in patterns))


def _relation(predicate: str) -> str:
    """The predicate as it is compared here: one spelling for what does not change its meaning."""
    spelled = " * ".join(map(normal_form, predicate.replace("_", " ").split("*")))
    kept = [word for word in spelled.split() if word not in _NOW]
    return " ".join(kept).replace("favourite", "favorite")


@dataclass(frozen=True, slots=True)
class _Claim:
    """A fact that fills a slot, and what places it in time.

    Attributes:
        fact: the fact.
        time: of its latest statement; None is unknown.
        places: the last ordinal in each thread that states it at that time.
        is_firm: whether a passage holds both of its ends: only then it may replace another.
    """

    fact: Fact
    time: datetime | None
    places: dict[str, int]
    is_firm: bool

    @classmethod
    def of(cls, fact: Fact, evidence: Sequence[Evidence]) -> _Claim:
        trusted = _trusted(evidence)
        firm = [row for row in trusted if not row.by_name]
        times = [(_time(row), row) for row in firm or trusted]
        last = max((time for time, _ in times if time), default=None)
        places: dict[str, int] = {}
        for time, row in times:
            if time == last and row.thread is not None:
                places[row.thread] = max(row.ordinal, places.get(row.thread, row.ordinal))
        return cls(fact, last, places, bool(firm))

    def is_after(self, other: _Claim) -> bool:
        """Whether it is known to be the later of the two."""
        if self.time != other.time:
            return bool(self.time and other.time and self.time > other.time)
        common = self.places.keys() & other.places.keys()
        return bool(common) and all(self.places[key] > other.places[key] for key in common)

    def replaces(self, other: _Claim) -> bool:
        """Whether the other is an older value, and not one that had ended by then."""
        if self.fact.object_id == other.fact.object_id or not self.is_firm:
            return False
        if not self.is_after(other):
            return False
        ended = span(other.fact.valid_to)
        return not (ended and self.time and ended[1] < self.time)


def _time(row: Evidence) -> datetime | None:
    """Where in time a statement stands.

    Said to begin later: then. Said to have begun: at the latest moment that fits, for "in March",
    said in mid-March, may be yesterday. Otherwise when it was said, or ended, if that is earlier.
    """
    began, ended, said = span(row.valid_from), span(row.valid_to), row.said_at
    if began:
        return began[0] if said is None or began[0] > said else min(began[1], said)
    if ended:
        return min(ended[1], said) if said else ended[1]
    return said


def _last(claims: Sequence[_Claim]) -> list[_Claim]:
    """Those that may replace another, and that none of them is later than."""
    firm = [claim for claim in claims if claim.is_firm]
    newest = max((claim.time for claim in firm if claim.time), default=None)
    front = [claim for claim in firm if claim.time in (newest, None)]
    return [claim for claim in front if not any(other.is_after(claim) for other in front)]


def _winner(loser: _Claim, last: Iterable[_Claim]) -> _Claim | None:
    """What replaces a claim: the latest of all; ties by id."""
    later = [claim for claim in last if claim.replaces(loser)]
    return min(later, key=lambda claim: claim.fact.id, default=None)


def _retirement(loser: Fact, winner: Fact) -> Retirement:
    recorded = [fact.recorded_at for fact in (loser, winner) if fact.recorded_at]
    return Retirement(winner.id, max(recorded), loser.valid_to or winner.valid_from)
