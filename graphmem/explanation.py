"""Why a passage was recalled, or why not: frozen values, as text and as data.

An ``Explanation`` tells what became of one passage in one recall. Its ``parts`` add up to the score
of the recall; its ``paths`` lead from the question to the passage, each ``Step`` with a weight, the
facts that it rests on and the words behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Literal

from graphmem.display import markup, wording
from graphmem.display.data import fact_as_dict, passage_as_dict
from graphmem.display.plain import plain, shortened
from graphmem.types import Fact, Passage, RankedPassage, Route, Scope

__all__ = ["Explanation", "Outcome", "Part", "Path", "Place", "Quote", "Step", "StepKind"]

Outcome = Literal[
    "recalled",
    "outranked",
    "withheld",
    "not reached",
    "forgotten",
    "not in this scope",
    "other session",
    "not of that time",
]
PlaceKind = Literal["question", "fact", "entity", "passage"]
StepKind = Literal["fits", "names", "end", "fact", "alike", "mention", "answers", "bridge", "newer"]
PartName = Literal["walk", "itself", "bridge", "own words"]
PathPart = Literal["walk", "itself", "bridge", "newer"]

# Steps that say themselves what they mean.
_PLAIN = ("fits", "names", "end")
_LONGEST = 160
_SHOWN_ABOVE = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path passes.

    Attributes:
        kind: what it is.
        id: of the fact, entity or passage; ``""`` for the question.
        text: the question, the fact in words, the entity's name, or the passage's words.
    """

    kind: PlaceKind
    id: str
    text: str

    def __str__(self) -> str:
        if self.kind == "question":
            return "question"
        return f"{self.kind} {shortened(self.text, 60)!r}"


@dataclass(frozen=True, slots=True)
class Quote:
    """The words behind a step.

    Attributes:
        passage_id: the passage that they stand in.
        message_id: the message that it is, or is a part of.
        speaker: who said it; ``""`` for a document.
        said_at: when it was said; ``None`` is unknown.
        text: its sentence that names both ends of the fact, where one does; else all its words.
    """

    passage_id: str
    message_id: str
    speaker: str
    said_at: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path.

    Attributes:
        kind: ``fits`` (question to a seed fact; weight: how well it fits, 0 to 1) · ``names``
            (question to an entity that it names; weight: its share of where walks start) · ``end``
            (seed fact to one of its entities; weight: the share that it gives that entity) ·
            ``fact`` (entity to entity by the facts that join them), ``alike`` (entity to entity by
            similar names) and ``mention`` (entity to passage or passage to entity by what the
            passage states); weight of these: probability of the step, for who goes on · ``answers``
            (question to a passage by itself; weight: h, 0 to 1) · ``bridge`` (passage to a passage
            with the same telling name; weight: the bridge's part of the score) · ``newer`` (passage
            to the one that brings it up to date and stands above it; weight 1).
        source, target: from where to where.
        weight: see ``kind``.
        meaning: in words.
        facts: what it rests on. Those of ``fits``, ``end`` and ``fact`` are believed, or were at
            the time that was asked for; but the walk goes over today's graph. A ``mention`` may
            rest on one that is withheld or over, where the passage states no other.
        quotes: the words behind it.
    """

    kind: StepKind
    source: Place
    target: Place
    weight: float
    meaning: str
    facts: tuple[Fact, ...] = ()
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """A way from the question to a passage.

    Attributes:
        steps: from the question on; the target of each is the source of the next.
        share: how much of its part it stands for, 0 to 1. Of the walk: of all walks that end at the
            passage, those that go exactly this way.
        part: the part of the score that it tells about; ``newer`` is no part, it lifts.
    """

    steps: tuple[Step, ...]
    share: float
    part: PathPart


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a score.

    Attributes:
        name: ``walk`` (what the walk from the seeds brought), ``itself`` (how well the passage
            answers by itself), ``bridge`` (it tells what a better passage leaves open) or
            ``own words`` (the sense of the message without its neighbours).
        score: what it adds.
    """

    name: PartName
    score: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a passage in a recall, and why.

    Attributes:
        query: the question.
        scope: whose memory was asked.
        passage_id: the passage that was asked about.
        outcome: ``recalled``; ``outranked`` (ranked, but others were better); ``withheld`` (not
            shown, and it states facts that fit but may not seed); ``not reached`` (nothing led to
            it); ``forgotten``; ``not in this scope``, wherever else it may be; ``other session``
            and ``not of that time``, where the recall was of one.
        reason: the same in a sentence.
        passage: the passage; ``None`` where it is not in this scope.
        rank: its place in the ranking, from 1; ``None`` where it was not ranked. Far down, beyond
            where a recall looks for what is up to date, it is the place by score; and of a large
            memory, a recall of many more passages looks at more of them and may rank otherwise.
        score: as in the recall; ``None`` where it was not ranked.
        top_k: how many passages were asked for.
        route: as in ``Recall``.
        parts: what the score is made of: they add up to it.
        paths: what led to it, by part of the score, then the most likely first.
        above: what was shown in its place, best first; empty for what was recalled.
        against: the parts of the score of the last one shown; empty for what was recalled.
        withheld: facts that it states and that fit as well as the seeds, but may not seed: not
            believed, superseded, disputed or found wrong.
        notes: what else is to be known: not read yet, no vector yet, found elsewhere than before.
        as_of, known_at: the time that was asked for; ``None`` is now.
    """

    query: str
    scope: Scope
    passage_id: str
    outcome: Outcome
    reason: str
    passage: Passage | None = None
    rank: int | None = None
    score: float | None = None
    top_k: int = 5
    route: Route = "empty"
    parts: tuple[Part, ...] = ()
    paths: tuple[Path, ...] = ()
    above: tuple[RankedPassage, ...] = ()
    against: tuple[Part, ...] = ()
    withheld: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None

    @property
    def is_recalled(self) -> bool:
        """Whether it is among the ``top_k``."""
        return self.outcome == "recalled"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all paths, each once, in their order."""
        return tuple(dict.fromkeys(step for path in self.paths for step in path.steps))

    def __str__(self) -> str:
        return "\n".join(indent * "  " + line for indent, line in self.lines())

    def __repr__(self) -> str:
        words = shortened(self.passage.text, 40) if self.passage else self.passage_id
        return f"<Explanation {shortened(self.query, 40)!r}: {words!r} {self.outcome}>"

    def _repr_html_(self) -> str:
        return markup.explanation_html(self)

    def lines(self) -> Iterator[tuple[int, str]]:
        """The explanation as lines, each with how far it is indented (0 to 2).

        One step a line, with the numbers of the words behind it, which stand below, each once. Of
        ways through the same places the first is told; ``paths`` has them all. Nothing stored can
        break a line or steer a terminal.
        """
        yield 0, f"{self.outcome}: {plain(self.reason)}"
        words = "" if self.passage is None else f"{_quoted(self.passage.text)} "
        yield 1, f"{words}{plain(self.passage_id)}"
        if self.parts:
            yield 1, f"score {wording.total(self.score, self.parts)}"
        if self.against and self.above:
            yield 1, f"last shown {wording.total(self.above[-1].score, self.against)}"
        for rank, ranked in enumerate(self.above[:_SHOWN_ABOVE], 1):
            words = _quoted(ranked.passage.text)
            yield 1, f"shown {rank}: {ranked.score:.3f} {words} {plain(ranked.passage.id)}"
        for fact in self.withheld:
            yield 1, f"withheld, {why_withheld(fact)}: {plain(fact.text)} {plain(fact.id)}"
        quotes: dict[Quote, int] = {}
        for part, paths in groupby(self.paths, lambda path: path.part):
            yield from _part_lines(part, list(paths), quotes)
        for quote, number in quotes.items():
            yield 1, f"[{number}] {_quote_line(quote)}"
        for note in self.notes:
            yield 1, f"note: {plain(note)}"

    def as_dict(self) -> dict[str, Any]:
        """All of it as values that JSON has, under the names of the attributes.

        Times are ISO 8601 text, the scope is text; passages and facts are what
        ``graphmem recall --json`` prints of them.
        """
        return {
            "query": self.query,
            "scope": str(self.scope),
            "passage_id": self.passage_id,
            "outcome": self.outcome,
            "reason": self.reason,
            "passage": None if self.passage is None else passage_as_dict(self.passage),
            "rank": self.rank,
            "score": self.score,
            "top_k": self.top_k,
            "route": self.route,
            "parts": list(map(asdict, self.parts)),
            "paths": [_path_data(path) for path in self.paths],
            "above": [
                {**passage_as_dict(ranked.passage), "score": ranked.score} for ranked in self.above
            ],
            "against": list(map(asdict, self.against)),
            "withheld": [fact_as_dict(fact) for fact in self.withheld],
            "notes": list(self.notes),
            "as_of": _iso(self.as_of),
            "known_at": _iso(self.known_at),
        }


