from __future__ import annotations

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmem.errors import InvalidInput
from graphmem.index.columns import runs
from graphmem.index.workspace import Workspace
from graphmem.recall.push import push

TIE = 1e-9
ROUNDING = 1e-12


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
        vertices = np.array(list(reset), dtype=np.int64)
        weights = np.array(list(reset.values()), dtype=float)
        known = {"strengths": self.strengths, "heaviest": float(self.strength.max(initial=0))}
        return push(self, self.size, vertices, weights, **(known | options))

    def solved(self, reset, damping=0.5):
        """The rank by a dense solution of the equation with the restart in it."""
        start = np.zeros(self.size)
        start[list(reset)] = list(reset.values())
        start /= start.sum()
        stuck = self.strength <= 0
        walk = self.matrix.toarray() / np.where(stuck, 1, self.strength)
        walk[:, stuck] = start[:, None]
        return np.linalg.solve(np.eye(self.size) - damping * walk, (1 - damping) * start)


def reference(rows):
    """igraph's PRPACK on the whole graph: from a reset and a damping to the ranks."""
    half = sparse.triu(rows.matrix, format="coo")
    ends = np.column_stack([half.row, half.col]).tolist()
    graph = igraph.Graph(n=rows.size, edges=ends, directed=False)
    weights = half.data.tolist() or None

    def rank(reset, damping=0.5):
        start = [reset.get(vertex, 0.0) for vertex in range(rows.size)]
        return np.array(
            graph.personalized_pagerank(
                damping=damping, reset=start, weights=weights, implementation="prpack"
            )
        )

    return rank


def is_odd(vertices):
    return vertices % 2 == 1


def everything(ranks, size):
    """Lower and upper bound of each vertex's rank."""
    lower, gains = np.zeros(size), np.full(size, ranks.bound)
    lower[ranks.vertices], gains[ranks.vertices] = ranks.values, ranks.gains
    return lower, lower + gains


def assert_bounded(ranks, exact, is_ranked):
    lower, upper = everything(ranks, len(exact))
    assert (lower <= exact + ROUNDING).all()
    named = np.zeros(len(exact), dtype=bool)
    named[ranks.vertices] = True
    assert (exact <= upper + ROUNDING)[is_ranked | named].all()
    assert (ranks.gains[is_ranked[ranks.vertices]] <= ranks.bound + ROUNDING).all()


def assert_same_best(ranks, exact, is_ranked, count=10, tie=TIE):
    lower, _ = everything(ranks, len(exact))
    listed = np.flatnonzero(is_ranked)
    found = listed[np.argsort(-lower[listed], kind="stable")][:count]
    best = np.sort(exact[listed])[::-1][:count]
    # In the order found the exact ranks go down, but for ties, and they are the best there are.
    assert exact[found] == pytest.approx(best, abs=tie, rel=0)


# --- graphs ---------------------------------------------------------------------------------------

MAGNITUDE = st.floats(-3, 3).map(lambda power: 10.0**power)


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


DAMPING = st.sampled_from([0.0, 0.3, 0.5, 0.85])


@given(questions(), DAMPING, st.booleans())
def test_the_best_are_those_of_the_dense_solution(question, damping, knows_strengths):
    rows, reset = question
    known = {} if knows_strengths else {"strengths": None, "heaviest": np.inf}
    exact = rows.solved(reset, damping)
    is_ranked = is_odd(np.arange(rows.size))
    found = rows.push(reset, damping=damping, among=is_odd, **known)
    assert found.is_settled
    assert_same_best(found, exact, is_ranked)
    assert_bounded(found, exact, is_ranked)


@given(questions(), DAMPING, st.integers(0, 40), st.integers(1, 12))
def test_a_push_that_must_stop_says_what_it_knows(question, damping, most_work, settle):
    rows, reset = question
    exact = rows.solved(reset, damping)
    everyone = np.ones(rows.size, dtype=bool)
    found = rows.push(reset, damping=damping, most_work=most_work, settle=settle)
    assert_bounded(found, exact, everyone)
    assert found.values.sum() <= 1 + ROUNDING
    if found.is_settled:
        assert_same_best(found, exact, everyone, settle)


