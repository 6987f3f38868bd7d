"""The spill: messages that the store refused, kept in memory until it takes them.

A full disk or a read-only file must not cost words. What was refused waits here, in order, is tried
again before each later put and by a timer, and is counted. The room is bounded: when it is used up
the spill refuses what is new and keeps what is old, and says so.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
import weakref
from collections.abc import Callable

from graphmem.block.batches import Batch
from graphmem.errors import StoreError
from graphmem.types import Receipt, Scope

__all__ = ["Spill"]

logger = logging.getLogger("graphmem")

MAX_MESSAGES = 10_000
MAX_CHARS = 20_000_000
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0


class Spill:
    """A bounded queue of refused batches. Safe to use from any thread; bound to no event loop.

    Writing a batch twice must do no harm: a write that failed may have succeeded half-way through
    its answer.

    Args:
        write: stores a batch, or raises.
        report: told of every failed write and of what it means, as (error, consequence).
        max_messages: room, in messages.
        max_chars: room, in characters of their texts.
        retry_seconds: the timer's first delay. It doubles up to a minute while the store refuses.
    """

    def __init__(
        self,
        write: Callable[[Batch], Receipt],
        report: Callable[[Exception, str], None],
        *,
        max_messages: int = MAX_MESSAGES,
        max_chars: int = MAX_CHARS,
        retry_seconds: float = FIRST_RETRY_SECONDS,
    ) -> None:
        self._write = write
        self._report = report
        self._max_messages = max_messages
        self._max_chars = max_chars
        self._first_delay = self._delay = retry_seconds
        self._waiting: list[Batch] = []
        self._lock = threading.Lock()
        # Held while batches are written, so that they go in order and each goes once.
        self._writing = threading.Lock()
        self._timer: threading.Timer | None = None
        _spills.add(self)

    def __len__(self) -> int:
        """Number of messages that wait."""
        with self._lock:
            return self._count()

    def keep(self, batch: Batch, error: Exception) -> bool:
        """Let a batch wait because ``error`` kept it from the store; False when there is no room.

        Either way the fault is reported.
        """
        with self._lock:
            messages = self._count() + len(batch.messages)
            chars = sum(one.chars for one in self._waiting) + batch.chars
            fits = messages <= self._max_messages and chars <= self._max_chars
            if fits:
                self._waiting.append(batch)
                self._arm()
        number = len(batch.messages)
        if fits:
            self._report(error, f"{number} messages wait in memory for the store")
        else:
            self._report(error, f"the spill is full: {number} messages are refused")
        return fits

    def retry(self) -> Exception | None:
        """Write what waits, oldest first.

        Returns:
            The error with which the store still refuses; ``None`` when it takes batches, though
            one of them may have failed for a reason of its own and wait on.
        """
        with self._lock:
            if not self._waiting:
                return None
        with self._writing:
            with self._lock:
                batches = tuple(self._waiting)
            for batch in batches:
                try:
                    self._write(batch)
                except Exception as error:
                    self._report(error, f"{len(self)} messages still wait in memory")
                    if isinstance(error, (StoreError, OSError)):
                        return error
                else:
                    self._remove(batch)
                    logger.info("%d messages left the spill", len(batch.messages))
        return None

    def discard(self, scope: Scope, session: str | None = None) -> int:
        """Forget what waits of a scope, or of one of its sessions; returns how many messages.

        A batch that is being written at this moment is written first: forget it in the store next.
        """
        with self._writing, self._lock:
            gone = [
                batch
                for batch in self._waiting
                if batch.scope == scope and session in (None, batch.session)
            ]
            self._waiting = [batch for batch in self._waiting if batch not in gone]
        return sum(len(batch.messages) for batch in gone)

    def close(self) -> int:
        """Try a last time and stop the timer; returns how many messages still wait.

        They wait on in memory: a later ``retry`` writes them, the end of the process loses them.
        """
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        error = self.retry()
        left = len(self)
        if left:
            self._report(
                error or StoreError("messages were refused for reasons of their own"),
                f"{left} messages are lost if the process ends now",
            )
        return left

    # -- parts -----------------------------------------------------------------------------------

    def _count(self) -> int:
        return sum(len(batch.messages) for batch in self._waiting)

    def _remove(self, batch: Batch) -> None:
        with self._lock:
            self._waiting = [one for one in self._waiting if one is not batch]
            if not self._waiting:
                self._delay = self._first_delay

    def _arm(self) -> None:
        """Start the timer unless it runs. The lock is held."""
        if self._timer is not None:
            return
        self._timer = threading.Timer(self._delay, self._tick)
        self._timer.name = "graphmem-spill"
        self._timer.daemon = True
        # No thread can start while the interpreter ends; ``close`` is called then anyway.
        with contextlib.suppress(RuntimeError):
            self._timer.start()

    def _tick(self) -> None:
        self.retry()
        with self._lock:
            self._timer = None
            if self._waiting:
                self._delay = min(self._delay * 2, LAST_RETRY_SECONDS)
                self._arm()


_spills: weakref.WeakSet[Spill] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for spill in list(_spills):
        if len(spill):
            spill.close()
