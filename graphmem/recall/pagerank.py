"""Personalized PageRank: sparse power steps, and igraph's exact solution as the reference.

With damping d, reset distribution r and transition matrix T the rank is the solution of

    x = d (T x + s(x) r) + (1 - d) r

where s(x) is the rank of vertices without edges: a walk that is stuck starts again. Damping is the
probability of *going on*; 0.5 here, as in HippoRAG, because the passages that answer are a few
steps from the question's facts.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from graphmem.errors import InvalidInput
from graphmem.index.graph import KnowledgeGraph
from graphmem.index.lists import Floats

__all__ = ["Exact", "exact", "power"]


def power(graph: KnowledgeGraph, reset: Floats, *, damping: float = 0.5, steps: int = 10) -> Floats:
    """Rank of each vertex after ``steps`` steps from the reset distribution.

    The distance to the exact rank is at most ``2 * damping ** steps`` in sum.

    Args:
        graph: the graph to walk.
        reset: shape (vertices,), not negative; scaled to sum to one.
        damping: probability of going on, from 0 to below 1.
        steps: number of steps, at least 1.

    Returns:
        Shape (vertices,), summing to one; all zeros where the reset is (no seeds) or the graph has
        no vertices.

    Raises:
        InvalidInput: a reset of another length, negative or not finite; damping or steps out of
            range.
    """
    start = _distribution(graph, reset, damping)
    if steps < 1:
        raise InvalidInput(f"PageRank needs at least one step, not {steps}")
    if start is None:
        return np.zeros(len(graph))
    rank = start
    home = (1 - damping) * start
    for _ in range(steps):
        stuck = float(rank[graph.is_stuck].sum())
        rank = damping * (graph.transition @ rank) + (damping * stuck) * start + home
    return np.asarray(rank, dtype=np.float64)


def exact(graph: KnowledgeGraph, reset: Floats, *, damping: float = 0.5, steps: int = 10) -> Floats:
    """As ``power`` in the limit, by igraph's PRPACK solver; ``steps`` is not used.

    Equal calls may differ in the last bits (about 3e-14): compare with a tolerance.
    """
    return Exact(graph).rank(reset, damping=damping)


class Exact:
    """igraph's PRPACK solver on one graph, which is handed to igraph once for many questions.

    Args:
        graph: the graph to walk.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        # Here, because recall does without, and igraph loads all of matplotlib where that is there.
        import igraph

        upper = sparse.triu(graph.adjacency, format="coo")
        self._graph = graph
        self._network = igraph.Graph(
            n=len(graph), edges=np.column_stack([upper.row, upper.col]).tolist(), directed=False
        )
        self._weights = upper.data.tolist() or None

    def rank(self, reset: Floats, *, damping: float = 0.5) -> Floats:
        """As ``exact``."""
        start = _distribution(self._graph, reset, damping)
        if start is None:  # igraph ends the process on a graph without vertices
            return np.zeros(len(self._graph))
        scores = self._network.personalized_pagerank(
            damping=damping,
            reset=start.tolist(),
            weights=self._weights,
            implementation="prpack",  # the other one ignores the reset
        )
        return np.array(scores, dtype=np.float64)


def _distribution(graph: KnowledgeGraph, reset: Floats, damping: float) -> Floats | None:
    """The reset scaled to sum to one, or None when there is nowhere to start."""
    if not 0 <= damping < 1:
        raise InvalidInput(f"damping must be from 0 to below 1, not {damping}")
    if reset.shape != (len(graph),):
        raise InvalidInput(
            f"the reset has shape {reset.shape}, the graph {len(graph)} vertices: they must agree"
        )
    if not np.isfinite(reset).all() or (reset < 0).any():
        raise InvalidInput("the reset must hold finite numbers that are not negative")
    total = float(reset.sum())
    return reset / total if total > 0 else None
