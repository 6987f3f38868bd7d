"""Rows are a function of what was said: not of batches, of order of arrival, or of what is gone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from graphmem.threads import in_order
from graphmem.types import Scope, Triple
from store_parts import ANA, NOW, at, drain, farsighted, neighbourly, put, rows, said, shown

SPEAKERS = ["ana", "bob", "ana", "bob", "cleo"]
NAMES = ["Bob", "Eve", "Oslo", "Rome", "Lima", "Kyoto", "Accra", "Quito"]


def conversation(size: int) -> list:
    """Stamped messages of two speakers who keep coming back to the same names."""
    return [
        said(f"Number {n} is about {NAMES[n * n % 7]}{n // 20}.", n, SPEAKERS[n % 5])
        for n in range(size)
    ]


def fresh(batches, *, gone=(), drains=True):
    """Rows and what a follower of the log holds, after batches in turn and then a forget."""
    store = Store.open(":memory:")
    extractor = farsighted()
    seen, after = [], None
    for batch in batches:
        put(store, *batch)
        if drains:
            drain(store, extractor, texts=4)
        seen.append(store.changes(ANA, after=after))
        after = seen[-1].seq
    ids = [one.id for one in store.passages(ANA) if one.text in gone]
    if ids:
        store.forget(ANA, passages=ids, now=NOW)
    drain(store, extractor)
    seen.append(store.changes(ANA, after=after))
    assert shown(seen) == shown([store.changes(ANA, after=None)])
    found = rows(store)
    store.close()
    return found


@st.composite
def batchings(draw, size=12):
    """A conversation shuffled, repeated in parts, and cut anywhere."""
    messages = conversation(size)
    order = draw(st.permutations(range(size)))
    repeats = draw(st.lists(st.sampled_from(range(size)), max_size=4))
    items = [messages[n] for n in [*order, *repeats]]
    cuts = sorted(draw(st.sets(st.integers(1, len(items) - 1), max_size=4)))
    return [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]


@settings(max_examples=12)
@given(batchings())
def test_stamped_messages_give_the_same_rows_in_any_order_and_batching(batches):
    assert fresh(batches) == fresh([conversation(12)])


@settings(max_examples=12)
@given(batchings(), st.sets(st.integers(0, 11), min_size=1, max_size=5))
def test_after_a_forget_the_rows_are_those_of_a_store_that_never_saw_it(batches, forgotten):
    messages = conversation(12)
    gone = {messages[n].text for n in forgotten}
    never = [one for one in messages if one.text not in gone]
    assert fresh(batches, gone=gone) == fresh([never])


def test_five_hundred_messages_in_several_batchings():
    messages = conversation(500)
    expected = fresh([messages], drains=False)
    assert len(expected["facts"]) > 500
    rng = random.Random(5)
    for _ in range(3):
        shuffled = rng.sample(messages, len(messages))
        cuts = sorted(rng.sample(range(1, 500), 6))
        batches = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, 500], strict=True)]
        assert fresh(batches, drains=False) == expected


def test_an_unstamped_message_counts_in_the_order_of_its_session():
    one = fresh([[said("The first is Bob."), said("The second is Eve.", speaker="bob")]])
    other = fresh([[said("The second is Eve.", speaker="bob"), said("The first is Bob.")]])
    assert one != other
    assert one == fresh([[said("The first is Bob.")], [said("The second is Eve.", speaker="bob")]])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 5)), max_size=25))
def test_rows_stand_in_the_order_of_threads(deliveries):
    """The places kept in rows are those of the pure rule, whatever is delivered, moved or gone."""
    store = Store.open(":memory:")
    for number, minutes in deliveries:
        put(store, said(f"text {number}", minutes))
    assert store.passages(ANA) == in_order(store.passages(ANA))
    ids = [one.id for one in store.passages(ANA)]
    if ids:
        store.forget(ANA, passages=ids[::3], now=NOW)
    assert store.passages(ANA) == in_order(store.passages(ANA))
    store.close()


def test_metadata_is_that_of_the_earliest_time_in_either_order():
    early, late = said("x", 1, metadata={"n": 1}), said("x", 2, metadata={"n": 2})
    assert fresh([[early], [late]]) == fresh([[late], [early]]) == fresh([[late, early]])
    assert fresh([[late], [early]])["passages"][0][-1] == {"n": 1}


@pytest.fixture
def store():
    opened = Store.open(":memory:")
    yield opened
    opened.close()


def test_a_newcomer_in_the_middle_has_those_behind_it_read_again(store):
    put(store, *(said(f"Point {n} is {NAMES[n % 8]}.", n) for n in range(0, 40, 2)))
    drain(store, neighbourly())
    extractor = neighbourly()
    put(store, said("Point late is Kabul.", 9))
    drain(store, extractor)
    (batch,) = extractor.batches
    assert [one.said_at for one in batch] == [at(9), *(at(n) for n in range(10, 26, 2))]
    assert all(len(one.before) == 8 for one in batch[4:])
    put(store, said("Point last is Turin.", 99))
    drain(store, extractor)
    assert [one.text for one in extractor.batches[-1]] == ["Point last is Turin."]


def missed(store) -> str:
    """Status of the fact whose one end its passage does not name."""
    (one,) = store.facts(ANA, subject="Nothing but rain")
    return one.status


def test_an_end_that_the_passage_lacks_is_believed_while_somebody_names_it(store):
    put(store, said("Nothing but rain.", 0))
    drain(store, farsighted())
    assert missed(store) == "candidate"
    put(store, said("Perhaps Lima0.", 1, "assistant", role="assistant"))
    drain(store, farsighted())
    assert missed(store) == "candidate"  # an assistant may guess
    put(store, said("I was born in Lima0.", 99, "bob"), session="elsewhere")
    drain(store, farsighted())
    assert missed(store) == "asserted"
    (born,) = [one.id for one in store.passages(ANA) if "born" in one.text]
    store.forget(ANA, passages=[born], now=NOW)
    assert missed(store) == "candidate"


def test_who_speaks_ties_a_name_to_nothing_that_is_said(store):
    def read(passage):
        if "fun" in passage.text:
            yield Triple("ana", "works at", "Lima0")
        else:
            yield Triple("bob", "was born in", "Lima0")

    put(store, said("Thanks, that was fun!", 0))
    put(store, said("I was born in Lima0.", 1, "bob"), session="elsewhere")
    drain(store, ScriptedExtractor(read))
    assert [one.status for one in store.facts(ANA, subject="bob")] == ["asserted"]
    assert [one.status for one in store.facts(ANA, subject="ana")] == ["candidate"]


def test_a_name_told_in_another_scope_is_not_known(store):
    put(store, said("Nothing but rain.", 0))
    put(store, said("I was born in Lima0.", 1, "bob"), scope=Scope("eve"))
    put(store, said("I was born in Lima0.", 1, "bob"), scope=Scope("ana", "coach"))
    drain(store, farsighted())
    assert missed(store) == "candidate"


def test_two_ends_that_the_passage_lacks_are_not_believed_whoever_names_them(store):
    invented = ScriptedExtractor(lambda passage: [Triple("Lima0", "is near", "Oslo0")])
    put(store, said("Nothing but rain.", 0))
    drain(store, invented)
    put(store, said("I was born in Lima0.", 1), said("She was born in Oslo0.", 2), session="t")
    drain(store, neighbourly())
    (fact,) = [one for one in store.facts(ANA) if one.predicate == "is near"]
    assert fact.status == "candidate"


def test_a_newer_value_replaces_an_older_one_and_gives_way_when_it_goes(store):
    put(store, said("Now it is Oslo.", 1), said("Now it is Rome.", 2))
    drain(store, neighbourly())
    old, new = sorted(
        (one for one in store.facts(ANA) if one.predicate == "lives in"), key=lambda f: f.object
    )
    assert (old.object, old.replaced_by, old.is_live) == ("Oslo", new.id, False)
    assert (new.object, new.is_live) == ("Rome", True)
    store.forget(ANA, passages=new.passages, now=NOW)
    (back,) = (one for one in store.facts(ANA) if one.predicate == "lives in")
    assert (back.object, back.is_live, back.retired_at) == ("Oslo", True, None)
