"""Checking an explanation: what it says of a recalled passage is looked up in the store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from graphmem.explanation import Explanation, Path, Place, Step
from graphmem.memory import GraphMemory
from graphmem.types import Fact, Passage, Scope

__all__ = ["Stored", "faults"]

# Steps that need no words behind them: the question and the names are there to be read.
_WITHOUT_WORDS = ("names", "end", "alike")
# Steps that lead over what was believed at the time that was asked for.
_BELIEVED = ("fits", "end", "fact")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a scope holds, by id."""

    facts: Mapping[str, Fact]
    passages: Mapping[str, Passage]
    entities: Collection[str]

    @classmethod
    def of(cls, memory: GraphMemory, scope: Scope | str | None = None) -> Stored:
        """Everything of a scope of a memory."""
        return cls(
            {one.id: one for one in memory.facts(scope)},
            {one.id: one for one in memory.passages(scope)},
            {one.id for one in memory.entities(scope)},
        )

    def has(self, place: Place) -> bool:
        """Whether there is such a fact, entity or passage; a question has no id."""
        if place.kind == "question":
            return not place.id
        kinds = {"fact": self.facts, "passage": self.passages, "entity": self.entities}
        return place.id in kinds[place.kind]


def faults(found: Explanation, stored: Stored) -> list[str]:
    """What an explanation of a recalled passage says that is not so; nothing where all of it is.

    The parts add up to the score; there is a path; each begins at the question, goes on where the
    step before it ends, and ends at the passage; each place, fact and quotation is in the store;
    facts are of the step's ends, a mention's of its passage, and the others were believed.
    """
    return list(_faults(found, stored))


def _faults(found: Explanation, stored: Stored) -> Iterator[str]:
    score = 0.0
    for part in found.parts:  # as recall adds them: sum() rounds otherwise from Python 3.12 on
        score += part.score
    if score != found.score:
        yield f"the parts add up to {score}, not to {found.score}"
    if not found.paths:
        yield "no path leads to it"
    for path in found.paths:
        yield from _broken(path, found.passage_id)
        for step in path.steps:
            is_past = found.as_of is not None or found.known_at is not None
            for fault in _unfounded(step, stored, is_past=is_past):
                yield f"{path.part}, {step.kind} {step.source} → {step.target}: {fault}"


def _broken(path: Path, passage_id: str) -> Iterator[str]:
    if path.steps[0].source.kind != "question":
        yield f"{path.part}: it begins at {path.steps[0].source}"
    if path.steps[-1].target.id != passage_id:
        yield f"{path.part}: it ends at {path.steps[-1].target}"
    for step, after in pairwise(path.steps):
        if step.target != after.source:
            yield f"{path.part}: from {step.target} it goes on at {after.source}"


def _unfounded(step: Step, stored: Stored, *, is_past: bool) -> Iterator[str]:
    for place in (step.source, step.target):
        if not stored.has(place) or not place.text:
            yield f"there is no {place.kind} {place.id}"
    if step.kind == "mention" and not step.facts:
        yield "no fact mentions it"
    if not step.quotes and step.kind not in _WITHOUT_WORDS:
        yield "no words are behind it"
    for fact in step.facts:
        yield from _unproven(step, fact, stored, is_past=is_past)
    for quote in step.quotes:
        passage = stored.passages.get(quote.passage_id)
        if passage is None or quote.text not in passage.text:
            yield f"passage {quote.passage_id} does not say so"
        elif quote.message_id != passage.message_id:
            yield f"passage {quote.passage_id} is not of message {quote.message_id}"


def _unproven(step: Step, fact: Fact, stored: Stored, *, is_past: bool) -> Iterator[str]:
    if fact.id not in stored.facts:
        yield f"there is no fact {fact.id}"
    if step.kind in _BELIEVED and not (fact.is_trusted if is_past else fact.is_live):
        yield f"fact {fact.id} is not believed"
    if not _rests_on(step, fact):
        yield f"fact {fact.id} is not of its ends"


def _rests_on(step: Step, fact: Fact) -> bool:
    ends = {fact.subject_id, fact.object_id}
    if step.kind == "fact":
        return ends == {step.source.id, step.target.id}
    if step.kind == "mention":
        passage, entity = sorted((step.source, step.target), key=lambda one: one.kind == "entity")
        return passage.id in fact.passages and entity.id in ends
    return True
