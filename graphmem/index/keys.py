"""Keys: where the thing with a 64-bit key stands."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmem.identity import key64_bytes
from graphmem.index.columns import resident
from graphmem.index.lists import Ints

__all__ = ["FoldedKeys", "KeyTable", "Keys", "keys_of"]

Keys = NDArray[np.uint64]

UNKNOWN = -1
UNCHANGED = -2

# What a dictionary's entry holds beside its table: two numbers.
ENTRY_BYTES = 68

# From so many keys on, looking them up in ascending order pays for sorting them.
SORTED_LOOKUP = 256


# The ids of what is learnt at a time are looked up several times.
_kept_bytes = lru_cache(maxsize=1 << 13)(key64_bytes)


def keys_of(texts: Iterable[str]) -> Keys:
    """The key of each text."""
    return np.frombuffer(b"".join(map(_kept_bytes, texts)), dtype="<u8").astype(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class FoldedKeys:
    """A new base for a ``KeyTable``, and the news that went into it."""

    keys: Keys
    positions: NDArray[np.int32]
    news: Mapping[int, int]


class KeyTable:
    """Keys, 0 to 2^64 - 1, and the position of each, 0 to 2^31 - 1.

    A base of sorted keys, possibly mapped and never written, and a dictionary of what changed
    since. Finding may go on in several threads; what changes the table needs it to itself. Only
    ``folded`` may run beside any of them; one fold at a time, from ``folded`` to ``swap``.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(0, dtype=np.uint64)
        self._positions: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        # Position by key, UNKNOWN for a dropped one. Keys leave it only by a fold.
        self._news: dict[int, int] = {}
        self._size = 0

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> KeyTable:
        """What ``arrays`` gave; they may be read-only and are not copied."""
        table = cls()
        table._keys = np.asarray(arrays["keys"])
        table._positions = np.asarray(arrays["positions"])
        table._size = len(table._keys)
        return table

    def arrays(self) -> dict[str, NDArray[Any]]:
        """``keys``, ascending, and their ``positions``, of what has been folded."""
        return {"keys": self._keys, "positions": self._positions}

    def __len__(self) -> int:
        return self._size

    @property
    def delta_size(self) -> int:
        """Number of keys that have changed since the last fold."""
        return len(self._news)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory; what the news hold is an estimate."""
        news = sys.getsizeof(self._news) + len(self._news) * ENTRY_BYTES
        return resident(self._keys, self._positions) + news

    def get(self, key: int) -> int:
        """The key's position, -1 if unknown."""
        position = self._news.get(key, UNCHANGED)
        if position != UNCHANGED:
            return position
        # As an unsigned number: a plain int would be compared as a float.
        at = int(self._keys.searchsorted(np.uint64(key)))
        if at < len(self._keys) and int(self._keys[at]) == key:
            return int(self._positions[at])
        return UNKNOWN

    def find(self, keys: Keys) -> Ints:
        """Positions of the keys, -1 for those unknown, same shape."""
        found = self._in_base(keys)
        if self._news:
            changed = map(self._news.get, keys.tolist(), repeat(UNCHANGED))
            news = np.fromiter(changed, dtype=np.int64, count=len(keys))
            np.copyto(found, news, where=news != UNCHANGED)
        return found

    def add(self, key: int, position: int) -> None:
        """Say where a key stands, known or not."""
        self._size += self.get(key) == UNKNOWN
        self._news[key] = position

    def add_many(self, keys: Keys, positions: Ints) -> None:
        """Say where each key stands; of a repeated key, the last position counts."""
        unknown = keys[self.find(keys) == UNKNOWN]
        self._size += len(set(unknown.tolist()))
        self._news.update(zip(keys.tolist(), positions.tolist(), strict=True))

    def number(self, keys: Keys, first: int) -> tuple[Ints, Ints]:
        """Positions of the keys; unknown ones get the next, from ``first`` on, as they come.

        Returns:
            The positions, and for each new one the place in ``keys`` where it comes first.
        """
        positions = self.find(keys)
        unknown = (positions == UNKNOWN).nonzero()[0]
        if not len(unknown):
            return positions, unknown
        fresh, firsts, which = np.unique(keys[unknown], return_index=True, return_inverse=True)
        order = firsts.argsort()
        numbers = np.empty(len(fresh), dtype=np.int64)
        numbers[order] = np.arange(first, first + len(fresh))
        positions[unknown] = numbers[which]
        self._news.update(zip(fresh.tolist(), numbers.tolist(), strict=True))
        self._size += len(fresh)
        return positions, unknown[firsts[order]]

    def drop(self, key: int) -> None:
        """Forget a key; one that is unknown stays so."""
        if self.get(key) != UNKNOWN:
            self._news[key] = UNKNOWN
            self._size -= 1

    def keep(self, is_kept: NDArray[np.bool_]) -> None:
        """Forget the keys of positions that are not kept, and take the news into the base.

        Args:
            is_kept: by position.
        """
        self.fold()
        kept = is_kept[self._positions]
        self._keys, self._positions = self._keys[kept], self._positions[kept]
        self._size = len(self._keys)

    def fold(self) -> None:
        """Take the news into the base."""
        self.swap(self.folded())

    def folded(self) -> FoldedKeys:
        """The base with the news of this moment taken in; for ``swap``."""
        news = self._news.copy()
        keys = np.fromiter(news, dtype=np.uint64, count=len(news))
        positions = np.fromiter(news.values(), dtype=np.int32, count=len(news))
        order = keys.argsort()
        keys, positions = keys[order], positions[order]
        at = self._keys.searchsorted(keys)
        at = at[self._keys.take(at, mode="clip") == keys] if len(self._keys) else at[:0]
        kept = np.delete(self._keys, at)
        live = positions != UNKNOWN
        places = kept.searchsorted(keys[live])
        return FoldedKeys(
            np.insert(kept, places, keys[live]),
            np.insert(np.delete(self._positions, at), places, positions[live]),
            news,
        )

    def swap(self, folded: FoldedKeys) -> None:
        """Take over a new base and keep what has changed since it was made."""
        self._keys, self._positions = folded.keys, folded.positions
        taken = folded.news
        self._news = {
            key: position
            for key, position in self._news.items()
            if taken.get(key, UNCHANGED) != position
        }

    def _in_base(self, keys: Keys) -> Ints:
        if not len(self._keys):
            return np.full(len(keys), UNKNOWN, dtype=np.int64)
        if len(keys) > SORTED_LOOKUP:
            order = keys.argsort()
            at = np.empty(len(keys), dtype=np.int64)
            at[order] = self._keys.searchsorted(keys[order])
        else:
            at = self._keys.searchsorted(keys)
        found = self._positions.take(at, mode="clip").astype(np.int64)
        found[self._keys.take(at, mode="clip") != keys] = UNKNOWN
        return found
