"""Room that is used again: for what a recall notes down about some of many positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmem.index.columns import Column
from graphmem.index.lists import Ints

__all__ = ["Numbering", "Workspace"]


class Numbering:
    """Numbers for some of many positions, given and found without sorting.

    The room holds four bytes for each position and is never cleared: only what was just written is
    read.
    """

    def __init__(self) -> None:
        self._numbers: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    def number(self, positions: Ints, size: int) -> tuple[Ints, Ints]:
        """Number positions, all below ``size``.

        Args:
            positions: may repeat; -1 is nobody and gets no number.
            size: of the range.

        Returns:
            The members, by number; and the number of each of the ``positions``, -1 for nobody.
        """
        if len(self._numbers) <= size:
            self._numbers = np.zeros(size + size // 8 + 1, dtype=np.int32)
        # Each of a position's marks is written, one stays: that one stands for the position.
        marks = np.arange(len(positions), dtype=np.int32)
        self._numbers[positions] = marks
        is_member = (self._numbers[positions] == marks) & (positions >= 0)
        members = positions[is_member]
        self._numbers[members] = np.arange(len(members), dtype=np.int32)
        self._numbers[-1] = -1
        return members, self._numbers[positions].astype(np.int64)


class Workspace:
    """Room that pushes use again: one at a time, so one workspace for each thread.

    It holds four bytes for each vertex of the largest graph, and what the largest push has read.
    """

    def __init__(self) -> None:
        self._numbers: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        # By local number: vertices in the order in which they were reached.
        self.vertices = Column(np.int64)
        self.mass = Column(np.float64)
        self.residual = Column(np.float64)
        self.strength = Column(np.float64)
        # Rows of the inside end to end.
        self.inside = Column(np.int64)
        self.starts = Column(np.int32, values=[0])
        self.items = Column(np.int32)
        self.shares = Column(np.float64)

    def numbers(self, size: int) -> NDArray[np.int32]:
        """For each vertex its local number + 1, or 0 when it has not been reached."""
        if len(self._numbers) < size:
            self._numbers = np.zeros(size + size // 8, dtype=np.int32)
        return self._numbers

    def clear(self) -> None:
        """Forget what has been reached, which costs only that."""
        self._numbers[self.vertices.values] = 0
        counted: tuple[Column[Any], ...] = (self.vertices, self.mass, self.residual, self.strength)
        read: tuple[Column[Any], ...] = (self.inside, self.items, self.shares)
        for column in counted + read:
            column.resize(0)
        self.starts.resize(1)
