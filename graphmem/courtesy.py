"""Giving way: work behind the scenes pauses while somebody waits for a recall or a put.

Threads share the interpreter's lock. A recall gives it back at each larger array and each query,
and then waits until the thread that took it lets go, which one that computes in Python does after
5 ms: beside a busy worker a recall of 7 ms takes 50. So who works for nobody in particular asks
between two steps whether a recall runs, and waits for its end; but never for long, so that the work
goes on however many recalls there are. A put makes work, which would else take the lock on the
put's own way back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "await_recalls",
    "behind_the_scenes",
    "give_way",
    "is_behind_the_scenes",
    "served_first",
]

# Who gives way waits for so many times as long as it has computed since it last did, at most, and
# never for longer than so many seconds; who has worked for less than so long, not at all: stopping
# and going on costs a recall more than it gives.
_PATIENCE = 3.0
_MOST_SECONDS = 0.1
_LEAST_WORK = 0.003

_nobody = threading.Condition()
_served = 0
_mine = threading.local()


@contextmanager
def served_first() -> Iterator[None]:
    """Somebody waits for what is done here, in whatever thread."""
    global _served
    since = _mine.__dict__.pop("since", None)
    with _nobody:
        _served += 1
    try:
        yield
    finally:
        with _nobody:
            _served -= 1
            if not _served:
                _nobody.notify_all()
        if since is not None:
            behind_the_scenes()


def behind_the_scenes() -> None:
    """This thread gives way from now on."""
    _mine.since = time.thread_time()


def is_behind_the_scenes() -> bool:
    """Whether this thread does."""
    return hasattr(_mine, "since")


def give_way() -> None:
    """In a thread behind the scenes that holds nothing: wait for the recalls that run."""
    if not _served or not is_behind_the_scenes():
        return
    worked = time.thread_time() - _mine.since
    if worked >= _LEAST_WORK:
        await_recalls(min(_MOST_SECONDS, _PATIENCE * worked))
        behind_the_scenes()


def await_recalls(seconds: float | None = None) -> None:
    """Wait for the recalls that run, so long at most."""
    if _served:
        with _nobody:
            _nobody.wait_for(_is_nobody_served, _MOST_SECONDS if seconds is None else seconds)


def _is_nobody_served() -> bool:
    return not _served
