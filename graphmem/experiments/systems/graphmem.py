"""``GraphMemory`` as users have it, under test."""

from __future__ import annotations

import tempfile
from pathlib import Path

from graphmem.errors import ExtractionError, InvalidInput
from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.reading import Meter, passage_ids, sessions
from graphmem.experiments.systems.interface import Answer, Parts, Progress
from graphmem.memory import GraphMemory
from graphmem.settings import RecallSettings
from graphmem.types import Extractor, Scope, Usage

__all__ = ["GraphMemorySystem"]


class GraphMemorySystem:
    """``GraphMemory`` stored, drained and asked through its public door.

    Sessions, speakers, roles and times are kept; each scope of the data is a scope of the memory.

    Args:
        parts: embedder, source of triples, and constants of recall.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._folder = tempfile.TemporaryDirectory(prefix="graphmem-bench-")
        self._stores = 0
        self._memory: GraphMemory | None = None
        self._meter = Meter()
        self._extractor: Extractor | None = None
        self._scopes: tuple[Scope, ...] = ()
        self._records: dict[tuple[Scope, str], list[str]] = {}

    @property
    def memory(self) -> GraphMemory:
        """What holds the records.

        Raises:
            InvalidInput: nothing was ingested.
        """
        if self._memory is None:
            raise InvalidInput("ingest a data set before asking")
        return self._memory

    @property
    def usage(self) -> Usage:
        """What the extractors have cost; a recall asks no model."""
        return self._meter.usage

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Store all records and wait for facts and vectors.

        Raises:
            ExtractionError: something could not be read or embedded.
        """
        self._close_memory()
        self._records = {}
        for record in data.records:
            for passage_id in passage_ids(record):
                self._records.setdefault((record.scope, passage_id), []).append(record.id)
        self._stores += 1
        self._scopes = data.scopes
        self._extractor = self._parts.triples(data)
        self._meter.watch(self._extractor)
        self._memory = self._open(self._parts.settings)
        for scope, session, records in sessions(data):
            self._memory.remember(
                [record.message for record in records], scope=scope, session=session
            )
        left = self._memory.drain(progress=progress)
        if left:
            errors = (self._memory.stats(scope).last_error for scope in self._scopes)
            raise ExtractionError(f"{left} texts left: {next(filter(None, errors), '')}")
        self._warm_up(self._memory)

    def retune(self, settings: RecallSettings | None) -> None:
        """Open the same store with other constants of recall; facts and vectors stay.

        Raises:
            InvalidInput: nothing was ingested.
        """
        if self._memory is None:
            raise InvalidInput("ingest a data set before changing the constants of its recall")
        self._close_memory()
        self._memory = self._open(settings)
        self._warm_up(self._memory)

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank by ``GraphMemory.recall``."""
        found = self.memory.recall(question.text, scope=question.scope, top_k=top_k)
        # Records of the same words are one passage, a long record is several.
        ranking = [
            record for one in found for record in self._records[question.scope, one.passage.id]
        ]
        spent = found.timings["total"] - found.timings.get("embed", 0.0)
        return Answer(tuple(dict.fromkeys(ranking))[:top_k], spent, found.route, found.timings)

    def close(self) -> None:
        """Let go of everything."""
        self._close_memory()
        self._folder.cleanup()

    def _open(self, settings: RecallSettings | None) -> GraphMemory:
        return GraphMemory.open(
            Path(self._folder.name) / f"{self._stores}.db",
            embed_model=self._parts.embedder,
            extractor=self._extractor,
            settings=settings,
        )

    def _warm_up(self, memory: GraphMemory) -> None:
        for scope in self._scopes:  # the first recall builds the index
            memory.recall("warm up", scope=scope, top_k=1)
        memory.drain()  # waits until names are compared, too

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None
