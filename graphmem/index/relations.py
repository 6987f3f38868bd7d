"""Relations: signed sparse rows, (row, item) → weight, in which everything that is added sums up.

So change is addition: what goes away is added with the opposite sign, and an entry whose weight
comes to exactly 0 is gone. A relation is a base (rows end to end, possibly mapped, never written)
and a log of what was added since; folding merges the log into a new base.

For sums to come out the same in whatever order they are made, with folds in between or without,
weights are multiples of 2^-32: float64 adds those exactly up to 2^21 = 2,097,152.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmem.errors import InvalidInput
from graphmem.index.columns import Column, resident, runs
from graphmem.index.lists import Floats, Ints, is_first

__all__ = ["FoldedRelation", "Relation"]

Positions = NDArray[np.int32]

GRAIN = 2.0**-32

# Of a pair (row, item) as one number that sorts like the pair.
ROW_SHIFT = 32
ITEM_MASK = 2**32 - 1
HIGHEST_POSITION = 2**31 - 2

# Entries of a base that are merged at a time: their pairs as numbers fit the processor's cache.
MERGED_AT_ONCE = 1 << 18

# The end of a log is looked through as it stands as long as it is this short or a small share of
# the log: 4,096 entries in 10 µs, while sorting them takes 100.
SCANNED = 4096
SCANNED_SHARE = 1 / 8

# A scan looks at these bits of a row's number first: the marks of asked rows take 64 KiB.
SCAN_MASK = 2**16 - 1

# From so many rows on, looking them up in ascending order pays for sorting them.
SORTED_LOOKUP = 1024

NOTHING: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Base:
    """Row i is ``items[starts[i]:starts[i + 1]]``, ascending; weights of None are all 1."""

    starts: Ints
    items: Positions
    weights: Floats | None

    def lengths(self, rows: Ints) -> tuple[Ints, Ints]:
        """Where the rows begin, and their lengths: 0 for a row that is not there."""
        # Clipped, both ends of a row that is not there are the same.
        begins = self.starts.take(rows, mode="clip")
        return begins, self.starts.take(rows + 1, mode="clip") - begins

    def gather(self, rows: Ints) -> tuple[Ints, Ints, Floats]:
        places, indices = runs(*self.lengths(rows))
        items = self.items.take(indices).astype(np.int64)
        weights = np.ones(len(indices)) if self.weights is None else self.weights.take(indices)
        return places, items, weights


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """Entries of a log by row.

    Attributes:
        rows: of each entry, ascending.
        order: number of the entry in the log, ascending within a row.
    """

    rows: Positions
    order: Ints

    @classmethod
    def of(cls, rows: Positions, order: Ints) -> _Entries:
        sorting = rows.argsort(kind="stable")
        return cls(rows[sorting], order[sorting])

    def merged(self, later: _Entries) -> _Entries:
        places = self.rows.searchsorted(later.rows, side="right")
        return _Entries(
            np.insert(self.rows, places, later.rows), np.insert(self.order, places, later.order)
        )

    def find(self, rows: Positions) -> tuple[Ints, Ints]:
        """The entries of ``rows``: (place in ``rows``, number in the log)."""
        begins = self.rows.searchsorted(rows)
        places, indices = runs(begins, self.rows.searchsorted(rows, side="right") - begins)
        return places, self.order.take(indices)


class _Log:
    """What was added, in order, never changed once written."""

    def __init__(self) -> None:
        self._rows = Column(np.int32)
        self._items = Column(np.int32)
        self._weights = Column(np.float64)
        # Entries of row i at i + 1; none before and none behind, for rows that are not there.
        self._counts = Column(np.int32, values=[0, 0])
        self._sorted = _Entries(np.zeros(0, dtype=np.int32), NOTHING)
        # Written last: whoever reads beside an add sees whole entries.
        self.size = 0

    def add(self, rows: NDArray[Any], items: NDArray[Any], weights: ArrayLike) -> None:
        self._rows.append(rows)
        self._items.append(items)
        self._weights.append(weights)
        end = int(rows.max()) + 3
        if end > len(self._counts):
            self._counts.resize(end)
        # A number of the counts' own type: with any other this takes thirty times as long.
        np.add.at(self._counts.values, rows + 1, np.int32(1))
        self.size += len(rows)

    def entries(self, size: int) -> tuple[Positions, Positions, Floats]:
        """Rows, items and weights of the first ``size`` entries."""
        return self._rows.values[:size], self._items.values[:size], self._weights.values[:size]

    def after(self, size: int) -> _Log:
        """A log of the entries that came after the first ``size``."""
        log = _Log()
        if self.size > size:
            log.add(
                self._rows.values[size:].astype(np.int64),
                self._items.values[size:],
                self._weights.values[size:],
            )
        return log

    def counts(self, rows: Ints) -> Positions:
        """Number of entries of each row."""
        return self._counts.values.take(rows + 1, mode="clip")

    def gather(self, rows: Ints) -> tuple[Ints, Ints, Floats]:
        """The entries of the rows: (place in ``rows``, item, weight), in no order to rely on."""
        asked = self.counts(rows).nonzero()[0]
        if not len(asked):
            return NOTHING, NOTHING, NOTHING.astype(np.float64)
        wanted = rows[asked].astype(np.int32)
        if len(wanted) > SORTED_LOOKUP:
            order = wanted.argsort()
            asked, wanted = asked[order], wanted[order]
        by_row = self._by_row()
        places, numbers = by_row.find(wanted)
        if len(by_row.rows) < self.size:
            late_places, late = self._scanned(wanted, len(by_row.rows)).find(wanted)
            places = np.concatenate((places, late_places))
            numbers = np.concatenate((numbers, late))
        items = self._items.values.take(numbers).astype(np.int64)
        return asked[places], items, self._weights.values.take(numbers)

    @property
    def nbytes(self) -> int:
        columns = (self._rows, self._items, self._weights, self._counts)
        by_row = self._sorted
        return sum(column.nbytes for column in columns) + by_row.rows.nbytes + by_row.order.nbytes

    def _by_row(self) -> _Entries:
        """The log by row, but for an end short enough to be looked through each time."""
        by_row, size = self._sorted, self.size
        start = len(by_row.rows)
        if size - start > max(SCANNED, start * SCANNED_SHARE):
            late = _Entries.of(self._rows.values[start:size], np.arange(start, size))
            by_row = self._sorted = by_row.merged(late) if start else late
        return by_row

    def _scanned(self, wanted: Positions, start: int) -> _Entries:
        """The entries from ``start`` on that may be of the wanted rows, all those that are."""
        rows = self._rows.values[start : self.size]
        is_wanted = np.zeros(SCAN_MASK + 1, dtype=np.bool_)
        is_wanted[wanted & SCAN_MASK] = True
        hits = is_wanted.take(rows & SCAN_MASK).nonzero()[0]
        return _Entries.of(rows.take(hits), hits + start)


@dataclass(frozen=True, slots=True, eq=False)
class FoldedRelation:
    """A new base for a ``Relation``, and how much of its log went into it."""

    base: _Base
    size: int


class Relation:
    """Rows of items with weights. Rows and items are positions, 0 to 2^31 - 2.

    Gathering may go on in several threads; ``add`` and ``swap`` need the relation to themselves.
    Only ``folded`` may run beside any of them; one fold at a time, from ``folded`` to ``swap``.

    Args:
        weights: False for a relation whose entries are there or not: their weights must sum to 1
            or 0 whenever it is folded, and its base keeps none.
    """

    def __init__(self, weights: bool = True) -> None:
        self._base = _Base(
            np.zeros(1, dtype=np.int64),
            np.zeros(0, dtype=np.int32),
            np.zeros(0) if weights else None,
        )
        self._log = _Log()

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Relation:
        """What ``arrays`` gave; they may be read-only and are not copied."""
        weights = arrays.get("weights")
        relation = cls(weights is not None)
        relation._base = _Base(
            np.asarray(arrays["starts"]),
            np.asarray(arrays["items"]),
            None if weights is None else np.asarray(weights),
        )
        return relation

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The base: ``starts``, ``items`` and, if they are kept, ``weights``.

        What was added since the last fold is not in it.
        """
        arrays: dict[str, NDArray[Any]] = {"starts": self._base.starts, "items": self._base.items}
        if self._base.weights is not None:
            arrays["weights"] = self._base.weights
        return arrays

    @property
    def entries(self) -> int:
        """Number of entries in the base."""
        return len(self._base.items)

    @property
    def delta_size(self) -> int:
        """Number of additions since the last fold."""
        return self._log.size

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        return resident(*self.arrays().values()) + self._log.nbytes

    def add(
        self, rows: NDArray[Any], items: NDArray[Any], weights: ArrayLike | None = None
    ) -> None:
        """Add to the weights of entries; a negative weight takes away.

        Args:
            rows: may repeat, in any order.
            items: as many.
            weights: as many or one for all, rounded to multiples of 2^-32; 1 if not given.

        Raises:
            InvalidInput: a position is out of range, or there are not as many of one as of another.
        """
        owners, held = np.asarray(rows, dtype=np.int64), np.asarray(items, dtype=np.int64)
        given = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
        if owners.shape != held.shape or (given.ndim and given.shape != owners.shape):
            raise InvalidInput(
                f"{owners.shape} rows, {held.shape} items and {given.shape} weights: give arrays "
                "of one length"
            )
        if not len(owners):
            return
        # Seen as unsigned, a negative number is larger than any position.
        if max(owners.view(np.uint64).max(), held.view(np.uint64).max()) > HIGHEST_POSITION:
            raise InvalidInput(
                f"a position is negative or above {HIGHEST_POSITION}: check the rows"
            )
        exact = np.rint(given / GRAIN) * GRAIN
        self._log.add(owners, held, exact if given.ndim else np.full(len(owners), exact))

    def gather(self, rows: ArrayLike) -> tuple[Ints, Ints, Floats]:
        """The rows' entries end to end: (place in ``rows``, item, weight) for each entry.

        Every (place, item) once, by place, then by item. Rows may repeat; one that is not there,
        such as -1, is empty.
        """
        wanted = np.asarray(rows, dtype=np.int64)
        base, log = self._base, self._log
        places, items, weights = base.gather(wanted)
        if not log.size:
            return places, items, weights
        late_places, late_items, changes = log.gather(wanted)
        if not len(late_places):
            return places, items, weights
        late, changes = _consolidated(late_places << ROW_SHIFT | late_items, changes)
        pairs, weights = _merged(places << ROW_SHIFT | items, weights, late, changes)
        return pairs >> ROW_SHIFT, pairs & ITEM_MASK, weights

    def row(self, row: int) -> Ints:
        """One row's items, ascending."""
        return self.gather([row])[1]

    def sizes(self, rows: ArrayLike) -> Ints:
        """How many entries each row has at most, without reading them."""
        wanted = np.asarray(rows, dtype=np.int64)
        lengths = self._base.lengths(wanted)[1]
        return lengths + self._log.counts(wanted) if self._log.size else lengths

    def fold(self) -> None:
        """Merge what was added into the base."""
        self.swap(self.folded())

    def folded(self) -> FoldedRelation:
        """A base with what has been added until now, for ``swap``; changes nothing.

        Raises:
            InvalidInput: the relation keeps no weights and an entry's comes to neither 0 nor 1.
        """
        base, log, size = self._base, self._log, self._log.size
        if not size:
            return FoldedRelation(base, 0)
        rows, items, weights = log.entries(size)
        late, changes = _consolidated(rows.astype(np.int64) << ROW_SHIFT | items, weights)
        count = max(len(base.starts) - 1, int(rows.max()) + 1)
        return FoldedRelation(_merged_base(base, late, changes, count), size)

    def swap(self, folded: FoldedRelation) -> None:
        """Take over a new base and keep what was added since it was made."""
        self._base = folded.base
        self._log = self._log.after(folded.size)


