from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.graph import Graph, entity_vertices, passage_vertices
from graphmem.recall.exact import Exact
from graphmem.recall.push import push

SIZE = 10
VERTEX = st.integers(0, SIZE - 1)
EDGE = st.tuples(VERTEX, VERTEX, st.integers(1, 5))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(EDGE, max_size=4)),
        st.tuples(st.just("take"), st.lists(st.integers(0, 99), max_size=3)),
        st.tuples(st.just("turn"), st.sets(VERTEX, max_size=3)),
        st.just(("fold",)),
    ),
    max_size=15,
)


def ints(values):
    return np.array(sorted(values), dtype=np.int64)


class Model:
    """A graph, and its edges in a dictionary."""

    def __init__(self):
        self.graph = Graph()
        self.graph.reserve(SIZE // 2, SIZE // 2)
        self.edges: dict[frozenset[int], float] = {}
        self.hubs: set[int] = set()

    def add(self, edges, sign=1):
        one, other, weights = np.array(edges, dtype=float).reshape(-1, 3).T
        self.graph.add(one.astype(np.int64), other.astype(np.int64), sign * weights)
        for a, b, weight in edges:
            if a != b:
                key = frozenset((a, b))
                self.edges[key] = self.edges.get(key, 0) + sign * weight
        self.edges = {key: weight for key, weight in self.edges.items() if weight}

    def take(self, numbers):
        """Take whole edges away."""
        here = sorted((*sorted(key), weight) for key, weight in self.edges.items())
        self.add(sorted({here[number % len(here)] for number in numbers if here}), sign=-1)

    def turn(self, hubs):
        self.hubs = hubs
        self.graph.turn(ints(hubs))

    def fold(self):
        self.graph.fold()

    def near(self, vertex, edges=None):
        found = {}
        for key, weight in (self.edges if edges is None else edges).items():
            if vertex in key:
                (other,) = key - {vertex}
                found[other] = weight
        return found

    def check_transition(self):
        """The matrix says what the steps say now, whatever it said before."""
        graph = self.graph
        every, transition = np.arange(SIZE), graph.transition
        near = rows(graph.steps(every))
        strengths = np.array([sum(one.values()) for one in near])
        assert transition.size == SIZE
        assert transition.vertices.tolist() == strengths.nonzero()[0].tolist()
        assert transition.strengths.tolist() == strengths[transition.vertices].tolist()
        matrix = np.zeros((SIZE, SIZE))
        matrix[np.ix_(transition.vertices, transition.vertices)] = transition.shares.toarray()
        expected = np.zeros((SIZE, SIZE))
        for vertex, edges in enumerate(near):
            for other, weight in edges.items():
                expected[vertex, other] = weight / strengths[vertex]
        assert matrix.tolist() == expected.tolist()
        assert transition.entries == np.count_nonzero(expected)
        assert graph.transition is transition


def rows(gathered):
    places, near, weights = (part.tolist() for part in gathered)
    found = [{} for _ in range(SIZE)]
    for place, other, weight in zip(places, near, weights, strict=True):
        assert other not in found[place]
        found[place][other] = weight
    return found


@given(STEPS, st.booleans())
def test_any_history_leaves_the_edges_that_are_there(steps, is_watched):
    model = Model()
    for name, *arguments in steps:
        getattr(model, name)(*arguments)
        if is_watched:
            model.check_transition()
    model.check_transition()
    every, graph = np.arange(SIZE), model.graph
    expected = [model.near(vertex) for vertex in range(SIZE)]
    shown = {key: weight for key, weight in model.edges.items() if not key & model.hubs}
    assert rows(graph.weights(every)) == expected
    steps = [model.near(vertex, shown) for vertex in range(SIZE)]
    assert rows(graph.steps(every)) == steps
    edges = zip(*(part.tolist() for part in graph.every_edge()), strict=True)
    assert {frozenset(ends): weight for *ends, weight in edges} == shown
    for entries in range(2 * len(shown) + 3):
        assert graph.has_at_most(entries) == (2 * len(shown) <= entries)
    # Nobody comes to a hub to ask how strong it is.
    here = np.setdiff1d(every, ints(model.hubs))
    assert graph.strengths(here).tolist() == [sum(steps[vertex].values()) for vertex in here]
    assert graph.hubs.tolist() == sorted(model.hubs)
    assert graph.is_hub(every).tolist() == [vertex in model.hubs for vertex in range(SIZE)]


def test_the_heaviest_passage_is_known_at_any_time():
    model = Model()
    assert model.graph.heaviest_passage == 0
    model.add([(1, 0, 2), (3, 0, 3), (3, 2, 4), (2, 4, 9)])
    assert model.graph.heaviest_passage == 7
    model.turn({2})
    assert model.graph.heaviest_passage == 3
    model.turn(set())
    model.add([(3, 2, 4)], sign=-1)
    assert model.graph.heaviest_passage == 3
    model.add([(3, 0, 3)], sign=-1)
    assert model.graph.heaviest_passage == 2


def test_the_matrix_grows_with_the_graph():
    graph = Graph()
    assert (graph.transition.size, graph.transition.entries) == (0, 0)
    graph.reserve(2, 1)
    assert (graph.transition.size, graph.transition.entries) == (4, 0)
    graph.add(np.array([0]), np.array([2]), np.array([3.0]))
    assert (graph.transition.size, graph.transition.entries) == (4, 2)
    before = graph.transition
    graph.reserve(2, 2)
    graph.turn(np.zeros(0, dtype=np.int64))
    graph.add(np.array([1]), np.array([1]), np.array([3.0]))
    # Nothing of this changes where a walk may go.
    assert graph.transition is before
    graph.reserve(3, 2)
    assert graph.transition.size == 6
    graph.fold()
    assert graph.transition.entries == 2


def test_what_is_saved_holds_no_matrix():
    model = Model()
    model.add([(0, 1, 2), (1, 2, 1)])
    before = model.graph.arrays().keys()
    assert model.graph.transition.entries == 4
    model.fold()
    assert model.graph.arrays().keys() == before
    opened = Graph()
    opened.take(model.graph.arrays())
    assert opened.transition.shares.toarray().tolist() == [[0, 1, 0], [2 / 3, 0, 1 / 3], [0, 1, 0]]


def test_a_large_graph_is_not_read_to_know_that_it_is_large():
    model = Model()
    model.add([(vertex, vertex + 1, 1) for vertex in range(SIZE - 1)])
    model.fold()
    asked = []

    class Watched(Graph):
        @property
        def transition(self):
            asked.append(len(self))
            return super().transition

    graph = Watched()
    graph.reserve(SIZE // 2, SIZE // 2)
    graph.take(model.graph.arrays())
    assert not graph.has_at_most(17)
    assert graph.has_at_most(18)
    assert asked == []
    # Of two late ones one may be gone.
    graph.add(np.array([0]), np.array([1]), np.array([-1.0]))
    assert not graph.has_at_most(15)
    assert graph.has_at_most(20)
    assert asked == []
    assert graph.has_at_most(16)
    assert asked == [SIZE]


def test_entities_and_passages_have_vertices_of_their_own():
    positions = np.arange(4)
    entities, passages = entity_vertices(positions), passage_vertices(positions)
    assert entities.tolist() == [0, 2, 4, 6]
    assert passages.tolist() == [1, 3, 5, 7]
    graph = Graph()
    assert len(graph) == 0
    graph.reserve(2, 4)
    assert len(graph) > max(entities[1], passages[3])
    graph.reserve(4, 4)
    assert len(graph) > entities[3]


@pytest.mark.parametrize("hubs", [[], [0], [2, 4]])
def test_a_walk_goes_over_what_the_graph_shows(hubs):
    rng = np.random.default_rng(3)
    model = Model()
    model.add([(*rng.choice(SIZE, 2, replace=False).tolist(), 1 + n % 3) for n in range(18)])
    model.turn(set(hubs))
    graph, start = model.graph, np.array([6, 1])
    found = push(
        graph.steps, SIZE, start, np.array([3.0, 1.0]), settle=SIZE, strengths=graph.strengths
    )
    ranks = np.zeros(SIZE)
    ranks[found.vertices] = found.values
    shown = [(*sorted(key), weight) for key, weight in model.edges.items() if not key & model.hubs]
    heads, tails, weights = np.array(sorted(shown), dtype=float).T
    oracle = Exact(SIZE, heads.astype(np.int64), tails.astype(np.int64), weights)
    reset = np.zeros(SIZE)
    reset[start] = [3.0, 1.0]
    assert ranks == pytest.approx(oracle.rank(reset), abs=1e-3)
