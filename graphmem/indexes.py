"""The open indexes of a memory: brought up to date, tended, saved, and let go of.

A recall brings its scope's index up to date itself, so that it sees what was stored before it. What
takes longer is done by a thread of its own: learning what this memory's worker has read, comparing
names, merging what is new into the sorted parts, saving snapshots. The thread starts when there is
something to do and ends when there is not.
"""

from __future__ import annotations

import atexit
import logging
import math
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from graphmem.courtesy import await_recalls, behind_the_scenes
from graphmem.errors import GraphMemError
from graphmem.faults import Faults
from graphmem.index import Index
from graphmem.index.saving import Home, Loaded
from graphmem.index.snapshot import fold, open_from, save_to, source_of
from graphmem.index.yielding import YieldingLock
from graphmem.settings import RecallSettings
from graphmem.store import Store
from graphmem.types import Changes, Scope, VectorKind, Vectors

__all__ = ["Indexes"]

logger = logging.getLogger(__name__)

# Open indexes take so much memory at most, and are so many (each holds some open files); the least
# recently recalled ones are closed.
MOST_BYTES = 1 << 30
MOST_OPEN = 128
# A recall compares new names with all others itself where that is so many pairs; more are left to
# the thread, which compares so many names at a time.
PAIRED_AT_ONCE = 1_000_000
PAIRED_IN_TURN = 64
# Rows that are read at a time: a scope that is built anew would not fit into memory twice. Of few,
# each passage is looked at again for every portion of its facts.
READ_AT_ONCE = 4096
ALL_AT_ONCE = 50_000
# What an update takes in at a time: a recall waits for no more.
SLICE = 128
ROWS_OF_PASSAGE = 4  # a fact or a vector costs a quarter of a passage at most
# The worker commits a flush in several pieces, each of which would have the same passages looked at
# again: they are learnt when it has paused for so long, but no later than so long after the first.
PAUSE_SECONDS = 0.3
LATEST_SECONDS = 1.0
# New entries are merged when they are so many, or, when nothing has changed for a while, a tenth of
# an index. Then a snapshot is saved, too, when a tenth of the log is not in it.
FOLD_ENTRIES = 50_000
FOLD_SHARE = 0.1
SAVE_SHARE = 0.1
QUIET_SECONDS = 1.0
# At closing, when more than so many changes would have to be learnt again.
SAVE_AT_CLOSE = 200


@dataclass(slots=True, eq=False)
class _Open:
    """One open index.

    Attributes:
        index: what recall reads.
        home: where its snapshots are; None for a store without a file.
        updating: held by whoever changes the index.
        tending: held by whoever merges its parts or saves it; taken before ``updating``.
        saved_seq: what the last snapshot holds; 0 where there is none.
        is_lost: the snapshot's files are gone: the next one must be whole.
        changed_at: when it last changed, by the monotonic clock.
        version: of the store when the index knew all of it.
        writes: how often this memory has written to the scope.
        learnt: how often it had when the index began to learn what it knows now.
    """

    index: Index
    home: Home | None
    updating: YieldingLock = field(default_factory=YieldingLock)
    tending: threading.Lock = field(default_factory=threading.Lock)
    saved_seq: int = 0
    is_lost: bool = False
    changed_at: float = 0.0
    version: int | None = None
    writes: int = 0
    learnt: int = 0

    @property
    def is_behind(self) -> bool:
        """Whether this memory has written what the index does not know."""
        return self.writes > self.learnt

    @property
    def unsaved(self) -> int:
        """Changes that the snapshot lacks."""
        return self.index.seq - self.saved_seq


class _News:
    """What the thread was told of and has not begun to learn: when it is to."""

    def __init__(self) -> None:
        self._first = self._last = -math.inf

    def come(self) -> None:
        """There is something new."""
        self._last = time.monotonic()
        if self._first < 0:
            self._first = self._last

    def wait(self) -> float:
        """Seconds until it is to be learnt; 0 where it is time, or there is nothing."""
        due = min(self._last + PAUSE_SECONDS, self._first + LATEST_SECONDS)
        return max(0.0, due - time.monotonic())

    @property
    def is_awaited(self) -> bool:
        """Whether there is something, and the thread is about to learn it."""
        return time.monotonic() < self._first + LATEST_SECONDS + PAUSE_SECONDS


