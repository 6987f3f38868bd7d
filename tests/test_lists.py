from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.lists import (
    among,
    contenders,
    each_once,
    each_once_with_places,
    highest,
    places,
    ranks,
    read_off,
    without,
)

VALUES = st.lists(st.integers(0, 4), max_size=12)


@given(st.lists(st.text(max_size=3), max_size=8, unique=True))
def test_ranks_are_places_in_order(keys):
    assert ranks(keys).tolist() == [sorted(keys).index(key) for key in keys]


@given(VALUES, st.integers(-1, 15))
def test_highest_orders_by_value_then_rank(values, count):
    ties = np.arange(len(values))[::-1].copy()
    found = highest(np.array(values, dtype=float), count, ties).tolist()
    best = sorted(range(len(values)), key=lambda i: (-values[i], ties[i]))
    assert found == best[: max(0, count)]


@given(VALUES, st.integers(-1, 15))
def test_contenders_are_the_highest_and_whoever_ties_with_the_last(values, count):
    found = contenders(np.array(values, dtype=float), count).tolist()
    taken = sorted(values, reverse=True)[: max(0, count)]
    assert found == [place for place, value in enumerate(values) if taken and value >= taken[-1]]


POSITIONS = st.lists(st.integers(-1, 9), max_size=8)


@given(st.sets(st.integers(0, 8)), POSITIONS)
def test_places_are_where_positions_stand(here, wanted):
    ascending = sorted(here)
    given_, asked = np.array(ascending, dtype=np.int64), np.array(wanted, dtype=np.int64)
    expected = [ascending.index(one) if one in here else -1 for one in wanted]
    assert places(given_, asked).tolist() == expected
    assert among(given_, asked).tolist() == [one in here for one in wanted]


@given(st.lists(st.integers(-3, 9), max_size=12), st.sets(st.integers(0, 8)))
def test_each_once_and_without_are_what_sets_say(values, taken):
    numbers = np.array(values, dtype=np.int64)
    assert each_once(numbers).tolist() == sorted(set(values))
    left = without(numbers, np.array(sorted(taken), dtype=np.int64))
    assert left.tolist() == [one for one in values if one not in taken]


@given(st.dictionaries(st.integers(0, 8), st.floats(0.1, 1)), POSITIONS)
def test_values_are_read_off_where_positions_stand(known, wanted):
    ascending = np.array(sorted(known), dtype=np.int64)
    values = np.array([known[one] for one in sorted(known)], dtype=np.float64)
    found = read_off(ascending, values, np.array(wanted, dtype=np.int64))
    assert found.tolist() == [known.get(one, 0.0) for one in wanted]


@given(POSITIONS)
def test_each_value_stands_among_those_that_are_there_once(values):
    given_ = np.array(values, dtype=np.int64)
    distinct, standing = each_once_with_places(given_)
    assert distinct.tolist() == sorted(set(values))
    assert distinct[standing].tolist() == values
