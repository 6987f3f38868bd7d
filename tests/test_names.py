from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.names import NameTable, is_nameable, stands_in
from graphmem.words import words


def table(**names):
    found = NameTable(8)
    for key, name in names.items():
        found.add(key, name)
    return found


def test_all_names_are_found_overlapping_ones_too():
    names = table(a="New York", b="York", c="New York Times", d="Paris")
    text = words("She reads the New York Times in York.")
    assert names.all_in(text) == {("new", "york"), ("york",), ("new", "york", "times")}


def test_in_a_question_the_longest_name_wins():
    names = table(a="New York", b="York", c="New York Times")
    text = words("New York Times of York and New York")
    assert names.longest_in(text) == [("new", "york", "times"), ("york",), ("new", "york")]


def test_names_with_the_same_words_share_them_until_both_are_dropped():
    names = NameTable(8)
    assert names.add("a", "St. Ives") == ("st", "ives")
    assert names.add("b", "st ives") is None
    names.drop("a")
    assert names.ids(("st", "ives")) == {"b"}
    names.drop("b")
    assert names.ids(("st", "ives")) == frozenset()
    assert names.all_in(words("in St Ives")) == set()
    assert names.add("a", "St. Ives") == ("st", "ives")


def test_stop_words_and_short_words_are_no_names():
    names = table(a="the", b="it", c="ok", d="Bo Li")
    assert names.all_in(words("it is the ok Bo Li")) == {("bo", "li")}


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), min_size=1))
def test_stands_in_is_the_substring_test_on_words(text, name):
    joined = f" {' '.join(text)} "
    assert stands_in(tuple(name), tuple(text)) == (f" {' '.join(name)} " in joined)


def test_a_copy_does_not_see_what_comes_later():
    names = table(a="Oslo", b="Lisbon")
    copy = names.copy()
    names.drop("a")
    names.add("c", "Ghent")
    text = words("Oslo Lisbon Ghent")
    assert copy.longest_in(text) == [("oslo",), ("lisbon",)]
    assert names.longest_in(text) == [("lisbon",), ("ghent",)]


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