class Indexes:
    """The indexes of a store's scopes that are in use.

    Args:
        store: where rows and the log are.
        settings: the constants.
        faults: where what fails in the background is noted.
    """

    def __init__(self, store: Store, settings: RecallSettings, faults: Faults) -> None:
        self._store = store
        self._settings = settings
        self._faults = faults
        self._open: OrderedDict[Scope, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wakes = 0
        self._news = _News()
        self._is_stopping = False
        _running.add(self)

    def current(self, scope: Scope, *, at_once: bool = False) -> Index:
        """A scope's index, brought up to date.

        Where another thread is at that already, or is about to, it is taken as it is, so that a
        recall does not wait for facts that are just being read; what this memory itself was told is
        always in it.

        Args:
            scope: whose.
            at_once: with all that anybody has told the store.
        """
        opened = self._get(scope)
        must_learn = at_once or opened.is_behind or opened.version is None
        if not must_learn and (self._news.is_awaited or self._store.version() == opened.version):
            return opened.index
        if opened.updating.acquire(blocking=must_learn):
            try:
                self.catch_up(scope, opened)
                if opened.index.unpaired * len(opened.index.entities) <= PAIRED_AT_ONCE:
                    opened.index.pair()
            finally:
                opened.updating.release()
        if self._wants_tending(opened):
            self._start()
        return opened.index

    def forgotten(self, scope: Scope) -> bool:
        """Something of a scope was forgotten: its snapshots go.

        Returns:
            Whether nothing of them is left.
        """
        home = self._home(scope)
        if home is None:
            return True
        with self._lock:
            opened = self._open.get(scope)
        if opened is not None:
            opened.is_lost, opened.saved_seq = True, 0
        return home.purge()

    def wrote(self, scope: Scope) -> None:
        """This memory has written to a scope: its next recall must know of it. Cheap."""
        with self._lock:
            opened = self._open.get(scope)
            if opened is None:
                return
            opened.writes += 1
        self.notify()

    def notify(self) -> None:
        """Rows have changed: the open indexes may have something to learn. Cheap."""
        if self._open:
            self._news.come()
            self._start()

    def settle(self, deadline: float | None) -> None:
        """Bring all open indexes up to date, with all names compared.

        Args:
            deadline: by the monotonic clock; the thread goes on with what is left then.
        """
        with self._lock:
            every = list(self._open.items())
        for scope, opened in every:
            self.catch_up(scope, opened)
            while self._pair(opened):
                if deadline is not None and time.monotonic() >= deadline:
                    self._start()
                    return

    def stop(self) -> None:
        """End the thread after what it is doing."""
        with self._wake:
            self._is_stopping = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        _running.discard(self)

    def close(self) -> None:
        """End the thread, and save what would take long to learn again."""
        self.stop()
        for scope, opened in self._open.items():
            if opened.unsaved > SAVE_AT_CLOSE:
                self._save(scope, opened)
        self._open.clear()

    # -- opening ---------------------------------------------------------------------------------

    def _get(self, scope: Scope) -> _Open:
        with self._lock:
            found = self._open.pop(scope, None)
            if found is None:
                found = _Open(Index(self._settings), self._home(scope))
                found.updating.acquire()
                is_new = True
            else:
                is_new = False
            self._open[scope] = found
        if is_new:
            try:
                self._load(scope, found)
            finally:
                found.updating.release()
            self._close_surplus()
        return found

    def _close_surplus(self) -> None:
        """Let go of indexes beyond the limits."""
        with self._lock:
            closing = self._surplus()
        for other, opened in closing:
            if opened.unsaved > SAVE_AT_CLOSE:
                self._save(other, opened)

    def _surplus(self) -> list[tuple[Scope, _Open]]:
        """Indexes beyond the limits, which are open no longer."""
        closing: list[tuple[Scope, _Open]] = []
        sizes = {scope: opened.index.nbytes for scope, opened in self._open.items()}
        total = sum(sizes.values())
        while len(self._open) > 1 and (len(self._open) > MOST_OPEN or total > MOST_BYTES):
            scope, opened = self._open.popitem(last=False)
            total -= sizes[scope]
            closing.append((scope, opened))
        return closing

    def _home(self, scope: Scope) -> Home | None:
        path = self._store.path
        return None if path is None else Home(path, scope)

    def _load(self, scope: Scope, opened: _Open) -> None:
        if opened.home is None:
            return
        source = source_of(self._store.identity, self._settings)
        loaded = opened.home.load(
            source, lambda seq, digest: self._store.log_digest(scope, seq) == digest
        )
        if not isinstance(loaded, Loaded):
            logger.debug("index of a scope is built from its rows: %s", loaded.why)
            return
        index = open_from(opened.home, loaded, self._settings)
        if index is not None:
            opened.index, opened.saved_seq = index, index.seq

    # -- learning --------------------------------------------------------------------------------

    def catch_up(self, scope: Scope, opened: _Open) -> None:
        """Let an open index learn what was committed since it last did."""
        with opened.updating:
            writes, version = opened.writes, self._store.version()
            if version == opened.version and writes == opened.learnt:
                return
            if self._store.seq(scope) == opened.index.seq:
                opened.learnt, opened.version = writes, version
                return
            changed = self._store.changed(scope, after=opened.index.seq or None)
            for portion in changed.portions(ALL_AT_ONCE if changed.is_whole else READ_AT_ONCE):
                changes = self._store.changes_of(scope, portion)
                # Nobody reads an index that is built anew.
                for part in [changes] if changed.is_whole else _slices(changes):
                    opened.index.update(part)
            opened.learnt, opened.version = writes, version
            opened.changed_at = time.monotonic()

    # -- tending ---------------------------------------------------------------------------------

    def _wants_tending(self, opened: _Open) -> bool:
        return bool(opened.index.unpaired or _wants_fold(opened.index) or _wants_save(opened))

    def _start(self) -> None:
        with self._wake:
            self._wakes += 1
            if self._thread is None and not self._is_stopping:
                self._thread = threading.Thread(
                    target=self._run, name="graphmem-index", daemon=True
                )
                self._thread.start()
            self._wake.notify_all()

    def _run(self) -> None:
        behind_the_scenes()
        while True:
            with self._wake:
                seen = self._wakes
            try:
                wait = self._tend_all()
            except GraphMemError as error:
                self._faults.record("storage", error, "an index waits")
                wait = None
            with self._wake:
                if self._wakes != seen and not self._is_stopping:
                    continue
                if self._is_stopping or wait is None:
                    self._thread = None
                    return
                self._wake.wait(wait)

    def _tend_all(self) -> float | None:
        """Do what there is to do; returns when to look again, None for not at all."""
        later = self._news.wait()
        if not later:
            self._news = _News()
        waits = [later] if later else []
        with self._lock:
            every = list(self._open.items())
        for scope, opened in every:
            if self._is_stopping:
                return None
            await_recalls()
            if not later:
                self.catch_up(scope, opened)
            waits += self._tend(scope, opened)
        self._close_surplus()
        return min(waits, default=None)

    def _tend(self, scope: Scope, opened: _Open) -> list[float]:
        """Do one of the things that there are to do; returns when to look again, if at all."""
        if opened.index.delta_size > FOLD_ENTRIES:
            with opened.tending:
                fold(opened.index)
        if opened.index.unpaired:
            self._pair(opened)
            return [0.0]
        quiet = opened.changed_at + QUIET_SECONDS - time.monotonic()
        wants_fold, wants_save = _wants_fold(opened.index), _wants_save(opened)
        if wants_fold and quiet <= 0:
            with opened.tending:
                fold(opened.index)
        if wants_save and quiet <= 0:
            self._save(scope, opened)
        return [quiet] if quiet > 0 and (wants_fold or wants_save) else []

    def _pair(self, opened: _Open) -> int:
        """Compare some names with all others; returns how many are left."""
        with opened.updating.yielding():
            return opened.index.pair(PAIRED_IN_TURN)

    def _save(self, scope: Scope, opened: _Open) -> None:
        if opened.home is None or not opened.index.seq:
            return
        with opened.tending, opened.updating:
            digest = self._store.log_digest(scope, opened.index.seq)
            # What was forgotten after this index last learnt must not reach a file.
            if digest is None or self._store.forget_seq(scope) > opened.index.seq:
                return
            if opened.is_lost:  # something was forgotten
                opened.index.sweep()
            fold(opened.index)
            source = source_of(self._store.identity, self._settings)
            is_saved = save_to(opened.home, source, opened.index, digest, whole=opened.is_lost)
            if is_saved and self._store.forget_seq(scope) > opened.index.seq:
                opened.home.purge()
                is_saved = False
            opened.is_lost = not is_saved
            # Not again at once where it cannot be.
            opened.saved_seq = opened.index.seq


def _wants_fold(index: Index) -> bool:
    news = index.delta_size
    return news > FOLD_ENTRIES or (news > SLICE and news > FOLD_SHARE * index.entries)


def _wants_save(opened: _Open) -> bool:
    if opened.home is None:
        return False
    return opened.unsaved > SAVE_AT_CLOSE and opened.unsaved > SAVE_SHARE * opened.index.seq


def _slices(changes: Changes) -> Iterator[Changes]:
    """Changes in portions: what goes first, then passages, facts and vectors."""
    empty = Changes(0)
    parts = [replace(empty, removed=changes.removed)] if changes.removed else []
    parts += [replace(empty, passages=some) for some in _portions(changes.passages, SLICE)]
    step = ROWS_OF_PASSAGE * SLICE
    parts += [replace(empty, facts=some) for some in _portions(changes.facts, step)]
    for kind, vectors in changes.vectors.items():
        parts += _vector_slices(kind, vectors, step)
    yield from parts[:-1]
    last = parts[-1] if parts else empty
    yield replace(last, seq=changes.seq)


def _portions(rows: Sequence[object], step: int) -> Iterator[tuple]:  # type: ignore[type-arg]
    for start in range(0, len(rows), step):
        yield tuple(rows[start : start + step])


def _vector_slices(kind: VectorKind, vectors: Vectors, step: int) -> list[Changes]:
    return [
        Changes(
            0,
            vectors={
                kind: Vectors(vectors.ids[start : start + step], vectors.rows[start : start + step])
            },
        )
        for start in range(0, len(vectors.ids), step)
    ]


# Threads still inside native code when the interpreter shuts down can crash it: end them first.
_running: weakref.WeakSet[Indexes] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for indexes in list(_running):
        indexes.stop()
