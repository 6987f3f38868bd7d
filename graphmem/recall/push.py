"""Personalized PageRank by local push: reads only the neighbourhood of the reset.

It is the route over graphs that are too large to be walked whole, see ``power``.

**The equation.** With damping d, reset distribution r and transition matrix T (column j: the step
from vertex j; zero where j is stuck) the rank is the solution of

    x = d (T x + s(x) r) + (1 - d) r,    s(x): rank of the stuck vertices.

Moved to one side, (I - d T) x = (d s(x) + 1 - d) r: x is a multiple of the solution y of the linear
system (I - d T) y = (1 - d) r, and since x sums to one, x = y / sum(y). So the restart of stuck
walks is left out while solving, and the end result is scaled.

**The push.** Two vectors are kept with y = p + (I - d T)⁻¹ ρ: the mass p that has come to rest and
the residual ρ that has yet to be pushed, at first 0 and (1 - d) r. Pushing vertex u moves ρ(u) to
p(u) and adds d T ρ(u) to the residual of u's neighbours; that keeps the equation. ρ is never
negative, so p only grows towards y.

The vertices whose rows have been read are *inside*, the others that hold residual are the *rim*. A
vertex of the rim is taken inside when its residual per strength, φ = ρ / strength, is above a level
that falls from stage to stage. Inside, everything is pushed at once, which is a power step on a
small matrix. A hub is expensive to read but has a great strength, so it is read late, if at all.

**The bound.** The graph is undirected: with the diagonal matrix D of the strengths, T D is
symmetric, and so is G D, where G = (I - d T)⁻¹. The gain that vertex v still has to come is
g(v) = Σ G(v, u) ρ(u); let h = g / strength. Then h(v) = Σ G(u, v) φ(u), and as no column of G sums
to more than 1 / (1 - d),

    h(v) ≤ B = max φ / (1 - d)    for every vertex,

and from g = ρ + d T g, with w the weights of v's row,

    h(v) = φ(v) + d Σ w(v, u) h(u) / strength(v):

a vertex has its own φ and d times the *average* of its neighbours. So the rim has h ≤ φ + d B, a
vertex without residual h ≤ d B, and inside, where the rows are known, the equation is iterated
downwards from B: upper bounds at each step. Iterated upwards from φ it gives lower bounds of what
is to come, which are added to p. Both are near: what leaves the inside is discounted on its way.

A second bound needs no strength. A walk from u ≠ v comes to v for the first time after one step or
more, and back to v after two or more (there are no loops), so G(v, v) ≤ 1 / (1 - d²) and
G(v, u) ≤ d / (1 - d²): g(v) ≤ (ρ(v) + d (Σρ - ρ(v))) / (1 - d²). The smaller one counts.

A hub that waits on the rim thus costs the bound little: what it holds is spread over its strength.

**The sum.** A vertex without edges gets nothing but its reset, and that is put to rest first. From
then on no walk gets stuck, so what is to come sums to Σρ / (1 - d), and sum(y) is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from graphmem.errors import InvalidInput
from graphmem.index.lists import Bools, Floats, Ints, highest
from graphmem.index.workspace import Workspace
from graphmem.recall.ranks import TIE, Ranks, distribution
from graphmem.recall.region import Edges, Region, Strengths, summed

__all__ = ["push"]

_NOTHING = 1e-18
# Inside is pushed until its residual per strength is this much below the level of the rim.
_INSIDE_SHARE = 0.19
# The level falls by at least the first and at most the second from stage to stage.
_FALL = (0.31, 0.053)


def push(
    edges: Edges,
    size: int,
    reset_vertices: Ints,
    reset_weights: Floats,
    *,
    damping: float = 0.5,
    settle: int = 10,
    among: Callable[[Ints], Bools] | None = None,
    strengths: Strengths | None = None,
    heaviest: float = math.inf,
    most_work: int = 50_000,
    workspace: Workspace | None = None,
) -> Ranks:
    """Rank around the reset, refined until the best are settled or enough has been read.

    Args:
        edges: the rows of distinct vertices of an undirected graph without loops. A row may name a
            neighbour several times and with negative weights: they count by their sum, which must
            be the same from both ends, and not negative.
        size: number of vertices.
        reset_vertices: where walks start, repeated ones add up.
        reset_weights: as many, not negative; scaled to sum to one.
        damping: probability of going on, from 0 to below 1.
        settle: number of best vertices whose order shall be certain.
        among: which of some vertices are ranked; None: all.
        strengths: sums of the rows of some vertices, up to rounding. None: the rows are read, which
            costs the rows of all that is reached, hubs among them.
        heaviest: no vertex that is ranked is stronger. Without it little is known about vertices
            that were not reached, and nothing is settled until nearly all of the graph is read.
        most_work: about as many row entries are read at most (a row is read whole): 50,000 take
            about 5 ms.
        workspace: what may be used again by the next push.

    Returns:
        The ranks; empty and settled when the reset is (no seeds).

    Raises:
        InvalidInput: a reset that is no distribution over the vertices; damping or settle out of
            range.
    """
    if settle < 1:
        raise InvalidInput(f"at least one vertex is to be settled, not {settle}")
    start, weights = distribution(size, reset_vertices, reset_weights, damping)
    if not len(start):
        return Ranks.none()
    room = workspace or Workspace()
    region = Region(room, size, edges, strengths or summed(edges), damping)
    try:
        region.reach(start, (1 - damping) * weights)
        return _refined(region, among or _all, settle, heaviest, most_work)
    finally:
        room.clear()


def _all(vertices: Ints) -> Bools:
    return np.ones(len(vertices), dtype=np.bool_)


def _refined(
    region: Region,
    among: Callable[[Ints], Bools],
    settle: int,
    heaviest: float,
    most_work: int,
) -> Ranks:
    """Lower the level until the best are settled, or nothing more may be read."""
    level = region.first_level()
    while True:
        is_open = region.spread(level, most_work)
        region.calm(_INSIDE_SHARE * level)
        total = region.total()
        values, upper = (bound / total for bound in region.bounds())
        elsewhere = region.bound_elsewhere(heaviest) / total
        gains = upper - values
        is_ranked = among(region.vertices)
        share = _settled_share(values[is_ranked], gains[is_ranked], elsewhere, settle)
        if share >= 1 or not is_open:
            break
        level *= min(max(share, _FALL[1]), _FALL[0])
    return Ranks(
        vertices=region.vertices.copy(),
        values=values,
        gains=gains,
        bound=max(elsewhere, float(gains[is_ranked].max(initial=0.0))),
        work=region.work,
        steps=region.steps,
        is_settled=share >= 1,
    )


def _settled_share(values: Floats, gains: Floats, elsewhere: float, settle: int) -> float:
    """To what share the gains must shrink for the best to be certain; 1 or more: they are.

    Args:
        values: lower bounds of the ranks.
        gains: how much more each may be.
        elsewhere: how much the rank of a vertex that is not listed may be.
        settle: number of the best.
    """
    # Most have next to nothing: finding the best is quicker without them.
    likely = (values > 0.01 * values.max(initial=0.0)).nonzero()[0]
    if len(likely) < settle:
        likely = values.nonzero()[0]
    best = likely[highest(values[likely], settle)]
    last = float(values[best[-1]]) if len(best) == settle else 0.0
    # How much each must gain to pass the lowest of those before it.
    lead = last - values
    lead[best[1:]] = values[best[:-1]] - values[best[1:]]
    lead[best[:1]] = np.inf
    shares = (lead + TIE) / np.maximum(gains, _NOTHING)
    return min(float(shares.min(initial=np.inf)), (last + TIE) / max(elsewhere, _NOTHING))
