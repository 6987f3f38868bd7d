"""Where walks may go from every vertex of a graph, as one sparse matrix: for graphs read whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmem.index.lists import Floats, Ints

__all__ = ["Transition"]


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """The rows of a graph, each scaled to sum to one, without vertices that have no edges.

    Attributes:
        size: number of vertices of the graph.
        vertices: the n that have edges, ascending.
        strengths: (n,) sum of the weights of each one's edges.
        shares: CSR matrix, (n, n): entry (i, j) is the weight of the edge between ``vertices[i]``
            and ``vertices[j]`` as a share of i's strength, which is the probability of going from
            i to j.
    """

    size: int
    vertices: Ints
    strengths: Floats
    shares: sparse.csr_array

    @classmethod
    def of(cls, size: int, places: Ints, neighbours: Ints, weights: Floats) -> Transition:
        """The matrix of edges (vertex, neighbour, weight), each given from both its ends.

        Args:
            size: number of vertices.
            places: the vertices, ascending.
            neighbours: as many.
            weights: as many, each above 0.
        """
        lengths = np.bincount(places, minlength=size)
        vertices = lengths.nonzero()[0]
        lengths = lengths[vertices]
        # Numbers of 32 bits, which are read in half the time.
        numbers = np.zeros(size, dtype=np.int32)
        numbers[vertices] = np.arange(len(vertices))
        starts = np.zeros(len(vertices) + 1, dtype=np.int32)
        lengths.cumsum(out=starts[1:])
        strengths = np.add.reduceat(weights, starts[:-1]) if len(vertices) else weights
        shares = weights / np.repeat(strengths, lengths)
        shape = (len(vertices), len(vertices))
        matrix = sparse.csr_array((shares, numbers[neighbours], starts), shape=shape)
        return cls(size, vertices, strengths, matrix)

    @property
    def entries(self) -> int:
        """Number of edges, each counted from both its ends."""
        return int(self.shares.nnz)
