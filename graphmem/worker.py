"""The work behind ``remember``: extraction and embedding, in threads, from a queue on disk.

Threads start when there is work and end when there is none, so that a thousand idle memories cost
nothing. A claim that fails goes back to the queue with a later due time; after a failure the worker
itself pauses too, longer each time, so that a server that is down is not hammered. Nothing here is
bound to an event loop: LlamaIndex's sync wrappers use several.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmem.embedding import checked
from graphmem.errors import EmbeddingError, ExtractionError, GraphMemError, StoreError
from graphmem.faults import MAX_CHARS, Faults, described
from graphmem.identity import clean_text
from graphmem.store import Claim, Store
from graphmem.types import Embedder, Extraction, Extractor, Passage, Triple

__all__ = ["Worker", "checked_extractions"]

Work = Literal["extract", "embed"]
Progress = Callable[[int, int], None]
S = TypeVar("S")
T = TypeVar("T")

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
# Of a batch that fails so many items are tried alone: if all of them fail the model is down.
PROBES = 3
_JOIN_SECONDS = 10.0


class Worker:
    """Runs the store's queue through an extractor and an embedder.

    Args:
        store: the queue, and where results go.
        embedder: makes vectors; ``extractor`` makes triples, or ``None``: then passages stay
            pending for a memory that has one.
        faults: where failures are recorded.
        threads: how many extractions run at a time. Embedding has one thread of its own.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        extractor: Extractor | None,
        faults: Faults,
        *,
        threads: int = 2,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._extractor = extractor
        self._faults = faults
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"
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
            with self._wake:
                self._wake.wait(0.05)
            left = self._left()
            total = max(total, left)
            self.notify()
        left = self._left()
        if progress:
            progress(total - left, total)
        return left

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
        idle_since = time.monotonic()
        while True:
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
        except Exception as error:  # the store
            if not self._stopping:
                self._faults.record("storage", error, "queued work waits")
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
        left = self._store.pending_count(work="embed")
        if self._extractor is not None:
            left += self._store.pending_count(work="extract")
        return left

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
            found = self._read(claim.passages)
        except Exception as error:
            self._faults.record("extraction", error, f"{len(claim.passages)} passages wait")
            found = self._read_alone(claim.passages, error)
        else:
            failed = [one for one in found if one.error is not None]
            if failed:
                self._faults.record(
                    "extraction",
                    ExtractionError(str(failed[0].error)),
                    f"{len(failed)} passages wait",
                )
        self._store.finish_extraction(
            claim.scope, found, claim=claim, extractor=self._extractor.name, now=_now()
        )
        return any(one.error is None for one in found)

    def _embed(self, claim: Claim) -> bool:
        texts = [text for _, _, text in claim.texts]
        rows, failures = self._vectors(texts)
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
            self._faults.record("embedding", error, f"{len(failures)} texts wait")
            self._store.fail(claim, described(error), now=_now())
        return len(failures) < len(texts)

    def _read(self, passages: Sequence[Passage]) -> list[Extraction]:
        extractor = self._extractor
        assert extractor is not None
        return _survived(lambda: checked_extractions(extractor.extract(passages), passages))

    def _read_alone(self, passages: Sequence[Passage], whole: Exception) -> list[Extraction]:
        """What can be read of passages that could not be read together; the others have failed."""
        alone: dict[int, Extraction | Exception] = {}
        if len(passages) > 1 and getattr(whole, "is_retryable", True):
            alone = _one_by_one(lambda one: self._read([one])[0], passages, self._finished)
        return [_extraction(one, alone.get(at, whole)) for at, one in enumerate(passages)]

    def _vectors(self, texts: list[str]) -> tuple[NDArray[np.float32] | None, dict[int, Exception]]:
        """Vectors for the texts, and the error of each text that has none.

        One text that the model cannot take must not hold up its batch, and a model that is down
        must not be asked once for every text.
        """
        unique = list(dict.fromkeys(texts))
        try:
            by_text = dict(zip(unique, self._embed_texts(unique), strict=True))
            return np.stack([by_text[text] for text in texts]), {}
        except Exception as error:
            whole = error
        alone: dict[int, NDArray[np.float32] | Exception] = {}
        if len(unique) > 1:
            alone = _one_by_one(lambda text: self._embed_texts([text])[0], unique, self._finished)
        good = [row for row in alone.values() if not isinstance(row, Exception)]
        if not good:
            return None, dict.fromkeys(range(len(texts)), whole)
        place = {text: at for at, text in enumerate(unique)}
        rows = np.zeros((len(texts), len(good[0])), dtype=np.float32)
        failures: dict[int, Exception] = {}
        for index, text in enumerate(texts):
            row = alone[place[text]]
            if isinstance(row, Exception):
                failures[index] = row
            elif len(row) != len(good[0]):
                sizes = f"{len(row)} and {len(good[0])} dimensions"
                failures[index] = EmbeddingError(f"{self._embedder.name} returned {sizes}")
            else:
                rows[index] = row
        return rows, failures

    def _embed_texts(self, texts: list[str]) -> NDArray[np.float32]:
        rows = _survived(lambda: self._embedder.embed(texts))
        return checked(rows, len(texts), name=self._embedder.name)


