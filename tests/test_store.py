"""The store's door: putting, reading, and what is the same message."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from graphmem.errors import InvalidInput, NotFound, StoreError
from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from graphmem.types import Entity, Message, Scope
from store_parts import ANA, NOW, at, drain, neighbourly, put, rows, said


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "memory.db")
    yield opened
    opened.close()


def test_what_was_put_comes_back_whole_and_in_order(store):
    put(store, said("Hello there.", metadata={"tag": [1, "é"]}), said("Good day!", speaker="bob"))
    first, second = store.passages(ANA)
    assert (first.text, first.speaker, first.session, first.metadata) == (
        "Hello there.",
        "ana",
        "s",
        {"tag": [1, "é"]},
    )
    assert (second.text, second.speaker, second.ordinal) == ("Good day!", "bob", 1)
    assert [one.message.text for one in store.messages(ANA)] == ["Hello there.", "Good day!"]


def test_a_batch_put_twice_or_cut_otherwise_is_stored_once(store):
    batch = [said(f"Sentence number {number}.") for number in range(10)]
    first = put(store, *batch)
    again = put(store, *batch)
    assert len(first.stored) == 10
    assert (again.stored, again.merged) == ((), first.stored)
    for one in batch:
        put(store, one)
    put(store, *batch[3:7], *batch[3:7])
    assert [one.text for one in store.passages(ANA)] == [one.text for one in batch]
    assert store.pending_count(ANA, work="extract") == 10


def test_a_repetition_inside_one_batch_is_one_message(store):
    receipt = put(store, said("ok"), said("fine"), said("ok"))
    assert len(receipt.stored) == 2
    assert receipt.merged == ()
    assert len(store.passages(ANA)) == 2


def test_the_same_words_of_another_speaker_session_or_scope_are_another_message(store):
    put(store, said("ok"), said("ok", speaker="bob"))
    put(store, said("ok"), session="t")
    put(store, said("ok"), scope=Scope("ana", "helper"))
    assert len({one.id for one in store.passages(ANA)}) == 3
    assert len(store.passages(Scope("ana", "helper"))) == 1
    assert store.scopes() == [Scope("ana"), Scope("ana", "helper")]


def test_words_said_again_later_are_another_occurrence_at_the_place_of_the_first(store):
    put(store, said("ok", 5), said("then", 7))
    put(store, said("ok", 9), said("ok", 1), said("ok", 5))
    first, second = store.messages(ANA)
    assert first.said_at == (at(1), at(5), at(9))
    assert first.message.said_at == at(1)
    assert second.said_at == (at(7),)


def test_a_time_keeps_its_offset(store):
    eastern = NOW.astimezone(timezone(timedelta(hours=-5, minutes=-30)))
    put(store, Message("late", speaker="ana", said_at=eastern))
    (passage,) = store.passages(ANA)
    assert passage.said_at == eastern
    assert passage.said_at.utcoffset() == eastern.utcoffset()


def test_the_ends_of_time_are_times(store):
    first = NOW.replace(year=1, month=1, day=1, tzinfo=timezone(timedelta(hours=14)))
    last = NOW.replace(year=9999, month=12, day=31, tzinfo=timezone(timedelta(hours=-12)))
    put(store, Message("z", speaker="a", said_at=last), Message("a", speaker="a", said_at=first))
    assert [one.said_at for one in store.passages(ANA)] == [first, last]


def test_a_later_stamp_for_an_unstamped_message_gives_it_its_time(store):
    put(store, said("b"), said("a"))
    put(store, said("a", 1))
    put(store, said("b", 2))
    put(store, said("a"))
    assert [(one.text, one.said_at) for one in store.passages(ANA)] == [("a", at(1)), ("b", at(2))]


def test_an_unstamped_message_follows_the_stamped_one_before_it(store):
    put(store, said("q2", 20), said("a2", speaker="assistant"))
    put(store, said("q1", 10), said("a1", speaker="assistant"))
    assert [one.text for one in store.passages(ANA)] == ["q1", "a1", "q2", "a2"]
    put(store, said("q1", 30))  # said again: its first time stays
    assert [one.text for one in store.passages(ANA)] == ["q1", "a1", "q2", "a2"]
    put(store, said("q2", 5))  # known to be earlier now, and its answer with it
    assert [one.text for one in store.passages(ANA)] == ["q2", "a2", "q1", "a1"]


def test_a_long_message_is_parts_of_one_message(store):
    text = "\n\n".join(f"Paragraph {number}. " + "word " * 250 for number in range(8)).strip()
    put(store, said(text))
    passages = store.passages(ANA)
    assert len(passages) > 1
    assert len({one.message_id for one in passages}) == 1
    assert "".join(one.text for one in passages) == text
    assert store.stats(ANA).messages == 1


def test_text_of_every_kind_comes_back(store):
    texts = [
        "京都に住んでいる",
        "مرحبا بالعالم",
        "👩‍👩‍👧 family",
        "a\u200bb",
        "'; DROP TABLE message; --",
        "%_\\",
    ]
    put(store, *(said(text) for text in texts))
    assert sorted(one.text for one in store.passages(ANA)) == sorted(texts)


def test_nothing_is_put_for_nothing(store):
    assert put(store).passages == ()
    assert store.seq(ANA) == 0
    receipt = put(store, said("  "), said("words"))
    assert len(receipt.stored) == 1
    assert [reason for _, reason in receipt.dropped] == ["it holds no words"]


def test_counts(store):
    put(store, said("Bob lives in Oslo."), said("Nothing here."))
    put(store, said("Elsewhere."), scope=Scope("eve"))
    facts = {"Bob lives in Oslo.": [("Bob", "lives in", "Oslo"), ("John Doe", "likes", "Mars")]}
    drain(store, ScriptedExtractor(facts))
    stats = store.stats(ANA)
    assert (stats.messages, stats.passages, stats.facts, stats.withheld) == (2, 2, 1, 1)
    assert (stats.entities, stats.pending, stats.unembedded) == (4, 0, 0)
    assert store.stats().passages == 3


def test_facts_by_subject_status_and_passage(store):
    put(store, said("Bob lives in Oslo."), said("Eve lives in Rome."))
    facts = {
        "Bob lives in Oslo.": [("Bob", "lives in", "Oslo"), ("Jane Roe", "owns", "Mars")],
        "Eve lives in Rome.": [("Eve", "lives in", "Rome")],
    }
    drain(store, ScriptedExtractor(facts))
    first, _ = store.passages(ANA)
    assert [one.object for one in store.facts(ANA, subject=" BOB ")] == ["Oslo"]
    assert [one.subject for one in store.facts(ANA, status="candidate")] == ["Jane Roe"]
    assert {one.subject for one in store.facts(ANA, passage=first.id)} == {"Bob", "Jane Roe"}
    (fact,) = store.facts(ANA, subject="Eve")
    (proof,) = store.evidence(ANA, fact.id)
    assert (proof.speaker, proof.extractor, proof.grounded) == ("ana", "scripted/1", True)
    assert store.evidence(Scope("eve"), fact.id) == []


def test_scopes_never_meet(store):
    eve = Scope("eve")
    put(store, said("Charlie likes apples."), session="s")
    put(store, said("Charlie likes baseball."), session="s", scope=eve)
    script = {
        "Charlie likes apples.": [("Charlie", "likes", "apples")],
        "Charlie likes baseball.": [("Charlie", "likes", "baseball")],
    }
    drain(store, ScriptedExtractor(script))
    assert [one.object for one in store.facts(ANA, subject="charlie")] == ["apples"]
    assert [one.object for one in store.facts(eve, subject="charlie")] == ["baseball"]
    kept = rows(store, eve)
    store.forget(ANA, everything=True, now=NOW)
    assert rows(store, eve) == kept
    assert store.changes(ANA, after=None).passages == ()


def test_all_spellings_of_an_address_are_one_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stores = [
        Store.open(uri)
        for uri in (
            "memory.db",
            Path("memory.db"),
            tmp_path / "memory.db",
            "sqlite:///memory.db",
            "sqlite+aiosqlite:///memory.db",
            f"sqlite:///{tmp_path}/memory.db",
        )
    ]
    put(stores[0], said("once"))
    assert {one.uri for one in stores} == {f"sqlite:///{tmp_path}/memory.db"}
    assert all(len(one.passages(ANA)) == 1 for one in stores)
    for one in stores:
        one.close()


def test_a_store_lives_until_its_last_user_closes_it(tmp_path):
    first, second = Store.open(tmp_path / "m.db"), Store.open(tmp_path / "m.db")
    first.close()
    first.close()
    put(second, said("still open"))
    with pytest.raises(StoreError, match="closed"):
        first.seq(ANA)
    second.close()
    third = Store.open(tmp_path / "m.db")
    assert len(third.passages(ANA)) == 1
    third.close()
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]


@pytest.mark.parametrize("uri", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_a_store_in_memory_is_shared_and_goes_with_its_last_user(uri):
    first, second = Store.open(uri), Store.open(":memory:")
    put(first, said("Bob is near Oslo."))
    drain(second, neighbourly())
    assert len(second.facts(ANA)) == 2
    first.forget(ANA, everything=True, now=NOW)
    assert second.passages(ANA) == []
    first.close()
    second.close()
    third = Store.open(uri)
    assert third.scopes() == []
    third.close()


@pytest.mark.parametrize(
    "uri",
    ["", "postgresql://host/db", "mysql://x", "sqlite:///m.db?mode=ro", "://", 3, None, "a\x00b"],
)
def test_other_addresses_are_refused_with_the_way_out(uri):
    with pytest.raises(InvalidInput, match=r"sqlite|string"):
        Store.open(uri)


def test_rows_are_read_by_id(store):
    put(store, said("Bob lives in Oslo."), said("Nothing here."))
    drain(store, ScriptedExtractor({"Bob lives in Oslo.": [("Bob", "lives in", "Oslo")]}))
    first, second = store.passages(ANA)
    (fact,) = store.facts(ANA)
    bob, oslo = Entity(fact.subject_id, "Bob"), Entity(fact.object_id, "Oslo")
    wanted = {
        "passages": [second.id, "p-0", first.id],
        "facts": [fact.id, "f-0"],
        "entities": [oslo.id, "e-0", bob.id],
    }
    assert store.by_id(ANA, **wanted) == (
        {first.id: first, second.id: second},
        {fact.id: fact},
        {bob.id: bob, oslo.id: oslo},
    )
    assert store.by_id(Scope("eve"), **wanted) == ({}, {}, {})


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match="no folder"):
        Store.open(tmp_path / "nowhere" / "m.db")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_text_is_refused_and_hard_text_is_a_name_like_others(store):
    put(store, said("words"))
    for call in (
        lambda: store.passages(ANA, session=5),
        lambda: store.facts(ANA, passage=b"p"),
        lambda: store.forget(ANA, messages=[None], now=NOW),
        lambda: store.forget(ANA, session="s", reason=5, now=NOW),
    ):
        with pytest.raises((InvalidInput, NotFound)):
            call()
    assert store.passages(ANA, session="\udc9a") == []
    assert len(store.passages(ANA, session="s")) == 1
    store.forget(ANA, session="s", reason="bad \udc9a", now=NOW)
    assert store.log(ANA)[-1].reason == "bad \ufffd"


def test_the_version_changes_with_every_commit_of_anybody(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        first = store.version()
        assert store.version() == first
        store.put(ANA, [Message("one")], session="s", now=NOW)
        second = store.version()
        assert second != first
        assert store.version() == second
        program = (
            "import sys; from datetime import datetime, timezone; from graphmem.store import Store;"
            "from graphmem.types import Message, Scope; s = Store.open(sys.argv[1]);"
            "s.put(Scope('ana'), [Message('two')], session='s', now=datetime.now(timezone.utc));"
            "s.close()"
        )
        subprocess.run([sys.executable, "-c", program, str(tmp_path / "m.db")], check=True)
        assert store.version() != second
    with closing(Store.open("sqlite://")) as store:
        first = store.version()
        store.put(ANA, [Message("one")], session="s", now=NOW)
        assert store.version() != first
