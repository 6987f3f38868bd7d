"""What is believed, and what was: now, by what was known then, and of a time in the world."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone, tzinfo

from graphmem.facts.contests import (
    bound,
    contests,
    contradicts,
    counted,
    differs,
    is_firm,
    order_of_plans,
    reading,
    stands_at,
    told_at,
)
from graphmem.facts.evidence import Evidence, Ruling
from graphmem.facts.merging import merge
from graphmem.predicates import SINGLE_VALUED, Reading
from graphmem.times import span
from graphmem.types import Fact

__all__ = ["believed", "held"]

_ALWAYS = datetime.min.replace(tzinfo=timezone.utc)


def believed(
    proof: Mapping[str, Sequence[Evidence]],
    rulings: Mapping[str, Ruling] | None = None,
    single_valued: Collection[str] = SINGLE_VALUED,
    *,
    known_at: datetime | None = None,
) -> dict[str, Fact]:
    """The facts that rows add up to, with those retired that others replace or deny.

    A function of the rows alone: neither their order nor how they came counts.

    Args:
        proof: the evidence of each fact, by fact id; of a fact, that of all it may contest with.
        rulings: what people ruled on facts, by fact id.
        single_valued: spellings of predicates that have one value at a time.
        known_at: only what the store knew then counts: evidence that it had read, messages that it
            had heard, rulings that were made. Facts without evidence by then are left out. What was
            read then and is withdrawn since is not in the rows.

    Returns:
        The facts by id, in its order.
    """
    ruled = rulings or {}
    if known_at is not None:
        proof = {id_: _known(rows, known_at) for id_, rows in proof.items()}
        ruled = {id_: one for id_, one in ruled.items() if one.at <= known_at}
    facts = {id_: merge(rows, ruled.get(id_)) for id_, rows in sorted(proof.items()) if rows}
    outcome = contests([(one, proof[id_]) for id_, one in facts.items()], single_valued)
    for id_, why in outcome.retired.items():
        facts[id_] = replace(
            facts[id_],
            replaced_by=why.replaced_by,
            retired_at=why.retired_at,
            valid_to=facts[id_].valid_to or why.valid_to,
        )
    for id_ in outcome.disputed:
        if id_ not in ruled:
            facts[id_] = replace(facts[id_], status="disputed")
    return facts


def _known(rows: Iterable[Evidence], at: datetime) -> list[Evidence]:
    return [
        row
        for row in rows
        if (row.recorded_at is None or row.recorded_at <= at)
        and (row.heard_at is None or row.heard_at <= at)
    ]


def held(
    facts: Mapping[str, Fact],
    proof: Mapping[str, Sequence[Evidence]],
    as_of: datetime,
    single_valued: Collection[str] = SINGLE_VALUED,
) -> set[str]:
    """Which facts held in the world at a time.

    A fact holds from when it began, or, where that is not stated, from when it was said, until it
    is said to have ended, another value of its slot is told or begins, or it is denied; said again,
    it holds again. A fact of which no time is known holds at all times while it is live, and at
    none once it is retired, for it is not known when that was. Facts that are not believed
    (candidates, disputed, rejected) hold at no time.

    Args:
        facts: facts as ``believed`` gave them, with all that they contest with.
        proof: their evidence.
        as_of: a time, timezone-aware.
        single_valued: spellings of predicates that have one value at a time.
    """
    told = [
        _Told.of(fact, reading(fact, single_valued), proof[id_], as_of)
        for id_, fact in facts.items()
        if fact.is_trusted
    ]
    slots, values = bound((one, one.said) for one in told)
    ended = {
        one.fact.id
        for groups, excludes in ((slots, differs), (values, contradicts))
        for group in groups
        for one in group
        if any(excludes(other.said, one.said) and other.is_after(one) for other in group)
    }
    return {one.fact.id for one in told if one.is_open} - ended


@dataclass(frozen=True, slots=True)
class _Told:
    """A fact as it was told to be, as far as a time.

    Attributes:
        fact: the fact.
        said: what it states.
        is_firm: whether it may end another.
        is_open: whether it had begun and was not said to have ended.
        stands: where its latest statement stands; ``None`` where none has begun.
        told: when that was said; ``None`` is unknown.
    """

    fact: Fact
    said: Reading
    is_firm: bool
    is_open: bool
    stands: datetime | None
    told: datetime | None

    @classmethod
    def of(cls, fact: Fact, said: Reading, evidence: Sequence[Evidence], as_of: datetime) -> _Told:
        rows = counted(evidence)
        starts = [(stands, row) for row in rows if (stands := stands_at(row))]
        begun = [(stands, row) for stands, row in starts if _start(row, stands) <= as_of]
        last = max((stands for stands, _ in begun), default=None)
        is_open = any(not _is_over(row, as_of) for stands, row in begun if stands == last)
        is_open = is_open if starts else fact.is_live
        told = told_at(row for stands, row in begun if stands == last)
        return cls(fact, said, is_firm(fact, rows), is_open, last, told)

    def is_after(self, other: _Told) -> bool:
        """Whether it was told after the other."""
        if not self.is_firm or self.stands is None or other.stands is None:
            return False
        told = order_of_plans(self, other)
        if told:
            return told > 0
        if self.stands != other.stands:
            return self.stands > other.stands
        return self.fact.id == other.fact.replaced_by


def _zone(row: Evidence) -> tzinfo | None:
    return row.said_at.tzinfo if row.said_at else None


def _is_over(row: Evidence, as_of: datetime) -> bool:
    ended = span(row.valid_to, _zone(row))
    return ended is not None and ended[1] < as_of


def _start(row: Evidence, stands: datetime) -> datetime:
    """When what a row states began, as far as is known."""
    began = span(row.valid_from, _zone(row))
    if began:
        return began[0]
    return _ALWAYS if span(row.valid_to) else stands
