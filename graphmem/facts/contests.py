"""Facts that cannot hold together: which of them holds now.

Two contests are known. Values of one *slot* (a subject and a single-valued family) replace each
other. Statements about one *value* (the same subject and object) contradict each other where one
denies what the other affirms. Both are declared in ``graphmem.families`` and decided by time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Literal, Protocol, TypeVar

from graphmem.facts.evidence import Evidence, entity_id, firm, trusted
from graphmem.families import SINGLE_VALUED
from graphmem.identity import content_id
from graphmem.predicates import Reading, read, relation, written
from graphmem.times import earliest, span
from graphmem.types import Fact

__all__ = [
    "Outcome",
    "Retirement",
    "Stated",
    "bound",
    "contests",
    "contradicts",
    "counted",
    "denied_ends",
    "denied_slots",
    "denied_value",
    "differs",
    "is_firm",
    "order_of_plans",
    "reading",
    "slot",
    "stands_at",
    "told_at",
    "value",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retirement:
    """Why a fact is no longer live.

    Attributes:
        replaced_by: id of the fact that holds instead, or that says that it does not.
        retired_at: when the store had recorded both, and so ceased to believe the older.
        valid_to: until when the older held in the world; ``None`` is unknown.
        why: a newer ``"value"`` of the same single-valued family, a later statement that it is not
            so (``"denied"``), or that it is over (``"ended"``).
    """

    replaced_by: str
    retired_at: datetime
    valid_to: str | None = None
    why: Literal["value", "denied", "ended"] = "value"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What contests decide.

    Attributes:
        retired: facts that are no longer live, by id.
        disputed: ids of facts that contradict each other at one instant.
    """

    retired: Mapping[str, Retirement] = field(default_factory=dict)
    disputed: frozenset[str] = frozenset()


class Stated(Protocol):
    """A statement: a fact, or a row of its evidence."""

    @property
    def subject(self) -> str:
        """Its first end."""

    @property
    def predicate(self) -> str:
        """The relation."""

    @property
    def object(self) -> str:
        """Its other end."""

    @property
    def polarity(self) -> bool:
        """Whether it affirms."""


@dataclass(frozen=True, slots=True)
class _Ties:
    """Of a statement what ``slot`` and its like return."""

    slot: str | None
    value: str | None
    denied_value: str | None
    denied_slots: tuple[str, ...]
    denied_ends: frozenset[tuple[str, str]]


# Asked of each fact when its rivals are sought, and when it is stored.
@lru_cache(maxsize=1 << 12)
def _ties(subject: str, predicate: str, object_: str, polarity: bool) -> _Ties:
    # With all arguments, as in ``reading``: what is read is kept by them.
    said = read(subject, predicate, object_, polarity, SINGLE_VALUED)
    is_value = said.is_single and said.polarity
    ends: list[tuple[str, str]] = []
    if said.denies:
        ends = [
            (entity_id(subject), entity_id(denied))
            for subject in written(said.subject)
            for denied in written(said.denied)
        ]
    return _Ties(
        _slot(said.subject, said.names[0]) if is_value else None,
        _value(_ends(said, said.object)) if said.polarity else None,
        _value(_ends(said, said.denied)) if said.denies else None,
        tuple(_slot(said.subject, name) for name in said.denies),
        frozenset([*ends, *((last, first) for first, last in ends if said.is_mutual)]),
    )


def _of(fact: Stated) -> _Ties:
    return _ties(fact.subject, fact.predicate, fact.object, fact.polarity)


def slot(fact: Stated) -> str | None:
    """What the fact is a value of: an id of subject and family, where one value is possible.

    Facts of one slot compete (see ``contests``); ``None`` for denials and any other predicate.
    """
    return _of(fact).slot


def value(fact: Stated) -> str | None:
    """An id of the ends of what the fact says is so; ``None`` for a denial."""
    return _of(fact).value


def denied_value(fact: Stated) -> str | None:
    """An id of the ends of what the fact denies or ends; ``None`` where it does neither.

    It equals the ``value`` of the facts that it may retire.
    """
    return _of(fact).denied_value


def denied_slots(fact: Stated) -> tuple[str, ...]:
    """The slots that may hold what the fact denies, if that has one value at a time."""
    return _of(fact).denied_slots


def denied_ends(fact: Stated) -> frozenset[tuple[str, str]]:
    """Pairs of ids of the entities that what the fact denies may have at its ends.

    The names may stand with or without an article, and the other way round where it holds both
    ways. What has one value at a time may have others: ``denied_slots`` finds it.
    """
    return _of(fact).denied_ends


