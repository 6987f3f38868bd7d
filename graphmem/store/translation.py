"""What the database says, in graphmem's words."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from graphmem.errors import (
    GraphMemError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

__all__ = ["translated"]

# SQLite's messages are part of its interface; its extended codes reach Python only from 3.11 on.
_MEANINGS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("malformed", StoreCorrupt, "the file {name} is damaged; restore it from a backup"),
    ("not a database", StoreCorrupt, "the file {name} is damaged or no store; restore a backup"),
    ("no such table", StoreCorrupt, "the file {name} lacks tables; restore it from a backup"),
    ("no such column", StoreCorrupt, "the file {name} lacks columns; restore it from a backup"),
    ("readonly", StoreReadOnly, "the store {name} cannot be written; check its permissions"),
    ("unable to open", StoreReadOnly, "{name} or its folder cannot be opened; check permissions"),
    (
        "is locked",
        StoreBusy,
        "another process writes to {name}; nothing was written, try again",
    ),
    ("disk is full", StoreFull, "no space left for {name}; nothing was written, free some space"),
    ("disk i/o error", StoreFull, "the disk refused a write to {name}; nothing was written"),
)

_ERRNO: dict[int, type[StoreError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EACCES: StoreReadOnly,
    errno.EPERM: StoreReadOnly,
    errno.EROFS: StoreReadOnly,
}


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Raise database errors inside as a StoreError about ``name``; our own pass."""
    try:
        yield
    except GraphMemError:
        raise  # some are an OSError as well
    except PoolTimeout as error:
        raise StoreBusy(f"too many readers of {name} at a time; try again") from error
    except (StatementError, sqlite3.Error) as error:
        raise _meaning(error, name) from error
    except OSError as error:
        kind = _ERRNO.get(error.errno or 0, StoreError)
        raise kind(f"{name} cannot be used: {error.strerror}") from error


def _meaning(error: StatementError | sqlite3.Error, name: str) -> GraphMemError:
    cause = error.orig if isinstance(error, StatementError) else error
    if isinstance(cause, GraphMemError):
        return cause
    words = str(cause)
    for part, kind, message in _MEANINGS:
        if part in words.lower():
            return kind(f"{message.format(name=name)} ({words})")
    return StoreError(f"{name}: {words}")