def why_withheld(fact: Fact) -> str:
    """Why a fact may not seed: ``superseded``, or its status."""
    return "superseded" if fact.retired_at is not None and fact.is_trusted else fact.status


def _part_lines(
    part: str, paths: Sequence[Path], quotes: dict[Quote, int]
) -> Iterator[tuple[int, str]]:
    """The paths that tell of a part of the score; ``quotes`` numbers the words behind them."""
    told: list[set[str]] = []
    for path in paths:
        places = {step.target.id for step in path.steps if step.kind not in ("fits", "names")}
        if any(known <= places for known in told):
            continue
        told.append(places)
        yield 1, f"{part}, {path.share:.0%} of it:" if path.share < 1 else f"{part}:"
        for step in path.steps:
            numbers = [quotes.setdefault(one, len(quotes) + 1) for one in step.quotes]
            why = "" if step.kind in _PLAIN else f": {plain(step.meaning)}"
            behind = "".join(f" [{number}]" for number in numbers)
            yield 2, f"{step.kind} {step.weight:.3f} → {step.target}{why}{behind}"
    if more := len(paths) - len(told):
        ways = "way goes" if more == 1 else "ways go"
        yield 1, f"{part}: {more} more {ways} through the same places"


def _quote_line(quote: Quote) -> str:
    by = ", ".join(one for one in (plain(quote.speaker), wording.day(quote.said_at)) if one)
    return f"{by and f'{by}: '}{_quoted(quote.text)} {plain(quote.message_id)}"


def _quoted(text: str) -> str:
    return f'"{shortened(text, _LONGEST)}"'


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _path_data(path: Path) -> dict[str, Any]:
    steps = [_step_data(step) for step in path.steps]
    return {"part": path.part, "share": path.share, "steps": steps}


def _step_data(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "source": asdict(step.source),
        "target": asdict(step.target),
        "weight": step.weight,
        "meaning": step.meaning,
        "facts": [fact_as_dict(fact) for fact in step.facts],
        "quotes": [{**asdict(quote), "said_at": _iso(quote.said_at)} for quote in step.quotes],
    }
