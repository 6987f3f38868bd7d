"""Personalized PageRank over the whole of a graph, exactly: the reference, by igraph."""

from __future__ import annotations

import numpy as np

from graphmem.errors import InvalidInput
from graphmem.index.lists import Floats, Ints

__all__ = ["Exact"]


class Exact:
    """igraph's PRPACK solver on one graph, which is handed to igraph once for many questions.

    With damping d, reset distribution r and transition matrix T the rank is the solution of

        x = d (T x + s(x) r) + (1 - d) r

    where s(x) is the rank of vertices without edges: a walk that is stuck starts again.

    Args:
        size: number of vertices.
        heads, tails, weights: undirected edges, each given once, of weights above 0.
    """

    def __init__(self, size: int, heads: Ints, tails: Ints, weights: Floats) -> None:
        # Here, because recall does without, and igraph loads all of matplotlib where that is there.
        import igraph

        self._size = size
        edges = np.column_stack([heads, tails])
        self._network = igraph.Graph(n=size, edges=edges, directed=False)
        self._weights = weights.tolist() or None

    def rank(self, reset: Floats, *, damping: float = 0.5) -> Floats:
        """Rank of each vertex, summing to one; all zeros where the reset is.

        Equal calls may differ in the last bits (about 3e-14): compare with a tolerance.

        Args:
            reset: shape (size,), not negative; scaled to sum to one.
            damping: probability of going on, from 0 to below 1.

        Raises:
            InvalidInput: a reset of another length, negative or not finite; damping out of range.
        """
        if not 0 <= damping < 1:
            raise InvalidInput(f"damping must be from 0 to below 1, not {damping}")
        if reset.shape != (self._size,):
            raise InvalidInput(
                f"the reset has shape {reset.shape}, the graph {self._size} vertices: "
                "they must agree"
            )
        if not np.isfinite(reset).all() or (reset < 0).any():
            raise InvalidInput("the reset must hold finite numbers that are not negative")
        total = float(reset.sum())
        if total <= 0:  # igraph ends the process on a graph without vertices
            return np.zeros(self._size)
        scores = self._network.personalized_pagerank(
            damping=damping,
            reset=(reset / total).tolist(),
            weights=self._weights,
            implementation="prpack",  # the other one ignores the reset
        )
        return np.array(scores, dtype=np.float64)
