from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.profiles import about, changed, distinct, mentions

PLACES, ITEMS = 4, 5
PAIR = st.tuples(st.integers(0, PLACES - 1), st.integers(0, ITEMS - 1))
VALUED = st.lists(st.tuples(PAIR, st.integers(1, 9)), max_size=12)


def columns(rows, width=2):
    return np.array(rows, dtype=np.int64).reshape(-1, width).T


def as_dict(pairs):
    places, items = pairs.places.tolist(), pairs.items.tolist()
    keys = list(zip(places, items, strict=True))
    assert keys == sorted(set(keys))
    assert len(pairs) == len(keys)
    return dict(zip(keys, pairs.values.tolist(), strict=True))


def valued(rows):
    places, items = columns([pair for pair, _ in rows])
    return distinct(places, items, np.array([value for _, value in rows], dtype=float))


@given(VALUED)
def test_pairs_are_distinct_and_their_values_add_up(rows):
    sums = Counter()
    for pair, value in rows:
        sums[pair] += value
    assert as_dict(valued(rows)) == sums
    assert as_dict(distinct(*columns([pair for pair, _ in rows]))) == dict.fromkeys(sums, 1.0)


STATED = st.lists(
    st.tuples(st.integers(0, PLACES - 1), st.integers(0, ITEMS - 1), st.integers(0, ITEMS - 1)),
    max_size=10,
)


def told(facts):
    places, subjects, objects = columns(facts, 3)
    return mentions(places, np.column_stack([subjects, objects]))


@given(STATED)
def test_a_passage_mentions_the_ends_of_its_facts(facts):
    times = Counter((place, end) for place, *ends in facts for end in ends)
    assert as_dict(told(facts)) == times


@given(
    STATED,
    st.lists(st.integers(-1, ITEMS - 1), min_size=PLACES, max_size=PLACES),
    st.sets(st.integers(0, ITEMS - 1)),
)
def test_a_passage_is_about_its_title_or_what_most_of_its_facts_name(facts, titles, hubs):
    hub_items = np.array(sorted(hubs), dtype=np.int64)
    expected = set()
    for place, title in enumerate(titles):
        times = Counter(end for at, *ends in facts for end in ends if at == place)
        times = {item: count for item, count in times.items() if item not in hubs}
        if title >= 0:
            expected |= {(place, title)} - {(place, hub) for hub in hubs}
        else:
            most = max(times.values(), default=0)
            expected |= {(place, item) for item, count in times.items() if count == most}
    found = as_dict(
        about(PLACES, told(facts), np.array(titles), lambda items: np.isin(items, hub_items))
    )
    assert found == dict.fromkeys(expected, 1.0)


@given(VALUED, VALUED)
def test_a_change_leads_from_before_to_after(before, after):
    start, end = as_dict(valued(before)), as_dict(valued(after))
    change = as_dict(changed(valued(before), valued(after)))
    assert 0 not in change.values()
    reached = {key: start.get(key, 0) + change.get(key, 0) for key in start.keys() | change.keys()}
    assert {key: value for key, value in reached.items() if value} == end
