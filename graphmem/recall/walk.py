"""The walk: Personalized PageRank from the seeds over the graph of facts and mentions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmem.index.graph import Graph
from graphmem.index.ids import Ids
from graphmem.index.index import Index
from graphmem.index.lists import Bools, Floats, Ints, places
from graphmem.recall.power import power
from graphmem.recall.push import push
from graphmem.recall.ranks import Ranks
from graphmem.recall.seeds import Reset
from graphmem.settings import RecallSettings

__all__ = ["Reached", "walk"]


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Passages that the walk came to.

    Attributes:
        passages: ascending.
        ranks: of each, as a share of the highest.
    """

    passages: Ints
    ranks: Floats

    def best(self, count: int, ids: Ids) -> Ints:
        """The ``count`` passages of the highest rank, ties by id, ascending."""
        return np.sort(self.passages[ids.highest(self.passages, self.ranks, count)])

    def rank(self, passages: Ints) -> Floats:
        """The rank of any passages; 0 where the walk did not come."""
        return np.append(self.ranks, 0.0)[places(self.passages, passages)]


def walk(memory: Index, start: Reset, settings: RecallSettings) -> Reached:
    """Where the walk comes to from a reset distribution.

    A small graph is walked whole, a large one around the reset: which of them depends on what is
    in the graph alone, so that equal memories give equal answers. The best passages are the same by
    both; of the others a push knows the ranks only as well as it needs to.
    """
    graph = memory.graph
    found = (_whole if graph.has_at_most(settings.walk_all) else _around)(graph, start, settings)
    is_passage = _is_passage(found.vertices)
    passages, ranks = found.vertices[is_passage] // 2, found.values[is_passage]
    order = np.argsort(passages)
    top = float(ranks.max(initial=0.0))
    return Reached(passages[order], ranks[order] / top if top > 0 else ranks[order])


def _whole(graph: Graph, start: Reset, settings: RecallSettings) -> Ranks:
    return power(
        graph.transition,
        start.vertices,
        start.weights,
        damping=settings.damping,
        heaviest=graph.heaviest_passage,
    )


def _around(graph: Graph, start: Reset, settings: RecallSettings) -> Ranks:
    return push(
        graph.steps,
        len(graph),
        start.vertices,
        start.weights,
        damping=settings.damping,
        settle=settings.settle_k,
        among=_is_passage,
        strengths=graph.strengths,
        heaviest=graph.heaviest_passage,
        most_work=settings.most_work,
        workspace=graph.workspace,
    )


def _is_passage(vertices: Ints) -> Bools:
    is_odd: Bools = vertices % 2 == 1
    return is_odd
