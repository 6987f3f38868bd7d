"""The SQLite engine: connections, transactions, checkpoints, and nothing about what is stored.

Write-ahead log with ``synchronous=FULL``: a commit is on disk when it returns. Checkpoints run in a
thread of their own, so that no commit pays for copying the log into the database file. Freed bytes
are overwritten (``secure_delete``), temporary ones stay in memory.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

from sqlalchemy import Connection, Engine, Table, create_engine, event, select
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.pool import QueuePool, StaticPool

from graphmem.courtesy import await_recalls, give_way
from graphmem.errors import StoreBusy, StoreError, StoreReadOnly
from graphmem.store import files, migrations
from graphmem.store.location import Location
from graphmem.store.schema import SCHEMA_VERSION, meta
from graphmem.store.translation import translated

__all__ = ["Database", "insert_if_absent", "owe_erasure"]

logger = logging.getLogger(__name__)

# How long a writer waits for another, in this process or not, before StoreBusy.
BUSY_SECONDS = 30.0
# The log is copied into the file when it has grown to this size: large enough to write each hot
# page once for many commits, small enough that opening after a crash stays quick.
CHECKPOINT_BYTES = 4 << 20
# Under writers without a pause the copying never catches up, and the log never starts anew: from
# this size on writers wait until it has.
LONG_LOG_BYTES = 64 << 20
# How long a forget waits for readers of old pages before it leaves the rest to the background.
READERS_SECONDS = 1.0
# What could not be erased yet is tried again this often.
ERASE_SECONDS = 0.5
# How long a writer waits for its turn before it looks what is in the way, and looks again.
LOOK_SECONDS = 0.005
# Readers at a time; more wait for a connection.
CONNECTIONS = 40

# A file up to this size is rewritten while a forget waits; a larger one would keep it waiting for
# longer than its own commit takes (some 10 ms a megabyte, beside four syncs).
REWRITE_AT_ONCE_BYTES = 1 << 20
# Nobody can write while a file is rewritten. A larger one is when nobody has written for so long,
# and who wants to write meanwhile breaks it off,
REST_SECONDS = 2.0
# until it has been owed for so long: then writers wait for it.
RESTLESS_SECONDS = 600.0

_ERASURE = "erasure_owed"
_OWE = insert(meta)
_OWE = _OWE.on_conflict_do_update(index_elements=[meta.c.key], set_={"value": _OWE.excluded.value})

_PRAGMAS = (
    f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA cache_size = -16000",
)


def owe_erasure(connection: Connection) -> None:
    """Note, in the transaction that deletes rows, that they must leave the files as well."""
    connection.execute(_OWE, {"key": _ERASURE, "value": uuid.uuid4().hex})


def insert_if_absent(table: Table) -> Insert:
    """An INSERT that leaves a row of the same key as it is."""
    return insert(table).on_conflict_do_nothing()


class Database:
    """One open database, shared by every ``Store`` of this process on the same location.

    Use ``Database.acquire`` and ``release``; the last release closes it.
    """

    _open: dict[str, Database] = {}  # noqa: RUF012 - the process's registry, guarded by _registry
    _registry = threading.Lock()

    def __init__(self, location: Location) -> None:
        self.location = location
        self.name = location.uri if location.path is None else str(location.path)
        self._users = 0
        self._writing = threading.Lock()
        self._checkpointing = threading.Lock()
        self._watching = threading.Lock()
        self._watch: sqlite3.Connection | None = None
        self._commits = 0
        self._breaking = threading.Lock()
        self._rewritten: str | None = None
        self._rewriting: sqlite3.Connection | None = None
        self._written_at = time.monotonic()
        self._owed_since = math.inf
        with translated(self.name):
            self._engine = self._connect()
            self._upgrade()
        self._checkpointer = _Checkpointer(self) if self._has_log else None
        if self._checkpointer and self._debt():
            self._owed_since = time.monotonic()
            self._checkpointer.owe()

    @classmethod
    def acquire(cls, location: Location) -> Database:
        """The process's database at the location, opened or made where needed."""
        # A forked child must not use its parent's connections.
        key = f"{os.getpid()} {location.uri}"
        with cls._registry:
            database = cls._open.get(key) or cls(location)
            cls._open[key] = database
            database._users += 1
            return database

    def release(self) -> None:
        """Give up one use; the last one closes the connections and the log."""
        with self._registry:
            self._users -= 1
            if self._users:
                return
            for key in [key for key, database in self._open.items() if database is self]:
                del self._open[key]
            if self._checkpointer:
                self._checkpointer.stop()
            self._stop_watching()
            self._engine.dispose()

    def version(self) -> int:
        """A number that is another one after each commit, whoever made it. Takes microseconds."""
        if self.location.path is None:
            return self._commits
        with self._watching:
            if self._watch is None:
                self._watch = self._opened()
            (number,) = self._watch.execute("PRAGMA data_version").fetchone()
            return int(number)

    def _stop_watching(self) -> None:
        with self._watching:
            if self._watch is not None:
                self._watch.close()
                self._watch = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database throughout."""
        with translated(self.name), self._alone_in_memory(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, *, is_durable: bool = True) -> Iterator[Connection]:
        """A transaction that no other writer overlaps; durable when the block has ended.

        Args:
            is_durable: False where a power cut may undo the transaction (and only the last ones,
                in order): then nobody waits for the disk. A crash of the process undoes nothing.

        Raises:
            StoreReadOnly, StoreBusy, StoreFull: nothing was written.
        """
        give_way()
        if not self._is_writable:
            self._become_writable()
        with translated(self.name), self._turn(), self._engine.connect() as connection:
            writer = connection.execution_options(is_writer=True)
            with _synchronous(connection, is_durable), writer.begin():
                yield writer
        self._written_at = time.monotonic()
        self._commits += 1
        if self._checkpointer:
            self._checkpointer.notice()

    def erase(self, *, is_patient: bool = False) -> bool:
        """Make deleted rows leave the files; False while that has to wait.

        The file is rewritten from its live rows and the log is cut to nothing. Overwriting what is
        deleted is not enough: where SQLite rebuilt a page, bytes of cells that moved elsewhere stay
        in its free space (measured: of 2,700 forgotten words 7 were still to be found).

        A large file is rewritten in the background, unless the caller is patient, and so is what an
        open reader holds up, or a full disk. What is owed is noted in the store (see
        ``owe_erasure``) until it is done.
        """
        if self._checkpointer is None:
            self._settle(self._debt())
            return True
        if (is_patient or self._is_small) and self._erase():
            return True
        self._owed_since = min(self._owed_since, time.monotonic())
        self._checkpointer.owe()
        return False

    @property
    def is_at_rest(self) -> bool:
        """Whether a rewrite that is owed would keep few waiting, or has waited long enough."""
        rested = time.monotonic() - self._written_at
        return rested > REST_SECONDS or self._is_small or self._is_late

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._owed_since > RESTLESS_SECONDS

    @property
    def _is_small(self) -> bool:
        assert self.location.path is not None
        return self.location.path.stat().st_size <= REWRITE_AT_ONCE_BYTES

    def _erase(self) -> bool:
        """Rewrite, truncate, and note that it is done; False when something stood in the way."""
        try:
            debt = self._debt()
            if debt and debt != self._rewritten:
                if not self._rewrite():
                    return False
                self._rewritten = debt
            if not self.checkpoint("TRUNCATE"):
                return False
            self._settle(debt)
            self._owed_since = math.inf
        except StoreError as error:
            logger.warning("erasing deleted rows of %s is put off: %s", self.name, error)
            return False
        return True

    def _rewrite(self) -> bool:
        """Rewrite the file from its live rows; False when a writer broke it off."""
        with translated(self.name), self._turn(), self._engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            # In memory it would take as much as the file.
            raw.execute("PRAGMA temp_store = FILE")
            self._rewriting = raw
            try:
                raw.execute("VACUUM")
            except sqlite3.OperationalError as error:
                if "interrupted" not in str(error):
                    raise
                return False
            finally:
                with self._breaking:
                    self._rewriting = None
                raw.execute("PRAGMA temp_store = MEMORY")
        # Without the writers' turn: truncating has little left to copy then.
        self.checkpoint("PASSIVE")
        return True

    def _debt(self) -> str | None:
        with self.reading() as connection:
            owed = select(meta.c.value).where(meta.c.key == _ERASURE)
            value: str | None = connection.execute(owed).scalar()
            return value

    def _settle(self, debt: str | None) -> None:
        if debt is not None:
            with self.writing() as connection:
                connection.execute(
                    meta.delete().where(meta.c.key == _ERASURE, meta.c.value == debt)
                )

    def checkpoint(self, mode: Literal["PASSIVE", "TRUNCATE"]) -> bool:
        """Copy the log into the file, as far as readers let it; whether nothing stood in the way.

        Truncating waits for this process's writer and for readers, but not for long.
        """
        turn = self._turn() if mode == "TRUNCATE" else nullcontext()
        with translated(self.name), turn, self._checkpointing, self._engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            raw.execute(f"PRAGMA busy_timeout = {int(READERS_SECONDS * 1000)}")
            try:
                busy, _, _ = raw.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                raw.execute(_PRAGMAS[0])
            return not busy

    @property
    def log_bytes(self) -> int:
        """Size of the write-ahead log."""
        assert self.location.path is not None
        try:
            return files.log_path(self.location.path).stat().st_size
        except FileNotFoundError:
            return 0

    # -- opening ---------------------------------------------------------------------------------

    def _connect(self) -> Engine:
        path = self.location.path
        if path is None:
            self._has_log, self._is_writable = False, True
            engine = create_engine(
                "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
            )
            _prepare(engine)
            with engine.begin() as connection:
                migrations.build(connection)
            return engine
        if not path.exists():
            files.create(path, _build)
        access = files.access(path)
        files.verify(path)
        self._is_writable = self._has_log = access.is_writable
        self._address = access.uri
        engine = create_engine(
            "sqlite://",
            creator=self._opened,
            poolclass=QueuePool,
            pool_size=5,
            max_overflow=CONNECTIONS - 5,
            pool_timeout=BUSY_SECONDS,
        )
        _prepare(engine)
        return engine

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self._address, uri=True, check_same_thread=False)

    def _become_writable(self) -> None:
        """Open a store anew that could only be read, if its permissions have been mended."""
        assert self.location.path is not None
        with translated(self.name), self._turn():
            if self._is_writable:
                return
            if not files.access(self.location.path).is_writable:
                raise StoreReadOnly(f"{self.name} cannot be written: check its permissions")
            reader, self._engine = self._engine, self._connect()
            reader.dispose()
            self._stop_watching()
            self._upgrade()
            self._checkpointer = _Checkpointer(self)

    def _upgrade(self) -> None:
        try:
            with self._engine.begin() as connection:
                is_current = migrations.version(connection) == SCHEMA_VERSION
            if not is_current:
                with self._engine.connect() as connection:
                    writer = connection.execution_options(is_writer=True)
                    with writer.begin():
                        migrations.upgrade(writer)
        except BaseException:
            self._engine.dispose()
            raise

    # -- turns -----------------------------------------------------------------------------------

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Writers of one process queue here: SQLite's own waiting sleeps and is unfair."""
        deadline = time.monotonic() + BUSY_SECONDS
        while not self._writing.acquire(timeout=LOOK_SECONDS):
            with self._breaking:  # so that it is no longer somebody else's connection
                if self._rewriting is not None and not self._is_late:
                    self._rewriting.interrupt()
            if time.monotonic() < deadline:
                continue
            raise StoreBusy(
                f"another thread has been writing to {self.name} for {BUSY_SECONDS:.0f} s; "
                "nothing was written, try again"
            )
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _alone_in_memory(self) -> Iterator[None]:
        """A database in memory has one connection, for which readers queue as well."""
        if self.location.path is None:
            with self._turn():
                yield
        else:
            yield


