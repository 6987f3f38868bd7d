from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from builders import NOON
from graphmem.recall.succession import lift_later
from worlds import Said, World


def home(key, place, *, day=0, session=None, role="user", status="asserted", stamped=True):
    return Said(
        key,
        f"Maja lives in {place}",
        [("Maja", "lives in", place)],
        speaker="Maja" if role == "user" else "assistant",
        session=session or f"session {day}",
        said_at=NOON + timedelta(days=day) if stamped else None,
        role=role,
        status=status,
    )


def lifted(*said, ranking=("old", "new"), scores=None, alike=0.7, as_good=0.8, among=10):
    memory = World(said).index().snapshot()
    place = {passage.id: number for number, passage in enumerate(memory.passages)}
    values = np.ones(len(memory.facts)) if scores is None else scores(memory)
    order = np.array([place[key] for key in ranking])
    found = lift_later(memory, order, values, among=among, alike=alike, as_good=as_good)
    return [memory.passages[position].id for position in found.tolist()]


OLD = home("old", "Oslo")


def test_the_later_passage_stands_just_above():
    rain = Said("rain", "rain", speaker="Zoe", session="z", said_at=NOON)
    new = home("new", "Ghent", day=9)
    assert lifted(OLD, rain, new, ranking=("rain", "old", "new")) == ["rain", "new", "old"]
    assert lifted(OLD, rain, new, ranking=("rain", "old")) == ["rain", "new", "old"]
    assert lifted(OLD, new, ranking=("new", "old")) == ["new", "old"]


@pytest.mark.parametrize(
    "new",
    [
        home("new", "Ghent", day=0),
        home("new", "Ghent", day=9, session="session 0"),
        home("new", "Ghent", day=9, stamped=False),
        home("new", "Ghent", day=9, role="assistant", status="candidate"),
        Said("new", "x", [("Zoe", "lives in", "Ghent")], "Zoe", "z", NOON + timedelta(days=9)),
        Said("new", "x", [("Maja", "owns two cats", "now")], "Maja", "z", NOON + timedelta(days=9)),
        Said("new", "Maja lives in Ghent", (), "Maja", "z", NOON + timedelta(days=9)),
    ],
    ids=["same time", "same session", "no time", "a guess", "of another", "unlike", "no fact"],
)
def test_what_is_lifted_by_nothing_else(new):
    assert lifted(OLD, home("new", "Ghent", day=9)) == ["new", "old"], "the control"
    assert lifted(OLD, new) == ["old", "new"]


def test_a_person_withheld_is_believed_before_an_assistant():
    assert lifted(OLD, home("new", "Ghent", day=9, status="candidate")) == ["new", "old"]


def test_a_fact_that_fits_the_question_worse_lifts_nothing():
    def scores(memory):
        return np.array([1.0 if "Oslo" in fact.text else 0.5 for fact in memory.facts])

    new = home("new", "Ghent", day=9)
    assert lifted(OLD, new, scores=scores) == ["old", "new"]
    assert lifted(OLD, new, scores=scores, as_good=0.5) == ["new", "old"]


def test_only_the_best_passages_are_brought_up_to_date():
    assert lifted(OLD, home("new", "Ghent", day=9), among=0) == ["old", "new"]


def test_a_chain_ends_with_the_latest_first():
    said = [OLD, home("mid", "Ghent", day=5), home("new", "Brno", day=9)]
    assert lifted(*said, ranking=("old", "mid", "new"))[0] == "new"
