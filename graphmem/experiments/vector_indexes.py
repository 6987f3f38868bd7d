"""Indexes of vectors that are compared: ours, and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

from graphmem.index.search import VectorSearch
from graphmem.index.vectors import Rows, VectorRows

__all__ = ["KINDS", "Found", "Nearest", "Rows", "one_thread"]

Found = NDArray[np.int64]

_RESCORED = 500


class Nearest(Protocol):
    """An index of vectors, by number.

    Attributes:
        keeps_numbers: whether those that are left keep theirs when others are dropped.
    """

    keeps_numbers: bool

    def search(self, query: Rows, count: int) -> Found:
        """The nearest, best first."""
        ...

    def add(self, rows: Rows) -> None:
        """Add more."""
        ...

    def drop(self, numbers: Found) -> None:
        """Let some be found no longer."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory."""
        ...


class _Own:
    """As a memory has it: codes in memory, and vectors of 16-bit numbers, as a rule in a file."""

    keeps_numbers = True

    def __init__(self, rows: Rows) -> None:
        self._rows = VectorRows(np.int16)
        self._rows.append(rows)
        self._search = VectorSearch.built(self._rows)

    def search(self, query: Rows, count: int) -> Found:
        return self._search.search(query, count, self._rows)[0]

    def add(self, rows: Rows) -> None:
        self._rows.append(rows)
        self._search.add(rows)

    def drop(self, numbers: Found) -> None:
        self._rows.drop(numbers)

    @property
    def nbytes(self) -> int:
        return self._search.nbytes + 4 * len(self._rows)  # and the scale of each


class _Exact:
    """Every product, by numpy."""

    keeps_numbers = True

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def search(self, query: Rows, count: int) -> Found:
        products = self._rows @ query
        best = np.argpartition(-products, min(count, len(products) - 1))[:count]
        return best[np.argsort(-products[best], kind="stable")]

    def add(self, rows: Rows) -> None:
        self._rows = np.concatenate((self._rows, rows))

    def drop(self, numbers: Found) -> None:
        self._rows[numbers] = 0

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes


class _Faiss:
    """One of FAISS's own; with ``rescored``, so many candidates are scored from the vectors."""

    keeps_numbers = False

    def __init__(self, rows: Rows, factory: str, rescored: int = 0) -> None:
        self._index: Any = faiss.index_factory(rows.shape[1], factory, faiss.METRIC_INNER_PRODUCT)
        if not self._index.is_trained:
            self._index.train(rows)
        self._index.add(rows)
        self._rescored = rescored
        self._rows = rows if rescored else None

    def search(self, query: Rows, count: int) -> Found:
        _, found = self._index.search(query[None], max(count, self._rescored))
        best: Found = found[0][found[0] >= 0]
        if self._rows is not None:
            best = best[np.argsort(-(self._rows[best] @ query), kind="stable")]
        return best[:count]

    def add(self, rows: Rows) -> None:
        self._index.add(rows)

    def drop(self, numbers: Found) -> None:
        self._index.remove_ids(numbers)

    @property
    def nbytes(self) -> int:
        return len(faiss.serialize_index(self._index))


KINDS: Mapping[str, Callable[[Rows], Nearest]] = {
    "graphmem": _Own,
    "numpy": _Exact,
    "Flat": lambda rows: _Faiss(rows, "Flat"),
    "SQfp16": lambda rows: _Faiss(rows, "SQfp16"),
    "SQ8": lambda rows: _Faiss(rows, "SQ8"),
    # A bit a dimension, after training.
    f"PQfs + {_RESCORED}": lambda rows: _Faiss(rows, f"PQ{rows.shape[1] // 4}x4fs", _RESCORED),
}


@contextmanager
def one_thread() -> Iterator[None]:
    """FAISS computes in one thread meanwhile."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
