"""What is measured: a system takes a data set in and ranks its records for a question."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from graphmem import passages
from graphmem.errors import ExtractionError, InvalidInput
from graphmem.experiments.datasets import DataSet, Question, Record
from graphmem.index.dense import DenseIndex
from graphmem.index.lexical import Postings
from graphmem.index.lists import Floats, Ints, highest, ranks
from graphmem.memory import GraphMemory
from graphmem.settings import RecallSettings
from graphmem.types import Embedder, Extraction, Passage, Scope, Triple
from graphmem.words import terms, words

__all__ = ["SYSTEMS", "Answer", "GraphMemorySystem", "RecordedExtractor", "System", "open_system"]

Progress = Callable[[int, int], None]

# The usual constants of BM25, for the baselines.
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking of record ids, best first, and what it took.

    Attributes:
        ranking: record ids, each once.
        milliseconds: for the ranking, without embedding the question.
        route: which way answered, as the system names it.
    """

    ranking: tuple[str, ...]
    milliseconds: float
    route: str = ""


class System(Protocol):
    """A memory under test: ``ingest``, then ``ask``; ``close`` in the end."""

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Take all records in; ``progress`` is told (done, total)."""
        ...

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank the records of the question's scope."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class RecordedExtractor:
    """The triples recorded in a data set, by the id of the passage they were read from."""

    def __init__(self, triples: Mapping[str, Sequence[Triple]]) -> None:
        self._triples = triples

    @property
    def name(self) -> str:
        """As kept with each fact."""
        return "recorded/1"

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """What was recorded; nothing to learn from a passage without triples."""
        return [Extraction(p.id, tuple(self._triples.get(p.id, ()))) for p in passages]


class GraphMemorySystem:
    """``GraphMemory`` as users have it: stored, drained and asked through its public door.

    Sessions, speakers, roles and times are kept; each scope of the data is a scope of the memory.

    Args:
        embedder: makes the vectors.
        settings: the constants of recall.
    """

    def __init__(self, embedder: Embedder, settings: RecallSettings | None = None) -> None:
        self._embedder = embedder
        self._settings = settings
        self._folder = tempfile.TemporaryDirectory(prefix="graphmem-bench-")
        self._memory: GraphMemory | None = None
        self._records: dict[tuple[Scope, str], list[str]] = {}

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Store all records and wait for facts and vectors.

        Raises:
            ExtractionError: something could not be read or embedded.
        """
        self._close_memory()
        triples: dict[str, list[Triple]] = {}
        self._records = {}
        for record in data.records:
            for passage_id in _passage_ids(record):
                triples.setdefault(passage_id, []).extend(record.triples)
                self._records.setdefault((record.scope, passage_id), []).append(record.id)
        self._memory = GraphMemory.open(
            Path(self._folder.name) / f"{len(list(Path(self._folder.name).iterdir()))}.db",
            embed_model=self._embedder,
            extractor=RecordedExtractor(triples),
            settings=self._settings,
        )
        for scope, session, records in _sessions(data):
            self._memory.remember(
                [record.message for record in records], scope=scope, session=session
            )
        left = self._memory.drain(progress=progress)
        if left:
            raise ExtractionError(f"{left} texts left: {self._memory.stats().last_error}")
        for scope in data.scopes:  # the first recall builds the index
            self._memory.recall("warm up", scope=scope, top_k=1)

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank by ``GraphMemory.recall``."""
        if self._memory is None:
            raise InvalidInput("ingest a data set before asking")
        found = self._memory.recall(question.text, scope=question.scope, top_k=top_k)
        ranking = [
            record for one in found for record in self._records[question.scope, one.passage.id]
        ]
        spent = found.timings["total"] - found.timings.get("embed", 0.0)
        return Answer(tuple(dict.fromkeys(ranking)), spent, found.route)

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def close(self) -> None:
        """Let go of everything."""
        self._close_memory()
        self._folder.cleanup()


def _passage_ids(record: Record) -> list[str]:
    """Ids that the record's passages get: they depend on its content alone."""
    message, _ = passages.admit(record.message, record.scope.user)
    return [passage.id for passage in passages.build(message, record.session or "")]


def _sessions(data: DataSet) -> list[tuple[Scope, str, list[Record]]]:
    """Records by scope and session, in the file's order."""
    found: dict[tuple[Scope, str], list[Record]] = {}
    for record in data.records:
        found.setdefault((record.scope, record.session or ""), []).append(record)
    return [(scope, session, records) for (scope, session), records in found.items()]


@dataclass(slots=True)
class _Corpus:
    """The records of one scope, for the baselines."""

    ids: list[str]
    postings: Postings
    meanings: DenseIndex
    id_rank: Ints


@dataclass(slots=True)
class Baseline:
    """Ranking without a graph, each record alone: by words, by vectors, or by both.

    Attributes:
        embedder: makes the vectors.
        uses_words, uses_vectors: BM25 over stems; cosine. Both: their sum, each scaled to 0..1.
    """

    embedder: Embedder
    uses_words: bool
    uses_vectors: bool
    _scopes: dict[Scope, _Corpus] = field(default_factory=dict)

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Read and, where vectors are used, embed all records."""
        self._scopes = {}
        total = len(data.records)
        done = 0
        for scope in data.scopes:
            records = [record for record in data.records if record.scope == scope]
            texts = [record.full_text for record in records]
            rows = np.zeros((len(texts), 1), dtype=np.float32)
            if self.uses_vectors:
                rows = self.embedder.embed(texts)
            ids = [record.id for record in records]
            postings = Postings.of(
                [terms(words(text)) for text in texts], np.arange(len(texts)), {0: 1.0}
            )
            rank = ranks(ids)
            self._scopes[scope] = _Corpus(ids, postings, DenseIndex(rows), rank)
            done += len(records)
            progress(done, total)

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank all records of the scope."""
        corpus = self._scopes.get(question.scope)
        if corpus is None:
            return Answer((), 0.0)
        vector = self.embedder.embed_query(question.text) if self.uses_vectors else None
        start = time.perf_counter()
        scores = np.zeros(len(corpus.ids))
        if self.uses_words:
            asked = terms(words(question.text))
            scores += _stretched(corpus.postings.cover(asked, k1=_K1, b=_B).share)
        if vector is not None:
            scores += _stretched(corpus.meanings.scores(vector))
        best = highest(scores, top_k, corpus.id_rank)
        spent = (time.perf_counter() - start) * 1e3
        return Answer(tuple(corpus.ids[place] for place in best.tolist()), spent)

    def close(self) -> None:
        """Let go of everything."""
        self._scopes = {}


def _stretched(values: Floats) -> Floats:
    """Moved and stretched to run from 0 to 1; zeros where all are equal."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


SYSTEMS: Mapping[str, Callable[[Embedder], System]] = {
    "graphmem": GraphMemorySystem,
    "dense": lambda embedder: Baseline(embedder, uses_words=False, uses_vectors=True),
    "bm25": lambda embedder: Baseline(embedder, uses_words=True, uses_vectors=False),
    "hybrid": lambda embedder: Baseline(embedder, uses_words=True, uses_vectors=True),
}
"""The systems by name."""


def open_system(name: str, embedder: Embedder) -> System:
    """The system of that name.

    Raises:
        InvalidInput: there is none.
    """
    if name not in SYSTEMS:
        raise InvalidInput(f"there is no system {name!r}: choose among {', '.join(SYSTEMS)}")
    return SYSTEMS[name](embedder)
