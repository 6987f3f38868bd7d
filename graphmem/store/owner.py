"""Who works on queued items: a process, known by its host, its number, and when it began to work.

The text "host:pid:nanoseconds" stands in a lease, for other processes to see whether its owner
lives.
"""

from __future__ import annotations

import os
import socket
import sys
import time

__all__ = ["is_dead", "new_owner"]

_STARTED = time.time()
_CLOCK_SLACK_SECONDS = 2.0


def new_owner() -> str:
    """A name for an owner in this process, unlike any before it."""
    return f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this host that is gone.

    An owner of this process's number but older than it was another one: in a container that starts
    again, every process has the number of its forerunner.
    """
    try:
        host, pid, born = owner.split(":")[:3]
        number, since = int(pid), int(born) / 1e9
    except ValueError:
        return False
    if host != socket.gethostname():
        return False
    if number == os.getpid():
        return since < _STARTED - _CLOCK_SLACK_SECONDS
    if sys.platform == "win32":  # where asking would end it
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
