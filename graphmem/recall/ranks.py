"""What a walk starts from and what it finds, by whichever route it goes over the graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmem.errors import InvalidInput
from graphmem.index.lists import Floats, Ints, each_once_with_places

__all__ = ["TIE", "Ranks", "distribution"]

TIE = 1e-9
"""Ranks nearer than this count as tied."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """What a walk found; vertices that are not named have rank 0 so far.

    Attributes:
        vertices: those that rank has reached, shape (n,), distinct.
        values: lower bound of each one's rank, shape (n,); together at most one.
        gains: how much more each one's rank may be at most, shape (n,).
        bound: how much more the rank of any vertex that is ranked may be, named or not.
        work: entries of the graph's rows that were read.
        steps: how often what was read was pushed.
        is_settled: the best ranked vertices by ``values`` are certain to be the best by rank, in
            that order, but for ranks that are within 1e-9.
    """

    vertices: Ints
    values: Floats
    gains: Floats
    bound: float
    work: int
    steps: int
    is_settled: bool

    @classmethod
    def none(cls) -> Ranks:
        """Of a walk that starts nowhere."""
        nothing = np.zeros(0)
        return cls(nothing.astype(np.int64), nothing, nothing, 0.0, 0, 0, True)


def distribution(size: int, vertices: Ints, weights: Floats, damping: float) -> tuple[Ints, Floats]:
    """The reset's distinct vertices and their weights, scaled to sum to one; empty if all zero.

    Args:
        size: number of vertices of the graph.
        vertices: where walks start, repeated ones add up.
        weights: as many, not negative.
        damping: of the walk, from 0 to below 1.

    Raises:
        InvalidInput: a reset that is no distribution over the vertices; damping out of range.
    """
    if not 0 <= damping < 1:
        raise InvalidInput(f"damping must be from 0 to below 1, not {damping}")
    if vertices.shape != weights.shape or vertices.ndim != 1:
        raise InvalidInput(
            f"the reset has {vertices.shape} vertices and {weights.shape} weights: they must agree"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidInput("the reset must hold finite numbers that are not negative")
    if len(vertices) and not (vertices.min() >= 0 and vertices.max() < size):
        raise InvalidInput(f"the reset names a vertex outside the graph's {size} vertices")
    counts = weights > 0
    distinct, places = each_once_with_places(vertices[counts])
    sums = np.bincount(places, weights[counts], minlength=len(distinct))
    return distinct.astype(np.int64, copy=False), sums / sums.sum()
