"""The facts and entities that an index knows (``graphmem.index.facts``, ``entities``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON
from graphmem.index.entities import Entities
from graphmem.index.facts import Facts
from graphmem.index.ids import Ids
from graphmem.types import Fact
from graphmem.words import words

PASSAGES = ("p0", "p1", "p2")
NOBODY = np.zeros(0, dtype=np.int64)


def fact(number, **fields):
    return Fact(f"f{number}", "e0", "e1", "Maja", "knows", f"Rui {number}", **fields)


def passage_ids():
    ids = Ids()
    ids.add(PASSAGES)
    return ids


def keys(*values):
    return np.array(values, dtype=np.uint64)


def facts_with(count):
    facts = Facts()
    ends = np.array([(0, number + 1) for number in range(count)])
    added = facts.add([fact(number) for number in range(count)], ends, keys(*range(count)))
    assert added.tolist() == list(range(count))
    return facts


ROW = st.tuples(
    st.integers(0, 2),
    st.sets(st.sampled_from([*PASSAGES, "unknown"])),
    st.sampled_from(["asserted", "candidate", "disputed", "rejected"]),
    st.booleans(),
)
STEP = st.one_of(
    st.tuples(st.just("tell"), st.lists(ROW, max_size=3, unique_by=lambda row: row[0])),
    st.tuples(st.just("unlink"), st.sets(st.integers(0, 2))),
    st.tuples(st.just("gone"), st.sets(st.integers(0, 2))),
    st.just(("fold", None)),
)


@given(st.lists(STEP, max_size=12))
def test_any_history_leaves_what_is_stated(steps):
    facts, ids = facts_with(3), passage_ids()
    stated = {number: set() for number in range(3)}
    live, weights = dict.fromkeys(range(3), False), np.zeros(3)
    for name, argument in steps:
        before = {number: set(some) for number, some in stated.items()}
        if name == "fold":
            facts.fold()
            continue
        if name == "unlink":
            told = facts.unlink(np.array(sorted(argument), dtype=np.int64))
            for some in stated.values():
                some -= argument
        elif name == "gone":
            told = facts.tell(NOBODY, [], ids, np.array(sorted(argument), dtype=np.int64))
            for number in argument:
                stated[number], live[number] = set(), False
        else:
            rows = [
                fact(
                    number,
                    status=status,
                    passages=tuple(sorted(passages)),
                    retired_at=NOON if is_retired else None,
                )
                for number, passages, status, is_retired in argument
            ]
            positions = np.array([row[0] for row in argument], dtype=np.int64)
            told = facts.tell(positions, rows, ids, NOBODY)
            for number, passages, status, is_retired in argument:
                known = {PASSAGES.index(one) for one in passages if one in PASSAGES}
                stated[number] = known
                live[number] = status == "asserted" and not is_retired
        changed = {p for n, some in stated.items() for p in some ^ before[n]}
        assert set(told.passages.tolist()) == changed
        assert sorted(told.came.tolist()) == [n for n in stated if stated[n] and not before[n]]
        assert sorted(told.went.tolist()) == [n for n in stated if before[n] and not stated[n]]
        np.add.at(weights, *told.edges)
        assert weights.tolist() == [len(stated[n]) if live[n] else 0 for n in stated]
    for number, passages in stated.items():
        assert facts.stating.row(number).tolist() == sorted(passages)
    for passage in range(3):
        expected = [number for number, some in stated.items() if passage in some]
        assert facts.stated.row(passage).tolist() == expected
    every = np.arange(3)
    assert facts.is_live(every).tolist() == list(live.values())
    assert facts.silent(every).tolist() == [number for number in stated if not stated[number]]


@pytest.mark.parametrize(
    ("fields", "is_live", "reason"),
    [
        ({}, True, "asserted"),
        ({"status": "candidate"}, False, "candidate"),
        ({"status": "disputed"}, False, "disputed"),
        ({"status": "rejected"}, False, "rejected"),
        ({"retired_at": NOON}, False, "superseded"),
        ({"retired_at": NOON, "status": "candidate"}, False, "superseded"),
    ],
)
def test_why_a_fact_seeds_nothing(fields, is_live, reason):
    facts = facts_with(1)
    one = np.array([0])
    facts.tell(one, [fact(0, passages=("p0",), **fields)], passage_ids(), NOBODY)
    assert facts.is_live(one).tolist() == [is_live]
    assert facts.why_withheld(0) == reason
    is_outdated = "retired_at" in fields or fields.get("status") == "rejected"
    assert facts.is_outdated(one).tolist() == [is_outdated]


def test_what_replaced_a_fact_is_followed_to_what_holds_now():
    facts, ids, every = facts_with(4), passage_ids(), np.arange(4)

    def tell(*winners):
        rows = [
            fact(
                number,
                passages=("p0",),
                retired_at=NOON if winner is not None else None,
                replaced_by=None if winner is None else fact(winner).id,
            )
            for number, winner in enumerate(winners)
        ]
        facts.tell(every, rows, ids, NOBODY)
        return facts.winners(every).tolist()

    assert tell(1, 2, None, None) == [2, 2, -1, -1]
    assert tell(None, None, None, 9) == [-1, -1, -1, -1], "what replaced it is gone"
    assert tell(3, 3, 3, None) == [3, 3, 3, -1]
    assert -1 not in tell(1, 0, None, None)[:2], "a circle ends"
    facts.tell(NOBODY, [], ids, np.array([0]))
    assert facts.winners(every).tolist()[0] == -1
    facts.fold()
    assert facts.winners(every).tolist()[1] >= -1


def test_a_dropped_fact_may_come_again_elsewhere():
    facts = facts_with(2)
    assert facts.ends(np.array([1, 0])).tolist() == [[0, 2], [0, 1]]
    assert facts.words(np.array([1, 0])).tolist() == [1, 0]
    facts.drop(np.array([1]))
    assert facts.ids.find(["f0", "f1"]).tolist() == [0, -1]
    assert facts.words(np.array([1])).tolist() == [0]
    assert facts.add([fact(1)], np.array([[3, 4]]), keys(5)).tolist() == [2]
    assert facts.ends(np.array([2])).tolist() == [[3, 4]]
    assert len(facts) == 3


def test_what_was_kept_is_taken_back():
    facts, fresh = facts_with(2), Facts()
    rows = [replace(fact(n), passages=PASSAGES[: n + 1]) for n in range(2)]
    facts.tell(np.arange(2), rows, passage_ids(), NOBODY)
    facts.fold()
    fresh.take(facts.arrays())
    told = fresh.unlink(np.array([0]))
    assert told.passages.tolist() == [0]
    assert told.went.tolist() == [0]
    assert fresh.stating.row(1).tolist() == [1]
    assert facts.stating.row(1).tolist() == [0, 1]


# --- entities -----------------------------------------------------------------------------------


def entities_called(*names):
    entities = Entities(8)
    positions, _, _ = entities.add([f"e{n}" for n in range(len(names))], [*map(words, names)])
    assert positions.tolist() == list(range(len(names)))
    return entities


def test_an_entity_is_unused_when_no_fact_names_it():
    entities = entities_called("Oslo", "Ghent", "Brno")
    entities.use(np.array([0, 1, 0]), 1)
    entities.use(np.array([1, 0]), -1)
    assert entities.unused(np.array([2, 0, 1, 2])).tolist() == [1, 2]


def test_how_often_an_entity_is_named():
    entities = entities_called("Oslo", "Ghent")
    every = np.arange(2)
    assert entities.mentions(every).tolist() == [1, 1], "never a divisor of 0"
    ones = np.ones(2)
    entities.count((np.array([0, 0]), ones), (np.array([0, 1]), ones))
    assert entities.mentions(every).tolist() == [2, 1]
    assert entities.held(every).tolist() == [1, 1]
    entities.count((np.array([0]), -ones[:1]), (np.array([1]), -ones[:1]))
    assert entities.mentions(every).tolist() == [1, 1]
    assert entities.held(every).tolist() == [1, 0]


PAIRS = st.sets(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] < pair[1])
)


@given(PAIRS, PAIRS, st.sets(st.integers(0, 4)), st.booleans())
def test_pairs_are_joined_both_ways_and_told_once(joined, taken, asked, is_folded):
    entities = entities_called(*"abcde")

    def join(pairs, sign):
        one, other = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
        entities.join(one, other, sign * (0.75 + one / 8 + other / 64))

    join(joined, 1)
    join(taken & joined, -1)
    if is_folded:
        entities.fold()
    left = joined - taken
    one, other, cosines = entities.pairs_of(np.array(sorted(asked), dtype=np.int64))
    found = [tuple(sorted(pair)) for pair in zip(one.tolist(), other.tolist(), strict=True)]
    assert sorted(found) == sorted(pair for pair in left if asked & set(pair))
    assert cosines.tolist() == [0.75 + a / 8 + b / 64 for a, b in found]
    for a, b in left:
        assert b in entities.synonyms.row(a)
        assert a in entities.synonyms.row(b)


def test_who_is_dropped_is_called_nothing():
    entities = entities_called("Oslo", "Ghent")
    text = words("from Oslo to Ghent")
    assert entities.names.longest_in(text).tolist() == [0, 1]
    entities.drop(np.array([0]))
    assert entities.names.longest_in(text).tolist() == [1]
    assert entities.ids.find(["e0", "e1"]).tolist() == [-1, 1]
    assert entities.add(["e0"], [words("Oslo")])[0].tolist() == [2]
    assert entities.names.longest_in(text).tolist() == [1, 2]
