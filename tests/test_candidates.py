"""Looking at the nearest passages only, against looking at all of them."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import cache

import numpy as np
import pytest

from builders import NOON
from graphmem.recall.candidates import candidates
from graphmem.recall.question import ask as ask_index
from graphmem.settings import RecallSettings
from graphmem.testing import HashEmbedder
from worlds import Memory, Said, World, ask, ids

EMBEDDER = HashEmbedder()
LIMITED = RecallSettings(look_all=0)
UNLIMITED = RecallSettings(look_all=10**9)
PEOPLE = "Maja Tomo Ines Rui Bea Lars Noor Pavel Yuki Omar".split()
TOWNS = "Lisbon Zagreb Oslo Porto Ghent Brno Turku Bergen Split Delft".split()
THINGS = "boat bakery violin orchard kayak telescope bicycle lantern quilt beehive".split()
DOINGS = "bought sold repaired painted lost found borrowed admired".split()
SESSIONS, SESSION_LENGTH = 180, 9


@cache
def world() -> Memory:
    """Sessions, each about somebody and somewhere, and documents about towns."""
    rng = random.Random(11)
    said = []
    for session in range(SESSIONS):
        person, town = rng.choice(PEOPLE), rng.choice(TOWNS)
        for number in range(SESSION_LENGTH):
            thing, doing = rng.choice(THINGS), rng.choice(DOINGS)
            said.append(
                Said(
                    f"m{rng.getrandbits(40):010x}",
                    f"{person} {doing} the {thing} in {town}, I heard {number}",
                    [(person, doing, f"{thing} of {town}")] if rng.random() < 0.6 else (),
                    speaker=f"speaker {(session + number % 2) % 13}",
                    session=f"s{session}",
                    said_at=NOON + timedelta(days=session, hours=number),
                )
            )
    for number, town in enumerate(TOWNS):
        text = f"{town} lies in region {number}. Its people make a {THINGS[number]}."
        said.append(Said(f"d{number}", text, [(town, "lies in", f"region {number}")], title=town))
    return World(said, EMBEDDER).index()


def questions() -> list[str]:
    rng = random.Random(12)
    asked = []
    for number in range(60):
        person, town, thing = rng.choice(PEOPLE), rng.choice(TOWNS), rng.choice(THINGS)
        asked.append(
            (
                f"Who {rng.choice(DOINGS)} the {thing} in {town}?",
                f"What did {person} do in {town}?",
                f"In which region is the {thing} that {person} {rng.choice(DOINGS)}?",
                f"When did {person} see the {thing}?",
            )[number % 4]
        )
    return asked


def looked_at(query, settings, session=None):
    memory = world()
    question = ask_index(memory, query, EMBEDDER.embed_query(query))
    return candidates(memory, question, settings, session)


def test_the_best_are_nearly_always_among_the_candidates():
    memory, same = world(), []
    for query in questions():
        few, every = (ask(memory, query, settings=one) for one in (LIMITED, UNLIMITED))
        assert few.route == every.route
        same.append(ids(few) == ids(every))
        # What may be missing stood at the end.
        assert ids(few)[0] == ids(every)[0]
        assert len(set(ids(few)) & set(ids(every))) >= 4
        assert len(looked_at(query, LIMITED)) < len(memory) / 2
        assert len(memory) == len(looked_at(query, UNLIMITED))
    assert np.mean(same) >= 0.95


@pytest.mark.parametrize("look_k", [2, 40])
def test_one_session_shows_its_own_best_and_no_other(look_k):
    memory, settings = world(), RecallSettings(look_all=0, look_k=look_k)
    for number, query in enumerate(questions()[:12]):
        session = f"s{number}"
        eligible = set(memory.passages.session(session).tolist())
        chosen = looked_at(query, settings, session)
        assert chosen.size
        assert set(chosen.tolist()) <= eligible
        few = ask(memory, query, settings=settings, session=session, top_k=50)
        every = ask(memory, query, settings=UNLIMITED, session=session, top_k=50)
        assert {one.passage.session for one in (*few, *every)} == {session}
        assert len(every) == len(eligible) == SESSION_LENGTH
        assert ids(few)[0] == ids(every)[0]


def test_they_are_distinct_ascending_and_here():
    memory = World([Said(f"p{n}", f"boat {n % 3}") for n in range(40)], EMBEDDER).index()
    gone = World([Said(f"p{n}", "") for n in range(20)], None).changes()
    memory.update(type(gone)(2, removed=frozenset(one.id for one in gone.passages)))
    question = ask_index(memory, "boat 1", EMBEDDER.embed_query("boat 1"))
    for settings in (LIMITED, UNLIMITED, RecallSettings(look_all=0, look_k=3)):
        found = candidates(memory, question, settings, None).tolist()
        assert found == sorted(set(found))
        assert found
        assert min(found) >= 20
    assert found != list(range(20, 40))


def test_small_memories_and_sessions_are_looked_at_whole():
    settings = RecallSettings(look_all=SESSION_LENGTH, look_k=1, window=((0, 1.0),))
    assert len(looked_at("boat", settings)) <= 2
    session = world().passages.session("s3")
    assert looked_at("boat", settings, "s3").tolist() == session.tolist()


def test_whoever_sees_a_candidate_in_its_window_is_one():
    said = [
        Said(f"p{n:02}", "rain" if n != 20 else "violin", speaker="Ana", session="s")
        for n in range(40)
    ]
    memory = World(said, None).index()
    question = ask_index(memory, "violin", None)
    settings = RecallSettings(look_all=0, look_k=1, window=((-2, 0.5), (0, 1.0), (1, 0.3)))
    assert candidates(memory, question, settings, None).tolist() == [19, 20, 22]


def test_a_document_about_what_is_named_is_a_candidate():
    said = [Said(f"p{n}", "the violin of Oslo " * 3) for n in range(30)]
    said.append(Said("doc", "A town.", [("Oslo", "is", "a town")], title="Oslo"))
    memory = World(said, None).index()
    settings = RecallSettings(look_all=0, look_k=2)
    question = ask_index(memory, "a violin of Oslo", None)
    assert memory.passages.ids.get("doc") in candidates(memory, question, settings, None)
    untold = ask_index(memory, "a violin", None)
    assert memory.passages.ids.get("doc") not in candidates(memory, untold, settings, None)


@pytest.mark.parametrize("embedder", [EMBEDDER, None])
@pytest.mark.parametrize("look_k", [1, 5, 12])
def test_at_the_border_ties_go_by_id_whoever_came_first(embedder, look_k):
    keys = [f"p{n:02}" for n in range(30)]
    settings = RecallSettings(look_all=0, look_k=look_k, weigh_k=max(5, look_k))
    found = []
    for order in (keys, keys[::-1], random.Random(5).sample(keys, 30)):
        said = [Said(key, "a boat on the lake", [("boat", "is on", "lake")]) for key in order]
        index = World(said, embedder).index()
        found.append(ids(ask(index, "boat", embedder=embedder, settings=settings, top_k=look_k)))
    assert found == [keys[:look_k]] * 3
