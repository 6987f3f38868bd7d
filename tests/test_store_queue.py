"""The queue: everything is done once, whoever fails, dies, or comes too late."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from datetime import timedelta

import numpy as np
import pytest

from graphmem.errors import EmbedderMismatch, EmbeddingError, NotFound
from graphmem.store import Store
from graphmem.store.queue import LEASE
from graphmem.testing import ScriptedExtractor
from graphmem.types import Extraction, Scope, Triple
from store_parts import ANA, EMBEDDER, NOW, at, claim, drain, embed, extract, neighbourly, put, said


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "memory.db")
    yield opened
    opened.close()


def finish(store, one, *extractions, now=NOW):
    store.finish_extraction(one.scope, extractions, claim=one, extractor="x/1", now=now)


def test_a_claim_is_one_thread_in_order_with_what_stands_before(store):
    put(store, *(said(f"Word {n}.") for n in range(20)))
    put(store, said("Elsewhere."), session="t")
    extract(store, neighbourly(), texts=12)
    store.forget(ANA, session="t", now=NOW)
    put(store, said("Word last."))
    one = claim(store)
    assert [p.text for p in one.passages] == ["Word last."]
    assert [p.text for p in one.passages[0].before] == [f"Word {n}." for n in range(12, 20)]


def test_claims_keep_to_their_limits_and_do_not_overlap(store):
    put(store, *(said("x" * 99 + str(n % 10)) for n in range(10)))
    first = store.claim("extract", owner="a:1:1", now=NOW, max_texts=3, max_chars=10**6)
    second = store.claim("extract", owner="a:1:1", now=NOW, max_texts=10, max_chars=250)
    third = store.claim("extract", owner="b:1:1", now=NOW, max_texts=10, max_chars=1)
    assert [len(one.passages) for one in (first, second, third)] == [3, 2, 1]
    ids = [p.id for one in (first, second, third) for p in one.passages]
    assert len(set(ids)) == 6
    assert [p.ordinal for p in first.passages + second.passages] == [0, 1, 2, 3, 4]


def test_new_work_is_due_on_a_clock_that_was_set_back_and_a_retry_is_not(store):
    put(store, said("Mine."), now=at(60))
    assert store.next_due("extract") <= NOW
    first = claim(store, now=NOW)
    assert [p.text for p in first.passages] == ["Mine."]
    store.fail(first, "down", now=at(60))
    assert claim(store, now=NOW) is None
    assert store.next_due("extract") > at(60)


def test_a_claim_holds_one_scope_only(store):
    put(store, said("Mine."))
    put(store, said("Theirs."), scope=Scope("eve"))
    scopes = [(claim(store).scope, claim(store).scope)]
    assert scopes == [(ANA, Scope("eve"))]
    assert claim(store) is None
    assert len(claim(store, "embed").texts) == 1


def test_a_failure_waits_longer_each_time_and_is_seen(store):
    put(store, said("Bob is here."))
    now, waits = NOW, []
    for _ in range(4):
        one = claim(store, now=now)
        finish(store, one, Extraction(one.passages[0].id, error="timeout"), now=now)
        assert claim(store, now=now) is None
        due = store.next_due("extract")
        waits.append((due - now).total_seconds())
        now = due
    assert waits == [2, 4, 8, 16]
    stats = store.stats(ANA)
    assert (stats.pending, stats.failed, stats.last_error) == (1, 1, "timeout")
    one = claim(store, now=now)
    failed = Extraction(one.passages[0].id, error="bad key", is_retryable=False)
    finish(store, one, failed, now=now)
    assert store.next_due("extract") - now >= timedelta(hours=1)
    store.make_due(now=now)
    assert claim(store, now=now) is not None


def test_nothing_to_learn_is_done_and_no_answer_is_a_failure(store):
    put(store, said("First."), said("Second."))
    one = claim(store)
    finish(store, one, Extraction(one.passages[0].id))
    assert store.pending_count(ANA, work="extract") == 1
    assert "returned nothing" in store.stats(ANA).last_error


def test_a_result_is_committed_once(store):
    put(store, said("Bob is in Oslo."))
    one = claim(store)
    answer = Extraction(one.passages[0].id, (Triple("Bob", "is in", "Oslo"),) * 3)
    finish(store, one, answer)
    seq = store.seq(ANA)
    finish(store, one, answer)
    assert store.seq(ANA) == seq
    (fact,) = store.facts(ANA)
    assert len(store.evidence(ANA, fact.id)) == 1


def test_a_late_result_loses_to_who_took_over(store):
    put(store, said("Bob is in Oslo."))
    late = claim(store)
    later = NOW + LEASE + timedelta(seconds=1)
    other = store.claim("extract", owner="b:2:2", now=later, max_texts=9, max_chars=99)
    assert other.passages == late.passages
    id_ = late.passages[0].id
    finish(store, late, Extraction(id_, (Triple("Bob", "is in", "Rome"),)))
    assert store.facts(ANA) == []
    finish(store, other, Extraction(id_, (Triple("Bob", "is in", "Oslo"),)))
    assert [one.object for one in store.facts(ANA)] == ["Oslo"]


def test_a_result_for_what_was_forgotten_or_changed_meanwhile_is_dropped(store):
    put(store, said("Bob is in Oslo.", 1), said("Eve is in Rome.", 2))
    one = claim(store)
    store.forget(ANA, passages=[one.passages[0].id], now=NOW)
    triples = (Triple("Bob", "is in", "Oslo"),)
    finish(store, one, *(Extraction(p.id, triples) for p in one.passages))
    assert store.facts(ANA) == []
    assert store.pending_count(ANA, work="extract") == 1
    (again,) = claim(store).passages
    assert (again.text, again.before) == ("Eve is in Rome.", ())


def test_a_newer_reading_replaces_the_older(store):
    put(store, said("Bob is in Oslo.", 2))
    extract(store, ScriptedExtractor(lambda p: [("Bob", "is in", "Oslo"), ("Bob", "is", "here")]))
    first = {one.text: one.recorded_at for one in store.facts(ANA)}
    put(store, said("Earlier.", 1))
    extract(store, ScriptedExtractor(lambda p: [("Bob", "is in", "Oslo")]), now=at(60))
    (fact,) = (one for one in store.facts(ANA) if one.status == "asserted")
    assert (fact.text, fact.recorded_at) == ("Bob is in Oslo", first["Bob is in Oslo"])
    assert len(first) == 2


def test_unusable_triples_and_inventions_are_no_beliefs(store):
    put(store, said("Bob is in Oslo."))
    triples = [
        ("Bob", "is", "bob"),
        ("", "is", "x"),
        ("Bob", "", "Oslo"),
        ("John Doe", "is", "rich"),
    ]
    drain(store, ScriptedExtractor(lambda p: [*triples, ("Bob", "is in", "Oslo")]))
    assert {(one.text, one.status) for one in store.facts(ANA)} == {
        ("John Doe is rich", "candidate"),
        ("Bob is in Oslo", "asserted"),
    }


def test_the_leases_of_the_dead_are_void_at_once_and_those_of_the_living_are_not(store):
    put(store, said("Word."))
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    host, now_ns = socket.gethostname(), time.time_ns()
    limits = {"now": NOW, "max_texts": 9, "max_chars": 99}
    assert store.claim("extract", owner=f"{host}:{dead.stdout.strip()}:{now_ns}", **limits)
    living = store.claim("extract", owner=f"elsewhere:1:{now_ns}", **limits)
    assert living is not None
    assert claim(store) is None
    assert store.next_due("extract") == living.lease_until
    store.release(f"elsewhere:1:{now_ns}")
    assert claim(store) is not None


def test_vectors_are_stored_once_for_each_text(store):
    put(store, said("Bob is in Oslo."), said("Bob is here."))
    extract(store, ScriptedExtractor(lambda p: [("Bob", "is in", "Oslo")]))
    before = EMBEDDER.calls
    embed(store)
    assert EMBEDDER.calls - before == 2 + 1 + 2
    whole = store.changes(ANA, after=None)
    assert {kind: len(v.ids) for kind, v in whole.vectors.items()} == {
        "passage": 2,
        "fact": 1,
        "entity": 2,
    }
    one = whole.vectors["fact"]
    assert np.array_equal(one.rows, EMBEDDER.embed([store.facts(ANA)[0].text]))


def test_a_reworded_fact_is_embedded_anew(store):
    put(store, said("bob is in oslo", 1), said("Bob is in Oslo", 2), said("BOB in OSLO", 3))
    drain(store, ScriptedExtractor({"bob is in oslo": [("bob", "is in", "oslo")]}))
    assert [one.text for one in store.facts(ANA)] == ["bob is in oslo"]
    put(store, said("So Bob is in Oslo.", 4), said("Yes, Bob is in Oslo.", 5))
    extract(store, ScriptedExtractor(lambda p: [("Bob", "is in", "Oslo")]))
    assert [one.text for one in store.facts(ANA)] == ["Bob is in Oslo"]
    assert [one.name for one in store.entities(ANA)] == ["Bob", "Oslo"]
    assert "fact" not in store.changes(ANA, after=None).vectors
    texts = claim(store, "embed").texts
    assert {text for kind, _, text in texts if kind != "passage"} == {
        "Bob is in Oslo",
        "Bob",
        "Oslo",
    }


def test_wrong_vectors_are_refused_and_the_work_stays(store):
    put(store, said("One."), said("Two."))
    one = claim(store, "embed")
    for rows in (np.ones((1, 4)), np.ones(2), np.full((2, 4), np.nan)):
        with pytest.raises(EmbeddingError):
            store.put_vectors(one, one.keys, rows.astype("f4"), model="m")
    store.fail(one, "no vectors", now=NOW)
    assert store.pending_count(work="embed") == 2
    assert store.next_due("embed") == NOW + timedelta(seconds=2)
    again = claim(store, "embed", now=at(1))
    store.put_vectors(again, again.keys, np.ones((2, 4), "f4"), model="m")
    assert store.pending_count(work="embed") == 0


def test_another_model_is_refused(store):
    store.check_model("anything", 3)
    put(store, said("One."))
    embed(store)
    store.check_model(EMBEDDER.name, EMBEDDER.dims)
    store.check_model(EMBEDDER.name)
    for name, dims in (("other", EMBEDDER.dims), (EMBEDDER.name, 99)):
        with pytest.raises(EmbedderMismatch) as caught:
            store.check_model(name, dims)
        assert caught.value.stored == (EMBEDDER.name, EMBEDDER.dims)
        assert caught.value.given == (name, dims)
    put(store, said("Two."))
    one = claim(store, "embed")
    with pytest.raises(EmbedderMismatch):
        store.put_vectors(one, one.keys, np.ones((1, 5), "f4"), model="other")


def test_forgetting_takes_what_only_it_carried_and_leaves_the_rest(store):
    put(store, said("Bob is in Oslo."), said("Yes, Bob is in Oslo."), said("Bob likes Zebras."))
    script = {
        "Bob is in Oslo.": [("Bob", "is in", "Oslo")],
        "Yes, Bob is in Oslo.": [("Bob", "is in", "Oslo")],
        "Bob likes Zebras.": [("Bob", "likes", "Zebras")],
    }
    drain(store, ScriptedExtractor(script))
    first, _, third = store.passages(ANA)
    receipt = store.forget(ANA, passages=[first.id], reason="asked", now=NOW)
    assert (receipt.forgotten, receipt.deferred) == ((first.id,), ())
    assert len(store.facts(ANA)) == 2
    receipt = store.forget(ANA, messages=[third.message_id], now=NOW)
    assert [one.text for one in store.facts(ANA)] == ["Bob is in Oslo"]
    assert [one.name for one in store.entities(ANA)] == ["Bob", "Oslo"]
    assert store.forget_seq(ANA) == store.seq(ANA)
    with pytest.raises(NotFound):
        store.forget(ANA, passages=[first.id], now=NOW)
    with pytest.raises(NotFound):
        store.forget(Scope("eve"), session="s", now=NOW)
    store.forget(ANA, session="s", now=NOW)
    assert store.facts(ANA) == store.entities(ANA) == store.passages(ANA) == []
    assert store.pending_count() == 0


def test_what_was_read_with_a_look_back_at_the_forgotten_goes_at_once(store):
    put(store, said("Eve met Zelda.", 1), said("She is kind.", 2), said("It rains in Rome.", 3))
    script = {
        "She is kind.": [("Zelda", "is", "kind")],
        "It rains in Rome.": [("It", "rains in", "Rome"), ("rain", "is in", "Rome")],
    }
    drain(store, ScriptedExtractor(script))
    assert "Zelda is kind" in {one.text for one in store.facts(ANA)}
    first = store.passages(ANA)[0]
    store.forget(ANA, passages=[first.id], now=NOW)
    assert not any("Zelda" in one.text for one in store.facts(ANA))
    assert any("Rome" in one.text for one in store.facts(ANA))
    assert store.pending_count(ANA, work="extract") == 2


def test_a_part_of_a_message_can_go_alone_and_does_not_come_back(store):
    text = "\n\n".join(f"Paragraph {n} has word{n}. " + "filler " * 200 for n in range(6)).strip()
    put(store, said(text))
    parts = store.passages(ANA)
    gone = parts[1]
    store.forget(ANA, passages=[gone.id], now=NOW)
    kept = [parts[0], *parts[2:]]
    assert [(one.id, one.text) for one in store.passages(ANA)] == [(o.id, o.text) for o in kept]
    put(store, said(text))
    assert [one.id for one in store.passages(ANA)] == [one.id for one in kept]
    store.forget(ANA, passages=[one.id for one in kept], now=NOW)
    assert store.stats(ANA).messages == 0


def test_the_log_says_what_changed_and_forgets_the_words(store):
    put(store, said("Bob is in Oslo."), said("Eve is here."))
    drain(store, ScriptedExtractor({"Bob is in Oslo.": [("Bob", "is in", "Oslo")]}))
    entries = store.log(ANA)
    assert [one.seq for one in entries] == list(range(1, len(entries) + 1))
    (read,) = (one for one in entries if (one.action, one.kind) == ("add", "fact"))
    assert (read.before, read.after["object"]) == (None, "Oslo")
    assert (read.actor, read.actor_kind) == ("scripted/1", "extractor")
    passage = store.passages(ANA)[0]
    store.forget(ANA, passages=[passage.id], reason="asked to", now=NOW)
    log = store.log(ANA)
    assert all(one.before is one.after is None for one in log if one.kind == "fact")
    assert store.verify_log(ANA).is_intact
    assert [
        (one.id, one.reason) for one in log if one.action == "forget" and one.kind == "passage"
    ] == [(passage.id, "asked to")]


def test_a_follower_of_the_log_starts_over_when_all_is_forgotten(store):
    put(store, said("Bob is in Oslo."))
    after = store.changes(ANA, after=None).seq
    assert store.changes(ANA, after=after).passages == ()
    store.forget(ANA, everything=True, now=NOW)
    assert store.changes(ANA, after=after).is_whole
    assert store.forget_seq(ANA) > after
    put(store, said("New."))
    delta = store.changes(ANA, after=store.forget_seq(ANA))
    assert ([one.text for one in delta.passages], delta.is_whole) == (["New."], False)
    assert store.changes(ANA, after=10**6).is_whole


def test_what_changed_is_read_in_portions_as_at_once(store):
    put(store, said("Bob is in Oslo.", 1), said("Ana is in Rome.", 2), said("Eva sleeps.", 3))
    names = {"Bob": "Oslo", "Ana": "Rome"}
    drain(
        store,
        ScriptedExtractor(lambda p: [(n, "is in", c) for n, c in names.items() if n in p.text]),
    )
    store.forget(ANA, passages=[store.passages(ANA)[0].id], now=NOW)
    for after in (None, 1):
        changed = store.changed(ANA, after=after)
        whole = store.changes(ANA, after=after)
        parts = [store.changes_of(ANA, one) for one in changed.portions(2)]
        assert len(parts) > 2
        assert [one.is_whole for one in parts] == [whole.is_whole] + [False] * (len(parts) - 1)
        assert [one.seq for one in parts] == [0] * (len(parts) - 1) + [whole.seq]
        assert [row for one in parts for row in one.passages] == list(whole.passages)
        assert [row for one in parts for row in one.facts] == list(whole.facts)
        assert frozenset().union(*(one.removed for one in parts)) == whole.removed
        for kind, vectors in whole.vectors.items():
            some = [one.vectors[kind] for one in parts if kind in one.vectors]
            assert sorted(id_ for one in some for id_ in one.ids) == sorted(vectors.ids)
    nothing = list(store.changed(ANA, after=store.seq(ANA)).portions(2))
    assert [(one.seq, dict(one.ids)) for one in nothing] == [(store.seq(ANA), {})]
