"""The walk: Personalized PageRank from the seeds over the graph of facts and mentions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmem.index.graph import Graph
from graphmem.index.ids import Ids
from graphmem.index.index import Index
from graphmem.index.lists import Bools, Floats, Ints, read_off
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
        top: the highest: the share of all walks that end at that passage.
    """

    passages: Ints
    ranks: Floats
    top: float

    def best(self, count: int, ids: Ids) -> Ints:
        """The ``count`` passages of the highest rank, ties by id, ascending."""
        return np.sort(self.passages[ids.highest(self.passages, self.ranks, count)])

    def rank(self, passages: Ints) -> Floats:
        """The rank of any passages; 0 where the walk did not come."""
        return read_off(self.passages, self.ranks, passages)


def walk(memory: Index, start: Reset, settings: RecallSettings) -> Reached:
    """Where the walk comes to from a reset distribution.

    A graph of at most ``walk_all`` edges, counted from both ends, is walked whole by power steps, a
    larger one around the reset by push. That depends on what is in the graph alone, so that equal
    memories give equal answers. The best ``settle_k`` passages are the same by both routes, but for
    ties and where ``most_work`` ends a push; of the others a push knows the ranks only as well as
    it needs to.

    **The switch, measured** on one core in one run: processor time in milliseconds, median and
    95 %, of 56 walks or more from questions; and of making the matrix, which the first recall
    after a change pays.

        edges    of                          push         power steps  the matrix
        2,170    a chat                      0.74  1.14   0.25  0.30   0.11
        9,408    250 made-up passages        0.99  1.29   0.29  0.35   0.16
        18,876   500                         0.88  1.61   0.44  0.48   0.26
        37,822   1,000                       0.85  1.61   0.71  0.79   0.53
        47,854   HotpotQA, 100 questions     1.32  1.84   1.37  1.53   1.00
        75,688   2,000 made-up passages      0.98  2.16   1.30  1.47   2.20
        85,938   MuSiQue, 100 questions      1.42  2.13   2.61  3.21   3.80
        189,182  5,000 made-up passages      0.92  1.74   3.41  3.87   6.11

    A push costs about the same in all of them, power steps cost what there is. They meet at about
    45,000 edges; at 40,000 power steps still lose nothing where one recall in four is the first
    after a change.
    """
    graph = memory.graph
    found = (_whole if graph.has_at_most(settings.walk_all) else _around)(graph, start, settings)
    is_passage = _is_passage(found.vertices)
    passages, ranks = found.vertices[is_passage] // 2, found.values[is_passage]
    order = np.argsort(passages)
    top = float(ranks.max(initial=0.0))
    return Reached(passages[order], ranks[order] / top if top > 0 else ranks[order], top)


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
