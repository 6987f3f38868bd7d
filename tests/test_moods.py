"""Jokes: taken back by their speaker, in the message itself or in the next."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.moods import mood, takes_back
from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from graphmem.types import Passage, Triple
from store_parts import ANA, drain, put, said


def passage(text, **fields):
    return Passage("p", "m", text, speaker="Ana", **fields)


@pytest.mark.parametrize(
    "text",
    [
        "I am the queen of Denmark. Just kidding!",
        "I bought a tank, jk",
        "I married my boss. No, I'm kidding.",
        "my cat is a lawyer /s",
        "My cat is a lawyer /s.",
        "I ate the whole boat. It was a joke!",
        "I moved to Mars, not really, lol",
        "I\u2019m only joking when I say I live on Mars",
        "I ran to Rome today (only joking)",
        "I live on Mars (joking!)",
        "I live on Mars \U0001f602 kidding!",
        "I live on Mars. Sarcasm, obviously.",
        "I love queues. I'm being sarcastic.",
        "Joke: I live on Mars",
    ],
)
def test_a_marker_makes_a_joke(text):
    is_first = text.startswith("I\u2019m only")
    assert mood(passage(text)) == ("" if is_first else "joke")
    assert takes_back(passage(text)) == is_first


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Rome lol",
        "haha I live in Oslo",
        "I live in Oslo, no kidding",
        "I live in Oslo, I'm not joking",
        "I live in Oslo and am not just kidding",
        "You're kidding! I live in Oslo too",
        "She was kidding the children in Oslo",
        "The folder is /srv/s",
        "I live in Oslo",
        "Jk Rowling lives in Oslo",
        "I live in Oslo. No kidding!",
        "Ana's joke: a long one about Oslo",
        "I hate sarcasm",
    ],
)
def test_who_laughs_or_insists_is_in_earnest(text):
    assert mood(passage(text)) == ""
    assert mood(passage(f"{text}. Just kidding")) == "joke"


def test_the_next_message_takes_one_back():
    claim = passage("I am the queen of Denmark")
    for text in ("jk", "Haha just kidding!", "no, I'm joking, I'm from Porto", "lol jk"):
        assert mood(claim, passage(text)) == "joke"
    for text in ("lol", "I'm not kidding", "you must be kidding", "I bought it, jk"):
        assert mood(claim, passage(text)) == ""
    assert mood(claim) == ""
    assert mood(claim, passage("jk", role="assistant")) == ""


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_has_a_mood(text, following):
    assert mood(passage(text), passage(following)) in ("", "joke")


# --- in the store

READER = ScriptedExtractor(
    lambda one: [Triple(*one.text.split(" | "))] if one.text.count(" | ") == 2 else []
)
QUEEN = "Ana | is | queen of Denmark"


def statuses(*batches, texts=1000):
    with closing(Store.open(":memory:")) as store:
        for batch in batches:
            put(store, *batch)
            drain(store, READER, texts=texts)
        return {one.object: one.status for one in store.facts(ANA)}


@pytest.mark.parametrize("texts", [1, 2, 1000])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_joke_is_no_belief_however_it_is_read(texts, is_late):
    before = [said("Ana | lives in | Oslo", 0), said(QUEEN, 1)]
    between = [said("wow", 2, "bob")]
    after = [said("just kidding", 3), said("Ana | lives in | Rome", 4)]
    batches = [before, [*between, *after]] if is_late else [[*before, *between, *after]]
    found = statuses(*batches, texts=texts)
    assert found == {"Oslo": "asserted", "queen of Denmark": "candidate", "Rome": "asserted"}


def test_what_is_put_in_between_later_changes_who_is_taken_back():
    joke = [said(QUEEN, 1), said("just kidding", 3)]
    assert statuses(joke) == {"queen of Denmark": "candidate"}
    late = [said("Ana | is | bored", 2)]
    assert statuses(joke, late)["bored"] == "candidate"


def test_another_speaker_takes_nothing_back():
    assert statuses([said(QUEEN, 1), said("just kidding", 2, "bob")]) == {
        "queen of Denmark": "asserted"
    }


def test_a_joke_that_is_read_again_stays_one():
    """As after a failure: the passage is read after the one that takes it back."""
    with closing(Store.open(":memory:")) as store:
        put(store, said(QUEEN, 1), said("just kidding", 2))
        drain(store, READER)
        first = {one.object: one.status for one in store.facts(ANA)}
        put(store, said("Ana | lives in | Oslo", 0))  # before both: they are read again
        drain(store, READER, texts=1)
        assert first == {"queen of Denmark": "candidate"}
        assert {one.object: one.status for one in store.facts(ANA)} == {
            "queen of Denmark": "candidate", "Oslo": "asserted"
        }  # fmt: skip
