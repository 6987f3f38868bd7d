from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.lists import Lists, highest, ranks

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=30)


def lists_of(pairs, count=6):
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Lists.of(array[:, 0], array[:, 1], count)


@given(PAIRS)
def test_lists_hold_each_pair_once_in_order(pairs):
    lists = lists_of(pairs)
    assert len(lists) == 6
    for owner in range(6):
        assert lists[owner].tolist() == sorted({item for one, item in pairs if one == owner})


@given(PAIRS)
def test_the_inverse_of_the_inverse_is_the_same(pairs):
    lists = lists_of(pairs)
    back = lists.inverse(8).inverse(6)
    assert back.starts.tolist() == lists.starts.tolist()
    assert back.items.tolist() == lists.items.tolist()


@given(PAIRS, st.lists(st.integers(0, 5), max_size=8))
def test_gather_puts_lists_end_to_end(pairs, wanted):
    lists = lists_of(pairs)
    places, items = lists.gather(np.array(wanted, dtype=np.int64))
    expected = [(place, item) for place, one in enumerate(wanted) for item in lists[one].tolist()]
    assert list(zip(places.tolist(), items.tolist(), strict=True)) == expected


@given(PAIRS)
def test_maxima_are_the_highest_value_of_each_list(pairs):
    lists = lists_of(pairs)
    values = np.arange(8.0) * 2 - 5
    assert lists.maxima(values).tolist() == [max(values[lists[i]], default=0.0) for i in range(6)]


@given(st.lists(st.text(max_size=3), max_size=8, unique=True))
def test_ranks_are_places_in_order(keys):
    assert ranks(keys).tolist() == [sorted(keys).index(key) for key in keys]


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 15))
def test_highest_orders_by_value_then_rank(values, count):
    ties = np.arange(len(values))[::-1].copy()
    found = highest(np.array(values, dtype=float), count, ties).tolist()
    assert found == sorted(range(len(values)), key=lambda i: (-values[i], ties[i]))[:count]
