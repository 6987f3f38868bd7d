"""Vectors: tables of them by id, exact inner products, and near pairs. The only module with FAISS.

All vectors are of unit length (or zero for "no sense"), so an inner product is a cosine, higher is
nearer. Single questions run in one thread: on a busy machine a second one costs more than it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from graphmem.errors import EmbeddingError
from graphmem.index.lists import Floats, Ints

__all__ = ["DenseIndex", "NearPairs", "VectorTable"]

Rows = NDArray[np.float32]

# Rows of a block of the all-pairs product: 1024 x 20k float32 is 80 MB at most.
_BLOCK = 1024
# The product of two blocks is rounded otherwise than a product of two rows: look a little below the
# threshold, then score each candidate exactly.
_MARGIN = 1e-4
# A table is packed when more than this share of its rows is dead.
_DEAD_SHARE = 0.25


class VectorTable:
    """Vectors by id, appended; an id that is dropped or put again leaves a dead row behind."""

    def __init__(self) -> None:
        self._rows: Rows = np.zeros((0, 0), dtype=np.float32)
        self._used = 0
        self._place: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, key: object) -> bool:
        return key in self._place

    @property
    def ids(self) -> list[str]:
        """Of all vectors, in no order that means anything."""
        return list(self._place)

    @property
    def dims(self) -> int:
        """Size of the vectors; 0 while there are none."""
        return int(self._rows.shape[1])

    def put(self, ids: Sequence[str], rows: Rows) -> list[str]:
        """Add or replace vectors; returns the ids whose vector is new or another than before.

        Raises:
            EmbeddingError: wrong shape, values that are not finite, or another size than before.
        """
        if not len(ids):
            return []
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        self._check(ids, rows)
        changed = [
            (key, row)
            for key, row in zip(ids, rows, strict=True)
            if key not in self._place or not np.array_equal(self._rows[self._place[key]], row)
        ]
        self._reserve(len(changed), rows.shape[1])
        for key, row in changed:
            self._rows[self._used] = row
            self._place[key] = self._used
            self._used += 1
        return [key for key, _ in changed]

    def _check(self, ids: Sequence[str], rows: Rows) -> None:
        if rows.ndim != 2 or len(rows) != len(ids) or not rows.shape[1]:
            raise EmbeddingError(f"{len(ids)} vectors expected, got an array of shape {rows.shape}")
        if not np.isfinite(rows).all():
            raise EmbeddingError("a vector holds values that are not finite numbers")
        if self._place and rows.shape[1] != self.dims:
            raise EmbeddingError(
                f"vectors of {rows.shape[1]} numbers cannot join vectors of {self.dims}: "
                "all vectors of a memory must come from one embedding model"
            )

    def _reserve(self, count: int, dims: int) -> None:
        if self._rows.shape[1] != dims:
            self._rows, self._used = np.zeros((0, dims), dtype=np.float32), 0
        if self._used + count <= len(self._rows):
            return
        if self._used - len(self._place) > _DEAD_SHARE * self._used:
            self._pack()
        need = self._used + count
        if need > len(self._rows):
            grown = np.zeros((max(need, 3 * self._used // 2), dims), dtype=np.float32)
            grown[: self._used] = self._rows[: self._used]
            self._rows = grown

    def _pack(self) -> None:
        live = np.fromiter(self._place.values(), dtype=np.int64, count=len(self._place))
        self._rows = self._rows[live]
        self._used = len(live)
        self._place = {key: row for row, key in enumerate(self._place)}

    def drop(self, ids: Iterable[str]) -> None:
        """Forget vectors; unknown ids are none's loss. Their rows are overwritten with zeros."""
        for key in ids:
            row = self._place.pop(key, None)
            if row is not None:
                self._rows[row] = 0.0

    def take(self, ids: Sequence[str]) -> Rows:
        """Shape (len(ids), dims), a copy; a row of zeros where there is no vector."""
        found = np.array([self._place.get(key, -1) for key in ids], dtype=np.int64)
        if not self._place:
            return np.zeros((len(ids), self.dims), dtype=np.float32)
        taken: Rows = self._rows[found]
        taken[found < 0] = 0.0
        return taken


