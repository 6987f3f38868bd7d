"""Ids and positions: each id has one position, which is never given to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from graphmem.identity import key64
from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.keys import Keys, KeyTable, keys_of
from graphmem.index.lists import Floats, Ints, contenders, highest

__all__ = ["Ids"]

_WIDTH = 34  # of a content id: a letter, a dash, 32 digits


class Ids(Composite):
    """Positions by id, and ids by position. An id that was dropped gets a new position."""

    parts = ("_keys", "_texts")

    def __init__(self) -> None:
        self._keys = KeyTable()
        self._texts: Column[np.bytes_] = Column(np.dtype(f"S{_WIDTH}"))

    def __len__(self) -> int:
        """Number of positions, those of dropped ids included."""
        return len(self._texts)

    @property
    def here(self) -> int:
        """Number of ids."""
        return len(self._keys)

    def get(self, id_: str) -> int:
        """Position of an id; -1 where there is none."""
        return self._keys.get(key64(id_))

    def find(self, ids: Sequence[str]) -> Ints:
        """Positions of ids, shape (len(ids),); -1 where there is none."""
        return self._keys.find(keys_of(ids))

    def at(self, keys: Keys) -> Ints:
        """Positions of the ids of these keys, shape (len(keys),); -1 where there is none."""
        return self._keys.find(keys)

    def add(self, ids: Sequence[str]) -> Ints:
        """The next positions, for distinct ids that have none."""
        texts = np.array([id_.encode("utf-8", "surrogatepass") for id_ in ids], dtype=np.bytes_)
        if texts.itemsize > self._texts.values.itemsize:
            self._texts = Column(texts.dtype, values=self._texts.values)
        positions = np.arange(len(self._texts), len(self._texts) + len(ids))
        self._texts.append(texts)
        self._keys.add_many(keys_of(ids), positions)
        return positions

    def drop(self, ids: Iterable[str]) -> None:
        """Forget ids; their positions stay empty."""
        for id_ in ids:
            position = self.get(id_)
            if position >= 0:
                self._keys.drop(key64(id_))
                self._texts.values[position] = b""

    def text(self, position: int) -> str:
        """The id at a position."""
        data: bytes = self._texts.values[position]
        return data.decode("utf-8", "surrogatepass")

    def texts(self, positions: Ints) -> list[str]:
        """The ids at positions."""
        found = self._texts.values[positions].tolist()
        return [data.decode("utf-8", "surrogatepass") for data in found]

    def ranks(self, positions: Ints) -> Ints:
        """Place of each among them when their ids are sorted: what decides ties."""
        order = self._texts.values[positions].argsort(kind="stable")
        result = np.empty(len(order), dtype=np.int64)
        result[order] = np.arange(len(order))
        return result

    def highest(self, positions: Ints, values: Floats, count: int) -> Ints:
        """Places in ``positions`` of the ``count`` highest values, highest first, ties by id."""
        found = contenders(values, count)
        kept = values.take(found)
        order = (-kept).argsort(kind="stable")
        ordered = kept.take(order)
        if (ordered[1:] == ordered[:-1]).any():
            order = highest(kept, count, self.ranks(positions[found]))
        return found.take(order[: max(0, count)])
