"""The weighted, undirected graph that a recall walks: entities and passages.

Vertices are positions: entities first, then passages. Edges: fact edges between the two ends of a
fact (weight: passages that state it), mention edges between a passage and the entities of its facts
(heavier where the passage is about the entity), synonym edges (weight: cosine).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphmem.errors import InvalidInput
from graphmem.index.lists import Floats, Ints

__all__ = ["Edges", "KnowledgeGraph"]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Undirected edges, each given once: ``heads[i]`` – ``tails[i]`` with ``weights[i]`` > 0."""

    heads: Ints
    tails: Ints
    weights: Floats

    @classmethod
    def join(cls, *parts: Edges) -> Edges:
        """All edges of the parts; parallel ones add up."""
        return cls(
            np.concatenate([part.heads for part in parts]),
            np.concatenate([part.tails for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class KnowledgeGraph:
    """Adjacency and transition matrix, compressed rows.

    Attributes:
        entities: number of entity vertices, at positions 0 to entities - 1.
        passages: number of passage vertices, after them.
        adjacency: symmetric, shape (vertices, vertices), without loops.
        transition: column j is the distribution of a step from vertex j; columns of vertices
            without edges are zero.
        is_stuck: shape (vertices,): whether the vertex has no edges.
    """

    entities: int
    passages: int
    adjacency: sparse.csr_array
    transition: sparse.csr_array
    is_stuck: NDArray[np.bool_]

    @classmethod
    def of(cls, entities: int, passages: int, edges: Edges) -> KnowledgeGraph:
        """The graph of these edges; loops are left out, parallel edges add up.

        Raises:
            InvalidInput: an edge's end is no vertex, or a weight is not a positive number.
        """
        size = entities + passages
        ends = np.concatenate([edges.heads, edges.tails])
        if len(ends) and not (ends.min() >= 0 and ends.max() < size):
            raise InvalidInput(f"an edge ends outside the graph's {size} vertices")
        if not (np.isfinite(edges.weights) & (edges.weights > 0)).all():
            raise InvalidInput("edge weights must be positive numbers")
        is_edge = edges.heads != edges.tails
        heads, tails = edges.heads[is_edge], edges.tails[is_edge]
        weights = edges.weights[is_edge]
        adjacency = sparse.csr_array(
            (
                np.concatenate([weights, weights]),
                (np.concatenate([heads, tails]), np.concatenate([tails, heads])),
            ),
            shape=(size, size),
        )
        adjacency.sum_duplicates()
        # Half the width: the walk is bound by what it reads.
        adjacency.indices = adjacency.indices.astype(np.int32)
        adjacency.indptr = adjacency.indptr.astype(np.int32)
        strength = np.asarray(adjacency.sum(axis=1)).ravel()
        is_stuck = strength <= 0
        transition = adjacency.copy()
        transition.data = transition.data / np.where(is_stuck, 1.0, strength)[transition.indices]
        return cls(entities, passages, adjacency, transition, is_stuck)

    def __len__(self) -> int:
        return self.entities + self.passages