class DenseIndex:
    """Exact inner products with a fixed set of vectors (a flat FAISS index), by position."""

    def __init__(self, rows: Rows) -> None:
        self._size, self.dims = rows.shape
        self._index: Any = faiss.IndexFlatIP(max(1, self.dims))
        if self._size and self.dims:
            self._index.add(np.ascontiguousarray(rows, dtype=np.float32))
        self._all = np.arange(self._size, dtype=np.int64)[None]
        self.has_vectors = bool(self._size and self.dims and rows.any())

    def __len__(self) -> int:
        return int(self._size)

    def scores(self, query: Rows) -> Floats:
        """Cosines of all vectors with the query, shape (len(self),)."""
        if not self.has_vectors:
            return np.zeros(self._size)
        scores: Floats = self.subset_scores(query[None], self._all)[0]
        return scores

    def subset_scores(self, queries: Rows, positions: Ints) -> Floats:
        """Cosines of each query with its own positions; both of shape (queries, …).

        A position of -1 stands for none and scores 0.
        """
        if not self.has_vectors or not positions.size:
            return np.zeros(positions.shape)
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        labels = np.ascontiguousarray(positions, dtype=np.int64)
        scores = np.empty(labels.shape, dtype=np.float32)
        with _one_thread():
            self._index.compute_distance_subset(
                len(queries),
                faiss.swig_ptr(queries),
                labels.shape[1],
                faiss.swig_ptr(scores),
                faiss.swig_ptr(labels),
            )
        scores[labels < 0] = 0.0  # FAISS leaves its own idea of "none" there
        return scores.astype(np.float64)

    def rows(self, positions: Ints) -> Rows:
        """The vectors at positions, shape (len(positions), dims)."""
        if not self.has_vectors:
            return np.zeros((len(positions), self.dims), dtype=np.float32)
        found: Rows = self._index.reconstruct_batch(np.ascontiguousarray(positions, dtype=np.int64))
        return found


@contextmanager
def _one_thread() -> Iterator[None]:
    """FAISS's OpenMP threads set to one, for the calling thread only, and back."""
    threads = faiss.omp_get_max_threads()
    if threads == 1:
        yield
        return
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


class NearPairs:
    """Pairs of ids whose vectors have at least a threshold's cosine, kept as vectors come and go.

    The pairs are a pure function of the vectors: each cosine is computed from its two rows alone.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._near: dict[str, dict[str, float]] = {}

    def update(self, changed: Sequence[str], table: VectorTable) -> None:
        """Compare the changed ids with all ids of the table (the changed are among them)."""
        self.drop(changed)
        if not changed:
            return
        new = set(changed)
        ids = [*changed, *(key for key in table.ids if key not in new)]
        rows = table.take(ids)
        for start in range(0, len(changed), _BLOCK):
            # Each pair once: a block is compared with itself and with what comes after it.
            block, rest = rows[start : min(start + _BLOCK, len(changed))], rows[start:]
            left, right = np.nonzero(block @ rest.T >= self.threshold - _MARGIN)
            exact = np.multiply(block[left], rest[right], dtype=np.float64).sum(axis=1)
            is_near = (left < right) & (exact >= self.threshold)
            near = (left[is_near].tolist(), right[is_near].tolist(), exact[is_near].tolist())
            for i, j, cosine in zip(*near, strict=True):
                one, other = ids[start + i], ids[start + j]
                self._near.setdefault(one, {})[other] = cosine
                self._near.setdefault(other, {})[one] = cosine

    def drop(self, ids: Iterable[str]) -> None:
        """Forget all pairs with these ids."""
        for key in ids:
            for other in self._near.pop(key, {}):
                self._near.get(other, {}).pop(key, None)

    def of(self, key: str, most: int) -> list[tuple[str, float]]:
        """The nearest ids of one, nearest first, ties by id, at most ``most``."""
        near = self._near.get(key)
        if not near:
            return []
        return sorted(near.items(), key=lambda item: (-item[1], item[0]))[:most]
