from __future__ import annotations

import math
import random
import sys
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON
from graphmem import indexes
from graphmem.courtesy import behind_the_scenes
from graphmem.errors import EmbeddingError
from graphmem.index import Index as Plain
from graphmem.index import search, snapshot, yielding
from graphmem.index.senses import Senses
from graphmem.index.snapshot import fold
from graphmem.index.yielding import YieldingLock
from graphmem.settings import RecallSettings
from graphmem.testing import HashEmbedder
from graphmem.types import Changes, Recall, Vectors
from worlds import Memory as Index
from worlds import Said, World, ask, entity_id, facts_of, ids

EMBEDDER = HashEmbedder()


def said_pool() -> dict[str, Said]:
    """Documents and messages that share names, titles, facts and sessions."""
    rows = [
        Said("d1", "Lisbon lies on the Tagus.", [("Lisbon", "lies on", "Tagus")], title="Lisbon"),
        Said("d2", "The Tagus rises in Spain.", [("Tagus", "rises in", "Spain")], title="Tagus"),
        Said("d3", "Lisbon is west of Spain, on the Tagus.", [("Lisbon", "lies on", "Tagus")]),
        Said("d4", "Nothing was read from this about Maja.", title="Spain (country)"),
    ]
    talk = [
        ("Ana", "Maja moved to Lisbon", [("Maja", "moved to", "Lisbon")]),
        ("Zoe", "does she like it?", []),
        ("Ana", "she works by the Tagus", [("Maja", "works by", "Tagus")]),
        ("Ana", "my dog is Rex", [("Ana", "has dog", "Rex")]),
        ("assistant", "Rex sounds like a terrier", [("Rex", "is a", "terrier")]),
        ("Ana", "Maja moved to Oslo", [("Maja", "moved to", "Oslo")]),
        ("Zoe", "the tagus again", []),
        ("Ana", "京都 is far from Lisbon", [("京都", "is far from", "Lisbon")]),
    ]
    for number, (speaker, text, triples) in enumerate(talk):
        rows.append(
            Said(
                f"t{number}",
                text,
                triples,
                speaker=speaker,
                session=f"s{number // 5}",
                said_at=None if number == 2 else NOON + timedelta(days=number),
                role="assistant" if speaker == "assistant" else "user",
                status="candidate" if speaker == "assistant" else "asserted",
            )
        )
    return {one.id: one for one in rows}


POOL = said_pool()
QUESTIONS = (
    "Where does Maja work?",
    "Which country does the river of Lisbon rise in?",
    "What is my dog?",
    "京都",
    "When did Maja move to Oslo in March?",
    "Spain, Oslo, Rex, Tagus, Lisbon",
)


def rows_of(keys, pool):
    ordinals = {key: number for number, key in enumerate(pool)}
    said = [pool[key] for key in sorted(keys, key=ordinals.__getitem__)]
    return {one.id: one.passage(ordinals[one.id]) for one in said}, {
        f.id: f for f in facts_of(said)
    }


def changes_between(before, after, pool=POOL) -> Changes:
    """What a store would report between two sets of passages."""
    old_passages, old_facts = rows_of(before, pool)
    passages, facts = rows_of(after, pool)
    new_passages = [one for key, one in passages.items() if key not in old_passages]
    new_facts = [one for key, one in facts.items() if old_facts.get(key) != one]
    gone = (old_passages.keys() - passages.keys()) | (old_facts.keys() - facts.keys())
    vectors = World([], EMBEDDER).vectors(new_passages, new_facts)
    return Changes(1, tuple(new_passages), tuple(new_facts), vectors, frozenset(gone))


def whole(keys, pool=POOL) -> Changes:
    passages, facts = rows_of(keys, pool)
    vectors = World([], EMBEDDER).vectors(list(passages.values()), list(facts.values()))
    return Changes(1, tuple(passages.values()), tuple(facts.values()), vectors, is_whole=True)


