"""Many writers at once: threads of one process, processes on one file, and processes that die."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timezone
from itertools import pairwise

import pytest

from graphmem import courtesy
from graphmem.courtesy import behind_the_scenes, served_first
from graphmem.store import Store, arrival, sqlite
from graphmem.store.transaction import transaction
from graphmem.testing import ScriptedExtractor
from graphmem.types import Scope
from store_parts import ANA, NOW, drain, neighbourly, put, rows, said, shown


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    opened = Store.open(tmp_path / "m.db" if request.param == "file" else ":memory:")
    yield opened
    opened.close()


def together(count, work):
    """Run work(0) … work(count - 1) at the same moment."""
    barrier = threading.Barrier(count)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def test_twenty_equal_puts_are_one(store):
    batch = [said(f"Sentence {n}.") for n in range(10)]
    receipts = together(20, lambda _: put(store, *batch))
    assert sorted(len(one.stored) for one in receipts) == [0] * 19 + [10]
    assert all(set(one.passages) == set(receipts[0].passages) for one in receipts)
    assert len(store.passages(ANA)) == 10
    assert store.pending_count(ANA, work="extract") == 10


def test_twenty_different_puts_are_all_there(store):
    together(20, lambda n: put(store, *(said(f"Sentence {n} {k}.") for k in range(5))))
    passages = store.passages(ANA)
    assert len(passages) == 100
    assert [one.ordinal for one in passages] == list(range(100))
    assert [one.seq for one in store.log(ANA)] == list(range(1, 101))


def test_workers_share_the_queue_and_do_everything_once(store):
    put(store, *(said(f"Number {n} is about place{n}.", n) for n in range(60)))
    extractor = neighbourly()
    together(6, lambda _: drain(store, extractor, texts=4))
    read = [one.id for batch in extractor.batches for one in batch]
    assert sorted(read) == sorted(one.id for one in store.passages(ANA))
    assert store.pending_count() == 0
    expected = Store.open(":memory:") if store.uri != "sqlite://" else None
    if expected:
        put(expected, *(said(f"Number {n} is about place{n}.", n) for n in range(60)))
        drain(expected, neighbourly())
        assert rows(store) == rows(expected)
        expected.close()


def test_who_follows_the_log_while_others_write_misses_nothing(store):
    extractor = neighbourly()
    done = threading.Event()
    deltas = []

    def follow():
        after = None
        while True:
            is_last = done.is_set()
            deltas.append(store.changes(ANA, after=after))
            after = deltas[-1].seq
            if is_last:
                return

    follower = threading.Thread(target=follow)
    follower.start()

    def write(number):
        for k in range(4):
            put(store, said(f"Text {number} {k} is place{k}.", number * 4 + k))
            put(store, said("noise"), scope=Scope("eve"))
            drain(store, extractor, texts=3)
            if k == 2:
                ids = [one.id for one in store.passages(ANA) if f"Text {number} 0 " in one.text]
                store.forget(ANA, passages=ids, now=said("", 0).said_at)

    together(4, write)
    drain(store, extractor)
    done.set()
    follower.join()
    assert len(deltas) > 1
    assert shown(deltas) == shown([store.changes(ANA, after=None)])
    assert len(store.passages(ANA)) == 12


PUTTER = """
import sys
sys.path[:0] = {path!r}
from store_parts import *
store = Store.open({file!r})
print("open", flush=True)
sys.stdin.readline()
for n in range({count}):
    put(store, said(f"shared {{n}}"), said(f"own {name} {{n}}"))
    print(n, flush=True)
store.close()
"""


def test_processes_on_one_file_see_each_other_and_lose_nothing(tmp_path):
    file = tmp_path / "m.db"
    children = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                PUTTER.format(path=sys.path, file=str(file), count=25, name=name),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    # Both made the file at about the same time; one of them won.
    for child in children:
        assert child.stdout.readline() == "open\n"
    for child in children:
        child.communicate("go\n", timeout=60)
        assert child.returncode == 0
    store = Store.open(file)
    texts = [one.text for one in store.passages(ANA)]
    assert sorted(texts) == sorted(
        [f"shared {n}" for n in range(25)] + [f"own {x} {n}" for x in "ab" for n in range(25)]
    )
    assert [one.seq for one in store.log(ANA)] == list(range(1, 76))
    store.close()


WORKER = """
import sys
sys.path[:0] = {path!r}
from store_parts import *
from test_store_concurrent import reading
store = Store.open({file!r})
now = datetime.now(timezone.utc)
n = {start}
while True:
    put(store, *(said(f"note {{k}} here", k) for k in range(n, n + 3)), now=now)
    print(n + 2, flush=True)
    drain(store, reading(), now=now, texts=2)
    n += 3
