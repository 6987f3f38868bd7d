"""How much of a question a passage covers, by words: BM25 over the terms of one scope.

``Postings`` holds the terms of all passages and scores them against a question, each passage
together with its neighbours in its thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.index.lists import Floats, Ints, Lists

__all__ = ["Coverage", "Postings", "spread"]


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """A question's terms against every passage.

    Attributes:
        share: shape (passages,): how much of the question each passage covers, 0 to 1: BM25 over
            its greatest possible value. Terms that no passage has count as uncovered, so that the
            share of a question asked in other words is small and its vectors weigh more.
        idf: shape (terms,): weight of each term.
        present: shape (terms, passages): whether the passage or a neighbour has the term.
    """

    share: Floats
    idf: Floats
    present: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The terms of all passages by position, where neighbours of a thread lie side by side.

    Attributes:
        vocabulary: term → its row in ``holders``.
        holders: for each term, the passages that have it.
        counts: how often, aligned with ``holders.items``.
        threads: shape (passages,): number of each passage's thread.
        window: offset within the thread → how much the neighbour's words count; 0 → 1.
        lengths: shape (passages,): number of terms, the window's neighbours included.
    """

    vocabulary: Mapping[str, int]
    holders: Lists
    counts: Floats
    threads: Ints
    window: Mapping[int, float]
    lengths: Floats

    @classmethod
    def of(
        cls, documents: Iterable[Mapping[str, int]], threads: Ints, window: Mapping[int, float]
    ) -> Postings:
        """Postings of passages given as term counts, in order of position."""
        vocabulary: dict[str, int] = {}
        rows: list[int] = []
        columns: list[int] = []
        counts: list[int] = []
        for column, document in enumerate(documents):
            rows.extend(vocabulary.setdefault(term, len(vocabulary)) for term in document)
            columns.extend([column] * len(document))
            counts.extend(document.values())
        row, col = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
        order = np.lexsort((col, row))
        holders = Lists.of(row, col, len(vocabulary))
        weights = np.array(counts, dtype=np.float64)
        lengths = np.bincount(col, weights=weights, minlength=len(threads)).astype(np.float64)
        return cls(
            vocabulary, holders, weights[order], threads, window, spread(lengths, threads, window)
        )

    def cover(self, question: Iterable[str], *, k1: float, b: float) -> Coverage:
        """Score all passages against the question's distinct terms, by BM25 with ``k1``, ``b``."""
        asked = sorted(set(question))
        size = len(self.threads)
        idf = np.array([self._idf(term) for term in asked])
        frequency = np.zeros((len(asked), size))
        for place, term in enumerate(asked):
            row = self.vocabulary.get(term)
            if row is None:
                continue
            start, stop = self.holders.starts[row], self.holders.starts[row + 1]
            frequency[place, self.holders.items[start:stop]] = self.counts[start:stop]
        frequency = spread(frequency, self.threads, self.window)
        mean = float(self.lengths.mean()) if size else 0.0
        norm = k1 * (1 - b + b * self.lengths / mean) if mean else np.ones(size)
        total = float(idf.sum())
        # Not a matrix product: BLAS would start threads for it, which cost more than they give.
        covered = np.einsum("t,tp->p", idf, frequency / (frequency + norm))
        return Coverage(covered / total if total else np.zeros(size), idf, frequency > 0)

    def _idf(self, term: str) -> float:
        row = self.vocabulary.get(term)
        holders = 0 if row is None else len(self.holders[row])
        return float(np.log1p((len(self.threads) - holders + 0.5) / (holders + 0.5)))


def spread(values: NDArray[np.float64], threads: Ints, window: Mapping[int, float]) -> Floats:
    """Each passage's value plus its neighbours' by the window's weights, along the last axis."""
    total = values * window.get(0, 1.0)
    size = len(threads)
    for offset, weight in window.items():
        if offset == 0 or abs(offset) >= size:
            continue
        here = slice(max(0, -offset), size - max(0, offset))
        there = slice(max(0, offset), size + min(0, offset))
        together = threads[here] == threads[there]
        if together.any():
            total[..., here] += weight * values[..., there] * together
    return total
