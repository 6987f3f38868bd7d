"""A lock under which those who change something let others go first (``index.yielding``)."""

from __future__ import annotations

import threading
import time

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


def test_who_waits_comes_before_the_next_piece_of_a_change():
    lock, order = YieldingLock(), []
    with lock.yielding():
        reader = waits(lock, lambda: order.append("reader"))
        order.append("first piece")
    with lock.yielding():
        order.append("second piece")
    reader.join(10)
    assert order == ["first piece", "reader", "second piece"]


def test_nobody_gives_way_for_ever():
    lock = YieldingLock()
    lock._waiting.add(object())
    start = time.monotonic()
    with lock.yielding():
        assert PATIENCE_SECONDS <= time.monotonic() - start < 10


def test_it_is_for_one_thread_at_a_time_which_may_take_it_again():
    lock, taken = YieldingLock(), []
    with lock, lock.yielding():
        in_thread(lambda: taken.append(lock.acquire(blocking=False))).join(10)
    in_thread(lambda: taken.append(lock.acquire(blocking=False))).join(10)
    assert taken == [False, True]
