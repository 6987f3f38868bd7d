"""What a store believes: all that contests, found by its rows, in whatever order it came."""

from __future__ import annotations

import itertools
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.facts import believed
from graphmem.store import Store
from graphmem.store.belief import believe, rebelieve
from graphmem.store.records import stated
from graphmem.store.transaction import transaction
from graphmem.testing import ScriptedExtractor
from graphmem.types import Triple
from store_parts import ANA, NOW, at, drain, put, said

READER = ScriptedExtractor(lambda one: [Triple(*one.text.split(" | "))])

STATEMENTS = [
    "Ana | lives in | Oslo",
    "Ana | moved to | Rome",
    "Ana | no longer lives in | Oslo",
    "Ana | moved from | Rome to Oslo",
    "Ana | left | Rome",
    "Ana | eats | jam",
    "Ana | does not eat | jam",
    "Ana | stopped | eating jam",
    "Ana | loves | jam",
    "Ana | hates | jam",
    "Ana | is | vegan",
    "Ana | is no longer | a vegan",
    "Rui | is boss of | Ana",
    "Ana | reports to | Eva",
    "crate | goes to | Porto",
    "crate | goes to | Vigo instead of Porto",
    "crate | does not go to | Vigo instead of Porto",
    "crate | does not go to | Vigo",
]


def beliefs(store):
    return {
        one.text: next((o.text for o in store.facts(ANA) if o.id == one.replaced_by), one.status)
        for one in store.facts(ANA)
    }


def learnt(*statements):
    """Beliefs after statements, each put and read by itself."""
    with closing(Store.open(":memory:")) as store:
        for text, minute in statements:
            put(store, said(text, minute), session=f"at {minute}")
            drain(store, READER)
        return beliefs(store)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (0, 1), (0, 2), (1, 3), (1, 4), (5, 6), (5, 7), (8, 9), (10, 11), (12, 13), (14, 15),
    ],
)  # fmt: skip
def test_a_rival_is_found_whichever_comes_first(old, new):
    one, other = (STATEMENTS[old], 1), (STATEMENTS[new], 2)
    found = learnt(one, other)
    assert found == learnt(other, one)
    assert sum(status in found for status in found.values()) == 1, "one is retired by the other"
    assert learnt(one).keys() < found.keys()
    assert not sum(status in found for status in learnt(one).values())


def test_a_denial_in_the_predicate_is_stored_as_one():
    with closing(Store.open(":memory:")) as store:
        put(store, said("Ana | is no longer | vegan", 1), said("Ana | is | tall", 2))
        drain(store, READER)
        texts = {one.text: one.polarity for one in store.facts(ANA)}
    assert texts == {"Ana (not) is vegan": False, "Ana is tall": True}


def test_forgetting_what_replaced_it_brings_a_fact_back():
    with closing(Store.open(":memory:")) as store:
        for minute, text in enumerate(STATEMENTS[:3]):
            put(store, said(text, minute))
        drain(store, READER)
        assert beliefs(store)["Ana lives in Oslo"] != "asserted"
        ids = [one.id for one in store.passages(ANA) if one.text in STATEMENTS[1:3]]
        store.forget(ANA, passages=ids, now=NOW)
        assert beliefs(store) == {"Ana lives in Oslo": "asserted"}


def test_facts_are_placed_anew_when_the_rules_have_changed():
    with closing(Store.open(":memory:")) as store:
        put(store, said("Ana | eats | jam", 1), said("Ana | stopped | eating jam", 2),
            said("Ana | lives in | Oslo", 1), said("Ana | moved to | Rome", 2))  # fmt: skip
        drain(store, READER)
        right, seq = store.facts(ANA), store.seq(ANA)
        with transaction(store._open, ANA, now=NOW) as tx:  # as an older version left them
            tx.connection.exec_driver_sql(
                "UPDATE fact SET slot = NULL, value = NULL, replaced_by = NULL, retired_at = NULL"
            )
        assert not any(one.replaced_by for one in store.facts(ANA))
        with transaction(store._open, ANA, now=NOW) as tx:
            rebelieve(tx, [one.id for one in right], action="migrate")
        assert store.facts(ANA) == right
        assert store.seq(ANA) > seq


@given(
    st.lists(st.tuples(st.sampled_from(STATEMENTS), st.integers(0, 5)), min_size=1, max_size=8),
    st.lists(st.integers(1, 7), max_size=3),
    st.sets(st.integers(0, 7), max_size=2),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_a_store_believes_what_its_rows_say(statements, cuts, gone, random):
    shuffled = list(statements)
    random.shuffle(shuffled)
    found = []
    for order in (statements, shuffled):
        with closing(Store.open(":memory:")) as store:
            marks = sorted({0, len(order), *(cut for cut in cuts if cut < len(order))})
            for start, stop in itertools.pairwise(marks):
                for text, minute in order[start:stop]:
                    put(store, said(text, minute), session=f"{text} {minute}")
                drain(store, READER)
            lost = {statements[n] for n in gone if n < len(statements)}
            ids = [
                one.id for one in store.passages(ANA)
                if any(one.text == text and one.said_at == at(n) for text, n in lost)
            ]  # fmt: skip
            if ids:
                store.forget(ANA, passages=ids, now=NOW)
            facts = {one.id: one for one in store.facts(ANA)}
            seq = store.seq(ANA)
            with transaction(store._open, ANA, now=NOW) as tx:
                proof = stated(tx.connection, ANA, sorted(facts))
                believe(tx, facts, action="extract")
            assert store.seq(ANA) == seq, "nothing is left to be believed"
            assert facts == believed(proof)
            found.append(facts)
    assert found[0] == found[1]