@given(questions())
def test_igraph_agrees(question):
    rows, reset = question
    exact = reference(rows)(reset)
    found = rows.push(reset)
    assert found.is_settled
    assert_same_best(found, exact, np.ones(rows.size, dtype=bool))


@given(questions(), st.data())
def test_rows_count_by_their_sums(question, data):
    """Repeated entries, entries that cancel, in any order: as a signed delta gives them."""
    rows, reset = question
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))

    def raw(vertices):
        places, neighbours, weights = rows(vertices)
        gone_places = rng.integers(0, len(vertices), 12)
        gone = rng.integers(0, rows.size, 12), 10.0 ** rng.uniform(-3, 3, 12)
        places = np.concatenate([places, places, gone_places, gone_places])
        neighbours = np.concatenate([neighbours, neighbours, gone[0], gone[0]])
        weights = np.concatenate([1.5 * weights, -0.5 * weights, gone[1], -gone[1]])
        order = rng.permutation(len(places))
        return places[order], neighbours[order], weights[order]

    # Beside a removed edge of weight 1,000 one of 0.001 is known to about ten digits.
    exact = rows.solved(reset)
    vertices, weights = np.array(list(reset)), np.array(list(reset.values()))
    for strengths in (rows.strengths, None):
        found = push(raw, rows.size, vertices, weights, strengths=strengths)
        lower, _ = everything(found, rows.size)
        assert found.is_settled
        assert (lower <= exact + TIE).all()
        assert_same_best(found, exact, np.ones(rows.size, dtype=bool), tie=3 * TIE)


# --- known answers --------------------------------------------------------------------------------


def test_a_star_seeded_at_its_hub():
    found = Rows.of(4, [(0, 1, 1), (0, 2, 1), (0, 3, 1)]).push({0: 1})
    # The leaves tie, so only their exact ranks settle the order.
    assert everything(found, 4)[0] == pytest.approx([2 / 3, 1 / 9, 1 / 9, 1 / 9], abs=1e-8)


@pytest.mark.parametrize("reset", [{0: 1}, {0: 1, 1: 3}])
def test_a_seed_without_edges_shares_the_restart(reset):
    rows = Rows.of(5, [(1, 2, 1), (2, 3, 1)])
    found = rows.push(reset)
    everyone = np.ones(5, dtype=bool)
    assert_bounded(found, rows.solved(reset), everyone)
    assert_same_best(found, rows.solved(reset), everyone)
    assert 4 not in found.vertices


def test_no_damping_is_the_reset():
    found = Rows.of(3, [(0, 1, 1), (1, 2, 1)]).push({0: 1, 2: 3}, damping=0.0)
    assert everything(found, 3)[0].tolist() == [0.25, 0, 0.75]


def test_repeated_seeds_add_up():
    rows = Rows.of(3, [(0, 1, 1), (1, 2, 1)])
    both = push(rows, 3, np.array([0, 2, 0]), np.array([1.0, 2, 1]))
    assert everything(both, 3)[0] == pytest.approx(rows.solved({0: 2, 2: 2}), abs=1e-8)


@pytest.mark.parametrize("reset", [{}, {0: 0.0, 1: 0.0}])
def test_no_seeds_give_nothing(reset):
    rows = Rows.of(3, [(0, 1, 1)])
    found = rows.push(reset)
    assert (len(found.vertices), found.is_settled, found.bound, rows.asked) == (0, True, 0.0, [])


@pytest.mark.parametrize(
    ("vertices", "weights"),
    [([0, 1], [1.0]), ([0], [-1.0]), ([0], [np.nan]), ([0], [np.inf]), ([9], [1.0]), ([-1], [1.0])],
)
def test_a_reset_that_is_no_distribution_is_refused(vertices, weights):
    with pytest.raises(InvalidInput, match="reset"):
        push(Rows.of(3, []), 3, np.array(vertices), np.array(weights))


