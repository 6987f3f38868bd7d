"""The past: what was known at a time, what held at a time, and what changed in between."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import open_memory
from graphmem.errors import InvalidInput, NotFound
from graphmem.facts import fact_id
from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from graphmem.types import Actor, Diff, Fact, Passage, Triple
from store_parts import ANA, at, drain, put, said

PLACES = ("Oslo", "Ghent", "Brno")


def read(passage: Passage) -> list[Triple]:
    """A line is a triple, "not" denies it, and the assistant's are claims."""
    subject, verb, place = passage.text.rstrip(".").replace("lives in", "lives_in").split()[-3:]
    return [Triple(subject, verb.replace("_", " "), place, polarity="not" not in passage.text)]


READER = ScriptedExtractor(read)


def live(facts) -> set[str]:
    return {one.object for one in facts if one.is_live}


def objects(facts) -> set[str]:
    return {one.object for one in facts}


def believed(facts: list[Fact]) -> dict[str, tuple]:
    return {
        one.id: (one.text, one.status, one.replaced_by, one.valid_from, one.valid_to, one.passages)
        for one in facts
    }


def tell(store: Store, now: datetime, *messages, **options) -> None:
    put(store, *messages, now=now, **options)
    drain(store, READER, now=now)


@pytest.fixture
def store():
    with closing(Store.open("sqlite://")) as opened:
        yield opened


TOLD = st.lists(
    st.tuples(
        st.sampled_from(PLACES),
        st.sampled_from(["", "not "]),
        st.none() | st.integers(0, 5),
        st.sampled_from(["user", "assistant"]),
        st.sampled_from(["s", "t"]),
    ),
    min_size=1,
    max_size=6,
)


@given(TOLD, st.integers(0, 6))
def test_what_was_known_is_what_a_store_believes_that_was_told_no_more(told, until):
    """And between two such times the difference is that of their facts."""

    def fill(store: Store, count: int) -> None:
        for number, (place, no, day, role, session) in enumerate(told[:count]):
            text = f"{no}Maja lives in {place}."
            stamp = None if day is None else 1440 * day
            line = said(text, stamp, "Maja" if role == "user" else "assistant", role=role)
            tell(store, at(60 * number), line, session=session)

    with closing(Store.open("sqlite://")) as part:
        fill(part, until)
        believed_then = believed(part.facts(ANA))
        seen = {one.id for one in part.passages(ANA)}
    with closing(Store.open("sqlite://")) as whole:
        fill(whole, len(told))
        then = at(60 * until - 1)
        known = whole.facts(ANA, known_at=then)
        assert believed(known) == believed_then
        every = [one.id for one in whole.passages(ANA)]
        assert whole.known_passages(ANA, every, known_at=then) == seen
        now = whole.facts(ANA)
        diff = whole.diff(ANA, then, at(60 * len(told)))
        before = {one.id for one in known if one.is_live}
        after = {one.id for one in now if one.is_live}
        assert {one.id for one in diff.added} == after - before
        assert {one.id for one in diff.ended} == before - after
        assert diff.forgotten == 0


def test_what_held_is_told_by_when_it_was_said_or_began(store):
    """There and back again, told in another order than it happened."""
    days = {"Brno": 40, "Oslo": 0, "Ghent": 20}
    for place, day in days.items():
        tell(store, at(0), said(f"Maja lives in {place}.", 1440 * day, "Maja"), session=place)
    tell(store, at(0), said("Maja lives in Oslo.", 1440 * 60, "Maja"), session="back")

    def held(day: float) -> set[str]:
        return objects(store.facts(ANA, as_of=at(1440 * day)))

    assert held(-1) == set()
    assert held(10) == {"Oslo"}
    assert held(30) == {"Ghent"}
    assert held(50) == {"Brno"}
    assert held(70) == {"Oslo"}
    assert live(store.facts(ANA)) == {"Oslo"}


