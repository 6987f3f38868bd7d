from __future__ import annotations

import threading
import time

import pytest

from builders import until
from graphmem.block.batches import Batch
from graphmem.block.spill import Spill
from graphmem.errors import StoreFull
from graphmem.types import Message, Receipt, Scope

ANA = Scope("ana")


class Shelf:
    """A store of lists that refuses while it is told to."""

    def __init__(self) -> None:
        self.error: Exception | None = StoreFull("the disk is full")
        self.written: list[Batch] = []
        self.reports: list[str] = []

    def write(self, batch: Batch) -> Receipt:
        if self.error is not None:
            raise self.error
        self.written.append(batch)
        return Receipt(batch.scope)

    def report(self, error: Exception, consequence: str) -> None:
        self.reports.append(f"{type(error).__name__}: {consequence}")

    def texts(self) -> list[str]:
        return [message.text for batch in self.written for message in batch.messages]


def batch(*texts: str, scope: Scope = ANA, session: str = "s") -> Batch:
    return Batch(scope, session, tuple(Message(text) for text in texts))


def spill_on(shelf: Shelf, **options: float) -> Spill:
    options.setdefault("retry_seconds", 600)
    return Spill(shelf.write, shelf.report, **options)  # type: ignore[arg-type]


def test_what_was_refused_is_written_in_order_once_the_store_takes_it():
    shelf = Shelf()
    spill = spill_on(shelf)
    assert spill.keep(batch("a", "b"), StoreFull("full"))
    assert spill.keep(batch("c", session="t"), StoreFull("full"))
    assert len(spill) == 3
    assert isinstance(spill.retry(), StoreFull)
    assert len(spill) == 3

    shelf.error = None
    assert spill.retry() is None
    assert (len(spill), shelf.texts()) == (0, ["a", "b", "c"])
    assert spill.retry() is None
    assert shelf.texts() == ["a", "b", "c"]


def test_a_full_spill_refuses_the_new_and_keeps_the_old():
    shelf = Shelf()
    spill = spill_on(shelf, max_messages=3)
    assert spill.keep(batch("a", "b"), StoreFull("full"))
    assert not spill.keep(batch("c", "d"), StoreFull("full"))
    assert spill.keep(batch("e"), StoreFull("full"))
    assert shelf.reports[1] == "StoreFull: the spill is full: 2 messages are refused"
    shelf.error = None
    spill.retry()
    assert shelf.texts() == ["a", "b", "e"]


def test_the_room_is_bounded_in_characters_too():
    spill = spill_on(Shelf(), max_chars=10)
    assert spill.keep(batch("12345"), StoreFull("full"))
    assert not spill.keep(batch("123456"), StoreFull("full"))
    assert spill.keep(batch("12345"), StoreFull("full"))


def test_the_timer_retries_by_itself_until_it_succeeds():
    shelf = Shelf()
    spill = spill_on(shelf, retry_seconds=0.01)
    spill.keep(batch("a"), StoreFull("full"))
    assert until(lambda: len(shelf.reports) >= 3)
    assert len(spill) == 1
    shelf.error = None
    assert until(lambda: len(spill) == 0)
    assert shelf.texts() == ["a"]


def test_a_batch_that_fails_for_a_reason_of_its_own_holds_up_nobody():
    shelf = Shelf()

    def write(one: Batch) -> Receipt:
        if one.messages[0].text == "poison":
            raise ValueError("cannot be stored")
        return shelf.write(one)

    shelf.error = None
    spill = Spill(write, shelf.report, retry_seconds=600)
    spill.keep(batch("poison"), StoreFull("full"))
    spill.keep(batch("a"), StoreFull("full"))
    assert spill.retry() is None
    assert (shelf.texts(), len(spill)) == (["a"], 1)
    assert shelf.reports[-1] == "ValueError: 2 messages still wait in memory"


def test_discard_takes_one_session_or_a_whole_scope():
    shelf = Shelf()
    spill = spill_on(shelf)
    for scope in (ANA, Scope("bo")):
        for session in ("s", "t"):
            spill.keep(batch(f"{scope} {session}", scope=scope, session=session), StoreFull("full"))
    assert spill.discard(ANA, "s") == 1
    assert spill.discard(ANA, "nowhere") == 0
    assert spill.discard(Scope("bo")) == 2
    shelf.error = None
    spill.retry()
    assert shelf.texts() == ["ana t"]


def test_close_tries_a_last_time_and_says_what_would_be_lost():
    shelf = Shelf()
    spill = spill_on(shelf)
    spill.keep(batch("a"), StoreFull("full"))
    assert spill.close() == 1
    assert shelf.reports[-1] == "StoreFull: 1 messages are lost if the process ends now"
    shelf.error = None
    assert spill.close() == 0
    assert shelf.texts() == ["a"]


def test_many_threads_lose_and_double_nothing():
    shelf = Shelf()
    spill = spill_on(shelf)
    names = [f"{thread}-{number}" for thread in range(8) for number in range(25)]

    def work(thread: int) -> None:
        for number in range(25):
            spill.keep(batch(f"{thread}-{number}"), StoreFull("full"))
            if number == 12:
                shelf.error = None
            spill.retry()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spill.retry() is None
    assert len(spill) == 0
    assert sorted(shelf.texts()) == sorted(names)


@pytest.mark.parametrize("seconds", [0.01])
def test_the_delay_doubles_while_refused_and_starts_anew_after(seconds: float):
    shelf = Shelf()
    spill = spill_on(shelf, retry_seconds=seconds)
    spill.keep(batch("a"), StoreFull("full"))
    time.sleep(0.3)
    # 0.01 + 0.02 + 0.04 + 0.08 + 0.16 > 0.3: at most five retries, where a steady timer makes 30.
    assert 3 <= len(shelf.reports) <= 7
    shelf.error = None
    spill.retry()
    shelf.error = StoreFull("full again")
    spill.keep(batch("b"), StoreFull("full"))
    count = len(shelf.reports)
    assert until(lambda: len(shelf.reports) > count)