@pytest.mark.parametrize("option", [{"damping": 1.0}, {"damping": np.nan}, {"settle": 0}])
def test_options_out_of_range_are_refused(option):
    with pytest.raises(InvalidInput):
        Rows.of(3, [(0, 1, 1)]).push({0: 1}, **option)


# --- what it costs --------------------------------------------------------------------------------


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


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_many_passages_and_hubs(damping):
    rng = np.random.default_rng(5)
    rows, ends = zipf(1000, rng)
    solver = reference(rows)
    room, is_ranked = Workspace(), is_odd(np.arange(rows.size))
    heaviest = float(rows.strength[is_ranked].max())
    for settle in (1, 2, 5, 10, 10, 10, 40, 40):
        reset = asked(ends, rng)
        exact = solver(reset, damping)
        options = {"among": is_odd, "damping": damping, "heaviest": heaviest, "workspace": room}
        found = rows.push(reset, settle=settle, **options)
        assert found.is_settled
        assert_same_best(found, exact, is_ranked, settle)
        lower, upper = everything(found, rows.size)
        assert (lower <= exact + 1e-8).all()
        assert (exact <= upper + 1e-8)[is_ranked].all()


def test_only_the_neighbourhood_is_read():
    size = 200_000
    chain = np.arange(size - 1)
    rows = Rows.of(size, np.column_stack([chain, chain + 1, np.ones(size - 1)]))
    found = rows.push({size // 2: 1}, settle=5)
    assert found.is_settled
    assert len(found.vertices) < 100
    assert found.work == sum(len(rows(vertices)[0]) for vertices in list(rows.asked))


def test_a_hub_is_not_read_when_it_decides_nothing():
    leaves = 50_000
    # Each seed is linked to the hub 0 and to a chain of its own.
    edges = [(0, leaf, 1) for leaf in range(1, leaves)]
    chain = [(leaf, leaf + 1, 9 - leaf / 10) for leaf in range(1, 30)]
    rows = Rows.of(leaves, edges + chain)
    leaf_strength = float(rows.strength[1:].max())
    found = rows.push(
        {1: 5, 9: 3, 20: 1.7}, settle=5, among=lambda vertices: vertices > 0, heaviest=leaf_strength
    )
    assert found.is_settled
    assert 0 < found.work < 1000
    assert 0 in found.vertices
    assert 0 not in np.concatenate(rows.asked)


def test_more_work_lowers_the_bound():
    rows, ends = zipf(1000, np.random.default_rng(1))
    reset = asked(ends, np.random.default_rng(2))
    bounds = [rows.push(reset, settle=500, most_work=most).bound for most in (1000, 5000, 20_000)]
    assert bounds[0] > bounds[1] > bounds[2] > 0


def test_a_workspace_is_clean_after_use_and_changes_nothing():
    rows, ends = zipf(200, np.random.default_rng(3))
    other = Rows.of(5, [(0, 1, 1), (1, 2, 1)])
    room, rng = Workspace(), np.random.default_rng(4)
    for _ in range(3):
        reset = asked(ends, rng)
        alone, shared = rows.push(reset), rows.push(reset, workspace=room)
        other.push({1: 1}, workspace=room)
        assert alone.vertices.tolist() == shared.vertices.tolist()
        assert alone.values.tolist() == shared.values.tolist()
        assert alone.gains.tolist() == shared.gains.tolist()
        assert not room.numbers(rows.size).any()


def test_a_workspace_is_clean_after_a_failure():
    rows, ends = zipf(200, np.random.default_rng(3))
    reset, room = asked(ends, np.random.default_rng(4)), Workspace()

    def torn(vertices):
        if rows.asked:
            raise OSError("the file is gone")
        return rows(vertices)

    with pytest.raises(OSError, match="gone"):
        push(torn, rows.size, np.array(list(reset)), np.array(list(reset.values())), workspace=room)
    rows.asked.clear()
    again = rows.push(reset, workspace=room)
    assert again.values.tolist() == rows.push(reset).values.tolist()
