"""What words mean that ask to forget."""

from __future__ import annotations

import pytest

from graphmem.asking import the_one, wanted
from graphmem.errors import Ambiguous
from graphmem.facts import entity_id, fact_id
from graphmem.types import Entity, Fact, Passage


def stated(subject: str, predicate: str, object_: str, polarity: bool = True) -> Fact:
    id_ = fact_id(subject, predicate, object_, polarity)
    ends = entity_id(subject), entity_id(object_)
    return Fact(id_, *ends, subject, predicate, object_, polarity)


FACTS = [
    stated("Ana", "lives in", "Oslo"),
    stated("Ana", "moved to", "Oslo"),
    stated("Ben", "lives in", "Rome"),
    stated("Ana", "eats", "meat", False),
    stated("Ana", "home phone number is", "555-1234"),
    stated("Ana", "work phone number is", "555-9876"),
    stated("Zoe Lind", "is boss of", "Ben"),
]
ENTITIES = [Entity(entity_id(name), name) for name in ("Ana", "Ben", "Oslo", "Zoe Lind", "C++")]
PASSAGES = [
    Passage("p1", "m1", "My PIN is 4711."),
    Passage("p2", "m2", "I live in Oslo."),
    Passage("p3", "m3", "The boat to Bergen sank in May."),
    Passage("p4", "m4", "The boat to Stavanger was late."),
    Passage("p5", "m5", "I cannot stand walnuts.", speaker="Karl"),
]


def meant(query: str) -> list[str]:
    found = wanted(query, me=["ana"], facts=FACTS, entities=ENTITIES, passages=PASSAGES)
    return [one.text for one in found if one.score == 1.0]


def chosen(query: str) -> list[str]:
    found = wanted(query, me=["ana"], facts=FACTS, entities=ENTITIES, passages=PASSAGES)
    return [one.text for one in the_one(found, {one.id: one for one in FACTS})]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("forget that I live in Oslo", ["Ana lives in Oslo", "I live in Oslo."]),
        ("Please forget where I live.", ["Ana lives in Oslo"]),
        ("delete where Ben lives", ["Ben lives in Rome"]),
        ("could you please forget that I don't eat meat?", ["Ana (not) eats meat"]),
        ("I'd like you to forget where I live, thanks", ["Ana lives in Oslo"]),
        ("Could you please remove my PIN from your memory?", ["My PIN is 4711."]),
        ("Forget that thing about the boat to Bergen.", ["The boat to Bergen sank in May."]),
        ("Forget my home phone number, please", ["Ana home phone number is 555-1234"]),
        ("forget everything about Zoe Lind", ["Zoe Lind"]),
        ("Forget everything you know about Zоe Lind!", ["Zoe Lind"]),
        ("remove all about C++", ["C++"]),
        ("oslo", ["Oslo"]),
        ("forget my PIN", ["My PIN is 4711."]),
        ("delete that Karl cannot stand walnuts", ["I cannot stand walnuts."]),
        ("erase the boat to Bergen", ["The boat to Bergen sank in May."]),
    ],
)
def test_one_thing_is_meant(query, found):
    assert chosen(query) == found


@pytest.mark.parametrize(
    ("query", "count"),
    [("forget my phone number", 2), ("forget the boat", 2), ("forget where they live", 2)],
)
def test_several_things_are_nothing(query, count):
    assert len(meant(query)) >= count
    with pytest.raises(Ambiguous) as caught:
        chosen(query)
    assert len(caught.value.candidates) >= count


@pytest.mark.parametrize(
    "query",
    ["", "forget", "forget it", "forget my shoe size", "forget everything about Quito", "???"],
)
def test_what_fits_nothing_is_nothing(query):
    assert meant(query) == []
    with pytest.raises(Ambiguous, match="nothing"):
        chosen(query)


def test_what_holds_some_words_is_shown_and_not_meant():
    found = wanted(
        "forget the boat to Trondheim",
        me=["ana"], facts=FACTS, entities=ENTITIES, passages=PASSAGES,
    )  # fmt: skip
    assert [one.id for one in found] == ["p3", "p4"]
    assert all(0 < one.score < 1 for one in found)


def test_two_spellings_of_one_value_are_one_thing():
    found = wanted(
        "Ana in Oslo", me=["ana"], facts=FACTS, entities=(), passages=()
    )  # fmt: skip
    assert len(the_one(found, {one.id: one for one in FACTS})) == 2
