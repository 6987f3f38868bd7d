"""Calls in threads, for event loops that come and go.

A call runs to its end whatever becomes of the task that waits for it: a cancelled turn leaves no
write half done, and a loop that closes takes no work with it. Nothing here belongs to one loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal, TypeVar

__all__ = ["Work", "start", "wait"]

T = TypeVar("T")
Work = Literal["write", "read", "drain"]

# Writes wait for the disk only, reads for a model too, drains for a whole queue: none may hold up
# the others.
_THREADS: dict[Work, int] = {"write": 8, "read": 16, "drain": 4}


@functools.lru_cache(maxsize=len(_THREADS))
def _pool(work: Work, process: int) -> ThreadPoolExecutor:
    """Threads of this process: after a fork the parent's are not there."""
    return ThreadPoolExecutor(_THREADS[work], thread_name_prefix=f"graphmem-{work}")


def start(work: Work, call: Callable[..., T], *args: object) -> Future[T]:
    """Run a call in a thread. It runs to its end, whatever becomes of who waits for it."""
    run = functools.partial(contextvars.copy_context().run, call, *args)
    try:
        return _pool(work, os.getpid()).submit(run)
    except RuntimeError:  # the interpreter ends, and starts no more threads
        future: Future[T] = Future()
        try:
            future.set_result(run())
        except Exception as error:
            future.set_exception(error)
        return future


async def wait(future: Future[T], timeout: float | None = None) -> T:
    """The future's result. A cancelled or impatient waiter leaves it running.

    Raises:
        TimeoutError: it took longer than ``timeout`` seconds.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: Future[T]) -> None:
        # The loop may be closed by then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(wake)
    try:
        await asyncio.wait_for(done.wait(), timeout)
    except asyncio.TimeoutError:
        raise TimeoutError(f"no answer within {timeout:g} seconds") from None
    return future.result()
