from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from walk_parts import (
    DAMPING,
    ROUNDING,
    TIE,
    Rows,
    asked,
    assert_bounded,
    everything,
    is_odd,
    questions,
    zipf,
)


@given(questions(), DAMPING)
def test_every_rank_is_known_to_a_billionth(question, damping):
    rows, reset = question
    exact = rows.solved(reset, damping)
    found = rows.power(reset, damping=damping)
    assert_bounded(found, exact, np.ones(rows.size, dtype=bool))
    assert found.bound <= TIE
    assert everything(found, rows.size)[0] == pytest.approx(exact, abs=TIE + ROUNDING, rel=0)
    assert found.work == rows.matrix.nnz
    # However strong a vertex is, this many steps are enough.
    assert damping == 0 or found.steps <= np.ceil(np.log(TIE) / np.log(damping))


@given(questions(), DAMPING)
def test_no_more_steps_than_the_ranked_need(question, damping):
    """Where the weak are ranked alone, it ends sooner, and the bounds of all still hold."""
    rows, reset = question
    is_ranked = is_odd(np.arange(rows.size))
    heaviest = float(rows.strength[is_ranked].max(initial=0))
    found = rows.power(reset, damping=damping, heaviest=heaviest)
    assert found.steps <= rows.power(reset, damping=damping).steps
    assert_bounded(found, rows.solved(reset, damping), is_ranked)
    assert found.bound <= TIE


def test_in_a_large_graph_the_strengths_end_it_sooner():
    rows, ends = zipf(1000, np.random.default_rng(1))
    reset = asked(ends, np.random.default_rng(2))
    heaviest = float(rows.strength[1::2].max())
    anyone, passages = rows.power(reset, heaviest=np.inf), rows.power(reset, heaviest=heaviest)
    assert anyone.steps == 29
    assert passages.steps <= 20
    assert passages.bound <= TIE


def test_it_goes_as_far_as_ranks_can_be_told_apart():
    size = 100
    chain = np.arange(size - 1)
    rows = Rows.of(size, np.column_stack([chain, chain + 1, np.ones(size - 1)]))
    found = rows.power({0: 1})
    assert 20 < len(found.vertices) < 40
    assert found.vertices.tolist() == list(range(len(found.vertices)))
    assert found.gains.max() <= TIE