class _Checkpointer:
    """The thread that keeps the log short. It starts when there is first something to do."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wake = threading.Condition()
        self._is_wanted = False
        self._is_owed = False
        self._is_stopping = False
        self._longest = LONG_LOG_BYTES
        self._thread: threading.Thread | None = None

    def notice(self) -> None:
        """A commit was made: wake the thread when the log has grown. Cheap."""
        if self._database.log_bytes >= CHECKPOINT_BYTES:
            with self._wake:
                self._is_wanted = True
                self._start()

    def owe(self) -> None:
        """Deleted rows must leave the files as soon as nothing is in the way."""
        with self._wake:
            self._is_owed = True
            self._start()

    def stop(self) -> None:
        with self._wake:
            self._is_stopping = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        if self._thread is None and not self._is_stopping:
            self._thread = threading.Thread(
                target=self._run, name="graphmem-checkpoint", daemon=True
            )
            self._thread.start()
        self._wake.notify_all()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not (self._is_wanted or self._is_stopping):
                    if not self._wake.wait(ERASE_SECONDS if self._is_owed else None):
                        break
                if self._is_stopping:
                    return
                is_wanted, self._is_wanted = self._is_wanted, False
            await_recalls()
            try:
                if self._is_owed and self._database.is_at_rest:
                    self._is_owed = not self._database._erase()
                elif is_wanted:
                    self._copy()
            except StoreError as error:
                logger.warning("checkpoint of %s failed: %s", self._database.name, error)

    def _copy(self) -> None:
        """Copy the log into the file, and cut it where it has grown long."""
        self._database.checkpoint("PASSIVE")
        length = self._database.log_bytes
        if length >= self._longest:
            # Where a reader is in the way writers are not made to wait again soon.
            is_cut = self._database.checkpoint("TRUNCATE")
            self._longest = LONG_LOG_BYTES if is_cut else 2 * length


def _build(raw: sqlite3.Connection) -> None:
    """Fill a new database file, through SQLAlchemy, on a connection that is open already."""
    raw.execute(f"PRAGMA application_id = {files.APPLICATION_ID}")
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    event.listen(engine, "begin", _begin)
    with engine.begin() as connection:
        migrations.build(connection)
    # Last, so that no log lies beside the file while it has no name yet.
    raw.execute("PRAGMA journal_mode = WAL")


@contextmanager
def _synchronous(connection: Connection, is_durable: bool) -> Iterator[None]:
    """Whether a commit waits for the disk."""
    raw: Any = connection.connection.dbapi_connection
    if not is_durable:
        raw.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        if not is_durable:
            raw.execute("PRAGMA synchronous = FULL")


def _prepare(engine: Engine) -> None:
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _begin)


def _on_connect(raw: sqlite3.Connection, record: object) -> None:
    # Transactions are begun by _begin alone; the driver would begin some late and some never.
    raw.isolation_level = None
    for pragma in _PRAGMAS:
        raw.execute(pragma)


def _begin(connection: Connection) -> None:
    is_writer = connection.get_execution_options().get("is_writer", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")
