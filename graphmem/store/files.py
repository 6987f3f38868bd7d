"""The database file: making a new one, and telling a whole one from a torn one.

A store is made under another name and linked into place when it is complete. So a file that is
empty or short is never the trace of a crash at birth: it has lost something, and is refused. SQLite
alone would take an empty file for a new database and read a cut page as zeros.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from graphmem.errors import StoreCorrupt, StoreError, StoreReadOnly
from graphmem.syncing import sync

__all__ = ["APPLICATION_ID", "Access", "access", "create", "log_path", "verify"]

# Bytes 68 to 71 of the file: "grmm", so that no other program's database is mistaken for a store.
APPLICATION_ID = 0x67726D6D

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_LOG_HEADER_BYTES = 32
_FRAME_HEADER = struct.Struct(">IIII")
_FRAME_HEADER_BYTES = 24


@dataclass(frozen=True, slots=True)
class Access:
    """How the file can be opened: SQLite's ``uri``, and whether it may be written."""

    uri: str
    is_writable: bool


def log_path(path: Path) -> Path:
    """The write-ahead log that lies beside a database file."""
    return path.with_name(path.name + "-wal")


def create(path: Path, build: Callable[[sqlite3.Connection], None]) -> None:
    """Make a store at ``path``, complete or not at all; another process may win the race.

    Args:
        path: where; nothing lies there yet.
        build: fills the new database; called once.

    Raises:
        StoreCorrupt: a write-ahead log lies there without its database.
        StoreReadOnly: the folder cannot be written.
        StoreError: the folder is not there.
    """
    folder = path.parent
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder}: make it first, or name another file")
    if _size(log_path(path)) > 0:
        raise StoreCorrupt(
            f"{path} is missing but its log {log_path(path).name} is there: "
            "restore the database file beside it, or remove the log to start a new store"
        )
    draft = folder / f".{path.name}.{uuid.uuid4().hex}.new"
    try:
        _touch(draft)
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            build(connection)
        sync(draft)
        _publish(draft, path)
        sync(folder)
    finally:
        draft.unlink(missing_ok=True)


def access(path: Path) -> Access:
    """How an existing file can be opened.

    Raises:
        StoreReadOnly: it cannot be read, or not without writing beside it.
    """
    if path.is_dir():
        raise StoreError(f"{path} is a folder: name a file in it")
    if not os.access(path, os.R_OK):
        raise StoreReadOnly(f"{path} cannot be read: check its permissions")
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        _mend_companions(path)
        return Access(f"{path.as_uri()}?mode=rw", is_writable=True)
    if os.access(path.parent, os.W_OK):
        return Access(f"{path.as_uri()}?mode=ro", is_writable=False)
    if _size(log_path(path)) > 0:
        raise StoreReadOnly(
            f"{path.parent} cannot be written, and {log_path(path).name} must be read into the "
            "store first: open it once where it can be written"
        )
    return Access(f"{path.as_uri()}?immutable=1", is_writable=False)


def _mend_companions(path: Path) -> None:
    """Let the log be written where the file can be: readers of a read-only file made it like it."""
    for companion in (log_path(path), path.with_name(path.name + "-shm")):
        if companion.exists() and not os.access(companion, os.W_OK):
            with suppress(OSError):  # somebody else's: SQLite says so
                companion.chmod(path.stat().st_mode & 0o777)


def verify(path: Path) -> None:
    """Check that the file is a whole store. It is only read.

    Raises:
        StoreCorrupt: it is empty, cut short, or something else.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        raise StoreCorrupt(
            f"{path} is cut short ({len(header)} bytes): restore it from a backup, "
            "or remove it to start a new store"
        )
    if not header.startswith(_MAGIC):
        raise StoreCorrupt(f"{path} is no database: name another file")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StoreCorrupt(f"{path} is another program's database: give graphmem a file of its own")
    _verify_length(path)


def _verify_length(path: Path) -> None:
    """Every page is in the file, or waits in the log to be copied there.

    Read in one transaction: what it sees stays in the log until it ends, and the file only grows.
    """
    # A connection that cannot write leaves the log of a damaged file alone when it closes.
    how = "immutable=1" if not os.access(path.parent, os.W_OK) else "mode=ro"
    with closing(sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=30.0)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        whole = path.stat().st_size // page_size
        if whole < pages and set(range(whole + 1, pages + 1)) - _logged(path, page_size):
            raise StoreCorrupt(
                f"{path} is cut short ({path.stat().st_size} of {pages * page_size} bytes): "
                "restore it from a backup"
            )


def _logged(path: Path, page_size: int) -> set[int]:
    """Numbers of the pages in the log, of its current generation."""
    found: set[int] = set()
    try:
        with log_path(path).open("rb") as file:
            salts = file.read(_LOG_HEADER_BYTES)[16:24]
            while len(frame := file.read(_FRAME_HEADER_BYTES)) == _FRAME_HEADER_BYTES:
                if frame[8:16] != salts:
                    break
                found.add(_FRAME_HEADER.unpack(frame[:16])[0])
                file.seek(page_size, os.SEEK_CUR)
    except FileNotFoundError:
        pass
    return found


def _publish(draft: Path, path: Path) -> None:
    """Give the finished file its name, unless another process was first."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not path.exists():
            draft.replace(path)


def _touch(draft: Path) -> None:
    try:
        draft.touch(mode=0o600, exist_ok=False)
    except PermissionError as error:
        raise StoreReadOnly(
            f"{draft.parent} cannot be written ({error.strerror}): name a file elsewhere"
        ) from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
