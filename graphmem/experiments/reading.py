"""How a data set becomes passages, and what an extractor reads in them, as a memory has them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

from graphmem import passages, salvage
from graphmem.experiments.dataset import DataSet, Record
from graphmem.store import Store, new_owner
from graphmem.types import Extraction, Extractor, Passage, Scope, Usage
from graphmem.worker import EXTRACT_CHARS, EXTRACT_TEXTS

__all__ = ["Meter", "as_told", "passage_ids", "read", "sessions", "usage_of"]


def as_told(record: Record) -> str:
    """The record in one text, for systems that know no speakers: ``"Ana: it rained"``."""
    speaker = record.message.speaker
    return f"{speaker}: {record.full_text}" if speaker else record.full_text


def passage_ids(record: Record) -> list[str]:
    """Ids that a record's passages get in a memory: they depend on its content alone."""
    message, _ = passages.admit(record.message, record.scope.user)
    return [passage.id for passage in passages.build(message, record.session or "")]


def sessions(data: DataSet) -> list[tuple[Scope, str, list[Record]]]:
    """Records by scope and session, in the set's order; documents are of no session, ``""``."""
    found: dict[tuple[Scope, str], list[Record]] = {}
    for record in data.records:
        found.setdefault((record.scope, record.session or ""), []).append(record)
    return [(scope, session, records) for (scope, session), records in found.items()]


def read(
    data: DataSet, extractor: Extractor, progress: Callable[[int, int], None]
) -> dict[tuple[Scope, str], Extraction]:
    """What an extractor reads in each passage, by scope and passage id.

    The passages come from a store's queue: in the batches and with the neighbours that a memory's
    worker would claim. What cannot be read is an Extraction with an error.

    Args:
        data: the records.
        extractor: reads them.
        progress: is told (done, total) after each batch.
    """
    now = datetime.now(timezone.utc)
    found: dict[tuple[Scope, str], Extraction] = {}
    with (
        tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder,
        closing(Store.open(Path(folder) / "reading.db")) as store,
    ):
        for scope, session, records in sessions(data):
            admitted = [passages.admit(record.message, scope.user) for record in records]
            messages = [message for message, refusal in admitted if not refusal]
            store.put(scope, messages, session=session, now=now)
        total = store.pending_count(work="extract")
        owner = new_owner()
        limits = {"max_texts": EXTRACT_TEXTS, "max_chars": EXTRACT_CHARS}
        while claim := store.claim("extract", owner=owner, now=now, **limits):
            for one in _extracted(extractor, claim.passages, turn=len(found)):
                found[claim.scope, one.passage_id] = one
            progress(len(found), total)
    return found


def _extracted(extractor: Extractor, batch: Sequence[Passage], *, turn: int) -> list[Extraction]:
    try:
        return salvage.read(extractor, batch)
    except Exception as error:
        return salvage.read_alone(extractor, batch, error, turn=turn)


def usage_of(extractor: Extractor) -> Usage:
    """What the extractor's model has cost so far; nothing where it has none or does not tell."""
    usage = getattr(extractor, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


class Meter:
    """What extractors cost while they are in use here, whatever they had cost before."""

    def __init__(self) -> None:
        self._before = Usage()
        self._extractor: Extractor | None = None
        self._start = Usage()

    @property
    def usage(self) -> Usage:
        """Of all extractors so far."""
        if self._extractor is None:
            return self._before
        return self._before + (usage_of(self._extractor) - self._start)

    def watch(self, extractor: Extractor) -> None:
        """Count this one from now on, in place of the one before."""
        self._before = self.usage
        self._extractor, self._start = extractor, usage_of(extractor)