def names_of(index: Index, relation) -> dict[str, set[str]]:
    """By passage the names of the entities that a relation has for it."""
    names = {key: entity.name for key, entity in index.rows.entities.items()}
    return {
        key: {
            names[one]
            for one in index.entities.ids.texts(relation.row(index.passages.ids.get(key)))
        }
        for key in index.rows.passages
    }


def answers(index: Index):
    found = [ask(index, question, top_k=12) for question in QUESTIONS]
    return [comparable(one) for one in found]


def comparable(found: Recall):
    """A recall without times, with scores to nine places: sums come in another order."""
    return (
        found.route,
        found.reason,
        [(one.passage, round(one.score, 9), one.facts) for one in found],
        [(one.fact, round(one.score, 9)) for one in found.facts],
        [(one.entity, round(one.weight, 9), one.reason) for one in found.seeds],
        dict(found.withheld),
    )


@given(st.lists(st.sets(st.sampled_from(sorted(POOL))), min_size=1, max_size=5), st.data())
def test_any_way_to_the_same_rows_gives_the_same_answers(states, data):
    index, keys = Index(), set()
    for state in states:
        changes = changes_between(keys, state)
        order = data.draw(st.permutations(changes.passages))
        index.update(replace(changes, passages=tuple(order)))
        keys = state
        if data.draw(st.booleans()):
            ask(index, QUESTIONS[0])
        if data.draw(st.booleans()):
            index.update(replace(changes_between(set(), keys), removed=frozenset()))
    fresh = Index()
    fresh.update(whole(keys))
    assert answers(index) == answers(fresh)


def test_the_pool_reaches_every_kind_of_answer():
    index = Index()
    index.update(whole(POOL))
    found = answers(index)
    assert {one[0] for one in found} == {"graph"}
    assert {seed[2] for one in found for seed in one[4]} == {"fact", "name"}
    assert len(index.hubs)
    assert not index.facts.is_live(np.arange(len(index.facts))).all()
    assert len(names_of(index, index.topics)["d1"])


def test_vectors_may_come_later():
    index = Index()
    changes = whole(POOL)
    index.update(replace(changes, vectors={}))
    assert ask(index, QUESTIONS[0]).route == "lexical"
    index.update(Changes(2, vectors=changes.vectors))
    fresh = Index()
    fresh.update(changes)
    assert answers(index) == answers(fresh)


def test_a_whole_change_voids_what_was_known():
    index = Index()
    index.update(whole(POOL))
    index.update(whole(["d1"]))
    assert len(index) == 1
    assert ids(ask(index, "Maja")) == ["d1"]


def test_seq_grows_only():
    index = Index()
    assert index.seq == 0
    index.update(Changes(5))
    index.update(Changes(3))
    assert index.seq == 5


def test_a_fact_with_other_words_waits_for_its_vector():
    index = Index()
    index.update(whole(["d1"]))
    (fact,) = facts_of([POOL["d1"]])
    assert len(index.senses["fact"]) == 1
    index.update(Changes(2, facts=(replace(fact, subject="LISBON"),)))
    assert len(index.senses["fact"]) == 0


def test_names_are_found_whichever_comes_first():
    named, telling = POOL["d4"], POOL["t0"]
    for order in ((named, telling), (telling, named)):
        index = Index()
        for one in order:
            passage = one.passage(0)
            index.update(Changes(1, (passage,), facts_of([one])))
        assert names_of(index, index.named)["d4"] == {"Maja"}


def test_a_withheld_fact_is_known_and_seeds_nothing():
    (fact,) = facts_of([POOL["d1"]])
    index = Index()
    index.update(whole(["d1"]))
    for status in ("rejected", "candidate", "disputed"):
        index.update(Changes(2, facts=(replace(fact, status=status),)))
        assert index.facts.ids.here == 1
        assert index.facts.why_withheld(index.facts.ids.get(fact.id)) == status
        assert not index.facts.is_live(index.facts.ids.find([fact.id])).any()
    index.update(Changes(3, facts=(fact,)))
    assert index.facts.is_live(index.facts.ids.find([fact.id])).tolist() == [True]


