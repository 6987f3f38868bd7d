from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.lexicon import word_keys
from graphmem.index.names import Names, is_nameable
from graphmem.words import words

# In words of three letters, so that a single one is a name.
SPELLED = {"a": "ann", "b": "bob", "c": "cid"}
TEXT = st.lists(st.sampled_from(sorted(SPELLED.values())), max_size=8)
NAME = st.lists(st.sampled_from(sorted(SPELLED.values())), min_size=1, max_size=4)


def called(*names):
    """Names of entities 0, 1, …"""
    found = Names(8)
    found.add([words(name) for name in names])
    return found


def read(names, *texts):
    """For each text the entities whose names stand in it."""
    names.read(np.arange(len(texts)), [word_keys(words(text)) for text in texts])
    return named_in(names, len(texts))


def named_in(names, count):
    places, entities = names.named_in(np.arange(count))
    return [sorted(entities[places == place].tolist()) for place in range(count)]


def added(names, *fresh):
    numbers, new = names.add([words(name) for name in fresh])
    return numbers.tolist(), new.tolist()


def longest(names, text):
    return names.longest_in(words(text)).tolist()


def test_all_names_are_found_overlapping_ones_too():
    names = called("New York", "York", "New York Times", "Paris")
    text = "She reads the New York Times in York."
    assert read(names, text, "nothing", "Paris, New York") == [[0, 1, 2], [], [0, 1, 3]]


def test_in_a_question_the_longest_name_wins():
    names = called("New York", "York", "New York Times")
    assert longest(names, "New York Times of York and New York") == [0, 1, 2]
    assert longest(names, "New York Times of New York") == [0, 2]
    assert longest(names, "") == []


def test_of_names_that_overlap_the_leftmost_wins():
    names = called("ann bob", "bob cid")
    assert longest(names, "ann bob cid") == [0]
    assert longest(names, "dan bob cid") == [1]


def test_names_with_the_same_words_share_them_until_both_are_dropped():
    names = Names(8)
    assert added(names, "Oslo", "St. Ives", "st ives", "the") == ([0, 1, 1, -1], [0, 1])
    assert added(names, "St  Ives!", "Ghent") == ([1, 2], [1])
    assert read(names, "in St Ives") == [[1, 2, 4]]
    names.drop(np.array([1, 4]))
    assert longest(names, "in St Ives") == [2]
    names.drop(np.array([2]))
    assert longest(names, "in St Ives") == []
    assert named_in(names, 1) == [[]]
    # Where it stands is known still.
    assert added(names, "St. Ives") == ([1], [])
    assert named_in(names, 1) == [[6]]


def test_a_name_that_nobody_has_any_more_hides_none():
    names = called("New York Times", "New York")
    assert longest(names, "the New York Times") == [0]
    names.drop(np.array([0]))
    assert longest(names, "the New York Times") == [1]


def test_stop_words_and_short_words_are_no_names():
    names = called("the", "it", "ok", "Bo Li")
    assert read(names, "it is the ok Bo Li") == [[3]]


@given(st.lists(NAME, max_size=4), st.lists(TEXT, max_size=4), st.booleans(), st.data())
def test_a_passage_names_whoevers_words_follow_each_other_in_it(names, texts, is_folded, data):
    table = called(*map(" ".join, names))
    assert named_in(table, len(texts)) == [[]] * len(texts)
    read(table, *map(" ".join, texts))
    gone = data.draw(st.sets(st.sampled_from(range(len(texts) or 1))))
    table.unread(np.array(sorted(gone & set(range(len(texts)))), dtype=np.int64))
    if is_folded:
        table.fold()
    for place, found in enumerate(named_in(table, len(texts))):
        joined = f" {' '.join(texts[place])} "
        expected = [n for n, name in enumerate(names) if f" {' '.join(name)} " in joined]
        assert found == ([] if place in gone else expected)


def test_a_name_that_comes_later_stands_where_it_is_said_to():
    names = called("Oslo")
    assert read(names, "Oslo Lisbon", "Lisbon") == [[0], []]
    assert added(names, "Lisbon") == ([1], [0])
    names.stand(np.array([1, 1]), np.array([0, 1]))
    assert named_in(names, 2) == [[0, 1], [1]]


@pytest.mark.parametrize(
    ("name", "is_telling"),
    [
        ("Ana", True),
        ("Al", False),
        ("the", False),
        ("of the", False),
        ("the Bear", True),
        ("京都", True),
        ("a b c d e f g h", True),
        ("a b c d e f g h i", False),
        ("", False),
    ],
)
def test_names_worth_looking_for(name, is_telling):
    assert is_nameable(words(name), 8) == is_telling
