"""What baselines rank by: every passage scored, by words or by vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphmem.index.lists import Floats, Ints

__all__ = ["BM25", "FlatVectors", "near_pairs"]

Rows = NDArray[np.float32]

# Rows of a block of the all-pairs product: 1024 x 20k float32 is 80 MB at most.
_BLOCK = 1024
# The product of two blocks is rounded otherwise than a product of two rows: look a little below the
# threshold, then score each candidate exactly.
_MARGIN = 1e-4


class BM25:
    """BM25 over term counts, with the usual constants.

    Args:
        documents: how often each term occurs in each.
    """

    def __init__(
        self, documents: Sequence[Mapping[str, int]], *, k1: float = 1.2, b: float = 0.75
    ) -> None:
        self._size = len(documents)
        holders: dict[str, list[tuple[int, int]]] = {}
        for place, document in enumerate(documents):
            for term, count in document.items():
                holders.setdefault(term, []).append((place, count))
        self._holders = {term: np.array(found) for term, found in holders.items()}
        lengths = np.array([sum(one.values()) for one in documents], dtype=np.float64)
        mean = float(lengths.mean()) if self._size else 0.0
        self._norm = k1 * (1 - b + b * lengths / mean) if mean else np.ones(self._size)

    def scores(self, question: Collection[str]) -> Floats:
        """Of every document, shape (documents,)."""
        scores = np.zeros(self._size)
        for term in sorted(set(question)):
            found = self._holders.get(term)
            if found is not None:
                places, counts = found.T
                idf = np.log1p((self._size - len(places) + 0.5) / (len(places) + 0.5))
                scores[places] += idf * counts / (counts + self._norm[places])
        return scores


class FlatVectors:
    """Cosines with every one of a fixed set of unit vectors.

    Args:
        rows: shape (n, dims).
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def scores(self, query: Rows) -> Floats:
        """Shape (n,)."""
        if not self._rows.any():
            return np.zeros(len(self._rows))
        scores: Floats = (self._rows @ query).astype(np.float64)
        return scores


def near_pairs(rows: Rows, threshold: float) -> Iterator[tuple[int, Ints, Floats]]:
    """For each row those of at least a threshold's cosine: (row, others, cosines), nearest first.

    Ties by number.
    """
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        left, right = np.nonzero(block @ rows.T >= threshold - _MARGIN)
        exact = np.multiply(block[left], rows[right], dtype=np.float64).sum(axis=1)
        near = (left + start != right) & (exact >= threshold)
        left, right, exact = left[near], right[near], exact[near]
        order = np.lexsort((right, -exact, left))
        left, right, exact = left[order], right[order], exact[order]
        cuts = np.searchsorted(left, np.arange(len(block) + 1))
        for row, (first, last) in enumerate(pairwise(cuts)):
            yield start + row, right[first:last], exact[first:last]
