from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import InvalidInput
from graphmem.index.workspace import Workspace
from graphmem.recall.push import push
from walk_parts import (
    DAMPING,
    ROUNDING,
    TIE,
    Rows,
    asked,
    assert_bounded,
    assert_same_best,
    everything,
    questions,
    zipf,
)


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


def test_to_settle_nothing_is_refused():
    with pytest.raises(InvalidInput, match="settled"):
        Rows.of(3, [(0, 1, 1)]).push({0: 1}, settle=0)


def test_no_seeds_read_nothing():
    rows = Rows.of(3, [(0, 1, 1)])
    rows.push({0: 0.0})
    assert rows.asked == []
    rows.push({0: 1.0})
    assert rows.asked != []


# --- what it costs --------------------------------------------------------------------------------


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
