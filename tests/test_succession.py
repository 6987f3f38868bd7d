from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from builders import NOON
from graphmem.recall.seeds import Fits
from graphmem.recall.succession import current_first, held_first, lift_later
from graphmem.types import Changes
from worlds import Said, World, facts_of


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


def lifted(*said, ranking=("old", "new"), fits=None, alike=0.7, as_good=0.8, among=10):
    """The ranking afterwards; ``fits`` says how well the fact of a text fits the question."""
    memory = World(said).index()
    facts = facts_of(said)
    known = memory.facts.ids.find([fact.id for fact in facts])
    scores = np.array([1.0 if fits is None else fits(fact.text) for fact in facts])
    order = np.argsort(known)
    found = lift_later(
        memory,
        memory.passages.ids.find(ranking),
        Fits(known[order], scores[order], memory.facts.is_live(known[order])),
        among=among,
        alike=alike,
        as_good=as_good,
    )
    return memory.passages.ids.texts(found.ranking)


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
    def fits(text):
        return 1.0 if "Oslo" in text else 0.5

    new = home("new", "Ghent", day=9)
    assert lifted(OLD, new, fits=fits) == ["old", "new"]
    assert lifted(OLD, new, fits=fits, as_good=0.5) == ["new", "old"]


def test_only_the_best_passages_are_brought_up_to_date():
    assert lifted(OLD, home("new", "Ghent", day=9), among=0) == ["old", "new"]


def test_a_chain_ends_with_the_latest_first():
    said = [OLD, home("mid", "Ghent", day=5), home("new", "Brno", day=9)]
    assert lifted(*said, ranking=("old", "mid", "new"))[0] == "new"


def test_of_many_later_ones_the_one_that_fits_best_is_lifted_then_the_latest_then_by_id():
    later = [home("c", "Ghent", day=5), home("b", "Brno", day=9), home("a", "Porto", day=9)]

    def found(fits=None):
        return lifted(OLD, *later, ranking=("old",), fits=fits)[0]

    assert found() == "a"
    assert found(lambda text: 0.9 if "Porto" in text else 1.0) == "b"
    assert found(lambda text: 1.0 if "Ghent" in text or "Oslo" in text else 0.9) == "c"


def test_a_retired_fact_brings_nothing_up_to_date():
    said = [OLD, home("new", "Ghent", day=9)]
    memory = World(said).index()
    retired = [replace(one, retired_at=NOON) for one in facts_of(said) if "Ghent" in one.text]
    known = np.arange(len(memory.facts))
    fits = Fits(known, np.ones(len(known)), memory.facts.is_live(known))
    ranking = memory.passages.ids.find(["old", "new"])

    def found():
        order = lift_later(memory, ranking, fits, among=10, alike=0.7, as_good=0.8)
        return memory.passages.ids.texts(order.ranking)

    assert found() == ["new", "old"]
    memory.update(Changes(2, facts=tuple(retired)))
    assert found() == ["old", "new"]


def current(said, replaced, ranking, *, fits=lambda text: 1.0):
    """The ranking with what holds now first; ``replaced`` maps a place to the one after it."""
    memory = World(said).index()
    by_place = {fact.object: fact for fact in facts_of(said)}
    retired = [
        replace(by_place[old], retired_at=NOON, replaced_by=by_place[new].id)
        for old, new in replaced.items()
    ]
    memory.update(Changes(2, facts=tuple(retired)))
    facts = facts_of(said)
    known = memory.facts.ids.find([fact.id for fact in facts])
    order = np.argsort(known)
    scores = np.array([fits(fact.text) for fact in facts])[order]
    judged = Fits(known[order], scores, memory.facts.is_live(known[order]))
    found = current_first(memory, memory.passages.ids.find(ranking), judged)
    return memory.passages.ids.texts(found.ranking)


def test_what_holds_now_stands_above_what_it_replaced():
    """From wherever it was ranked, in one session or without any time."""
    new = home("new", "Ghent", session="session 0", stamped=False)
    rain = Said("rain", "rain", speaker="Zoe", session="z", said_at=NOON)
    said, replaced = [OLD, new, rain], {"Oslo": "Ghent"}
    assert current(said, replaced, ["rain", "old", "new"]) == ["rain", "new", "old"]
    assert current(said, replaced, ["rain", "old"]) == ["rain", "new", "old"]
    assert current(said, replaced, ["new", "rain", "old"]) == ["new", "rain", "old"]
    assert current(said, {}, ["rain", "old", "new"]) == ["rain", "old", "new"]


def test_one_live_fact_stands_above_a_hundred_that_it_replaced():
    said = [home(f"p{day}", f"place {day}", day=day) for day in range(101)]
    replaced = {f"place {day}": "place 100" for day in range(100)}
    order = current(said, replaced, [f"p{day}" for day in range(50)])
    assert order[0] == "p100"
    assert len(order) == 51


def test_a_person_says_what_holds_before_an_assistant_repeats_it():
    said = [
        OLD,
        home("new", "Ghent", day=5),
        home("later", "Ghent", day=6),
        home("echo", "Ghent", day=9, role="assistant"),
    ]
    assert current(said, {"Oslo": "Ghent"}, ["old"]) == ["later", "old"]


def test_a_passage_that_tells_both_stays_where_it_is():
    both = Said(
        "both",
        "Maja left Oslo, she lives in Ghent",
        [("Maja", "lives in", "Oslo"), ("Maja", "lives in", "Ghent")],
        speaker="Maja",
    )
    assert current([both, home("new", "Ghent", day=5)], {"Oslo": "Ghent"}, ["both"]) == ["both"]


def test_what_a_passage_says_besides_does_not_hide_that_it_was_replaced():
    facts = [("Maja", "lives in", "Oslo"), ("Maja", "works in", "claims office")]
    old = Said("old", "Maja lives in Oslo and works in the claims office", facts, speaker="Maja")
    said, replaced = [old, home("new", "Ghent", day=5)], {"Oslo": "Ghent"}

    def found(share):
        return current(said, replaced, ["old"], fits=lambda text: share if "Oslo" in text else 1.0)

    assert found(0.6) == ["new", "old"]
    assert found(0.4) == ["old"]


def test_of_another_time_all_that_was_over_stands_last_in_its_order():
    said = [home(f"p{day}", "Oslo" if day % 2 else "Ghent", day=day) for day in range(6)]
    memory = World(said).index()
    known = np.arange(len(memory.facts))
    fits = Fits(known, np.ones(len(known)), memory.facts.is_live(known))
    over = {fact.id for fact in facts_of(said) if "Oslo" in fact.text}

    def is_over(facts):
        return np.array([id_ in over for id_ in memory.facts.ids.texts(facts)], dtype=np.bool_)

    ranking = ["p3", "p4", "p1", "p0", "p5", "p2"]
    found = held_first(memory, memory.passages.ids.find(ranking), fits, is_over, among=5)
    assert memory.passages.ids.texts(found.ranking) == ["p4", "p0", "p3", "p1", "p5", "p2"]
