"""A lock under which those who change something let those go first who wait to read it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from graphmem.courtesy import is_behind_the_scenes

__all__ = ["YieldingLock"]

# Nobody gives way for longer, however many come to read.
PATIENCE_SECONDS = 0.1
_PAUSE_SECONDS = 0.0005


class YieldingLock:
    """A lock, reentrant, for short turns: reading, or one piece of a longer change.

    Locks of the interpreter know no order: a thread that gives one back and takes it again at once,
    piece after piece, nearly always gets it before the threads that wait.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: set[object] = set()

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; returns whether it was to be had."""
        if self._lock.acquire(blocking=False):
            return True
        if not blocking:
            return False
        turn = object()
        self._waiting.add(turn)
        try:
            return self._lock.acquire()
        finally:
            self._waiting.discard(turn)

    def release(self) -> None:
        """Give it back."""
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    @contextmanager
    def yielding(self) -> Iterator[None]:
        """As the lock itself; a thread behind the scenes lets those go first who wait already."""
        latest = time.monotonic() + PATIENCE_SECONDS
        while is_behind_the_scenes() and self._waiting and time.monotonic() < latest:
            time.sleep(_PAUSE_SECONDS)
        with self:
            yield