def _consolidated(pairs: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Each pair once, ascending, with the sum of its weights, without those that come to 0."""
    # Stable, because that is quick on runs in order, such as those of rows added one by one.
    order = pairs.argsort(kind="stable")
    pairs = pairs[order]
    firsts = is_first(pairs).nonzero()[0]
    sums = np.add.reduceat(weights[order], firsts) if len(firsts) else weights
    kept = sums != 0
    return pairs[firsts[kept]], sums[kept]


def _merged(pairs: Ints, weights: Floats, late: Ints, changes: Floats) -> tuple[Ints, Floats]:
    """Two sets of pairs, each ascending, with the sums of their weights; writes to ``weights``."""
    places = pairs.searchsorted(late)
    is_known = places < len(pairs)
    is_known[is_known] = pairs[places[is_known]] == late[is_known]
    known = places[is_known]
    sums = weights[known] + changes[is_known]
    weights[known] = sums
    if len(known) < len(late):
        is_new = ~is_known
        pairs = np.concatenate((pairs, late[is_new]))
        weights = np.concatenate((weights, changes[is_new]))
        # Stable, because that merges two runs in order; inserting took as long or longer.
        order = pairs.argsort(kind="stable")
        pairs, weights = pairs.take(order), weights.take(order)
    if not sums.all():
        kept = weights != 0
        pairs, weights = pairs[kept], weights[kept]
    return pairs, weights


def _merged_base(base: _Base, late: Ints, changes: Floats, count: int) -> _Base:
    """A base of ``count`` rows with the changes; only the parts they fall into are merged."""
    starts = np.append(base.starts, np.full(count + 1 - len(base.starts), base.starts[-1]))
    lengths = np.diff(starts)
    items = np.empty(len(base.items) + len(late), dtype=np.int32)
    weights = None if base.weights is None else np.empty(len(items))
    size = 0
    for first, last in _parts(starts):
        old = slice(starts[first], starts[last])
        begin, end = late.searchsorted([first << ROW_SHIFT, last << ROW_SHIFT]).tolist()
        new_items = base.items[old]
        new_weights = None if base.weights is None else base.weights[old]
        if begin < end:
            rows = np.repeat(np.arange(first, last), lengths[first:last])
            pairs, sums = _merged(
                rows << ROW_SHIFT | new_items,
                np.ones(len(rows)) if new_weights is None else new_weights.copy(),
                late[begin:end],
                changes[begin:end],
            )
            lengths[first:last] = np.bincount((pairs >> ROW_SHIFT) - first, minlength=last - first)
            new_items = (pairs & ITEM_MASK).astype(np.int32)
            if new_weights is None:
                _check_ones(sums)
            else:
                new_weights = sums
        new = slice(size, size + len(new_items))
        items[new] = new_items
        if weights is not None and new_weights is not None:
            weights[new] = new_weights
        size = new.stop
    np.cumsum(lengths, out=starts[1:])
    return _Base(starts, _cut(items, size), None if weights is None else _cut(weights, size))


def _parts(starts: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of rows, first and behind the last, of about ``MERGED_AT_ONCE`` entries each."""
    inner = starts.searchsorted(np.arange(MERGED_AT_ONCE, starts[-1], MERGED_AT_ONCE)).tolist()
    bounds = sorted({0, *inner, len(starts) - 1})
    return pairwise(bounds)


def _check_ones(sums: Floats) -> None:
    wrong = sums[sums != 1]
    if len(wrong):
        raise InvalidInput(
            f"an entry of a relation without weights comes to {wrong[0]:g}, not to 0 or 1: add it "
            "once before it is taken away, or keep counts with Relation(weights=True)"
        )


def _cut(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Give back the memory behind ``size``."""
    array.resize(size, refcheck=False)
    return array
