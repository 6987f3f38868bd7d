"""Personalized PageRank by power steps over all of a graph: the quicker route where it is small.

The equation and its restart are those of ``push``: x = y / sum(y) with (I - d T) y = (1 - d) r, so
y is the sum of the terms d^k T^k (1 - d) r, k = 0, 1, 2 and so on, one for each number of steps
that a walk may take.

**Per strength.** The graph is undirected, so with the diagonal matrix D of the strengths and the
matrix P that averages over neighbours (row v: the shares of v's edges in its strength)
T D = D P. Hence y = D h, where h is the sum of the terms d^k P^k φ with φ = (1 - d) D⁻¹ r. A
vertex without edges has no strength: a walk that starts there is stuck at once, and y is its
(1 - d) r.

**The bound.** An average is no higher than the highest value, so each term's highest value is at
most d times that of the term before it. Once term n is added, what h still lacks is at most

    d / (1 - d) max(term n)    for every vertex,

and strength times as much of y. All together y lacks d^(n + 1) times the part of r that has edges,
because steps lose nothing; sum(y) is known exactly for the same reason. The smaller one counts. The
steps end when no vertex that is ranked can gain more than 1e-9: at damping 0.5 after 29 steps at
the latest, as 0.5^30 < 1e-9, and on memories after 18 to 26.
"""

from __future__ import annotations

import math

import numpy as np

from graphmem.index.lists import Floats, Ints, places
from graphmem.index.transition import Transition
from graphmem.recall.ranks import TIE, Ranks, distribution

__all__ = ["power"]


def power(
    transition: Transition,
    reset_vertices: Ints,
    reset_weights: Floats,
    *,
    damping: float = 0.5,
    heaviest: float = math.inf,
) -> Ranks:
    """Rank around the reset, of all vertices, to within 1e-9.

    Args:
        transition: of an undirected graph without loops.
        reset_vertices: where walks start, repeated ones add up.
        reset_weights: as many, not negative; scaled to sum to one.
        damping: probability of going on, from 0 to below 1. The nearer to 1, the more steps.
        heaviest: no vertex that is ranked is stronger. Without it a few more steps are taken.

    Returns:
        The ranks, settled however many are asked for; empty when the reset is (no seeds).

    Raises:
        InvalidInput: a reset that is no distribution over the vertices; damping out of range.
    """
    strengths = transition.strengths
    start, weights = distribution(transition.size, reset_vertices, reset_weights, damping)
    if not len(start):
        return Ranks.none()
    at = places(transition.vertices, start)
    goes_on = at >= 0
    stuck, at = start[~goes_on], at[goes_on]
    term = np.zeros(len(strengths))
    term[at] = (1 - damping) * weights[goes_on] / strengths[at]
    moving = float(weights[goes_on].sum())
    total = moving + (1 - damping) * (1 - moving)
    sums, level, rest, steps = _summed(transition, term, damping, moving, heaviest, TIE * total)
    reached = sums.nonzero()[0]
    values = np.concatenate([sums[reached] * strengths[reached], (1 - damping) * weights[~goes_on]])
    gains = np.minimum(level * strengths[reached], rest)
    return Ranks(
        vertices=np.concatenate([transition.vertices[reached], stuck]),
        values=values / total,
        gains=np.concatenate([gains, np.zeros(len(stuck))]) / total,
        bound=_most(level, rest, heaviest) / total,
        work=transition.entries,
        steps=steps,
        is_settled=True,
    )


def _summed(
    transition: Transition,
    term: Floats,
    damping: float,
    moving: float,
    heaviest: float,
    enough: float,
) -> tuple[Floats, float, float, int]:
    """Add up the terms until no ranked vertex lacks more than ``enough``.

    Args:
        transition: of the graph.
        term: the first.
        damping: of the walk.
        moving: the part of the reset that has edges.
        heaviest: as for ``power``.
        enough: above 0.

    Returns:
        The sums; what each lacks at most; what all together lack, times their strengths; the number
        of steps.
    """
    sums, steps = term.copy(), 0
    while True:
        level = damping / (1 - damping) * float(term.max(initial=0.0))
        rest = damping ** (steps + 1) * moving
        if _most(level, rest, heaviest) <= enough:
            return sums, level, rest, steps
        term = transition.shares @ term
        term *= damping
        sums += term
        steps += 1


def _most(level: float, rest: float, heaviest: float) -> float:
    return min(heaviest * level if level > 0 else 0.0, rest)
