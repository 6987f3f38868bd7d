from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from graphmem.index.cues import closeness, manner, read_question
from graphmem.words import words

SPEAKERS = ("Owen Hale", "Priya")


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() / 86400


@pytest.mark.parametrize(
    ("question", "asker", "named"),
    [
        ("Where does Priya work?", None, ("Priya",)),
        ("Where did Owen meet Priya?", None, ("Owen Hale", "Priya")),
        ("What is Priya's cat called?", None, ("Priya",)),
        ("What is my cat called?", "Priya", ("Priya",)),
        ("What is my cat called?", None, ()),
        ("What is the cat called?", "Priya", ()),
    ],
)
def test_who_is_named(question, asker, named):
    assert read_question(question, SPEAKERS, asker).speakers == named


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("What happened on 9 November 2025?", [(11, 9, 2025)]),
        ("What happened on the 3rd of May?", [(5, 3, None)]),
        ("What happened on May 3rd, 2024?", [(5, 3, 2024)]),
        ("Who came in September?", [(9, None, None)]),
        ("Who came in Sept. 2025 or March?", [(9, None, None), (3, None, None)]),
        ("Since 2025-02-07?", [(2, 7, 2025)]),
        ("Since 2025-02?", [(2, None, 2025)]),
        ("May I march on?", [(5, None, None)]),
        ("Who may march?", []),
        ("Since 2025-13-40?", []),
        ("On 45 May?", [(5, None, None)]),
    ],
)
def test_dates_in_questions(question, dates):
    found = read_question(question, (), None).dates
    assert [(date.month, date.day, date.year) for date in found] == dates


@pytest.mark.parametrize(
    ("question", "asks"),
    [("When is it?", True), ("On what date is it?", True), ("How long?", True), ("Who?", False)],
)
def test_asking_when(question, asks):
    assert read_question(question, (), None).asks_when is asks


def test_closeness_is_one_within_and_falls_outside():
    dates = read_question("in May 2025", (), None).dates
    days = np.array([day("2025-05-01"), day("2025-05-31T23:00"), day("2025-06-16"), np.nan])
    near = closeness(dates, days, 15.0)
    assert near[:2].tolist() == [1.0, 1.0]
    assert near[2] == pytest.approx(np.exp(-1), abs=0.01)
    assert near[3] == 0.0


def test_an_open_year_fits_every_year():
    dates = read_question("on 2 January", (), None).dates
    days = np.array([day("2024-01-02T12:00"), day("2025-01-02T12:00"), day("2024-07-02")])
    near = closeness(dates, days, 15.0)
    assert near[0] == near[1] == 1.0
    assert near[2] < 0.01


def test_no_dates_and_no_times_are_near_nothing():
    days = np.array([day("2025-05-01")])
    assert closeness((), days, 15.0).tolist() == [0.0]
    dates = read_question("in May", (), None).dates
    assert closeness(dates, np.array([np.nan]), 15.0).tolist() == [0.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm off on Monday", (True, False, True)),
        ("Is it far?", (False, True, False)),
        ("about 40 minutes", (False, False, True)),
        ("Nice weather", (False, False, False)),
    ],
)
def test_manner(text, expected):
    found = manner(text, words(text))
    assert (found.is_personal, found.is_question, found.tells_time) == expected
