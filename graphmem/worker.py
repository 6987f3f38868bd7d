"""The work behind ``remember``: extraction and embedding, in threads, from a queue on disk.

Threads start when there is work and end when there is none, so that a thousand idle memories cost
nothing. A claim that fails goes back to the queue with a later due time; after a failure the worker
itself pauses too, longer each time, so that a server that is down is not hammered. Nothing here is
bound to an event loop: LlamaIndex's sync wrappers use several.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from typing import Literal

from graphmem import salvage
from graphmem.courtesy import await_recalls, behind_the_scenes
from graphmem.errors import ExtractionError, GraphMemError, StoreError
from graphmem.faults import Faults, described
from graphmem.store import Claim, Store, new_owner
from graphmem.types import Embedder, Extractor

__all__ = ["Worker"]

Work = Literal["extract", "embed"]
Progress = Callable[[int, int], None]

# One model call reads about one default flush of LlamaIndex: 3,000 tokens and the turn's end, in
# long words (five letters a token) or short messages (two dozen tokens). Facts of more messages
# would not fit one reply.
EXTRACT_CHARS = 18_000
EXTRACT_TEXTS = 128
EMBED_CHARS = 200_000
EMBED_TEXTS = 256
IDLE_SECONDS = 2.0
MAX_PAUSE_SECONDS = 60.0
# A drain ends when the work fails this often in a row: waiting longer would not help its caller.
DRAIN_PATIENCE = 3
_JOIN_SECONDS = 10.0
# Looking how much is left takes long where that is much: a tenth of the time at most goes to it.
_LONG_LOOK = 0.02
_LONG_LOOKS = 9
_SOON = 0.01


class Worker:
    """Runs the store's queue through an extractor and an embedder.

    Args:
        store: the queue, and where results go.
        embedder: makes vectors; ``extractor`` makes triples, or ``None``: then passages stay
            pending for a memory that has one.
        faults: where failures are recorded.
        threads: how many extractions run at a time. Embedding has one thread of its own.
        on_commit: called after results are in the store.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        extractor: Extractor | None,
        faults: Faults,
        *,
        threads: int = 2,
        on_commit: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._extractor = extractor
        self._faults = faults
        self._on_commit = on_commit
        self._owner = new_owner()
        self._slots: dict[tuple[Work, int], threading.Thread] = {}
        self._sizes: dict[Work, int] = {"embed": 1, "extract": threads if extractor else 0}
        self._wake = threading.Condition()
        self._wakes = 0
        self._busy = 0
        self._finished = 0
        self._owed: deque[tuple[Claim, str]] = deque()
        self._stopping = False
        self._failures: dict[Work, int] = {"embed": 0, "extract": 0}
        self._paused_until: dict[Work, float] = {"embed": 0.0, "extract": 0.0}
        _running.add(self)

    def notify(self) -> None:
        """There may be new work: start or wake the threads. Cheap."""
        with self._wake:
            if self._stopping:
                return
            self._wakes += 1
            for work, size in self._sizes.items():
                for slot in range(size):
                    if (work, slot) not in self._slots:
                        self._start(work, slot)
            self._wake.notify_all()

    def drain(self, timeout: float | None = None, progress: Progress | None = None) -> int:
        """Wait until the queue is done, and return how many items are left (0 is all done).

        Items that failed before are tried again at once, each once: what fails again, or work that
        fails several times in a row, is left for later. ``progress`` is called with (done, total).
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._wake:
            is_at_work = bool(self._busy)
        self._retry_all()
        looked = time.monotonic()
        total = left = self._left()
        while left and not (deadline and time.monotonic() >= deadline):
            if self._is_stuck():
                break
            if self._only_waits():
                if not is_at_work:
                    break
                # What was under way when the drain began may have failed for an older reason.
                is_at_work = False
                self._retry_all()
            if progress:
                progress(total - left, total)
            self._wait_to_look(time.monotonic() - looked, deadline)
            looked = time.monotonic()
            left = self._left()
            total = max(total, left)
            self.notify()
        if not left:
            self._finish_up(deadline)
        left = self._left()
        if progress:
            progress(total - left, total)
        return left

    def _finish_up(self, deadline: float | None) -> None:
        """Wait for what is under way: forgotten words leave the file behind their commit."""
        with self._wake:
            while self._busy and not self._stopping:
                if deadline is not None and time.monotonic() >= deadline:
                    break
                self._wake.wait(_SOON)

    def _wait_to_look(self, spent: float, deadline: float | None) -> None:
        """Wait until something is done; after a long look, through a long queue, longer.

        Args:
            spent: seconds that the last look has taken.
            deadline: when to look in any case.
        """
        pause = _LONG_LOOKS * spent if spent > _LONG_LOOK else 0.0
        earliest = time.monotonic() + pause
        if deadline is not None:
            earliest = min(earliest, deadline)
        with self._wake:
            self._wake.wait(0.05)
            while not self._stopping and (left := earliest - time.monotonic()) > 0:
                self._wake.wait(left)
        await_recalls()

    def _retry_all(self) -> None:
        with self._wake:
            self._failures = dict.fromkeys(self._failures, 0)
            self._paused_until = dict.fromkeys(self._paused_until, 0.0)
        try:
            self._return_owed()
            self._store.make_due(now=_now())
        except StoreError as error:
            self._faults.record("storage", error, "queued work waits")
        self.notify()

    def stop(self) -> None:
        """End the threads after what they are doing; unfinished work stays queued on disk."""
        with self._wake:
            if self._stopping:
                return
            self._stopping = True
            threads = list(self._slots.values())
            self._wake.notify_all()
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        try:
            self._store.release(self._owner)
        except GraphMemError as error:
            self._faults.record("storage", error, "leases end by themselves")
        _running.discard(self)

    # -- threads ---------------------------------------------------------------------------------

    def _start(self, work: Work, slot: int) -> None:
        thread = threading.Thread(
            target=self._run, args=(work, slot), name=f"graphmem-{work}-{slot}", daemon=True
        )
        self._slots[work, slot] = thread
        thread.start()

    def _run(self, work: Work, slot: int) -> None:
        behind_the_scenes()
        idle_since = time.monotonic()
        while True:
            await_recalls()
            with self._wake:
                seen = self._wakes
            if self._step(work):
                idle_since = time.monotonic()
                continue
            with self._wake:
                if self._stopping:
                    break
                if self._wakes != seen and not self._pause(work):
                    continue
                wait = self._wait_seconds(work, idle_since)
                if wait is None:
                    # Under the lock: a notify after this starts a new thread.
                    del self._slots[work, slot]
                    return
                self._wake.wait(wait)

    def _pause(self, work: Work) -> float:
        return max(0.0, self._paused_until[work] - time.monotonic())

    def _wait_seconds(self, work: Work, idle_since: float) -> float | None:
        """How long to sleep; ``None`` to end the thread."""
        pause = self._pause(work)
        if pause:
            return pause
        try:
            due = self._store.next_due(work)
        except GraphMemError:
            due = None
        if due is not None:
            return min(MAX_PAUSE_SECONDS, max(0.05, (due - _now()).total_seconds()))
        left = IDLE_SECONDS - (time.monotonic() - idle_since)
        return left if left > 0 else None

    def _step(self, work: Work) -> bool:
        """Claim and do one batch; False when there is nothing to do now."""
        if self._stopping or self._pause(work):
            return False
        limits = (EXTRACT_TEXTS, EXTRACT_CHARS) if work == "extract" else (EMBED_TEXTS, EMBED_CHARS)
        with self._wake:
            self._busy += 1
        is_done = False
        claim: Claim | None = None
        try:
            self._return_owed()
            claim = self._store.claim(
                work, owner=self._owner, now=_now(), max_texts=limits[0], max_chars=limits[1]
            )
            if claim is None:
                return False
            is_done = self._extract(claim) if work == "extract" else self._embed(claim)
            self._count(work, is_done)
            self._on_commit()
        except Exception as error:  # the store
            if not self._stopping:
                scope = None if claim is None else claim.scope
                self._faults.record("storage", error, "queued work waits", scope=scope)
                if claim is not None:
                    self._owed.append((claim, described(error)))
                self._count(work, is_done=False)
        finally:
            with self._wake:
                self._busy -= 1
        return is_done

    def _return_owed(self) -> None:
        """Put back claims whose results the store refused: their leases would hold them up."""
        with suppress(IndexError):  # all are back
            while True:
                claim, error = owed = self._owed.popleft()
                try:
                    self._store.fail(claim, error, now=_now())
                except BaseException:
                    self._owed.appendleft(owed)
                    raise

    def _count(self, work: Work, is_done: bool) -> None:
        with self._wake:
            self._finished += 1
            if is_done:
                self._failures[work] = 0
                self._paused_until[work] = 0.0
            else:
                self._failures[work] += 1
                pause = min(MAX_PAUSE_SECONDS, 0.25 * 2 ** self._failures[work])
                self._paused_until[work] = time.monotonic() + pause
            self._wake.notify_all()

    def _left(self) -> int:
        # In one look: between two, what was read may have become what is to be embedded.
        work: Work | None = "embed" if self._extractor is None else None
        return self._store.pending_count(work=work)

    def _only_waits(self) -> bool:
        """Whether all that is left has failed and is not due yet; nobody works on any of it."""
        finished = self._finished
        works = [work for work, size in self._sizes.items() if size]
        due = [at for work in works if (at := self._store.next_due(work)) is not None]
        is_leased = self._store.pending_count(is_leased=True) > 0
        with self._wake:
            is_quiet = not self._busy and self._finished == finished
        return is_quiet and not is_leased and bool(due) and min(due) > _now()

    def _is_stuck(self) -> bool:
        return self._stopping or any(n >= DRAIN_PATIENCE for n in self._failures.values())

    # -- work ------------------------------------------------------------------------------------

    def _extract(self, claim: Claim) -> bool:
        assert self._extractor is not None
        try:
            found = salvage.read(self._extractor, claim.passages)
        except Exception as error:
            waiting = f"{len(claim.passages)} passages wait"
            self._faults.record("extraction", error, waiting, scope=claim.scope)
            found = salvage.read_alone(self._extractor, claim.passages, error, turn=self._finished)
        else:
            failed = [one for one in found if one.error is not None]
            if failed:
                self._faults.record(
                    "extraction",
                    ExtractionError(str(failed[0].error)),
                    f"{len(failed)} passages wait",
                    scope=claim.scope,
                )
        self._store.finish_extraction(
            claim.scope, found, claim=claim, extractor=self._extractor.name, now=_now()
        )
        return any(one.error is None for one in found)

    def _embed(self, claim: Claim) -> bool:
        texts = [text for _, _, text in claim.texts]
        rows, failures = salvage.vectors(self._embedder, texts, turn=self._finished)
        if rows is not None:
            done = [index for index in range(len(texts)) if index not in failures]
            self._store.put_vectors(
                claim,
                [claim.texts[index][:2] for index in done],
                rows[done],
                model=self._embedder.name,
            )
        if failures:
            error = next(iter(failures.values()))
            waiting = f"{len(failures)} texts wait"
            self._faults.record("embedding", error, waiting, scope=claim.scope)
            self._store.fail(claim, described(error), now=_now())
        return len(failures) < len(texts)


def _now() -> datetime:
    return datetime.now(timezone.utc)


# Threads still inside native code when the interpreter shuts down can crash it: end them first.
_running: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for worker in list(_running):
        worker.stop()
