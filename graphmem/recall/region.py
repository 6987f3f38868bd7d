"""The part of a graph that a push has read, its residual, and what the residual may still become.

The mathematics are those of ``push``. Vertices are counted here in the order in which they are
reached, so that everything is as long as what was reached; the rows of the inside lie end to end,
which makes them a sparse matrix with a column for each vertex inside: pushing all of the inside is
one product with it, and averaging over neighbours one product with its transpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphmem.index.lists import Floats, Ints
from graphmem.index.workspace import Workspace

__all__ = ["Edges", "Region", "Strengths", "summed"]

Edges = Callable[[Ints], tuple[Ints, Ints, Floats]]
"""Rows of distinct vertices: (place in the argument, neighbour, weight) of each entry."""

Strengths = Callable[[Ints], Floats]
"""Sums of the rows of distinct vertices."""

Strength = TypeVar("Strength", float, Floats)

# Residual below this, of a sum of one, is what is left when an edge and its removal cancel.
_NOISE = 1e-15
# A row whose weights sum to less than this share of their absolute sum has no edges left.
_CANCELLED = 1e-12
# The first level lets in the vertices that hold this share of the reset.
_FIRST = 0.95
# Who is read when others are due anyway, as a share of the level.
_NEARLY = 0.47
# When less of the permitted work than this is left, what does not fit ends the push.
_LEAST_ROOM = 0.1
# A rim of fewer entries is read whole: another round would take longer.
_SHORT = 5_000
# The bounds are iterated until this share of where they started from is left.
_BOUND_SHARE = 0.1


def summed(edges: Edges) -> Strengths:
    """Strengths for a graph that keeps none: the rows are read and added up."""

    def strengths(vertices: Ints) -> Floats:
        places, _, weights = edges(vertices)
        return _sums(places, weights, len(vertices))

    return strengths


class Region:
    """What has been read of the graph, by local number in the order in which it was reached.

    Args:
        room: where it is kept.
        size: number of vertices of the graph.
        edges, strengths: as for ``push``.
        damping: probability of going on.
    """

    def __init__(
        self,
        room: Workspace,
        size: int,
        edges: Edges,
        strengths: Strengths,
        damping: float,
    ) -> None:
        self._room = room
        self._numbers = room.numbers(size)
        self._edges = edges
        self._strengths = strengths
        self._damping = damping
        self._transition = sparse.csc_array((1, 1))
        # Strength of all that was reached, and of the inside.
        self._reached = self._read = 0.0
        self.steps = 0

    @property
    def work(self) -> int:
        """Entries of rows read."""
        return len(self._room.items)

    @property
    def vertices(self) -> Ints:
        """Those that residual has reached, until more are."""
        return self._room.vertices.values

    def reach(self, vertices: Ints, residual: Floats) -> None:
        """Put residual on distinct vertices."""
        places = self._numbered(vertices)
        self._room.residual.values[places] += residual

    def _numbered(self, vertices: Ints) -> NDArray[np.int32]:
        """Local numbers of vertices, which may repeat; new ones get theirs."""
        vertices = vertices.astype(np.intp, copy=False)
        found = self._numbers.take(vertices)
        missing = vertices[found == 0]
        if len(missing):
            # Each of a vertex's places is written, one stays: that one stands for the vertex.
            marks = np.arange(1, len(missing) + 1, dtype=np.int32)
            self._numbers[missing] = marks
            fresh = missing[self._numbers.take(missing) == marks]
            first = len(self._room.vertices)
            self._room.vertices.append(fresh)
            size = first + len(fresh)
            self._numbers[fresh] = np.arange(first + 1, size + 1, dtype=np.int32)
            for column in (self._room.mass, self._room.residual):
                column.resize(size)
            strength = self._strengths(fresh)
            self._room.strength.append(strength)
            self._reached += float(strength.sum())
            found = self._numbers.take(vertices)
        found -= 1
        return found

    def first_level(self) -> float:
        """Residual per strength at which most of the residual is due."""
        residual, strength = self._room.residual.values, self._room.strength.values
        has_edges = strength > 0
        if not has_edges.any():
            return 1.0
        residual = residual[has_edges]
        levels = residual / strength[has_edges]
        order = np.argsort(-levels, kind="stable")
        sums = residual[order].cumsum()
        last = order[np.searchsorted(sums, _FIRST * sums[-1])]
        return float(_NEARLY * levels[last])

    def spread(self, level: float, most_work: int) -> bool:
        """Take inside what holds more residual per strength; False: ``most_work`` forbids."""
        while True:
            strength = self._room.strength.values
            waiting = self._room.residual.values - _NOISE
            waiting[self._room.inside.values] = -1
            if not (waiting > level * strength).any():
                return True
            # Fewer and larger readings are quicker: those that are nearly due come along, and all
            # of the rim when it is short.
            is_short = self._length(self._reached - self._read) < _SHORT
            due = (waiting > (0 if is_short else _NEARLY * level) * strength).nonzero()[0]
            within = self._affordable(due, most_work)
            if not len(within):
                return False
            self._take(within)
            self._step()

    def _affordable(self, due: Ints, most_work: int) -> Ints:
        """Those whose rows there is room for, most residual per strength first.

        A row's length is not known before it is read: it is judged by its strength. As long as half
        of the room is left at least one is read, which corrects the judgement.
        """
        strength, room = self._room.strength.values[due], most_work - self.work
        lengths = self._length(strength)
        if lengths.sum() <= room:
            return due
        if room < _LEAST_ROOM * most_work:
            return due[:0]
        fits = (lengths <= room).nonzero()[0]
        if not len(fits) and 2 * room > most_work:
            return due[[int(lengths.argmin())]]
        levels = self._room.residual.values[due[fits]] / np.maximum(strength[fits], _NOISE)
        fits = fits[np.argsort(-levels, kind="stable")]
        return due[fits[lengths[fits].cumsum() <= room]]

    def _length(self, strength: Strength) -> Strength:
        """Number of entries of rows of this strength, if they are like those read."""
        return strength * (self.work / self._read if self._read > 0 else 1.0)

    def _take(self, due: Ints) -> None:
        """Read the rows of these and count them as inside."""
        room = self._room
        places, neighbours, weights = self._edges(room.vertices.values[due])
        if (places[1:] < places[:-1]).any():
            order = np.argsort(places, kind="stable")
            places, neighbours, weights = places[order], neighbours[order], weights[order]
        strength = _sums(places, weights, len(due))
        lengths = np.bincount(places, minlength=len(due))
        scale = np.divide(1, strength, out=np.zeros(len(due)), where=strength > 0)
        self._read += float(strength.sum())
        room.strength.values[due] = strength
        room.inside.append(due)
        room.starts.append(room.starts.values[-1] + lengths.cumsum())
        room.items.append(self._numbered(neighbours))
        room.shares.append(weights * np.repeat(scale, lengths))
        self._transition = sparse.csc_array(
            (room.shares.values, room.items.values, room.starts.values),
            shape=(len(room.vertices), len(room.inside)),
        )

    def _step(self) -> None:
        """Push all of the inside once."""
        inside, residual = self._room.inside.values, self._room.residual.values
        moved = residual[inside]
        residual[inside] = 0
        self._room.mass.values[inside] += moved
        moved *= self._damping
        residual += self._transition @ moved
        self.steps += 1

    def calm(self, level: float) -> None:
        """Push the inside until its residual per strength is at most ``level``."""
        inside = self._room.inside.values
        most = level * self._room.strength.values[inside] + _NOISE
        while (self._room.residual.values[inside] > most).any():
            self._step()

    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bound of the mass of each vertex reached in the end."""
        d, mass, residual = self._damping, self._room.mass.values, self._room.residual.values
        level, inside = self._levels(), self._room.inside.values
        lower, upper = level.copy(), level + d * self._highest(level)
        if len(inside) and d > 0:
            own, average = level[inside], self._transition.T
            for _ in range(math.ceil(math.log(_BOUND_SHARE) / math.log(d))):
                for bound in (lower, upper):
                    bound[inside] = own + d * (average @ bound)
        lower *= self._room.strength.values
        upper *= self._room.strength.values
        others = float(residual.sum()) - residual
        np.minimum(upper, (residual + d * others) / (1 - d * d), out=upper)
        return mass + lower, mass + np.maximum(upper, lower)

    def bound_elsewhere(self, heaviest: float) -> float:
        """Upper bound of the mass of a vertex that was not reached, of at most that strength."""
        if len(self._room.inside) == len(self._room.vertices):
            return 0.0
        d, rest = self._damping, float(self._room.residual.values.sum())
        most = d * self._highest(self._levels())
        return min(heaviest * most if most > 0 else 0.0, d * rest / (1 - d * d))

    def _levels(self) -> Floats:
        """Residual per strength, 0 where it is noise."""
        residual, strength = self._room.residual.values, self._room.strength.values
        levels = np.zeros(len(strength))
        np.divide(residual, strength, out=levels, where=(strength > 0) & (residual > _NOISE))
        return levels

    def _highest(self, levels: Floats) -> float:
        """Upper bound of what any vertex gains per strength."""
        return float(levels.max(initial=0.0)) / (1 - self._damping)

    def total(self) -> float:
        """Sum of all mass in the end."""
        rest = float(self._room.residual.values.sum())
        return float(self._room.mass.values.sum()) + rest / (1 - self._damping)


def _sums(places: Ints, weights: Floats, count: int) -> Floats:
    """Sum of each row; 0 where only rounding is left of weights that cancel."""
    sums = np.asarray(np.bincount(places, weights, minlength=count), dtype=np.float64)
    if len(weights) and weights.min() < 0:
        sums[sums <= _CANCELLED * np.bincount(places, np.abs(weights), minlength=count)] = 0
    return sums