def _survived(call: Callable[[], T]) -> T:
    """Call somebody's code: not even its SystemExit may end the thread that it runs in."""
    try:
        return call()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _one_by_one(call: Callable[[S], T], items: Sequence[S], turn: int) -> dict[int, T | Exception]:
    """The result or the error of each item, by its place.

    One bad item must not hold up its batch, and a model that is down must not be asked once for
    every item: a few spread ones are tried first, and when all of those fail no more are. Which
    they are changes with ``turn``, lest a few bad items pass for a model that is down for ever.
    """
    first = turn % len(items)
    order = [*range(first, len(items)), *range(first)]
    probes = order[:: max(1, len(items) // PROBES)][:PROBES]
    found: dict[int, T | Exception] = {}
    for place in dict.fromkeys([*probes, *order]):
        if len(found) == len(probes) and all(isinstance(one, Exception) for one in found.values()):
            break
        try:
            found[place] = call(items[place])
        except Exception as error:
            found[place] = error
    return found


def _extraction(passage: Passage, outcome: Extraction | Exception) -> Extraction:
    if isinstance(outcome, Extraction):
        return outcome
    is_retryable = bool(getattr(outcome, "is_retryable", True))
    return Extraction(passage.id, error=described(outcome), is_retryable=is_retryable)


def checked_extractions(
    found: Iterable[Extraction], passages: Sequence[Passage]
) -> list[Extraction]:
    """One valid Extraction for each passage, in order, whatever the extractor returned.

    A passage without one has failed; triples whose parts are no strings are dropped with a reason;
    extractions of unknown passages are ignored; of two for one passage the last counts.

    Raises:
        ExtractionError: what was returned is no sequence of Extraction.
    """
    by_id: dict[str, Extraction] = {}
    try:
        items = list(found)
    except TypeError as error:
        raise ExtractionError(
            f"the extractor returned {type(found).__name__}; return one Extraction per passage"
        ) from error
    for item in items:
        if not isinstance(item, Extraction):
            raise ExtractionError(
                f"the extractor returned a {type(item).__name__}; return one Extraction per passage"
            )
        if isinstance(item.passage_id, str):
            by_id[item.passage_id] = item
    missing = "the extractor returned nothing for this passage"
    return [
        _checked(by_id.get(passage.id, Extraction(passage.id, error=missing)))
        for passage in passages
    ]


def _checked(extraction: Extraction) -> Extraction:
    try:
        return _sorted_out(extraction)
    except TypeError:
        return Extraction(
            extraction.passage_id, error="Extraction.triples and dropped must be sequences"
        )


def _sorted_out(extraction: Extraction) -> Extraction:
    triples: list[Triple] = []
    dropped = list(extraction.dropped)
    for triple in extraction.triples:
        required = (getattr(triple, name, None) for name in ("subject", "predicate", "object"))
        optional = (getattr(triple, name, None) for name in ("valid_from", "valid_to", "speaker"))
        if not isinstance(triple, Triple) or not all(isinstance(part, str) for part in required):
            dropped.append(f"not a triple of strings: {str(triple)[:200]}")
        elif not all(part is None or isinstance(part, str) for part in optional):
            dropped.append(f"a date or speaker is no string: {str(triple)[:200]}")
        elif not isinstance(triple.polarity, bool):
            dropped.append(f"its polarity is neither True nor False: {str(triple)[:200]}")
        else:
            triples.append(_cleaned(triple))
    return Extraction(
        extraction.passage_id,
        tuple(triples),
        error=None if extraction.error is None else _reason(extraction.error),
        is_retryable=bool(extraction.is_retryable),
        dropped=tuple(map(_reason, dropped)),
    )


def _reason(value: object) -> str:
    return clean_text(str(value))[:MAX_CHARS]


def _cleaned(triple: Triple) -> Triple:
    return Triple(
        subject=clean_text(triple.subject),
        predicate=clean_text(triple.predicate),
        object=clean_text(triple.object),
        polarity=triple.polarity,
        valid_from=clean_text(triple.valid_from) if triple.valid_from else None,
        valid_to=clean_text(triple.valid_to) if triple.valid_to else None,
        speaker=clean_text(triple.speaker) if triple.speaker else None,
    )


def _now() -> datetime:
    return datetime.now(timezone.utc)


# Threads still inside native code when the interpreter shuts down can crash it: end them first.
_running: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for worker in list(_running):
        worker.stop()
