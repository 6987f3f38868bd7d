"""From passages to one Extraction each, through any model that answers a prompt.

One call per batch. What a reply does not settle (it was cut, or could not be read) is asked again
in smaller batches, within a bound, so that one poisoned message cannot keep the others from being
read and a model that talks nonsense costs a fixed number of calls.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from graphmem.errors import ExtractionError
from graphmem.extractors import parsing
from graphmem.extractors.prompts import SYSTEM, Prompt, estimated_tokens, is_example, labels
from graphmem.identity import normal_form
from graphmem.types import Extraction, Passage, Triple

__all__ = ["Answer", "Ask", "PromptTooLong", "extract"]

# Passages above about so many tokens are read in several calls. Two thirds above the 3,000 tokens
# of a usual flush, so that one flush stays one call though its words are long and its last message
# goes over.
BATCH_TOKENS = 5_000
# Calls beyond one per batch that one ``extract`` may make: enough to single out one unreadable
# message among forty, few enough to stop early at a model that never answers in the format.
EXTRA_CALLS = 14
# Reasons kept per passage.
MAX_REASONS = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer.

    Attributes:
        text: its words, maybe none.
        is_cut: the model stopped at its length limit.
        refusal: why it would not answer, or ``""``.
    """

    text: str
    is_cut: bool = False
    refusal: str = ""


Ask = Callable[[str, str], Answer]
"""Sends (system message, user message); raises ExtractionError when there is no answer."""


class PromptTooLong(ExtractionError):
    """The model's context does not hold the prompt: fewer messages may fit."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_retryable=False)


_TOO_LONG = (
    "context_length", "context length", "context size", "context window", "exceed_context",
    "maximum context", "too long", "too many tokens",
)  # fmt: skip


def is_too_long(error: str) -> bool:
    """Whether a server's error says that its context does not hold the prompt."""
    return any(words in error.lower() for words in _TOO_LONG)


def extract(
    passages: Sequence[Passage], *, prompt: Prompt, ask: Ask, batch_tokens: int
) -> list[Extraction]:
    """One Extraction for each passage, in the passages' order.

    An ExtractionError of ``ask`` fails the passages that are still unread, and no further call is
    made; what was read before it is kept.
    """
    found = {each.id: Extraction(each.id) for each in passages if not each.text.strip()}
    todo = deque(split([each for each in passages if each.id not in found], batch_tokens))
    calls = len(todo) + EXTRA_CALLS
    while todo:
        batch = todo.popleft()
        if not calls:
            error = "not asked again: too many replies of this batch could not be read"
            found.update(_failed(batch, error, is_retryable=True))
            continue
        calls -= 1
        try:
            reading = _read(batch, ask(SYSTEM, prompt.render(batch)))
        except PromptTooLong as fault:
            reading = _Reading(rest=tuple(batch), problem=str(fault), is_retryable=False)
        except ExtractionError as fault:
            for unread in (batch, *todo):
                found.update(_failed(unread, str(fault), is_retryable=fault.is_retryable))
            break
        found.update(reading.found)
        if reading.rest and len(batch) == 1:
            found.update(_failed(batch, reading.problem, is_retryable=reading.is_retryable))
        elif reading.rest:
            todo.extendleft(reversed(_smaller(reading.rest, batch)))
    return [found[passage.id] for passage in passages]


def split(passages: Sequence[Passage], batch_tokens: int) -> list[tuple[Passage, ...]]:
    """The passages in batches of about equal size, none above the limit but by its only passage."""
    unique = list({passage.id: passage for passage in passages}.values())
    sizes = [estimated_tokens([passage]) for passage in unique]
    count = max(1, math.ceil(sum(sizes) / batch_tokens))
    share = sum(sizes) / count
    batches: list[list[Passage]] = [[]]
    size = taken = 0
    for passage, tokens in zip(unique, sizes, strict=True):
        is_full = size + tokens > batch_tokens
        has_its_share = len(batches) < count and taken >= share * len(batches)
        if batches[-1] and (is_full or has_its_share):
            batches.append([])
            size = 0
        batches[-1].append(passage)
        size, taken = size + tokens, taken + tokens
    return [tuple(batch) for batch in batches if batch]


