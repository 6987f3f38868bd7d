"""Ranking without a graph, each record alone: by words, by vectors, or by both."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.reading import as_told
from graphmem.experiments.systems.flat import BM25, FlatVectors
from graphmem.experiments.systems.interface import Answer, Progress
from graphmem.index.lists import Floats, Ints, highest, ranks
from graphmem.types import Embedder, Scope, Usage
from graphmem.words import terms, words

__all__ = ["Baseline", "stretched"]


@dataclass(slots=True)
class _Corpus:
    """The records of one scope."""

    ids: list[str]
    postings: BM25
    meanings: FlatVectors
    id_rank: Ints


@dataclass(slots=True)
class Baseline:
    """Ranking without a graph, each record alone, who said it in front of what was said.

    Attributes:
        embedder: makes the vectors.
        uses_words, uses_vectors: BM25 over stems; cosine. Both: their sum, each scaled to 0..1.
    """

    embedder: Embedder
    uses_words: bool
    uses_vectors: bool
    _scopes: dict[Scope, _Corpus] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """Nothing: no model is asked but the embedder."""
        return Usage()

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Read and, where vectors are used, embed all records."""
        self._scopes = {}
        total = len(data.records)
        done = 0
        for scope in data.scopes:
            records = [record for record in data.records if record.scope == scope]
            texts = [as_told(record) for record in records]
            rows = np.zeros((len(texts), 1), dtype=np.float32)
            if self.uses_vectors:
                rows = self.embedder.embed(texts)
            ids = [record.id for record in records]
            postings = BM25([terms(words(text)) for text in texts])
            rank = ranks(ids)
            self._scopes[scope] = _Corpus(ids, postings, FlatVectors(rows), rank)
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
            scores += stretched(corpus.postings.scores(asked))
        if vector is not None:
            scores += stretched(corpus.meanings.scores(vector))
        best = highest(scores, top_k, corpus.id_rank)
        spent = (time.perf_counter() - start) * 1e3
        return Answer(tuple(corpus.ids[place] for place in best.tolist()), spent)

    def close(self) -> None:
        """Let go of everything."""
        self._scopes = {}


def stretched(values: Floats) -> Floats:
    """Moved and stretched to run from 0 to 1; zeros where all are equal."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