def contests(
    beliefs: Iterable[tuple[Fact, Sequence[Evidence]]],
    single_valued: Collection[str] = SINGLE_VALUED,
) -> Outcome:
    """Which facts are retired by others, and which contradict each other.

    Facts that are asserted or verified, and recorded, compete: the affirmed values of one slot,
    where they differ, and a denial (or ender) with what it denies, whatever the relation. Rejected
    and disputed facts and candidates do not.

    The time of a fact is that of its latest statement: when it began, where that is stated, or else
    when it was said (or ended, if earlier). A fact is retired by the latest of those that are later
    than it. With equal times, or with none on both, the later in one thread is later. With none on
    both and no thread in common, what people first told the store later is later; of a document,
    when it came says nothing. Where the order is not known both stay. A fact that is known to have
    ended before the other began contradicts nothing, and stays. A denial is retired by a later
    affirmation; what ends a value by what happened ("left") is not. A plan for later is cancelled
    by who denies it afterwards in the same words, and changed by another plan for the same time.

    Two people's firm statements that contradict each other and are of one time without a known
    order are disputed: two values told at one instant in different threads, or one value both
    affirmed and denied at one instant or in one message.

    Taking the newer fact away brings the older back: nothing but the rows counts.

    Args:
        beliefs: facts as ``merge`` made them, each with its evidence; facts of many subjects and
            predicates may be mixed.
        single_valued: spellings of predicates that have one value at a time.
    """
    claims = [
        _Claim(fact, reading(fact, single_valued), evidence)
        for fact, evidence in beliefs
        if fact.is_trusted and fact.recorded_at
    ]
    slots, values = bound((claim, claim.said) for claim in claims)
    retired: dict[str, Retirement] = {}
    disputed: set[str] = set()
    for group in values:
        _contest(group, contradicts, retired, disputed)
    replaced: dict[str, Retirement] = {}
    for group in slots:
        _contest(group, differs, replaced, disputed)
    for id_, why in replaced.items():
        retired[id_] = _joined(why, retired.get(id_))
    return Outcome(retired, frozenset(disputed - retired.keys()))


def reading(fact: Stated, single_valued: Collection[str] = SINGLE_VALUED) -> Reading:
    """What a fact states, however it is spelled."""
    registry = frozenset(single_valued)
    return read(fact.subject, fact.predicate, fact.object, fact.polarity, registry)


def bound(said: Iterable[tuple[T, Reading]]) -> tuple[list[list[T]], list[list[T]]]:
    """Things by what they state: those of one slot, and those about one value; two at least."""
    slots: dict[tuple[str, str], list[T]] = defaultdict(list)
    values: dict[tuple[str, str], list[T]] = defaultdict(list)
    for one, read_as in said:
        if read_as.is_single and read_as.polarity:
            slots[read_as.subject, read_as.names[0]].append(one)
        about = {read_as.denied} if read_as.denies else set()
        if read_as.polarity:
            about.add(read_as.object)
        for value_ in about:
            values[_ends(read_as, value_)].append(one)
    return _several(slots), _several(values)


def _several(groups: Mapping[tuple[str, str], list[T]]) -> list[list[T]]:
    """Those of two or more, in the order of their keys, whatever order they came in."""
    return [group for _, group in sorted(groups.items()) if len(group) > 1]


def differs(one: Reading, other: Reading) -> bool:
    """Whether two readings of one slot are two values of it."""
    return one.object != other.object


def contradicts(one: Reading, other: Reading) -> bool:
    """Whether one of two readings about one value would retire the other if it were later."""
    return _denies(one, other) or (_denies(other, one) and not other.is_event)


def _denies(one: Reading, other: Reading) -> bool:
    return (
        other.polarity
        and _ends(one, one.denied) == _ends(other, other.object)
        and not set(one.denies).isdisjoint(other.names)
    )


