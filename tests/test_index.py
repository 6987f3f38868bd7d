from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON
from graphmem.errors import EmbeddingError
from graphmem.index import Index as Plain
from graphmem.testing import HashEmbedder
from graphmem.types import Changes, Recall, Vectors
from worlds import Memory as Index
from worlds import Said, World, ask, facts_of, ids

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
ORDINALS = {key: number for number, key in enumerate(POOL)}
QUESTIONS = (
    "Where does Maja work?",
    "Which country does the river of Lisbon rise in?",
    "What is my dog?",
    "京都",
    "When did Maja move to Oslo in March?",
    "Spain, Oslo, Rex, Tagus, Lisbon",
)


def rows_of(keys):
    said = [POOL[key] for key in sorted(keys, key=ORDINALS.__getitem__)]
    return {one.id: one.passage(ORDINALS[one.id]) for one in said}, {
        f.id: f for f in facts_of(said)
    }


def changes_between(before, after) -> Changes:
    """What a store would report between two sets of passages."""
    old_passages, old_facts = rows_of(before)
    passages, facts = rows_of(after)
    new_passages = [one for key, one in passages.items() if key not in old_passages]
    new_facts = [one for key, one in facts.items() if old_facts.get(key) != one]
    gone = (old_passages.keys() - passages.keys()) | (old_facts.keys() - facts.keys())
    vectors = World([], EMBEDDER).vectors(new_passages, new_facts)
    return Changes(1, tuple(new_passages), tuple(new_facts), vectors, frozenset(gone))


def whole(keys) -> Changes:
    passages, facts = rows_of(keys)
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


def test_a_rejected_fact_leaves_no_trace_and_a_withheld_one_seeds_nothing():
    (fact,) = facts_of([POOL["d1"]])
    index = Index()
    index.update(whole(["d1"]))
    for status, count in (("rejected", 0), ("candidate", 1), ("disputed", 1)):
        index.update(Changes(2, facts=(replace(fact, status=status),)))
        assert index.facts.ids.here == count
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