def test_the_two_times_are_asked_together(store):
    tell(store, at(0), said("Maja lives in Oslo.", 0, "Maja"), session="a")
    # Told late that it had been Ghent since long ago.
    tell(store, at(100), said("Maja lives in Ghent.", 50, "Maja"), session="b")
    asked = at(60)
    assert objects(store.facts(ANA, as_of=asked)) == {"Ghent"}
    assert objects(store.facts(ANA, as_of=asked, known_at=at(99))) == {"Oslo"}
    assert objects(store.facts(ANA, as_of=at(40), known_at=at(200))) == {"Oslo"}


def test_of_another_time_facts_are_asked_for_by_the_same_names(store):
    tell(store, at(0), said("Maja lives in Oslo.", 0, "Maja"))
    tell(store, at(1), said("Rui lives in Ghent.", 1, "assistant", role="assistant"))
    then = {"known_at": at(5)}
    assert objects(store.facts(ANA, **then)) == {"Oslo", "Ghent"}
    assert objects(store.facts(ANA, subject="rui", **then)) == {"Ghent"}
    assert objects(store.facts(ANA, status="asserted", **then)) == {"Oslo"}
    (first, _) = store.passages(ANA)
    assert objects(store.facts(ANA, passage=first.id, **then)) == {"Oslo"}
    assert store.facts(replace(ANA, agent="coach"), **then) == []


def test_what_is_forgotten_is_not_known_at_any_time(store):
    tell(store, at(0), said("Maja lives in Oslo.", 0, "Maja"), said("Rui lives in Brno.", 0, "Rui"))
    oslo = fact_id("Maja", "lives in", "Oslo", True)
    store.forget(ANA, facts=[oslo], now=at(10))
    assert objects(store.facts(ANA, known_at=at(5))) == {"Brno"}
    diff = store.diff(ANA, at(5), at(20))
    assert (diff.added, diff.ended, diff.changed, diff.forgotten) == ((), (), (), 1)
    assert objects(store.diff(ANA, at(-5), at(20)).added) == {"Brno"}
    store.forget(ANA, everything=True, now=at(30))
    assert store.diff(ANA, at(25), at(40)).forgotten == 1
    assert store.facts(ANA, known_at=at(20)) == []


def test_a_ruling_counts_from_when_it_was_made(store):
    tell(store, at(0), said("Maja lives in Oslo.", 0, "Maja"))
    (fact,) = store.facts(ANA)
    store.reject(ANA, fact.id, actor=Actor("Zoe"), now=at(10))
    assert [one.status for one in store.facts(ANA, known_at=at(5))] == ["asserted"]
    assert [one.status for one in store.facts(ANA, known_at=at(15))] == ["rejected"]
    assert [one.id for one in store.diff(ANA, at(5), at(15)).ended] == [fact.id]


def test_a_time_of_day_is_that_of_who_says_it(store):
    """A date without a time is a day where the speaker is, not in Greenwich."""
    early = datetime.fromisoformat("2025-03-01T08:00:00+09:00")
    dated = ScriptedExtractor(
        lambda passage: [replace(one, valid_from="2025-03-01") for one in read(passage)]
    )
    put(store, replace(said("Since 2025-03-01 Maja lives in Oslo.", 0, "Maja"), said_at=early))
    drain(store, dated)
    (source,) = store.evidence(ANA, fact_id("Maja", "lives in", "Oslo", True))
    assert source.said_at == early
    assert source.said_at.utcoffset() == timedelta(hours=9)
    assert objects(store.facts(ANA, as_of=early)) == {"Oslo"}
    assert objects(store.facts(ANA, as_of=early - timedelta(days=2))) == set()


# -- through the memory --------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "m.db", scope="Maja", extractor=READER) as opened:
        for place, day in (("Oslo", 0), ("Ghent", 20), ("Brno", 40)):
            line = said(f"Maja lives in {place}.", 1440 * day, "Maja")
            opened.remember([line], session=place)
            assert opened.drain(10) == 0
        yield opened


