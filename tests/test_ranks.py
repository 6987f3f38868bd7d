"""What walks find is the same by both routes: around the reset, and over all of the graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from graphmem.errors import InvalidInput
from graphmem.index.workspace import Workspace
from walk_parts import (
    DAMPING,
    ROUTES,
    TIE,
    Rows,
    asked,
    assert_bounded,
    assert_same_best,
    everything,
    is_odd,
    questions,
    reference,
    zipf,
)

pytestmark = pytest.mark.parametrize("walk", ROUTES.values(), ids=ROUTES)


@given(question=questions(), damping=DAMPING)
@pytest.mark.parametrize("knows_strengths", [True, False])
def test_the_best_are_those_of_the_dense_solution(walk, question, damping, knows_strengths):
    rows, reset = question
    known = {} if knows_strengths else {"strengths": None, "heaviest": np.inf}
    exact = rows.solved(reset, damping)
    is_ranked = is_odd(np.arange(rows.size))
    found = walk(rows, reset, damping=damping, among=is_odd, **known)
    assert found.is_settled
    assert_same_best(found, exact, is_ranked)
    assert_bounded(found, exact, is_ranked)


@given(question=questions())
def test_igraph_agrees(walk, question):
    rows, reset = question
    found = walk(rows, reset)
    assert found.is_settled
    assert_same_best(found, reference(rows)(reset), np.ones(rows.size, dtype=bool))


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_many_passages_and_hubs(walk, damping):
    rng = np.random.default_rng(5)
    rows, ends = zipf(1000, rng)
    solver = reference(rows)
    room, is_ranked = Workspace(), is_odd(np.arange(rows.size))
    heaviest = float(rows.strength[is_ranked].max())
    for settle in (1, 2, 5, 10, 10, 10, 40, 40):
        reset = asked(ends, rng)
        exact = solver(reset, damping)
        options = {"among": is_odd, "damping": damping, "heaviest": heaviest, "workspace": room}
        found = walk(rows, reset, settle=settle, **options)
        assert found.is_settled
        assert_same_best(found, exact, is_ranked, settle)
        assert_bounded(found, exact, is_ranked, rounding=1e-8)


# --- known answers --------------------------------------------------------------------------------


def test_a_star_seeded_at_its_hub(walk):
    found = walk(Rows.of(4, [(0, 1, 1), (0, 2, 1), (0, 3, 1)]), {0: 1})
    # The leaves tie, so only their exact ranks settle the order.
    assert everything(found, 4)[0] == pytest.approx([2 / 3, 1 / 9, 1 / 9, 1 / 9], abs=1e-8)


@pytest.mark.parametrize("reset", [{0: 1}, {0: 1, 1: 3}])
def test_a_seed_without_edges_shares_the_restart(walk, reset):
    rows = Rows.of(5, [(1, 2, 1), (2, 3, 1)])
    found = walk(rows, reset)
    everyone = np.ones(5, dtype=bool)
    assert_bounded(found, rows.solved(reset), everyone)
    assert_same_best(found, rows.solved(reset), everyone)
    assert 4 not in found.vertices


@pytest.mark.parametrize("size", [1, 3])
def test_a_graph_without_edges_is_its_reset(walk, size):
    found = walk(Rows.of(size, []), {0: 2, size - 1: 2})
    exact = np.zeros(size)
    exact[[0, size - 1]] = 1 / min(size, 2)
    assert everything(found, size)[0] == pytest.approx(exact, abs=TIE)


def test_no_damping_is_the_reset(walk):
    found = walk(Rows.of(3, [(0, 1, 1), (1, 2, 1)]), {0: 1, 2: 3}, damping=0.0)
    assert everything(found, 3)[0].tolist() == [0.25, 0, 0.75]


def test_repeated_seeds_add_up(walk):
    rows = Rows.of(3, [(0, 1, 1), (1, 2, 1)])
    both = walk(rows, ([0, 2, 0], [1.0, 2, 1]))
    assert everything(both, 3)[0] == pytest.approx(rows.solved({0: 2, 2: 2}), abs=1e-8)


@pytest.mark.parametrize("reset", [{}, {0: 0.0, 1: 0.0}])
def test_no_seeds_give_nothing(walk, reset):
    found = walk(Rows.of(3, [(0, 1, 1)]), reset)
    assert (len(found.vertices), found.is_settled, found.bound, found.work) == (0, True, 0.0, 0)


@pytest.mark.parametrize(
    ("vertices", "weights"),
    [([0, 1], [1.0]), ([0], [-1.0]), ([0], [np.nan]), ([0], [np.inf]), ([9], [1.0]), ([-1], [1.0])],
)
def test_a_reset_that_is_no_distribution_is_refused(walk, vertices, weights):
    with pytest.raises(InvalidInput, match="reset"):
        walk(Rows.of(3, []), (vertices, weights))


@pytest.mark.parametrize("damping", [-0.1, 1.0, np.nan])
def test_damping_out_of_range_is_refused(walk, damping):
    with pytest.raises(InvalidInput, match="damping"):
        walk(Rows.of(3, [(0, 1, 1)]), {0: 1}, damping=damping)
