"""The graph that a walk goes over: entities and passages, joined by facts, mentions and likeness.

Entities are the even vertices, passages the odd ones, so that both may grow. Edges are undirected:
fact edges (weight: number of passages that state the fact), mention edges from a passage to the
entities of its facts (heavier where the passage is about the entity), synonym edges (weight:
cosine). Hubs have no edges to a reader, though they are kept: who is a hub changes.
"""

from __future__ import annotations

import numpy as np

from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.lists import Bools, Floats, Ints
from graphmem.index.relations import Relation
from graphmem.index.transition import Transition
from graphmem.index.workspace import Workspace

__all__ = ["Graph", "entity_vertices", "passage_vertices"]


def entity_vertices(entities: Ints) -> Ints:
    """The vertices of entities."""
    return 2 * entities


def passage_vertices(passages: Ints) -> Ints:
    """The vertices of passages."""
    return 2 * passages + 1


class Graph(Composite):
    """Edges between entities and passages, both ways, and the strength of every vertex.

    Attributes:
        workspace: room for a walk, for who holds the index's lock.
    """

    parts = ("_edges", "_strength", "_hubs")

    def __init__(self) -> None:
        self._edges = Relation()
        self._strength = Column(np.float64)
        self._hubs = Column(np.int64)
        self.workspace = Workspace()
        # None: to be computed. Both are of no use to who opens a snapshot, which holds the parts.
        self._heaviest: float | None = None
        self._transition: Transition | None = None

    def __len__(self) -> int:
        """Number of vertices."""
        return len(self._strength)

    def reserve(self, entities: int, passages: int) -> None:
        """There are so many of each."""
        size = 2 * max(entities, passages)
        if size != len(self):
            self._strength.resize(size)
            self._transition = None

    def add(self, one: Ints, other: Ints, weights: Floats) -> None:
        """Add to the weights of edges between vertices; what falls to 0 is no edge any more."""
        is_edge = one != other
        one, other, weights = one[is_edge], other[is_edge], weights[is_edge]
        if not len(one):
            return
        heads, tails = np.concatenate([one, other]), np.concatenate([other, one])
        weights = np.concatenate([weights, weights])
        self._edges.add(heads, tails, weights)
        counts = ~self.is_hub(tails)
        np.add.at(self._strength.values, heads[counts], weights[counts])
        self._heaviest = self._transition = None

    def turn(self, hubs: Ints) -> None:
        """These vertices, ascending, are the hubs from now on."""
        before = self._hubs.values.copy()
        if np.array_equal(hubs, before):
            return
        self._heaviest = self._transition = None
        for vertices, sign in ((np.setdiff1d(hubs, before), -1), (np.setdiff1d(before, hubs), 1)):
            _, near, weights = self._edges.gather(vertices)
            np.add.at(self._strength.values, near, sign * weights)
        self._hubs = Column(np.int64, values=hubs)

    @property
    def hubs(self) -> Ints:
        """The vertices that are hubs, ascending."""
        return self._hubs.values

    def is_hub(self, vertices: Ints) -> Bools:
        """Whether they are hubs."""
        found = np.zeros(len(vertices), dtype=np.bool_)
        for hub in self._hubs.values.tolist():
            found |= vertices == hub
        return found

    def weights(self, vertices: Ints) -> tuple[Ints, Ints, Floats]:
        """(place, neighbour, weight) of the vertices' edges, each once, those to hubs included."""
        return self._edges.gather(vertices)

    def steps(self, vertices: Ints) -> tuple[Ints, Ints, Floats]:
        """As ``weights`` without hubs: where a walk may go."""
        places, near, weights = self._edges.gather(vertices)
        if not len(self._hubs):
            return places, near, weights
        kept = ~(self.is_hub(near) | self.is_hub(vertices)[places])
        return places[kept], near[kept], weights[kept]

    def sizes(self, vertices: Ints) -> Ints:
        """How many edges each vertex has at most, those to hubs included, without reading them."""
        return self._edges.sizes(vertices)

    def every_edge(self) -> tuple[Ints, Ints, Floats]:
        """(one end, other end, weight) of all edges but those to hubs, each once."""
        vertices = np.arange(len(self))
        places, near, weights = self.steps(vertices)
        once = (vertices[places] < near) & ~self.is_hub(vertices[places])
        return vertices[places[once]], near[once], weights[once]

    @property
    def transition(self) -> Transition:
        """``steps`` from all vertices as one matrix, made when it is first asked for."""
        if self._transition is None:
            self._transition = Transition.of(len(self), *self.steps(np.arange(len(self))))
        return self._transition

    def has_at_most(self, entries: int) -> bool:
        """Whether a walk may go over so many edges or fewer, each counted from both its ends.

        A function of the edges alone, however they came and whether they are folded: where what is
        easily known does not decide it, they are counted.
        """
        folded, late = self._edges.entries, self._edges.delta_size
        # Each late one may be new, or take away one that was there.
        if folded + late <= entries:
            return True
        of_hubs = int(self._edges.sizes(self.hubs).sum())
        return folded - late - 2 * of_hubs <= entries and self.transition.entries <= entries

    def strengths(self, vertices: Ints) -> Floats:
        """Sum of the weights of each vertex's edges."""
        return self._strength.values[vertices]

    @property
    def heaviest_passage(self) -> float:
        """The greatest strength of a passage."""
        if self._heaviest is None:
            self._heaviest = float(self._strength.values[1::2].max(initial=0.0))
        return self._heaviest
