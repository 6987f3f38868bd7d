from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.experiments.bootstrap import differences, intervals, resampled_means

shares = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=1, max_size=30)


def rng(seed=0):
    return np.random.default_rng(seed)


def column(values):
    return np.array(values, dtype=float)[:, None]


def test_the_interval_holds_the_true_mean_as_often_as_it_says():
    """Coverage over 400 samples of 60 answers each; the percentile interval is a little narrow."""
    draws = rng(5)
    for share in (0.5, 0.8):
        held = 0
        for _ in range(400):
            (one,) = intervals(column(draws.random(60) < share), draws, resamples=600)
            held += one.low <= share <= one.high
        assert 0.91 <= held / 400 <= 0.98


def test_a_difference_that_is_not_there_is_found_as_rarely_as_it_says():
    draws = rng(6)
    wrong = 0
    for _ in range(400):
        first, second = column(draws.random(60) < 0.6), column(draws.random(60) < 0.6)
        (one,) = differences([first], [second], draws, resamples=600)
        wrong += one.low > 0 or one.high < 0
    assert wrong / 400 <= 0.09


def test_pairing_sees_what_two_intervals_do_not():
    """A small but steady gain, under questions that differ a lot in how hard they are."""
    hard = rng(1).random(100)
    first, second = column(0.8 * hard), column(0.8 * hard + 0.02)
    (a,), (b,) = intervals(first, rng()), intervals(second, rng())
    assert a.high > b.low
    (one,) = differences([first], [second], rng())
    assert one.low > 0
    assert one.share_above == 1
    assert one.mean == pytest.approx(0.02)
    assert one.questions == 100


@given(shares, st.integers(0, 5))
def test_an_interval_lies_around_its_mean_and_within_its_values(values, seed):
    (one,) = intervals(column(values), rng(seed), resamples=200)
    assert one.mean == pytest.approx(np.mean(values))
    assert min(values) - 1e-9 <= one.low <= one.high <= max(values) + 1e-9
    if len(set(values)) == 1:
        assert one.low == pytest.approx(one.high)


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2), min_size=1, max_size=30))
def test_the_other_way_round_the_difference_has_the_other_sign(pairs):
    first, second = (column(side) for side in zip(*pairs, strict=True))
    (there,) = differences([first], [second], rng(), resamples=300)
    (back,) = differences([second], [first], rng(), resamples=300)
    assert there.mean == pytest.approx(-back.mean)
    assert there.low == pytest.approx(-back.high)
    assert there.high == pytest.approx(-back.low)
    assert there.share_above + back.share_above <= 1 + 1e-12


@given(shares)
def test_a_system_does_not_differ_from_itself(values):
    (one,) = differences([column(values)], [column(values)], rng(), resamples=100)
    assert (one.mean, one.low, one.high, one.share_above) == (0, 0, 0, 0)


def test_every_set_is_drawn_from_in_itself():
    """Whole sets that are constant leave nothing to chance, though they differ from each other."""
    sets = [np.zeros((10, 1)), np.ones((30, 1))]
    apart = resampled_means(sets, rng(), resamples=50)
    assert np.allclose(apart, 0.75)
    together = resampled_means([np.concatenate(sets)], rng(), resamples=50)
    assert together.std() > 0.03  # the control: as one set they do vary
    (one,) = differences([np.zeros((10, 1)), np.zeros((30, 1))], sets, rng())
    assert (one.mean, one.low, one.high, one.questions) == (0.75, 0.75, 0.75, 40)


def test_columns_see_the_same_draws():
    values = rng(2).random(40)
    twice = intervals(np.stack([values, values], axis=1), rng())
    assert twice[0] == twice[1]


def test_the_same_seed_gives_the_same_interval():
    values = column(rng(3).random(50))
    once = intervals(values, rng(9), resamples=1000)
    assert intervals(values, rng(9), resamples=1000) == once
    assert intervals(values, rng(10), resamples=1000) != once


def test_the_bounds_are_those_of_a_plain_loop():
    values = rng(4).random(25)
    draws = rng(8)
    means = [values[draws.integers(0, 25, 25)].mean() for _ in range(4000)]
    (one,) = intervals(column(values), rng(8), resamples=4000)
    assert (one.low, one.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_what_cannot_be_compared_is_an_error():
    with pytest.raises(ValueError, match="no questions"):
        intervals(np.zeros((0, 3)), rng())
    with pytest.raises(ValueError, match="same questions"):
        differences([np.zeros((3, 1))], [np.zeros((4, 1))], rng())
    with pytest.raises(ValueError, match="zip"):
        differences([np.zeros((3, 1))], [], rng())