def test_vectors_of_another_size_are_refused():
    index = Index()
    index.update(whole(["d1"]))
    wrong = Vectors(("d1",), np.ones((1, 3), dtype=np.float32))
    with pytest.raises(EmbeddingError, match="one embedding model"):
        index.update(Changes(2, vectors={"passage": wrong}))
    assert ids(ask(index, "Lisbon")) == ["d1"]


def test_a_title_says_what_a_passage_is_about():
    index = Index()
    index.update(whole(["d1", "d2", "d3", "d4"]))
    assert names_of(index, index.topics) == {
        "d1": {"Lisbon"},
        "d2": {"Tagus"},
        "d3": {"Lisbon", "Tagus"},
        "d4": {"Spain"},
    }


def test_recalls_go_on_while_another_thread_updates():
    index = Index()
    index.update(whole(["d1", "t0"]))
    stop, faults = threading.Event(), []

    def recall_on():
        while not stop.is_set():
            try:
                assert ids(ask(index, QUESTIONS[0]))
            except BaseException as error:
                faults.append(error)
                return

    readers = [threading.Thread(target=recall_on) for _ in range(2)]
    for reader in readers:
        reader.start()
    keys = {"d1", "t0"}
    for key in sorted(POOL):
        index.update(changes_between(keys, keys | {key}))
        keys |= {key}
    stop.set()
    for reader in readers:
        reader.join()
    assert faults == []
    fresh = Index()
    fresh.update(whole(POOL))
    assert answers(index) == answers(fresh)


def test_names_that_are_compared_in_turns_make_the_same_pairs_as_all_at_once():
    said = [
        Said(f"p{n}", f"It is about {name}.", [(name, "is", f"thing {n}")])
        for n, name in enumerate(
            ["the red house", "red house", "house red", "a red house", "blue boat", "the blue boat"]
        )
    ]
    changes = World(said, EMBEDDER).changes()
    at_once, in_turns = Plain(), Plain()
    at_once.update(changes)
    assert at_once.pair() == 0
    in_turns.update(changes)
    while in_turns.pair(1):
        pass

    def strengths(index):
        ids = index.entities.ids
        every = np.arange(len(ids))
        places, near, cosines = index.entities.synonyms.gather(every)
        pairs = zip(ids.texts(places), ids.texts(near), cosines.tolist(), strict=True)
        return sorted(pairs), dict(
            zip(ids.texts(every), index.graph.strengths(2 * every).tolist(), strict=True)
        )

    assert len(strengths(at_once)[0]) >= 4
    assert strengths(in_turns) == strengths(at_once)


# --- beside other threads -----------------------------------------------------------------------


def behind(work):
    """Does work in a thread behind the scenes; returns the thread and what is set at its end."""
    done = threading.Event()

    def run():
        behind_the_scenes()
        work()
        done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, done


def test_to_compare_nothing_takes_no_turn(monkeypatch):
    monkeypatch.setattr(yielding, "PATIENCE_SECONDS", 3600.0)
    index, left = Plain(), []
    reader = object()
    index.lock._waiting.add(reader)
    _, done = behind(lambda: left.append(index.pair()))
    assert done.wait(30)
    assert left == [0]
    index.lock._waiting.discard(reader)
    index.update(whole(["d1"]))
    assert index.unpaired
    index.lock._waiting.add(reader)
    thread, done = behind(lambda: left.append(index.pair()))
    assert not done.wait(0.05), "with something to compare it lets the reader go first"
    index.lock._waiting.discard(reader)
    thread.join(30)
    assert left == [0, 0]


class Unpaired(Index):
    """Rows without a store; names are compared when somebody asks for some to be."""

    def pair(self, most=None):
        return 0 if most is None else super().pair(most)