def counted(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The rows that place a fact in time: the firm ones, or else those that are believed."""
    rows = list(evidence)
    held = [row for row in rows if row.grounded and not row.mood]
    return firm(held) or trusted(held) or held or rows


def is_firm(fact: Fact, rows: Iterable[Evidence]) -> bool:
    """Whether a passage holds both ends of a fact: only then it may retire another.

    Args:
        fact: the fact.
        rows: its evidence that is ``counted``.
    """
    if fact.status == "verified":
        return any(row.grounded and not row.by_name for row in rows)
    return bool(firm(rows))


class Placed(Protocol):
    """A fact with what it states and where in time that stands."""

    @property
    def fact(self) -> Fact:
        """The fact."""

    @property
    def said(self) -> Reading:
        """What it states."""

    @property
    def stands(self) -> datetime | None:
        """Where its latest statement stands."""

    @property
    def told(self) -> datetime | None:
        """When that was said."""


def order_of_plans(one: Placed, other: Placed) -> int:
    """Which of two was told later (1 the one, -1 the other), where one is a plan for later.

    A plan can be cancelled, or changed for another of the same time, before its time has come: then
    it counts when it was said, and not when it was to begin. 0 where this does not decide.
    """
    if not (one.told and other.told) or one.told == other.told:
        return 0
    plans = [_is_planned(one), _is_planned(other)]
    is_changed = all(plans) and one.stands == other.stands
    if is_changed or (plans[0] and _cancels(other, one)) or (plans[1] and _cancels(one, other)):
        return 1 if one.told > other.told else -1
    return 0


def told_at(rows: Iterable[Evidence]) -> datetime | None:
    """When rows were last said; ``None`` is unknown."""
    return max((row.said_at for row in rows if row.said_at), default=None)


def _is_planned(one: Placed) -> bool:
    return bool(one.stands and one.told and one.stands > one.told)


def _cancels(one: Placed, other: Placed) -> bool:
    """Whether one denies the other in the same words: "is not going to" Malta."""
    names = {relation(fact.predicate).name for fact in (one.fact, other.fact)}
    return len(names) == 1 and not one.said.is_event and _denies(one.said, other.said)


def _slot(subject: str, name: str) -> str:
    return content_id("s", subject, name)


def _ends(said: Reading, value_: str) -> tuple[str, str]:
    """Subject and value, in one order for what holds both ways."""
    ends = said.subject, value_
    return (min(ends), max(ends)) if said.is_mutual else ends


def _value(ends: tuple[str, str]) -> str:
    return content_id("v", *ends)


@dataclass(frozen=True)
class _Claim:
    """A fact in a contest, and what places it in time.

    Attributes:
        fact: the fact.
        said: what it states.
        evidence: its rows.
    """

    fact: Fact
    said: Reading
    evidence: Sequence[Evidence]

    @cached_property
    def rows(self) -> list[Evidence]:
        """The rows that count."""
        return counted(self.evidence)

    @cached_property
    def is_firm(self) -> bool:
        """Whether it may retire another."""
        return is_firm(self.fact, self.rows)

    @cached_property
    def stands(self) -> datetime | None:
        """Where its latest statement stands in time; ``None`` is unknown."""
        return max((time for row in self.rows if (time := stands_at(row))), default=None)

    @cached_property
    def last(self) -> Sequence[Evidence]:
        """The rows of that time."""
        return [row for row in self.rows if stands_at(row) == self.stands]

    @cached_property
    def told(self) -> datetime | None:
        """When it was last said to be so at that time; ``None`` is unknown."""
        return told_at(self.last)

    @cached_property
    def places(self) -> dict[str, int]:
        """The last ordinal in each thread that states it at that time."""
        found: dict[str, int] = {}
        for row in self.last:
            if row.thread is not None:
                found[row.thread] = max(row.ordinal, found.get(row.thread, row.ordinal))
        return found

    @cached_property
    def heard(self) -> datetime | None:
        """When the store heard it first, if only people told it; ``None`` is unknown."""
        if not all(row.role == "user" and row.heard_at for row in self.rows):
            return None
        return min(row.heard_at for row in self.rows if row.heard_at)

    def is_after(self, other: _Claim) -> bool:
        """Whether it is known to be the later of the two."""
        told = order_of_plans(self, other)
        if told:
            return told > 0
        if self.stands != other.stands:
            return bool(self.stands and other.stands and self.stands > other.stands)
        common = self.places.keys() & other.places.keys()
        if common:
            return all(self.places[key] > other.places[key] for key in common)
        if self.stands is not None:
            return False
        return bool(self.heard and other.heard and self.heard > other.heard)

    def is_beside(self, other: _Claim) -> bool:
        """Whether one message states both, at one time."""
        return self.stands == other.stands and any(
            self.places[key] == other.places[key]
            for key in self.places.keys() & other.places.keys()
        )

    def retires(self, other: _Claim) -> bool:
        """Whether the other, which it differs from, is the older, and had not ended by then."""
        if not self.is_firm or not (self.is_after(other) or self._is_end_of(other)):
            return False
        ended = span(other.fact.valid_to)
        return not (ended and self.stands and ended[1] < self.stands)

    def _is_end_of(self, other: _Claim) -> bool:
        """Whether what happened in a message ends what the same message tells."""
        return self.said.is_event and _denies(self.said, other.said) and self.is_beside(other)

    def is_told_by_people(self) -> bool:
        """Whether people said it, at the very time at which it stands."""
        return all(row.role == "user" and row.said_at == self.stands for row in self.last)


def stands_at(row: Evidence) -> datetime | None:
    """Where in time a statement stands.

    Said to begin later: then. Said to have begun: at the latest moment that fits, for "in March",
    said in mid-March, may be yesterday. Otherwise when it was said, or ended, if that is earlier.
    Calendar times are those of the place where it was said.
    """
    said = row.said_at
    if row.valid_from is None and row.valid_to is None:
        return said
    zone = said.tzinfo if said else None
    began, ended = span(row.valid_from, zone), span(row.valid_to, zone)
    if began:
        return began[0] if said is None or began[0] > said else min(began[1], said)
    if ended:
        return min(ended[1], said) if said else ended[1]
    return said


_Relation = Callable[[Reading, Reading], bool]


def _contest(
    claims: Sequence[_Claim],
    excludes: _Relation,
    retired: dict[str, Retirement],
    disputed: set[str],
) -> None:
    """Decide among claims of which some exclude each other."""
    front = _front(claims, excludes)
    for loser in claims:
        later = [one for one in front if excludes(one.said, loser.said) and one.retires(loser)]
        if later:
            latest = max((one.stands for one in later if one.stands), default=None)
            last = [one for one in later if one.stands == latest]
            winner = min(last, key=lambda one: one.fact.id)
            why = _retirement(loser, winner)
            # What affirms one value and denies another is in two groups.
            retired[loser.fact.id] = _joined(why, retired.get(loser.fact.id))
    at_once = _is_at_one_instant if excludes is differs else _is_one_breath
    for one, other in combinations(front, 2):
        if (excludes(one.said, other.said) or excludes(other.said, one.said)) and at_once(
            one, other
        ):
            disputed.update((one.fact.id, other.fact.id))


def _front(claims: Sequence[_Claim], excludes: _Relation) -> list[_Claim]:
    """Those that may retire another, and that none of them retires."""
    firm_ones = [claim for claim in claims if claim.is_firm]
    if excludes is differs:
        # What is older than the newest value is behind it, or is the same value.
        newest = max((claim.stands for claim in firm_ones if claim.stands), default=None)
        firm_ones = [claim for claim in firm_ones if claim.stands in (newest, None)]
    return [
        claim
        for claim in firm_ones
        if not any(
            excludes(other.said, claim.said) and other.is_after(claim) for other in firm_ones
        )
    ]


def _is_at_one_instant(one: _Claim, other: _Claim) -> bool:
    """Whether people told two values at one instant, in two places.

    One message may well name two: a flat, and the town where it is.
    """
    return (
        one.stands is not None
        and one.stands == other.stands
        and one.places.keys().isdisjoint(other.places)
        and one.is_told_by_people()
        and other.is_told_by_people()
    )


def _is_one_breath(one: _Claim, other: _Claim) -> bool:
    """Whether people affirmed and denied a value at one instant, or in one message."""
    if one.said.is_event or other.said.is_event:
        return False
    return (
        (one.is_beside(other) or _is_at_one_instant(one, other))
        and one.is_told_by_people()
        and other.is_told_by_people()
    )


def _retirement(loser: _Claim, winner: _Claim) -> Retirement:
    recorded = [one.fact.recorded_at for one in (loser, winner) if one.fact.recorded_at]
    why: Literal["value", "denied", "ended"] = "value"
    if contradicts(winner.said, loser.said):
        why = "ended" if winner.said.is_event else "denied"
    return Retirement(
        winner.fact.id, max(recorded), loser.fact.valid_to or winner.fact.valid_from, why
    )


def _joined(one: Retirement, other: Retirement | None) -> Retirement:
    """What ended a fact in two ways: the one of them, at the first time of both."""
    if other is None:
        return one
    return replace(
        one,
        retired_at=min(one.retired_at, other.retired_at),
        valid_to=earliest((one.valid_to, other.valid_to)),
    )