def test_a_recall_of_another_time(memory):
    question = "Where does Maja live?"
    now = memory.recall(question)
    assert [fact.object for fact in now.statements] == ["Brno"]
    assert now.passages[0].passage.text == "Maja lives in Brno."
    then = memory.recall(question, as_of=at(1440 * 30))
    assert [fact.object for fact in then.statements] == ["Ghent"]
    texts = [one.passage.text for one in then]
    assert texts[0] == "Maja lives in Ghent."
    assert "Maja lives in Brno." not in texts
    assert then.as_of == at(1440 * 30)


def test_a_recall_by_what_was_known(memory):
    first = memory.log(kind="passage")[0].at
    early = memory.recall("Where does Maja live?", known_at=first)
    assert [one.passage.text for one in early] == ["Maja lives in Oslo."]
    before = memory.recall("Where does Maja live?", known_at=first - timedelta(seconds=1))
    assert (before.route, len(before)) == ("empty", 0)
    assert len(memory.recall("Where does Maja live?", known_at=datetime.now().astimezone())) == 3


def test_the_graph_of_then_and_of_now(memory):
    def places(**when):
        graph = memory.graph(passages=False, **when)
        return {graph.nodes[end]["name"] for _, end in graph.edges()}

    assert places() == {"Brno"}
    assert places(as_of=at(1440 * 30)) == {"Ghent"}
    assert places(known_at=memory.log(kind="fact", limit=None)[0].at) == {"Oslo"}
    graph = memory.graph(passages=False)
    ((subject, object_, key, data),) = graph.edges(keys=True, data=True)
    (fact,) = [one for one in memory.facts() if one.is_live]
    assert (subject, object_, key) == (fact.subject_id, fact.object_id, fact.id)
    assert (data["predicate"], data["passages"]) == ("lives in", fact.passages)
    assert memory.graph("nobody").number_of_nodes() == 0


def test_the_log_is_asked_by_time_kind_and_row(memory):
    every = memory.log()
    assert [one.seq for one in every] == list(range(1, len(every) + 1))
    facts = memory.log(kind="fact")
    assert {one.kind for one in facts} == {"fact"}
    assert {one.action for one in facts} >= {"add", "supersede"}
    assert memory.log(id=facts[0].id) == [one for one in every if one.id == facts[0].id]
    assert memory.log(limit=2) == every[-2:]
    middle = every[len(every) // 2].at
    assert memory.log(until=middle) == [one for one in every if one.at <= middle]
    assert memory.log(since=middle) == [one for one in every if one.at >= middle]
    assert memory.log("nobody") == []


def test_what_changed_since(memory):
    first = memory.log(kind="passage")[0].at
    diff = memory.diff(start=first - timedelta(seconds=1))
    assert objects(diff.added) == {"Brno"}
    added = [one for one in memory.log(kind="fact") if one.action == "add"]
    later = memory.diff(memory.scope, added[0].at)
    assert (objects(later.added), objects(later.ended)) == ({"Brno"}, {"Oslo"})
    assert memory.diff() == memory.diff(
        memory.scope, first - timedelta(seconds=1), memory.log()[-1].at
    )
    assert memory.diff("nobody") == Diff()
    with pytest.raises(InvalidInput, match="scope"):
        memory.diff(first)


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory, when: memory.recall("x", as_of=when),
        lambda memory, when: memory.recall("x", known_at=when),
        lambda memory, when: memory.facts(as_of=when),
        lambda memory, when: memory.graph(known_at=when),
        lambda memory, when: memory.log(since=when),
        lambda memory, when: memory.diff(None, when),
        lambda memory, when: memory.diff(end=when),
    ],
)
@pytest.mark.parametrize("when", [datetime(2025, 1, 1), "2025-01-01", 3])
def test_a_time_needs_its_zone(memory, ask, when):
    with pytest.raises(InvalidInput, match=r"time zone|datetime"):
        ask(memory, when)


def test_an_end_before_the_start_and_a_limit_below_nothing_are_refused(memory):
    with pytest.raises(InvalidInput, match="is before start"):
        memory.diff(None, at(10), at(5))
    for limit in (-1, 1.5, True, 2**63):
        with pytest.raises(InvalidInput, match="limit"):
            memory.log(limit=limit)
    with pytest.raises(NotFound):
        memory.sources("f-unknown")
