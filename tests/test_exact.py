from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import InvalidInput
from graphmem.recall.exact import Exact


def exact(size, *edges):
    array = np.array(edges, dtype=float).reshape(-1, 3)
    ends = array[:, :2].astype(np.int64)
    return Exact(size, ends[:, 0], ends[:, 1], array[:, 2])


def at(size, *vertices):
    reset = np.zeros(size)
    reset[list(vertices)] = 1
    return reset


def by_hand(size, edges, reset, damping):
    """The equation as a dense linear system, solved."""
    weights = np.zeros((size, size))
    for one, other, weight in edges:
        if one != other:
            weights[one, other] += weight
            weights[other, one] += weight
    start = reset / reset.sum()
    steps = np.empty((size, size))
    for vertex in range(size):
        total = weights[vertex].sum()
        steps[:, vertex] = weights[vertex] / total if total else start
    return np.linalg.solve(np.eye(size) - damping * steps, (1 - damping) * start)


CYCLE = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)]


def test_a_cycle_asked_evenly_is_even():
    assert exact(4, *CYCLE).rank(np.ones(4)) == pytest.approx(np.full(4, 0.25), abs=1e-9)


def test_a_star_seeded_at_its_hub():
    found = exact(4, (0, 1, 1), (0, 2, 1), (0, 3, 1)).rank(at(4, 0))
    # x0 = d (x1 + x2 + x3) + 1 - d and xi = d x0 / 3, so x0 = (1 - d) / (1 - d²) = 2 / 3.
    assert found == pytest.approx(np.array([2 / 3, 1 / 9, 1 / 9, 1 / 9]), abs=1e-9)


def test_nothing_leaks_into_another_component():
    found = exact(5, (0, 1, 1), (2, 3, 1)).rank(at(5, 0))
    assert found[:2].sum() == pytest.approx(1)
    assert not found[2:].any()


def test_a_seed_without_edges_keeps_its_rank():
    assert exact(3, (1, 2, 1)).rank(at(3, 0)) == pytest.approx(np.array([1.0, 0, 0]))
    assert exact(1).rank(np.ones(1)) == pytest.approx(np.ones(1))


@pytest.mark.parametrize("size", [0, 3])
def test_no_seeds_or_no_vertices_give_zeros(size):
    assert exact(size).rank(np.zeros(size)).tolist() == [0.0] * size


@pytest.mark.parametrize(
    "reset",
    [np.ones(3), np.array([1, -1, 0, 0.0]), np.array([np.nan, 1, 0, 0]), np.full(4, np.inf)],
)
def test_a_reset_that_is_no_distribution_is_refused(reset):
    with pytest.raises(InvalidInput):
        exact(4, *CYCLE).rank(reset)


@pytest.mark.parametrize("damping", [-0.1, 1.0, float("nan")])
def test_damping_out_of_range_is_refused(damping):
    with pytest.raises(InvalidInput, match="damping"):
        exact(4, *CYCLE).rank(np.ones(4), damping=damping)


EDGES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.1, 9)).filter(
        lambda edge: edge[0] != edge[1]
    ),
    min_size=1,
    max_size=20,
)
RESET = st.lists(st.floats(0, 5), min_size=8, max_size=8).filter(lambda values: sum(values) > 0.01)


@given(EDGES, RESET, st.sampled_from([0.0, 0.5, 0.85]))
def test_it_solves_the_equation(edges, reset, damping):
    start = np.array(reset)
    found = exact(8, *edges).rank(start, damping=damping)
    assert found.sum() == pytest.approx(1)
    assert found == pytest.approx(by_hand(8, edges, start, damping), abs=1e-6)


@given(EDGES, RESET, st.permutations(range(8)))
def test_relabelling_changes_no_rank(edges, reset, order):
    start = np.array(reset)
    moved = [(order[a], order[b], weight) for a, b, weight in edges]
    there = np.zeros(8)
    there[list(order)] = start
    found = exact(8, *moved).rank(there)[list(order)]
    assert found == pytest.approx(exact(8, *edges).rank(start), abs=1e-9)


def test_one_graph_answers_many_questions():
    graph = exact(4, *CYCLE)
    first = graph.rank(at(4, 0))
    graph.rank(at(4, 2), damping=0.85)
    assert graph.rank(at(4, 0)) == pytest.approx(first)
