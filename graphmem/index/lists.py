"""Positions: ragged arrays (many short lists in two flat arrays) and the best of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Ints", "Lists", "highest", "ranks"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """List ``i`` is ``items[starts[i]:starts[i + 1]]``, ascending.

    Attributes:
        starts: shape (number of lists + 1,).
        items: shape (total length,).
    """

    starts: Ints
    items: Ints

    @classmethod
    def of(cls, owners: Ints, items: Ints, count: int) -> Lists:
        """``count`` lists out of (owner, item) pairs in any order; a repeated pair counts once."""
        if len(owners):
            width = int(items.max()) + 1
            owners, items = np.divmod(np.unique(owners * width + items), width)
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=count), out=starts[1:])
        return cls(starts, items)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Ints:
        return self.items[self.starts[index] : self.starts[index + 1]]

    @property
    def lengths(self) -> Ints:
        """Shape (number of lists,)."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ints:
        """The list that each item belongs to, shape (total length,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def gather(self, indices: Ints) -> tuple[Ints, Ints]:
        """The lists at ``indices`` end to end: (place in ``indices``, item) for each item."""
        lengths = self.starts[indices + 1] - self.starts[indices]
        places = np.repeat(np.arange(len(indices)), lengths)
        within = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return places, self.items[self.starts[indices][places] + within]

    def inverse(self, count: int) -> Lists:
        """For each of ``count`` items, the lists that hold it."""
        return Lists.of(self.items, self.owners, count)

    def maxima(self, values: Floats) -> Floats:
        """The highest of each list's items' ``values``, shape (number of lists,); 0 where none."""
        result = np.zeros(len(self))
        filled = self.lengths > 0
        if filled.any():
            result[filled] = np.maximum.reduceat(values[self.items], self.starts[:-1][filled])
        return result


def highest(values: Floats, count: int, ranks: Ints | None = None) -> Ints:
    """Positions of the ``count`` highest values, highest first, ties by rank, else by position."""
    count = min(count, len(values))
    if count < 1:
        return np.zeros(0, dtype=np.int64)
    floor = np.partition(values, len(values) - count)[len(values) - count]
    candidates = np.nonzero(values >= floor)[0]
    ties = candidates if ranks is None else ranks[candidates]
    return candidates[np.lexsort((ties, -values[candidates]))][:count]


def ranks(keys: Sequence[str]) -> Ints:
    """Place of each key when all are sorted, shape (len(keys),): what decides ties."""
    result: Ints = np.argsort(np.argsort(np.array(keys, dtype=object)))
    return result