def crowd() -> dict[str, Said]:
    """Passages with facts about things that have several names each, some stated twice."""
    things = [f"{colour} {thing}" for colour in ("red", "blue") for thing in ("house", "boat")]
    rows = []
    for number in range(36):
        thing = ("", "the ", "a ")[number % 3] + things[number // 3 % 4]
        place = f"{('north', 'south')[number % 2]} pier {number // 6}"
        rows.append(
            Said(
                f"c{number:02}",
                f"{thing} is at {place}",
                [(thing, "is at", place), (thing, "belongs to", f"Maja {number % 5}")],
                speaker=("Ana", "Zoe")[number % 2],
                session=f"s{number // 9}",
            )
        )
    return {one.id: one for one in rows}


CROWD = crowd()


@pytest.fixture
def restless():
    """Threads change places often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def synonyms(index):
    ids = index.entities.ids
    places, near, cosines = index.entities.synonyms.gather(np.arange(len(ids)))
    return sorted(zip(ids.texts(places), ids.texts(near), cosines.tolist(), strict=True))


def contents(index):
    """What an index holds, by id: positions go by what came first."""
    entities, passages = index.entities.ids, index.passages.ids
    names = sorted(index.rows.entities)
    at, here = entities.find(names), passages.find(sorted(index.rows.passages))
    names, at = np.array(names)[at >= 0].tolist(), at[at >= 0]
    return {
        "names": names,
        "synonyms": synonyms(index),
        "held": index.entities.held(at).tolist(),
        "mentions": index.entities.mentions(at).tolist(),
        "rarity": index.rarity(at).round(9).tolist(),
        "strengths": index.graph.strengths(2 * at).tolist(),
        "named": names_of(index, index.named),
        "topics": names_of(index, index.topics),
        "heard": index.heard(here).round(9).tolist(),
        "windows": index.window_length(here).round(5).tolist(),
        "nearest": [
            sorted(ids.texts(index.senses[kind].nearest(EMBEDDER.embed_query("a red house"), 1000)))
            for kind, ids in (("passage", passages), ("entity", entities))
        ],
        "answers": [
            comparable(ask(index, question, top_k=12))
            for question in ("Where is the red house?", "What belongs to Maja 3?", "north pier 2")
        ],
    }


def repeated(work, stop, faults):
    """A thread that does work again and again until it is told to stop."""

    def run():
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_merging_and_comparing_beside_updates_changes_nothing(monkeypatch, restless):
    monkeypatch.setattr(indexes, "SLICE", 3)
    monkeypatch.setattr(indexes, "ROWS_OF_PASSAGE", 1)
    monkeypatch.setattr(search, "_LEAST_DEAD", 3)
    index, updating = Unpaired(), YieldingLock()
    stop, faults, done = threading.Event(), [], Counter()

    def merge():
        done["merged"] += index.delta_size > 0
        fold(index)

    def compare():
        with updating.yielding():
            done["compared"] += index.unpaired > 0
            index.pair(1)

    threads = [repeated(work, stop, faults) for work in (merge, compare)]
    rng, keys = random.Random(5), set()
    for number in range(250):
        if number >= 25 and min(done["merged"], done["compared"]) > 10:
            break
        state = set(rng.sample(sorted(CROWD), rng.randint(4, 30)))
        with updating:
            for part in indexes._slices(changes_between(keys, state, CROWD)):
                index.update(part)
        keys = state
    stop.set()
    for thread in threads:
        thread.join(30)
    assert faults == []
    assert done["merged"] > 10
    assert done["compared"] > 10
    while index.pair(64):
        pass
    fold(index)
    assert index.delta_size == 0
    assert index.rows.passages.keys() == keys
    fresh = Index()
    fresh.update(whole(keys, CROWD))
    assert len(synonyms(fresh)) > 4
    assert contents(index) == contents(fresh)


def test_what_comes_while_parts_are_merged_stays(monkeypatch):
    """Between the making of each new part and its being put in place rows come and go."""
    monkeypatch.setattr(search, "_LEAST_DEAD", 3)
    index, rng, states = Unpaired(), random.Random(7), [set(CROWD)]
    index.update(whole(CROWD, CROWD))
    meanwhile = Counter()

    def learning(make):
        def made(part):
            outcome = make(part)
            meanwhile[make.__name__] += 1
            states.append(set(rng.sample(sorted(CROWD), 20)))
            index.update(changes_between(*states[-2:], CROWD))
            return outcome

        return made

    monkeypatch.setattr(snapshot, "_folding", learning(snapshot._folding))
    monkeypatch.setattr(Senses, "repacked", learning(Senses.repacked))
    for _ in range(3):
        fold(index)
        while index.pair(8):
            pass
    assert meanwhile["_folding"] > 10
    assert meanwhile["repacked"] > 2
    fresh = Index()
    fresh.update(whole(states[-1], CROWD))
    assert contents(index) == contents(fresh)


# --- rarity -------------------------------------------------------------------------------------


def holding(counts, passages):
    """A memory of so many passages, and by name in how many of them it stands."""
    facts = {name: (f"{name} x", "is", "y") for name in counts}
    return [
        Said(
            f"p{number}",
            "nothing",
            [facts[name] for name, count in counts.items() if number < count],
        )
        for number in range(passages)
    ]


def rarity_of(index, names):
    return index.rarity(index.entities.ids.find([entity_id(f"{name} x") for name in names]))


def told_rarity(held, size):
    return math.log((size + 1) / held) / math.log(size + 2)


def test_rarity_is_its_formula_up_to_the_common_names():
    common = 4
    counts = {"one": 1, "two": 2, "common": common, "too common": common + 1}
    index = Plain(RecallSettings(common_name=common))
    index.update(World(holding(counts, 7), None).changes())
    found = rarity_of(index, counts)
    assert found == pytest.approx([told_rarity(1, 7), told_rarity(2, 7), told_rarity(4, 7), 0])
    assert 0.9 < found[0] < 1
    assert found[0] > found[1] > found[2] > 0
    several = rarity_of(index, ["two", "too common", "two"])
    assert several.tolist() == [found[1], 0, found[1]]


def test_a_name_that_nobody_holds_tells_nothing():
    said = holding({"one": 1, "two": 2}, 3)
    index = Index()
    index.update(World(said, None).changes())
    position = index.entities.ids.find([entity_id("one x")])
    assert index.rarity(position) == pytest.approx([told_rarity(1, 3)])
    facts = facts_of(said[1:])
    gone = {one.id for one in facts_of(said)} - {one.id for one in facts}
    index.update(Changes(2, facts=facts, removed=frozenset({"p0", *gone})))
    assert index.entities.held(position).tolist() == [0]
    assert index.rarity(position).tolist() == [0]
    assert rarity_of(index, ["two"]) == pytest.approx([told_rarity(1, 2)])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_in_a_memory_smaller_than_a_common_name_every_name_tells_something(size):
    index = Plain()
    assert index.settings.common_name > size
    counts = {f"in {held}": held for held in range(1, size + 1)}
    index.update(World(holding(counts, size), None).changes())
    expected = [told_rarity(held, size) for held in counts.values()]
    assert rarity_of(index, counts) == pytest.approx(expected)
    assert min(expected) > 0


def test_rarity_follows_passages_that_leave_and_come():
    common = 3
    counts = {"one": 1, "common": common, "too common": common + 2}
    said = holding(counts, 8)
    index = Index(RecallSettings(common_name=common))
    index.update(World(said, None).changes())
    assert rarity_of(index, counts) == pytest.approx([told_rarity(1, 8), told_rarity(3, 8), 0])
    # Two that name it go, and one that names nothing.
    left = [one for one in said if one.id not in ("p3", "p4", "p7")]
    index.update(Changes(2, facts=facts_of(left), removed=frozenset(("p3", "p4", "p7"))))
    assert len(index) == 5
    expected = [told_rarity(1, 5), told_rarity(3, 5), told_rarity(3, 5)]
    assert rarity_of(index, counts) == pytest.approx(expected)
    index.update(World(said, None).changes())
    assert rarity_of(index, counts) == pytest.approx([told_rarity(1, 8), told_rarity(3, 8), 0])
