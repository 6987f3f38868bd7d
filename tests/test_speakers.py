from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.speakers import Speakers
from worlds import entity_id

NAMES = ("Ana", "Zoe Lang", "assistant", "")
SPOKEN = st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=20)


def count(speakers, spoken, by=1):
    numbers = speakers.numbers([name for name, _ in spoken])
    assert numbers.tolist() == [speakers.number(name) for name, _ in spoken]
    speakers.count(numbers, np.array([is_user for _, is_user in spoken], dtype=np.bool_), by)


def everyone(speakers):
    return speakers.called("ana zoe assistant".split())


def heard(spoken, share=0.4):
    speakers = Speakers(share)
    count(speakers, spoken)
    speakers.find_hubs()
    return speakers


@given(SPOKEN, SPOKEN, st.floats(0.1, 1))
def test_who_went_never_spoke(spoken, gone, share):
    speakers = Speakers(share)
    count(speakers, spoken + gone)
    speakers.find_hubs()
    count(speakers, gone, by=-1)
    speakers.find_hubs()
    only = [(name, is_user) for name, is_user in spoken if name]
    times = {name: sum(one == name for one, _ in only) for name, _ in only}
    assert everyone(speakers) == sorted(times)
    expected = sorted(name for name, n in times.items() if n >= share * len(only))
    assert list(speakers.hubs) == expected
    users = {name for name, is_user in only if is_user}
    assert speakers.asker == (users.pop() if len(users) == 1 else None)
    assert not speakers.find_hubs()


def test_what_hubs_are_called():
    speakers = heard([("Zoe Lang", True)] * 3 + [("Ana", False)])
    assert speakers.hubs == ("Zoe Lang",)
    assert speakers.hub_words == {"zoe", "lang"}
    assert set(speakers.hub_terms) == {"zoe", "lang"}
    assert speakers.hub_entities == (entity_id("Zoe Lang"),)


def test_nobody_speaks_in_documents():
    speakers = heard([("", False), ("", True)], share=0.0)
    assert speakers.numbers(["", "Ana", ""]).tolist() == [-1, 0, -1]
    assert speakers.number("") == speakers.number("who never spoke") == -1
    assert everyone(speakers) == []
    assert speakers.hubs == ()
    assert speakers.asker is None


@pytest.mark.parametrize("spoken", [[], [("Ana", True)], [("Ana", True), ("Zoe Lang", True)]])
def test_what_was_kept_is_taken_back(spoken):
    speakers, fresh = heard(spoken), Speakers(0.4)
    speakers.fold()
    fresh.take(speakers.arrays())
    for name in ("hubs", "hub_words", "hub_terms", "hub_entities", "asker"):
        assert getattr(fresh, name) == getattr(speakers, name), name
    assert everyone(fresh) == everyone(speakers) == sorted(name for name, _ in spoken)
    assert fresh.number("Ana") == speakers.number("Ana")


def test_who_is_called_something():
    speakers = heard([(name, True) for name in ("Zoe Lang", "zoe", "Ana", "Lang")])
    assert speakers.called(["lang", "zoe", "zoe"]) == ["Lang", "Zoe Lang", "zoe"]
    assert speakers.called(["bo"]) == speakers.called([]) == []
