"""The likeliest ways of a walk to one vertex: which of its starts brought it there, and how.

A walk that starts at s with probability r(s), goes on with probability d and takes each edge by its
share in the vertex's strength, goes exactly s, u, ..., v and ends there with probability

    (1 - d) r(s) · d w(s, u) / strength(s) · ...

and the rank of v is the sum over all ways. The likeliest way from each start is found from v
backwards, a step at a time, as in Bellman and Ford's algorithm: the logarithms of these products
are the lengths of a shortest path. A way is only made longer where that makes it likelier, so that
no vertex comes twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphmem.index.lists import Floats, Ints, highest, places

__all__ = ["Way", "likeliest"]

# Vertices that are gone on from at each step, the likeliest, and edges that are read for it.
_WIDEST = 400
_MOST_WORK = 30_000


@dataclass(frozen=True, slots=True)
class Way:
    """A way from a start.

    Attributes:
        vertices: from the start to the goal.
        shares: of each step, the probability of taking it for who goes on.
        likelihood: of going on all the way: the product of damping and share of each step.
    """

    vertices: tuple[int, ...]
    shares: tuple[float, ...]
    likelihood: float


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Vertices that a number of steps lead on from, ascending, with how likely and where to."""

    vertices: Ints
    values: Floats
    onward: Ints
    shares: Floats


def likeliest(
    steps: Callable[[Ints], tuple[Ints, Ints, Floats]],
    strengths: Callable[[Ints], Floats],
    goal: int,
    starts: Ints,
    *,
    damping: float,
    sizes: Callable[[Ints], Ints],
    ranks: Callable[[Ints], Ints],
    hops: int = 4,
    most_hops: int = 8,
) -> list[Way]:
    """The likeliest way from each start that leads to the goal, in the order of the starts.

    The work is bounded: at each step the likeliest 400 vertices and 30,000 edges at most are gone
    on from, so that of ways through vertices with very many edges some are missed.

    Args:
        steps: (place, neighbour, weight) of the vertices' edges.
        strengths: sum of the weights of each vertex's edges.
        goal: where the walk ends.
        starts: distinct vertices.
        damping: probability of going on.
        sizes: number of edges of vertices, at most.
        ranks: what decides ties among vertices.
        hops: length of a way at most,
        most_hops: unless none is as short as that: then up to so long.
    """
    ones = np.ones(1)
    levels = [_Level(np.array([goal]), ones, np.full(1, -1), ones)]
    known, best = levels[0].vertices, ones
    reached = np.where(starts == goal, 0, -1)
    for hop in range(1, most_hops + 1):
        if hop > hops and (reached >= 0).any():
            break
        level = _before(levels[-1], steps, strengths, sizes, ranks, damping)
        at = places(known, level.vertices)
        is_better = level.values > np.append(best, 0.0)[at]
        level = _only(level, is_better)
        if not len(level.vertices):
            break
        levels.append(level)
        merged = np.union1d(known, level.vertices)
        values = np.zeros(len(merged))
        values[places(merged, known)] = best
        values[places(merged, level.vertices)] = level.values
        known, best = merged, values
        reached[places(level.vertices, starts) >= 0] = hop
    return [
        _way(levels, int(start), hop, damping)
        for start, hop in zip(starts.tolist(), reached.tolist(), strict=True)
        if hop >= 0
    ]


def _before(
    level: _Level,
    steps: Callable[[Ints], tuple[Ints, Ints, Floats]],
    strengths: Callable[[Ints], Floats],
    sizes: Callable[[Ints], Ints],
    ranks: Callable[[Ints], Ints],
    damping: float,
) -> _Level:
    """Who leads to a level's vertices in one step, each by the likeliest of them."""
    kept = _affordable(level, sizes, ranks)
    vertices, values = level.vertices[kept], level.values[kept]
    at, near, weights = steps(vertices)
    shares = weights / strengths(near)
    worth = damping * shares * values[at]
    order = np.lexsort((ranks(vertices)[at], -worth, near))
    near, first = np.unique(near[order], return_index=True)
    chosen = order[first]
    return _Level(near, worth[chosen], vertices[at[chosen]], shares[chosen])


def _affordable(
    level: _Level, sizes: Callable[[Ints], Ints], ranks: Callable[[Ints], Ints]
) -> Ints:
    """The places of the likeliest vertices whose edges may be read, at least of one, ascending."""
    order = highest(level.values, _WIDEST, ranks(level.vertices))
    spent = np.cumsum(sizes(level.vertices[order]))
    return np.sort(order[: max(1, int(np.searchsorted(spent, _MOST_WORK, side="right")))])


def _only(level: _Level, kept: np.typing.NDArray[np.bool_]) -> _Level:
    return _Level(level.vertices[kept], level.values[kept], level.onward[kept], level.shares[kept])


def _way(levels: list[_Level], start: int, hop: int, damping: float) -> Way:
    vertices, shares = [start], []
    for level in levels[hop:0:-1]:
        at = int(level.vertices.searchsorted(vertices[-1]))
        shares.append(float(level.shares[at]))
        vertices.append(int(level.onward[at]))
    return Way(tuple(vertices), tuple(shares), float(np.prod([damping * one for one in shares])))
