"""The words of the log: each has something that produces it, and says what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.facts import fact_id
from graphmem.store import Store
from graphmem.store.actions import change_of
from graphmem.testing import ScriptedExtractor
from graphmem.types import Actor, Fact, LogEntry, Triple
from store_parts import ANA, NOW, at, drain, put, said
from test_store_renewal import by_older_rules

SAID: dict[str, list[tuple[str, ...]]] = {
    "Bob lives in Oslo.": [("Bob", "lives in", "Oslo")],
    "Bob still lives in Oslo.": [("Bob", "lives in", "Oslo")],
    "BOB lives in OSLO!": [("BOB", "lives in", "OSLO")],
    "BOB lives in OSLO!!": [("BOB", "lives in", "OSLO")],
    "Bob lives in Rome.": [("Bob", "lives in", "Rome")],
}
READER = ScriptedExtractor(SAID)
OSLO = fact_id("Bob", "lives in", "Oslo", True)
ROME = fact_id("Bob", "lives in", "Rome", True)
EVE = Actor("Eve")


@pytest.fixture
def store(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as opened:
        yield opened


def tell(store: Store, *texts: str, day: int = 0, **options: Any) -> None:
    who = options.pop("role", "user")
    for text in texts:
        line = said(text, 1440 * day, "Bob" if who == "user" else "assistant", role=who)
        put(store, line, now=at(1440 * day), **options)
    drain(store, READER, now=at(1440 * day))


def passage_of(store: Store, text: str) -> str:
    return next(one.id for one in store.passages(ANA) if one.text == text)


def adds(store: Store) -> None:
    tell(store, "Bob lives in Oslo.")


def merges(store: Store) -> None:
    tell(store, "Bob lives in Oslo.")
    tell(store, "Bob still lives in Oslo.", day=1)


def supersedes(store: Store) -> None:
    tell(store, "Bob lives in Oslo.")
    tell(store, "Bob lives in Rome.", day=1)


def restores(store: Store) -> None:
    supersedes(store)
    store.forget(ANA, passages=[passage_of(store, "Bob lives in Rome.")], actor=EVE, now=at(9000))


def promotes(store: Store) -> None:
    tell(store, "Bob lives in Oslo.", role="assistant")
    tell(store, "Bob still lives in Oslo.", day=1)


def disputes(store: Store) -> None:
    adds(store)
    store.rule(ANA, OSLO, "disputed", actor=EVE, reason="hm", now=at(9000))


def verifies(store: Store) -> None:
    adds(store)
    store.rule(ANA, OSLO, "verified", actor=EVE, reason="I know", now=at(9000))


def rejects(store: Store) -> None:
    adds(store)
    store.reject(ANA, OSLO, actor=EVE, reason="wrong", now=at(9000))


def forgets(store: Store) -> None:
    adds(store)
    store.forget(ANA, facts=[OSLO], actor=EVE, now=at(9000))


def unforgets(store: Store) -> None:
    rejects(store)
    store.unforget(ANA, fact=OSLO, actor=EVE, reason="right after all", now=at(9001))


def edits(store: Store) -> None:
    """Read again, it has a date."""
    put(store, said("Bob lives in Oslo.", 10, "Bob"))
    drain(store, READER)
    put(store, said("In May 2024.", 1, "Bob"))  # before it: it is read again
    dated = {"Bob lives in Oslo.": [Triple("Bob", "lives in", "Oslo", valid_from="2024-05")]}
    drain(store, ScriptedExtractor(dated))


def renames(store: Store) -> None:
    """Most say it in capitals by now."""
    adds(store)
    tell(store, "BOB lives in OSLO!", "BOB lives in OSLO!!", day=1)


def refuses(store: Store) -> None:
    forgets(store)
    tell(store, "Bob lives in Oslo.", day=9, session="another")


def removes(store: Store) -> None:
    """What is read again may give less."""
    put(store, said("Bob lives in Oslo.", 10, "Bob"))
    drain(store, READER)
    put(store, said("Hello.", 1, "Bob"))  # before it: it is read again
    drain(store, ScriptedExtractor({}))


def migrates(store: Store) -> None:
    supersedes(store)
    path = store.path
    assert path
    store.close()
    by_older_rules(path)
    Store.open(path).close()


Producer = Callable[[Store], None]
# By action: what brings it about, of what kind of row, and whose doing it is.
PRODUCERS: Mapping[str, tuple[Producer, str, str]] = {
    "add": (adds, "fact", "extractor"),
    "merge": (merges, "fact", "extractor"),
    "supersede": (supersedes, "fact", "extractor"),
    "restore": (restores, "fact", "person"),
    "promote": (promotes, "fact", "extractor"),
    "dispute": (disputes, "fact", "person"),
    "verify": (verifies, "fact", "person"),
    "reject": (rejects, "fact", "person"),
    "forget": (forgets, "fact", "person"),
    "unforget": (unforgets, "ban", "person"),
    "edit": (edits, "fact", "extractor"),
    "migrate": (migrates, "scope", "system"),
    "embed": (adds, "fact", "embedder"),
    "re-embed": (renames, "fact", "extractor"),
    "refuse": (refuses, "ban", "application"),
    "remove": (removes, "fact", "extractor"),
}
IN_THE_ISSUE = (
    "add merge supersede restore promote dispute reject forget unforget edit migrate re-embed"
)


def logged(store: Store, produce: Producer) -> list[LogEntry]:
    path = store.path
    produce(store)
    assert path
    with closing(Store.open(path)) as again:
        assert again.verify_log(ANA).is_intact
        return again.log(ANA)


def test_each_action_has_a_producer():
    assert {*IN_THE_ISSUE.split()} <= PRODUCERS.keys()


@pytest.mark.parametrize("action", PRODUCERS)
def test_an_action_is_logged_by_what_brings_it_about(action, store):
    produce, kind, actor_kind = PRODUCERS[action]
    entries = logged(store, produce)
    found = [one for one in entries if (one.action, one.kind) == (action, kind)]
    assert found, [(one.action, one.kind) for one in entries]
    assert {one.actor_kind for one in found} == {actor_kind}
    if actor_kind == "person":
        assert {one.actor for one in found} == {"Eve"}
    assert {one.action for one in entries} <= PRODUCERS.keys(), "no other words"


@pytest.mark.parametrize(
    ("produce", "expected"),
    [
        (adds, {OSLO: ["add"]}),
        (merges, {OSLO: ["add", "merge"]}),
        (supersedes, {OSLO: ["add", "supersede"], ROME: ["add"]}),
        (restores, {OSLO: ["add", "supersede", "restore"], ROME: ["add", "forget"]}),
        (promotes, {OSLO: ["add", "promote"]}),
        (disputes, {OSLO: ["add", "dispute"]}),
        (verifies, {OSLO: ["add", "verify"]}),
        (rejects, {OSLO: ["add", "reject"]}),
        (unforgets, {OSLO: ["add", "reject", "restore"]}),
        (forgets, {OSLO: ["add", "forget"]}),
        (edits, {OSLO: ["add", "edit"]}),
        (removes, {OSLO: ["add", "remove"]}),
    ],
)
def test_the_course_of_a_fact_is_told_by_its_entries(produce, expected, store):
    entries = [one for one in logged(store, produce) if one.kind == "fact"]
    course: dict[str, list[str]] = {}
    for one in entries:
        if "embed" not in one.action:
            course.setdefault(one.id, []).append(one.action)
    assert course == expected


def test_each_entry_says_how_it_was_and_how_it_is(store):
    entries = logged(store, supersedes)
    courses = {
        id_: [one for one in entries if one.id == id_ and "embed" not in one.action]
        for id_ in (OSLO, ROME)
    }
    add, supersede = courses[OSLO]
    assert (add.before, add.after["object"]) == (None, "Oslo")
    assert supersede.before == add.after
    assert supersede.after["replaced_by"] == ROME
    assert (add.at, supersede.at) == (NOW, at(1440))
    assert add.seq < supersede.seq


def test_what_is_said_again_at_another_time_is_merged_and_redelivery_is_no_change(store):
    put(store, said("Bob lives in Oslo.", 0, "Bob"))
    before = store.seq(ANA)
    put(store, said("Bob lives in Oslo.", 0, "Bob"), now=at(1))
    assert store.seq(ANA) == before
    put(store, said("Bob lives in Oslo.", 500, "Bob"), now=at(500))
    (entry,) = store.log(ANA, after=before)
    assert (entry.action, entry.kind) == ("merge", "passage")


def test_a_cut_passage_is_edited_and_embedded_anew(store):
    script = {"Bob lives in Oslo. It rains.": SAID["Bob lives in Oslo."]}
    put(store, said("Bob lives in Oslo. It rains.", 0, "Bob"))
    drain(store, ScriptedExtractor(script))
    before = store.seq(ANA)
    store.forget(ANA, facts=[OSLO], actor=EVE, now=at(1))
    actions = {one.action for one in store.log(ANA, after=before) if one.kind == "passage"}
    assert "edit" in actions
    assert [one.text for one in store.passages(ANA)] == ["It rains."]


# -- the pure part -------------------------------------------------------------------------------

STATUSES = ("candidate", "asserted", "verified", "disputed", "rejected")
FACTS = st.builds(
    Fact,
    id=st.just("f-1"),
    subject_id=st.just("e-1"),
    object_id=st.just("e-2"),
    subject=st.sampled_from(["Bob", "BOB"]),
    predicate=st.just("lives in"),
    object=st.just("Oslo"),
    status=st.sampled_from(STATUSES),
    replaced_by=st.sampled_from([None, "f-2", "f-3"]),
    passages=st.sampled_from([("p-1",), ("p-2",), ("p-1", "p-2")]),
)
CAUSES = st.sampled_from(["extract", "merge", "forget", "verify", "dispute", "reject", "unforget"])


@given(st.none() | FACTS, st.none() | FACTS, CAUSES)
def test_what_is_there_or_not_says_most(before, after, cause):
    if before == after:
        return
    action = change_of(before, after, cause=cause)
    assert (action == "add") == (before is None)
    assert (action in ("forget", "remove")) == (after is None)
    assert action in PRODUCERS


@given(FACTS, FACTS, CAUSES)
def test_a_ruling_says_more_than_a_rival_and_a_rival_more_than_words(before, after, cause):
    if before == after:
        return
    action = change_of(before, after, cause=cause)
    if before.status == after.status:
        assert (action == "supersede") == (after.replaced_by not in (None, before.replaced_by))
        if before.replaced_by == after.replaced_by:
            assert action in ("merge", "edit")
    elif after.status in ("disputed", "rejected"):
        assert action == {"disputed": "dispute", "rejected": "reject"}[after.status]
    calm = replace(after, replaced_by=before.replaced_by, passages=before.passages)
    if before.status != after.status:
        assert change_of(before, calm, cause=cause) == action
