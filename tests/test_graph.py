from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import InvalidInput
from graphmem.index.graph import Edges, KnowledgeGraph
from graphmem.recall.pagerank import exact, power


def graph_of(size, *edges):
    """A graph of ``size`` vertices, the last of them a passage where there are any."""
    array = np.array(edges, dtype=float).reshape(-1, 3)
    passages = min(1, size)
    ends = array[:, :2].astype(np.int64)
    return KnowledgeGraph.of(size - passages, passages, Edges(ends[:, 0], ends[:, 1], array[:, 2]))


def at(size, *vertices):
    reset = np.zeros(size)
    reset[list(vertices)] = 1
    return reset


def by_hand(graph, reset, damping, steps=200):
    """Power iteration on a dense matrix, written out."""
    weights = graph.adjacency.toarray()
    start = reset / reset.sum()
    rank = start.copy()
    for _ in range(steps):
        flow = np.zeros(len(graph))
        for vertex in range(len(graph)):
            total = weights[vertex].sum()
            flow += rank[vertex] * (weights[vertex] / total if total else start)
        rank = damping * flow + (1 - damping) * start
    return rank


CYCLE = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)]


@pytest.mark.parametrize("rank", [power, exact])
def test_a_cycle_asked_evenly_is_even(rank):
    assert rank(graph_of(4, *CYCLE), np.ones(4)) == pytest.approx(np.full(4, 0.25), abs=1e-9)


@pytest.mark.parametrize("rank", [power, exact])
def test_a_star_seeded_at_its_hub(rank):
    star = graph_of(4, (0, 1, 1), (0, 2, 1), (0, 3, 1))
    found = rank(star, at(4, 0), steps=60)
    # x0 = d (x1 + x2 + x3) + 1 - d and xi = d x0 / 3, so x0 = (1 - d) / (1 - d²) = 2 / 3.
    assert found == pytest.approx(np.array([2 / 3, 1 / 9, 1 / 9, 1 / 9]), abs=1e-9)


@pytest.mark.parametrize("rank", [power, exact])
def test_nothing_leaks_into_another_component(rank):
    found = rank(graph_of(5, (0, 1, 1), (2, 3, 1)), at(5, 0))
    assert found[:2].sum() == pytest.approx(1)
    assert not found[2:].any()


@pytest.mark.parametrize("rank", [power, exact])
def test_a_seed_without_edges_keeps_its_rank(rank):
    assert rank(graph_of(3, (1, 2, 1)), at(3, 0)) == pytest.approx(np.array([1.0, 0, 0]))
    assert rank(graph_of(1), np.ones(1)) == pytest.approx(np.ones(1))


@pytest.mark.parametrize("rank", [power, exact])
@pytest.mark.parametrize("size", [0, 3])
def test_no_seeds_or_no_vertices_give_zeros(rank, size):
    assert rank(graph_of(size), np.zeros(size)).tolist() == [0.0] * size


@pytest.mark.parametrize("rank", [power, exact])
@pytest.mark.parametrize(
    "reset",
    [np.ones(3), np.array([1, -1, 0, 0.0]), np.array([np.nan, 1, 0, 0]), np.full(4, np.inf)],
)
def test_a_reset_that_is_no_distribution_is_refused(rank, reset):
    with pytest.raises(InvalidInput):
        rank(graph_of(4, *CYCLE), reset)


@pytest.mark.parametrize("rank", [power, exact])
@pytest.mark.parametrize("damping", [-0.1, 1.0, float("nan")])
def test_damping_out_of_range_is_refused(rank, damping):
    with pytest.raises(InvalidInput, match="damping"):
        rank(graph_of(4, *CYCLE), np.ones(4), damping=damping)


def test_no_steps_are_refused():
    with pytest.raises(InvalidInput, match="step"):
        power(graph_of(4, *CYCLE), np.ones(4), steps=0)


@pytest.mark.parametrize("edge", [(0, 9, 1), (-1, 0, 1), (0, 1, 0), (0, 1, -1), (0, 1, np.nan)])
def test_edges_that_are_none_are_refused(edge):
    with pytest.raises(InvalidInput):
        graph_of(4, edge)


EDGES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.1, 9)), min_size=1, max_size=20
)
RESET = st.lists(st.floats(0, 5), min_size=8, max_size=8).filter(lambda values: sum(values) > 0.01)


@given(EDGES, RESET, st.sampled_from([0.0, 0.5, 0.85]))
def test_power_exact_and_by_hand_agree(edges, reset, damping):
    graph, start = graph_of(8, *edges), np.array(reset)
    expected = by_hand(graph, start, damping)
    assert power(graph, start, damping=damping, steps=200) == pytest.approx(expected, abs=1e-8)
    assert exact(graph, start, damping=damping) == pytest.approx(expected, abs=1e-6)


@given(EDGES, RESET)
def test_ten_steps_are_near_enough(edges, reset):
    graph, start = graph_of(8, *edges), np.array(reset)
    found = power(graph, start)
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - exact(graph, start)).sum() <= 2 * 0.5**10 + 1e-6


@given(EDGES, RESET, st.permutations(range(8)))
def test_relabelling_changes_no_rank(edges, reset, order):
    start = np.array(reset)
    found = power(graph_of(8, *edges), start)
    moved = [(order[a], order[b], weight) for a, b, weight in edges]
    there = np.zeros(8)
    there[list(order)] = start
    assert power(graph_of(8, *moved), there)[list(order)] == pytest.approx(found, abs=1e-9)


def test_parallel_edges_add_up_and_loops_are_left_out():
    one = graph_of(3, (0, 1, 2), (1, 2, 1), (2, 2, 5))
    two = graph_of(3, (0, 1, 1), (1, 0, 1), (1, 2, 1))
    assert one.adjacency.toarray().tolist() == two.adjacency.toarray().tolist()