"""


def reading() -> ScriptedExtractor:
    """Three triples for each note: all of them are in the store, or none."""
    return ScriptedExtractor(
        lambda p: [(f"note {p.text.split()[1]}", verb, "here") for verb in ("is", "was", "stays")]
    )


def test_kills_leave_every_acknowledged_message_and_no_half_extraction(tmp_path):
    file = tmp_path / "m.db"
    rng = random.Random(3)
    last = -1
    for _ in range(8):
        code = WORKER.format(path=sys.path, file=str(file), start=last + 1)
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        first = child.stdout.readline()
        time.sleep(rng.uniform(0, 0.06))
        child.send_signal(signal.SIGKILL)
        acknowledged = [first, *child.stdout]
        child.wait()
        child.stdout.close()
        last = max(int(line) for line in acknowledged if line.endswith("\n"))
        store = Store.open(file)
        texts = {one.text for one in store.passages(ANA)}
        assert {f"note {k} here" for k in range(last + 1)} <= texts
        found = [one.subject for one in store.facts(ANA)]
        assert all(found.count(one) == 3 for one in set(found))
        last = max(int(text.split()[1]) for text in texts)
        store.close()
    store = Store.open(file)
    # The leases of the dead are void: everything is read, at once and once.
    drain(store, reading(), now=datetime.now(timezone.utc))
    assert store.pending_count() == 0
    assert len(store.facts(ANA)) == 3 * (last + 1)
    assert len(store.entities(ANA)) == last + 2
    store.close()


def test_the_log_stays_short_under_writers_and_readers_without_a_pause(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "CHECKPOINT_BYTES", 64 << 10)
    monkeypatch.setattr(sqlite, "LONG_LOG_BYTES", 512 << 10)
    path = tmp_path / "m.db"
    lengths = []
    stopping = threading.Event()
    with closing(Store.open(path)) as store:

        def read():
            while not stopping.is_set():
                store.pending_count()

        def write(writer):
            for n in range(60):
                put(store, said(f"Writer {writer} says number {n}. " + "words " * 2000, n))
                lengths.append(path.with_name("m.db-wal").stat().st_size)

        reader = threading.Thread(target=read)
        reader.start()
        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(2)]
        for one in writers:
            one.start()
        for one in writers:
            one.join()
        stopping.set()
        reader.join()
        cuts = sum(later < earlier for earlier, later in pairwise(lengths))
        assert cuts >= 3, "left alone it only grows"
        assert len(store.messages(ANA)) == 120


class Watched(threading.Condition):
    """Says when somebody waits."""

    def __init__(self):
        super().__init__()
        self.is_waited = threading.Event()

    def wait_for(self, predicate, timeout=None):
        self.is_waited.set()
        return super().wait_for(predicate, timeout)


@pytest.fixture
def patient(monkeypatch):
    """Who gives way does so at every chance, and for as long as a test takes."""
    monkeypatch.setattr(courtesy, "_MOST_SECONDS", 3600.0)
    monkeypatch.setattr(courtesy, "_PATIENCE", 1e12)
    monkeypatch.setattr(courtesy, "_LEAST_WORK", 0.0)
    monkeypatch.setattr(courtesy, "_nobody", Watched())
    return courtesy._nobody


def begun(work, *, is_behind=False):
    """Starts work in a thread; returns the thread, and what is set when the work is done."""
    done = threading.Event()

    def run():
        if is_behind:
            behind_the_scenes()
        sum(range(100_000))
        work()
        done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, done


def texts_of(store):
    return {one.text for one in store.passages(ANA)}


def test_who_gives_way_before_it_writes_keeps_no_writer_waiting(store, patient):
    with served_first():
        thread, is_put = begun(lambda: put(store, said("behind")), is_behind=True)
        assert patient.is_waited.wait(30), "it gives way"
        _, is_done = begun(lambda: put(store, said("in front")))
        assert is_done.wait(30)
        assert not is_put.is_set(), "it still gives way"
        _, is_read = begun(lambda: texts_of(store))
        assert is_read.wait(30)
    thread.join(30)
    assert is_put.is_set()
    assert texts_of(store) == {"behind", "in front"}


def test_who_writes_already_gives_way_to_nobody(store, patient):
    """A recall that begins meanwhile may wait for this very transaction."""
    is_inside, go_on = threading.Event(), threading.Event()

    def write():
        built = arrival.cut([said(f"behind {n} " * 20, n) for n in range(40)], "s")
        with transaction(store._database, ANA, now=NOW) as tx:
            is_inside.set()
            assert go_on.wait(30)
            sum(range(100_000))
            arrival.put(tx, built)

    thread, is_put = begun(write, is_behind=True)
    assert is_inside.wait(30)
    with served_first():
        _, is_done = begun(lambda: put(store, said("in front")))
        go_on.set()
        assert is_done.wait(30)
        assert is_put.wait(30)
        assert not patient.is_waited.is_set()
    thread.join(30)
    assert len(texts_of(store)) == 41
