"""Graphs that walks go over in tests, and their ranks by other ways."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from graphmem.index.columns import runs
from graphmem.index.transition import Transition
from graphmem.recall.exact import Exact
from graphmem.recall.power import power
from graphmem.recall.push import push

TIE = 1e-9
ROUNDING = 1e-12


def distribution_of(reset):
    """Vertices and weights of a reset, which may be given as those two already."""
    vertices, weights = (list(reset), reset.values()) if isinstance(reset, dict) else reset
    return np.array(vertices, dtype=np.int64), np.array(list(weights), dtype=float)


class Rows:
    """A symmetric matrix that is asked for rows, and counts what is asked."""

    def __init__(self, matrix):
        self.matrix = sparse.csr_array(matrix)
        self.size = self.matrix.shape[0]
        self.strength = np.asarray(self.matrix.sum(axis=1)).ravel()
        self.asked = []

    @classmethod
    def of(cls, size, edges):
        array = np.array(edges, dtype=float).reshape(-1, 3)
        heads, tails = array[:, :2].astype(np.int64).T
        half = sparse.coo_array((array[:, 2], (heads, tails)), shape=(size, size)).tocsr()
        return cls(half + half.T)

    def __call__(self, vertices):
        assert len(np.unique(vertices)) == len(vertices)
        self.asked.append(vertices)
        starts = self.matrix.indptr.astype(np.int64)
        places, indices = runs(starts[vertices], starts[vertices + 1] - starts[vertices])
        return places, self.matrix.indices[indices].astype(np.int64), self.matrix.data[indices]

    def strengths(self, vertices):
        return self.strength[vertices]

    def push(self, reset, **options):
        known = {"strengths": self.strengths, "heaviest": float(self.strength.max(initial=0))}
        return push(self, self.size, *distribution_of(reset), **(known | options))

    def power(self, reset, **options):
        """As ``push``, which has more options: this one knows all strengths and settles all."""
        known = {"heaviest": float(self.strength.max(initial=0))}
        own = {name: options[name] for name in ("damping", "heaviest") if name in options}
        transition = Transition.of(self.size, *self(np.arange(self.size)))
        return power(transition, *distribution_of(reset), **(known | own))

    def solved(self, reset, damping=0.5):
        """The rank by a dense solution of the equation with the restart in it."""
        start = np.zeros(self.size)
        start[list(reset)] = list(reset.values())
        start /= start.sum()
        stuck = self.strength <= 0
        walk = self.matrix.toarray() / np.where(stuck, 1, self.strength)
        walk[:, stuck] = start[:, None]
        return np.linalg.solve(np.eye(self.size) - damping * walk, (1 - damping) * start)


ROUTES = {"push": Rows.push, "power": Rows.power}


def reference(rows):
    """igraph on the whole graph: from a reset and a damping to the ranks."""
    half = sparse.triu(rows.matrix, format="coo")
    ends = (half.row.astype(np.int64), half.col.astype(np.int64))
    graph = Exact(rows.size, *ends, half.data)

    def rank(reset, damping=0.5):
        start = np.array([reset.get(vertex, 0.0) for vertex in range(rows.size)])
        return graph.rank(start, damping=damping)

    return rank


def is_odd(vertices):
    return vertices % 2 == 1


def everything(ranks, size):
    """Lower and upper bound of each vertex's rank."""
    lower, gains = np.zeros(size), np.full(size, ranks.bound)
    lower[ranks.vertices], gains[ranks.vertices] = ranks.values, ranks.gains
    return lower, lower + gains


def assert_bounded(ranks, exact, is_ranked, rounding=ROUNDING):
    lower, upper = everything(ranks, len(exact))
    assert (lower <= exact + rounding).all()
    named = np.zeros(len(exact), dtype=bool)
    named[ranks.vertices] = True
    assert (exact <= upper + rounding)[is_ranked | named].all()
    assert (ranks.gains[is_ranked[ranks.vertices]] <= ranks.bound + rounding).all()


def assert_same_best(ranks, exact, is_ranked, count=10, tie=TIE):
    lower, _ = everything(ranks, len(exact))
    listed = np.flatnonzero(is_ranked)
    found = listed[np.argsort(-lower[listed], kind="stable")][:count]
    best = np.sort(exact[listed])[::-1][:count]
    # In the order found the exact ranks go down, but for ties, and they are the best there are.
    assert np.abs(exact[found] - best).max(initial=0) <= tie


# --- graphs ---------------------------------------------------------------------------------------

MAGNITUDE = st.floats(-3, 3).map(lambda power: 10.0**power)
DAMPING = st.sampled_from([0.0, 0.3, 0.5, 0.85])


@st.composite
def graphs(draw):
    """Hubs, chains, islands and vertices without edges; weights over six orders of magnitude."""
    size = draw(st.integers(2, 36))
    vertex = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=2 * size))
    for hub in draw(st.lists(vertex, max_size=2)):
        pairs += [(hub, leaf) for leaf in range(draw(vertex), size)]
    if draw(st.booleans()):
        first = draw(vertex)
        pairs += [(at, at + 1) for at in range(first, draw(st.integers(first, size - 1)))]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    weights = draw(st.lists(MAGNITUDE, min_size=len(pairs), max_size=len(pairs)))
    return Rows.of(size, [(*pair, weight) for pair, weight in zip(pairs, weights, strict=True)])


@st.composite
def questions(draw):
    rows = draw(graphs())
    seeds = draw(st.lists(st.integers(0, rows.size - 1), min_size=1, max_size=6, unique=True))
    return rows, {seed: draw(MAGNITUDE) for seed in seeds}


def zipf(passages, rng):
    """Passages (odd) that mention the ends of eight facts, entities (even) that few or many do."""
    entities = 4 * passages
    popular = 1 / np.arange(1, entities + 1)
    drawn = np.searchsorted(popular.cumsum() / popular.sum(), rng.random((passages, 8, 2)))
    ends = 2 * np.minimum(drawn, entities - 1)
    places = np.broadcast_to(2 * np.arange(passages)[:, None, None] + 1, ends.shape)
    heads = np.concatenate([ends[..., 0].ravel(), places.ravel()])
    tails = np.concatenate([ends[..., 1].ravel(), ends.ravel()])
    is_edge = heads != tails
    heads, tails = heads[is_edge], tails[is_edge]
    shape = (2 * entities, 2 * entities)
    half = sparse.coo_array((np.ones(len(heads)), (heads, tails)), shape=shape).tocsr()
    return Rows(half + half.T), ends.reshape(passages, 16)


def asked(ends, rng):
    """Ten entities of some passages, by rarity, and a hundred passages."""
    passages = rng.permutation(len(ends))[:100]
    names, mentions = np.unique(ends, return_counts=True)
    entities = np.unique(ends[passages[:5], :2])
    rarity = 1 / mentions[np.searchsorted(names, entities)]
    return dict(zip(entities.tolist(), rarity.tolist(), strict=True)) | {
        int(2 * passage + 1): 0.2 * float(score) ** 4
        for passage, score in zip(passages, rng.uniform(0.3, 0.9, 100), strict=True)
    }
