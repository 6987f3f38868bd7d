"""A lock under which those who change something let others go first (``index.yielding``)."""

from __future__ import annotations

import threading
import time

from graphmem.courtesy import behind_the_scenes
from graphmem.index import yielding
from graphmem.index.yielding import PATIENCE_SECONDS, YieldingLock


def in_thread(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def waits(lock, work):
    """Starts a thread that waits for the lock to do some work."""
    waiting = len(lock._waiting)
    thread = in_thread(lambda: (lock.acquire(), work(), lock.release()))
    while len(lock._waiting) == waiting:
        time.sleep(0.001)
    return thread


def behind(work):
    """Does some work in a thread behind the scenes."""
    in_thread(lambda: (behind_the_scenes(), work())).join(10)


def test_who_waits_comes_before_the_next_piece_of_a_change_behind_the_scenes():
    lock, order, readers = YieldingLock(), [], []

    def change():
        with lock.yielding():
            readers.append(waits(lock, lambda: order.append("reader")))
            order.append("first piece")
        with lock.yielding():
            order.append("second piece")

    behind(change)
    readers[0].join(10)
    assert order == ["first piece", "reader", "second piece"]


def seconds_to_take(lock):
    start = time.monotonic()
    with lock.yielding():
        return time.monotonic() - start


def test_nobody_gives_way_for_ever_and_who_is_waited_for_not_at_all(monkeypatch):
    lock, taken = YieldingLock(), []
    lock._waiting.add(object())
    behind(lambda: taken.append(seconds_to_take(lock)))
    assert PATIENCE_SECONDS <= taken[0] < 10
    monkeypatch.setattr(yielding, "PATIENCE_SECONDS", 3600.0)
    assert seconds_to_take(lock) < 10


def test_it_is_for_one_thread_at_a_time_which_may_take_it_again():
    lock, taken = YieldingLock(), []
    with lock, lock.yielding():
        in_thread(lambda: taken.append(lock.acquire(blocking=False))).join(10)
    in_thread(lambda: taken.append(lock.acquire(blocking=False))).join(10)
    assert taken == [False, True]
