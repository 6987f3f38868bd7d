"""Dates stay only where words yield them: nothing is dated by a model's fancy."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.dating import dated
from graphmem.types import Passage, Triple

SAID = datetime(2025, 9, 22, 20, tzinfo=timezone(timedelta(hours=9)))


def kept(text, value, said_at=SAID, **fields):
    passage = Passage("p", "m", text, speaker="Ana", said_at=said_at, **fields)
    triple = dated(Triple("Ana", "lives in", "Oslo", valid_from=value, valid_to=value), passage)
    assert triple.valid_from == triple.valid_to
    assert triple.valid_from in (None, value)
    return triple.valid_from == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I've lived here since 2019", "2019"),
        ("since March 2019", "2019-03"),
        ("since the 4th of March 2019", "2019-03-04"),
        ("since 04/03/2019", "2019-03-04"),
        ("since March '19", "2019-03"),
        ("2019\u5e743\u6708\u304b\u3089", "2019-03"),
        ("back in the 90s", "1990"),
    ],
)
def test_absolute_dates_need_no_time_of_the_message(text, value):
    assert kept(text, value)
    assert kept(text, value, said_at=None)
    assert not kept("I live in Oslo", value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I moved here yesterday", "2025-09-21"),
        ("as of today", "2025-09-22"),
        ("from tomorrow on", "2025-09-23"),
        ("since last Tuesday", "2025-09-16"),
        ("two weeks ago", "2025-09-08"),
        ("for ten years now", "2015"),
        ("a couple of months ago", "2025-07"),
        ("last year", "2024"),
        ("last May", "2025-05"),
        ("from the 13th of October", "2025-10-13"),
        ("on the 13th", "2025-10-13"),
        ("since New Year's Day", "2025-01-01"),
    ],
)
def test_relative_dates_count_from_the_message(text, value):
    assert kept(text, value)
    assert not kept(text, value, said_at=None)
    assert not kept("I live in Oslo", value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I live in Oslo", "2025-09-22"),
        ("I live in Oslo with 2 cats and 22 plants", "2025-09-22"),
        ("I moved here yesterday", "2023-09-21"),
        ("I moved here two weeks ago", "2025-03-01"),
        ("I moved here in March", "2025-05"),
        ("I moved here in March", "2019-03"),
        ("I moved here in 2019", "2019-05-01"),
        ("I moved here in 2019", "2018"),
        ("I moved here", "soon"),
        ("I moved here soon", "soon"),
    ],
)
def test_what_no_words_yield_is_unknown(text, value):
    assert not kept(text, value)


def test_an_answer_may_need_its_question():
    question = Passage("q", "q", "Since when? 2019?", speaker="Rui")
    assert kept("Yes.", "2019", before=(question,))
    assert not kept("Yes.", "2019", before=(question, Passage("r", "r", "Oslo?", speaker="Rui")))


def test_a_document_is_dated_by_its_year():
    assert kept("The pier opened in 1869.", "1869-04", said_at=None, role="document")
    assert not kept("The pier opened in 1869.", "1870", said_at=None, role="document")


@given(
    st.text(max_size=60),
    st.sampled_from(["2025", "2025-09", "0001-01-01", "9999-12-31", "2025-09-21T10:00", "x"]),
    st.sampled_from([None, SAID, datetime.min.replace(tzinfo=timezone.utc),
                     datetime.max.replace(tzinfo=timezone.utc)]),
)  # fmt: skip
def test_any_text_is_read(text, value, said_at):
    assert kept(f"{text} 99 years ago", value, said_at=said_at) in (True, False)


@pytest.mark.parametrize("predicate", ["is on", "was moved to", "deadline is"])
def test_what_tells_of_a_date_does_not_begin_with_it(predicate):
    passage = Passage("p", "m", "The fair is on 13 October 2025.", speaker="Ana", said_at=SAID)
    told = Triple("fair", predicate, "13 October 2025", valid_from="2025-10-13")
    assert dated(told, passage) == Triple("fair", predicate, "13 October 2025")
    other = Triple("fair", "lasts", "a day", valid_from="2025-10-13")
    assert dated(other, passage) == other