def _smaller(rest: tuple[Passage, ...], batch: tuple[Passage, ...]) -> list[tuple[Passage, ...]]:
    if len(rest) < len(batch):
        return [rest]
    middle = (len(rest) + 1) // 2
    return [rest[:middle], rest[middle:]]


def _failed(
    passages: Iterable[Passage], error: str, *, is_retryable: bool
) -> dict[str, Extraction]:
    return {
        passage.id: Extraction(passage.id, error=error, is_retryable=is_retryable)
        for passage in passages
    }


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one answer settles, the passages it leaves open, and why."""

    found: dict[str, Extraction] = field(default_factory=dict)
    rest: tuple[Passage, ...] = ()
    problem: str = ""
    is_retryable: bool = True


def _read(batch: tuple[Passage, ...], answer: Answer) -> _Reading:
    if answer.refusal:
        problem = f"the model refused: {answer.refusal}"
        return _Reading(rest=batch, problem=problem, is_retryable=False)
    reply = parsing.read(answer.text)
    is_cut = reply.is_cut or answer.is_cut
    if reply.problem or (is_cut and not reply.items):
        return _Reading(rest=batch, problem=reply.problem or "the reply is cut")
    sources = _Sources(batch)
    for item in reply.items:
        sources.place(item)
    for dropped in reply.dropped:
        sources.drop(dropped.source, dropped.reason)
    if reply.items and not sources.has_placed and sources.strangers:
        return _Reading(rest=batch, problem=f"no triple names its message: {sources.strangers[0]}")
    found = sources.extractions()
    if not is_cut:
        return _Reading(found)
    if len(batch) == 1:
        (only,) = found.values()
        return _Reading({only.passage_id: _with_reason(only, "the reply was cut after these")})
    # Messages come in order: the last one that a cut reply speaks of may have more to say.
    spoken = [passage for passage in batch if found[passage.id].triples][:-1]
    kept = {passage.id: found[passage.id] for passage in spoken}
    rest = tuple(passage for passage in batch if passage.id not in kept)
    return _Reading(kept, rest, "the reply is cut")


def _with_reason(extraction: Extraction, reason: str) -> Extraction:
    return replace(extraction, dropped=(*extraction.dropped, reason)[-MAX_REASONS:])


class _Sources:
    """The passages of a batch by label, and what was placed on each."""

    def __init__(self, batch: tuple[Passage, ...]) -> None:
        self._batch = batch
        self._by_label = labels(batch)
        self._words = {passage.id: _words(passage) for passage in batch}
        self._triples: dict[str, list[Triple]] = {passage.id: [] for passage in batch}
        self._dropped: dict[str, list[str]] = {passage.id: [] for passage in batch}
        self.strangers: list[str] = []
        self.has_placed = False

    def place(self, item: parsing.Item) -> None:
        triple = item.triple
        where = f"{triple.subject} | {triple.predicate} | {triple.object}"
        if is_example(triple) and not any(_states(self._words[p.id], triple) for p in self._batch):
            self.drop(item.source, f"the prompt's example, not the messages': {where}")
            return
        passage = self._passage(item)
        if passage is None:
            self._drop_stranger(item.source, where)
            return
        self.has_placed = True
        known = self._triples[passage.id]
        triple = _settled(triple, passage)
        if triple not in known:
            known.append(triple)

    def drop(self, label: str | None, reason: str) -> None:
        """Keep a reason with the passage that it is about, or with the first."""
        passage = self._by_label.get(_canonical(label) or "", self._batch[0])
        reasons = self._dropped[passage.id]
        if len(reasons) < MAX_REASONS:
            reasons.append(reason)

    def extractions(self) -> dict[str, Extraction]:
        return {
            passage.id: Extraction(
                passage.id,
                tuple(self._triples[passage.id]),
                dropped=tuple(self._dropped[passage.id]),
            )
            for passage in self._batch
        }

    def _passage(self, item: parsing.Item) -> Passage | None:
        if item.source is not None:
            return self._by_label.get(_canonical(item.source) or "")
        if len(self._batch) == 1:
            return self._batch[0]
        stating = [p for p in self._batch if _states(self._words[p.id], item.triple)]
        return stating[0] if len(stating) == 1 else None

    def _drop_stranger(self, label: str | None, where: str) -> None:
        if label is not None and _CONTEXT.fullmatch(label):
            self.drop(None, f"taken from the context {label}, not from a message: {where}")
            return
        named = "no label" if label is None else f"the unknown label {label[:40]!r}"
        reason = f"{named}: {where}"
        self.strangers.append(reason)
        self.drop(None, reason)


_CONTEXT = re.compile(r"\W*c\s*\d+\W*", re.IGNORECASE)
_MESSAGE = re.compile(r"(?:m|msg|message|label)?[\s_#:-]*0*(\d+)", re.IGNORECASE)


def _canonical(label: str | None) -> str | None:
    """``m3`` for ``M3``, ``[m3]``, ``message 3``, ``3``; of several, the last."""
    if label is None:
        return None
    last = re.split(r"[,;&]|\band\b", label)[-1].strip(" \t\"'`[](){}<>.:")
    found = _MESSAGE.fullmatch(last)
    return f"m{found.group(1)}" if found else None


def _words(passage: Passage) -> str:
    return normal_form(f"{passage.speaker} {passage.full_text}")


def _states(words: str, triple: Triple) -> bool:
    return normal_form(triple.subject) in words and normal_form(triple.object) in words


_FIRST_PERSON = frozenset({"i", "me", "my", "myself", "mine", "the speaker", "speaker"})


# "doesn't eat", "is not", "never liked": English models leave the denial in the predicate. What
# carries no meaning of its own goes with the "not".
_DENIAL = re.compile(
    r"(?:(?:do|does|did)(?: not|n['’]t)|not|never|(?P<kept>is|are|was|were|has|have|had|can|could|"
    r"will|would)(?: not| never|n['’]t)) (?P<rest>\S.*)|(?P<whole>is|are|was|were|has|have)"
    r"(?: not|n['’]t)",
    re.IGNORECASE,
)


def _undenied(triple: Triple) -> Triple:
    """The triple with a denial in its predicate moved into its polarity."""
    found = _DENIAL.fullmatch(triple.predicate)
    if found is None:
        return triple
    predicate = " ".join(filter(None, (found["kept"], found["rest"], found["whole"])))
    return replace(triple, predicate=predicate, polarity=False)


def _settled(triple: Triple, passage: Passage) -> Triple:
    """The triple with the first person named and without what its passage cannot vouch for."""
    return replace(
        _undenied(triple),
        subject=_named(triple.subject, passage),
        object=_named(triple.object, passage),
        valid_from=_vouched(triple.valid_from, passage),
        valid_to=_vouched(triple.valid_to, passage),
        speaker=_claimant(triple.speaker, passage),
    )


def _named(name: str, passage: Passage) -> str:
    return passage.speaker if passage.speaker and normal_form(name) in _FIRST_PERSON else name


def _claimant(speaker: str | None, passage: Passage) -> str | None:
    if speaker is None:
        return None
    own = {normal_form(passage.speaker), normal_form(passage.role), *_FIRST_PERSON}
    return None if normal_form(speaker) in own else speaker


# "Today" in the languages that chats are most often held in.
_TODAY = re.compile(
    r"\b(?:today|tonight|this (?:morning|afternoon|evening)|just now|heute|hoy|hoje|oggi|vandaag|"
    r"aujourd['’]hui|сегодня)\b|今日|今天|오늘|اليوم|आज",
    re.IGNORECASE,
)


def _vouched(moment: str | None, passage: Passage) -> str | None:
    """The date, unless it is a guess.

    It is one where nothing can have told the model the year, and where it is no more than the
    message's own date, which models fill in when nothing says when.
    """
    if moment is None:
        return None
    if passage.said_at is None:
        near = (passage, *passage.before)
        known = any(moment[:4] in each.full_text or each.said_at is not None for each in near)
        return moment if known else None
    is_own = moment[:10] == passage.said_at.date().isoformat()
    says_so = moment[:4] in passage.full_text or _TODAY.search(passage.full_text) is not None
    return None if is_own and not says_so else moment
