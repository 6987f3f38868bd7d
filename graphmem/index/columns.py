"""Columns: what is kept by position, one value (``Column``) or one sequence (``Ragged``) for each.

Positions are counted from 0 and only ever added; a column grows at its end, by a half, so that
appending costs on average what it writes and no more than a third lies empty.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmem.index.lists import Ints

__all__ = ["Column", "Ragged", "resident", "runs"]

Value = TypeVar("Value", bound=np.generic)

LEAST_CAPACITY = 16


def resident(*arrays: NDArray[Any]) -> int:
    """Bytes that the arrays hold in memory: those mapped from a file count as none."""
    return sum(array.nbytes for array in arrays if not _is_mapped(array))


def _is_mapped(array: NDArray[Any]) -> bool:
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


def runs(begins: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Runs of consecutive indices end to end: (which run, index) for each index.

    Args:
        begins: first index of each run, shape (number of runs,).
        lengths: their lengths, which may be 0, same shape.
    """
    ends = lengths.cumsum()
    indices = (begins - ends + lengths).repeat(lengths)
    indices += np.arange(len(indices))
    return np.arange(len(lengths)).repeat(lengths), indices


class Column(Generic[Value]):
    """One value or one row of values for each position, growable.

    Args:
        dtype: type of the values, such as ``np.int32``.
        width: length of each row; None for single values.
        values: what to start with; copied, so a mapped file stays as it is.
    """

    def __init__(
        self,
        dtype: type[Value] | np.dtype[Value],
        width: int | None = None,
        values: ArrayLike | None = None,
    ) -> None:
        self._shape = (-1,) if width is None else (-1, width)
        self._size = 0
        self._buffer: NDArray[Value] = np.zeros((0, *self._shape[1:]), dtype=dtype)
        if values is not None:
            self._buffer = np.array(values, dtype=dtype).reshape(self._shape)
            self._size = len(self._buffer)
        self._values = self._buffer[: self._size]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Column[Value]:
        """What ``arrays`` gave, copied."""
        values = arrays["values"]
        return cls(values.dtype, values.shape[1] if values.ndim == 2 else None, values)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """``values``, a view."""
        return {"values": self.values}

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Value]:
        """What is there, shape (length,) or (length, width): writable, valid until it grows."""
        return self._values

    @property
    def nbytes(self) -> int:
        """Bytes held in memory, with the room to grow."""
        return self._buffer.nbytes

    def append(self, values: ArrayLike) -> None:
        """Add at the end: an array of values or rows, or a single one."""
        fresh = np.asarray(values, dtype=self._buffer.dtype).reshape(self._shape)
        end = self._size + len(fresh)
        if end > len(self._buffer):
            self._grow(end)
        self._buffer[self._size : end] = fresh
        self._cut(end)

    def resize(self, size: int, fill: ArrayLike = 0) -> None:
        """Make it ``size`` long: cut at the end, or filled up with ``fill`` (a value or a row)."""
        if size > len(self._buffer):
            self._grow(size)
        self._buffer[self._size : size] = fill
        self._cut(size)

    def _cut(self, size: int) -> None:
        self._values = self._buffer[:size]
        self._size = size

    def _grow(self, size: int) -> None:
        # Half again, not twice: large columns would hold as much room as values. The old buffer is
        # left as it was, so a view taken earlier still shows what it showed.
        capacity = max(size, len(self._buffer) * 3 // 2, LEAST_CAPACITY)
        buffer = np.empty((capacity, *self._buffer.shape[1:]), dtype=self._buffer.dtype)
        buffer[: self._size] = self._buffer[: self._size]
        self._buffer = buffer


class Ragged(Generic[Value]):
    """One sequence of values for each position, in its own order, added at the end only.

    What it was loaded from stays where it is (mapped, say) and is never written; what is appended
    lies in memory behind it.

    Args:
        dtype: type of the values.
    """

    def __init__(self, dtype: type[Value]) -> None:
        self._starts = Column(np.int64, values=[0])
        self._lengths = Column(np.int32)
        self._base: NDArray[Value] = np.zeros(0, dtype=dtype)
        self._tail = Column(dtype)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Ragged[Value]:
        """What ``arrays`` gave; the items may be read-only and are not copied."""
        items = np.asarray(arrays["items"])
        ragged = cls(items.dtype.type)
        ragged._starts = Column(np.int64, values=arrays["starts"])
        ragged._lengths = Column(np.int32, values=np.diff(arrays["starts"]))
        ragged._base = items
        return ragged

    def arrays(self) -> dict[str, NDArray[Any]]:
        """``starts`` (length + 1,) and ``items``: sequence i is ``items[starts[i]:starts[i + 1]]``.

        Copies, except for items loaded with nothing appended since. What was blanked is left out.
        """
        lengths = self._lengths.values
        if (lengths != np.diff(self._starts.values)).any():
            _, kept = self.gather(np.arange(len(self)))
            return {"starts": np.r_[0, np.cumsum(lengths, dtype=np.int64)], "items": kept}
        items = np.concatenate((self._base, self._tail.values)) if len(self._tail) else self._base
        return {"starts": self._starts.values.copy(), "items": items}

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        own = self._starts.nbytes + self._lengths.nbytes + self._tail.nbytes
        return own + resident(self._base)

    def append(self, sequences: NDArray[Any] | Sequence[ArrayLike]) -> None:
        """Add one sequence (an array) or several (a list of arrays or of lists)."""
        dtype = self._base.dtype
        listed = [sequences] if isinstance(sequences, np.ndarray) else sequences
        fresh = [np.asarray(sequence, dtype=dtype) for sequence in listed]
        if not fresh:
            return
        lengths = np.array([len(sequence) for sequence in fresh])
        self.extend(fresh[0] if len(fresh) == 1 else np.concatenate(fresh), lengths)

    def extend(self, items: NDArray[Any], lengths: Ints) -> None:
        """Add sequences of these lengths, whose items are given end to end."""
        self._tail.append(items)
        self._starts.append(lengths.cumsum() + self._starts.values[-1])
        self._lengths.append(lengths)

    def blank(self, positions: Ints) -> None:
        """Empty the sequences at ``positions``; their items leave with the next ``arrays``."""
        self._lengths.values[positions] = 0

    def __getitem__(self, position: int) -> NDArray[Value]:
        """The sequence at ``position``, 0 or higher."""
        start = int(self._starts.values[position])
        end = start + int(self._lengths.values[position])
        split = len(self._base)
        if end <= split:
            return self._base[start:end]
        return self._tail.values[start - split : end - split]

    def lengths(self, positions: Ints) -> Ints:
        """Lengths of the sequences at ``positions``, without reading them."""
        return self._lengths.values[positions].astype(np.int64)

    def gather(self, positions: Ints) -> tuple[Ints, NDArray[Value]]:
        """The sequences at ``positions`` end to end: (place in ``positions``, item) for each item.

        Positions may repeat.
        """
        begins = self._starts.values[positions]
        places, indices = runs(begins, self._lengths.values[positions].astype(np.int64))
        split = len(self._base)
        if not len(self._tail):
            return places, self._base[indices]
        if not split:
            return places, self._tail.values[indices]
        is_new = indices >= split
        items = np.empty(len(indices), dtype=self._base.dtype)
        items[~is_new] = self._base[indices[~is_new]]
        items[is_new] = self._tail.values[indices[is_new] - split]
        return places, items
