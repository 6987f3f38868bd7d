"""Nearest vectors: candidates from short codes, scored exactly. The only module with FAISS.

A vector is turned, rounded to two bits a dimension, and packed for FAISS's fast scan: a quarter of
a byte for each dimension in memory, a few milliseconds for a million. The candidates that the scan
finds are scored from the table of vectors, so that what is returned is exact.

*Coding without training.* Turning by a fixed orthogonal map makes the dimensions of every model
alike, near normal with a variance of 1/dims, and for that distribution the best four levels are
known (Lloyd and Max). So the first vector is coded as well as the millionth. What a rotation does
not cure is a mean that all vectors share: it eats up the levels. It is measured, and taken off
before coding where it matters; a query's product with it is the same for all rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmem.errors import StoreCorrupt
from graphmem.index.lists import Bools, Floats, Ints
from graphmem.index.vectors import Rows, VectorRows

__all__ = ["Coding", "VectorSearch"]

Bytes = NDArray[np.uint8]
_Pairs = tuple[Ints, Ints]

# Max, "Quantizing for minimum distortion" (1960), table for 4 levels: of N(0, 1), and the borders
# between them. The levels explain this share of the variance.
_LEVELS = (-1.5104, -0.4528, 0.4528, 1.5104)
_BORDER = 0.9816
_EXPLAINED = 0.8825

# Candidates that are scored exactly: at least so many, and so many for each that is asked for.
_LEAST_CANDIDATES = 200
_CANDIDATES_EACH = 2
# This share of them must be live, or more are fetched.
_LIVE_SHARE = 0.9
# Where the dead crowd around a query, the live ones lie further off and closer together, and more
# of them are needed: until this share of what is fetched is live that would be anywhere else, or
# there are so many times the usual.
_CROWDED = 0.6
_ENOUGH = 3
_MOST_REACH = 16.0

# The coding is checked when there are so many vectors, and each time there are ten times as many.
_FIRST_CHECK = 256
_NEXT_CHECK = 10
_SAMPLE = 4096
# A mean with more than this share of the squared length is taken off. Recall@50 of 200 candidates
# is .999 at a share of 0.08, .993 at 0.3, .97 at 0.5.
_MEAN_SHARE = 0.15
# How far the length of what is coded may be from what the levels are made for.
_SCALE_RANGE = (0.8, 1.25)
# A search is built anew when more than this share of its rows, and so many, are dropped.
_DEAD_SHARE = 0.1
_LEAST_DEAD = 100

# A code's score is off by about this much times scale / sqrt(dims). The worst of 18,000 pairs of
# MiniLM's vectors was off by 4.7 times as much, the worst of a million random ones by 6.4 times.
_DEVIATION = float(np.sqrt(1 - _EXPLAINED))
_DEVIATIONS = 7.0
# Below so many rows every one is compared: the scan would save nothing.
_SMALL = 1000
_FIRST_FETCH = 64
_SCANNED = 4_000_000  # codes at a time: what a search or an addition may have to wait for
# What a product in single precision, of codes, may differ by from the exact one.
_ROUNDING = 1e-4

_BLOCK = 512  # vectors coded at a time: what a search may have to wait for


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """How vectors become codes.

    Attributes:
        mean: taken off before coding, shape (dims,).
        scale: root of the mean squared length of what is left, 1 for unit vectors without a mean.
    """

    mean: Rows
    scale: float = 1.0

    @classmethod
    def plain(cls, dims: int) -> Coding:
        """For unit vectors that share no direction."""
        return cls(np.zeros(dims, dtype=np.float32))

    @classmethod
    def measured(cls, sample: Rows) -> Coding:
        """What suits a sample of vectors, shape (n, dims), none of them zero."""
        plain = cls.plain(sample.shape[1])
        if len(sample) < _FIRST_CHECK or plain.suits(sample):
            return plain
        mean = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
        return cls(mean, max(1e-3, float(np.sqrt(_squares(sample - mean).mean()))))

    def suits(self, sample: Rows) -> bool:
        """Whether a sample, coded so, has little of a common mean and about the right length."""
        rest = sample - self.mean
        square = float(_squares(rest).mean())
        if not square:
            return True
        common = rest.mean(axis=0, dtype=np.float64)
        low, high = _SCALE_RANGE
        is_long = low <= np.sqrt(square) / self.scale <= high
        return bool(is_long and common @ common <= _MEAN_SHARE * square)

    @property
    def dims(self) -> int:
        """Size of the vectors."""
        return len(self.mean)

    @property
    def reach(self) -> float:
        """How many times the usual candidates are needed.

        Where the mean is most of a vector, the differences between vectors are small, and so the
        coding's error lets more of them come between.
        """
        return min(_MOST_REACH, max(1.0, self.scale**-2))

    def turned(self, vectors: Rows) -> Rows:
        """Shape (n, dims of the codes)."""
        return _turn(self.dims).apply(vectors)

    def floors(self, queries: Rows, threshold: float) -> Floats:
        """Scores that the codes of all vectors with a cosine of ``threshold`` reach, shape (n,).

        The levels shorten a vector to the share that they explain; the rest of the difference is
        near normal.
        """
        length = np.sqrt(_squares(queries))
        spread = _DEVIATION * self.scale * length / np.sqrt(_turn(self.dims).dims)
        common = queries.astype(np.float64) @ self.mean.astype(np.float64)
        floors: Floats = _EXPLAINED * (threshold - common) - _DEVIATIONS * spread
        return floors

    def codes(self, vectors: Rows) -> Bytes:
        """Two bits a dimension, four dimensions a byte, as FAISS has them: shape (n, bytes)."""
        values = self.turned(vectors - self.mean)
        border = np.float32(_BORDER * self.scale / np.sqrt(values.shape[1]))
        levels = (values > -border).view(np.uint8) + (values > 0) + (values > border)
        codes: Bytes = levels[:, 1::4] * np.uint8(4)
        codes += levels[:, 0::4]
        codes += levels[:, 2::4] * np.uint8(16)
        codes += levels[:, 3::4] * np.uint8(64)
        return codes


class VectorSearch:
    """Finds the rows of a table of vectors that are nearest to a query.

    Rows are added in the order of the table, after it has them, each with a vector or with zeros.
    One that has no vector in the table, or has been dropped there, is not found. One thread at a
    time may add; others may search meanwhile.

    Args:
        coding: how to code; None for the plain one.
    """

    def __init__(self, coding: Coding | None = None) -> None:
        self._coding = coding
        self._codes: Any = None if coding is None else _packed(_turn(coding.dims).dims)
        # Rows of the first slots, ascending; later slots are consecutive rows.
        self._table: Ints = np.zeros(0, dtype=np.int64)
        self._passed = 0  # rows that have no slot, all before those that are consecutive
        self._size = 0
        self._next_check = _FIRST_CHECK
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of rows of the table that have been added, or passed over as dropped."""
        return self._size

    @property
    def coding(self) -> Coding | None:
        """How vectors are coded; None before the first."""
        return self._coding

    @property
    def nbytes(self) -> int:
        """Memory, in bytes, with the room to grow: FAISS takes powers of two."""
        codes = 0 if self._codes is None else int(self._codes.codes.size())
        capacity = 1 << (codes - 1).bit_length() if codes else 0
        return capacity + self._table.nbytes

    @property
    def _slots(self) -> int:
        return 0 if self._codes is None else int(self._codes.ntotal)

    # --- changing ---------------------------------------------------------------------------------

    def add(self, vectors: ArrayLike) -> None:
        """Add the next rows' vectors, shape (n, dims): the same that the table was given.

        Their shape and size are the table's to check.
        """
        rows = np.asarray(vectors, dtype=np.float32)
        if not len(rows):
            return
        if self._coding is None:
            self._start(Coding.plain(rows.shape[1]))
        for start in range(0, len(rows), _BLOCK):
            self._add(rows[start : start + _BLOCK])

    def catch_up(self, exact: VectorRows) -> None:
        """Add the rows that the table has and the search has not."""
        while self._size < len(exact):
            end = min(self._size + _BLOCK, len(exact))
            self.add(exact.take(np.arange(self._size, end)))

    @classmethod
    def built(cls, exact: VectorRows) -> VectorSearch:
        """A search over all of a table, coded as suits its vectors; dropped rows take no room.

        To repack, build another, ``catch_up``, and put it in the place of the first, which can be
        used and added to meanwhile.
        """
        size = len(exact)
        rows = np.flatnonzero(exact.has(np.arange(size)))
        search = cls()
        if not exact.dims:
            return search
        search._start(Coding.measured(exact.take(_spread(rows))))
        for start in range(0, len(rows), _BLOCK):
            search._add(exact.take(rows[start : start + _BLOCK]))
        search._size, search._passed = size, size - len(rows)
        if search._passed:
            search._table = rows
        search._pass_checks(len(rows))
        return search

    def wants_repack(self, exact: VectorRows) -> bool:
        """Whether a tenth of the rows here is dropped, or the vectors want another coding.

        The coding is looked at when there are 256 vectors, 2,560 and so on: cheap to ask often.
        """
        dropped = exact.dead - self._passed
        if dropped > max(_DEAD_SHARE * self._slots, _LEAST_DEAD):
            return True
        vectors = self._slots - dropped
        if vectors >= self._next_check and self._coding is not None:
            rows = np.flatnonzero(exact.has(np.arange(self._size)))
            if not self._coding.suits(exact.take(_spread(rows))):
                return True
            self._pass_checks(vectors)
        return False

    def _start(self, coding: Coding) -> None:
        self._coding, self._codes = coding, _packed(_turn(coding.dims).dims)

    def _pass_checks(self, vectors: int) -> None:
        while self._next_check <= vectors:
            self._next_check *= _NEXT_CHECK

    def _add(self, rows: Rows) -> None:
        assert self._coding is not None
        codes = self._coding.codes(rows)
        part = _packed(_turn(self._coding.dims).dims, codes)
        with self._lock:
            _make_room(self._codes, len(rows))
            self._codes.merge_from(part, 0)
            self._size += len(rows)

    # --- reading ----------------------------------------------------------------------------------

    def search(
        self, query: ArrayLike, count: int, exact: VectorRows, is_live: Bools | None = None
    ) -> tuple[Ints, Floats]:
        """The nearest rows: (rows, cosines), best first, ties by row.

        Among 100,000 vectors of MiniLM, 99.9 % of the true best 50 are found.

        Args:
            query: shape (dims,).
            count: at most so many.
            exact: the table.
            is_live: by row, for all rows added here: False for one that is not wanted.

        Raises:
            EmbeddingError: a query of another size than the vectors, or not finite.
        """
        rows = exact.checked(np.asarray(query)[None])
        candidates = self._candidates(rows, count, exact, is_live)
        cosines = exact.dots(candidates, rows)[0]
        order = np.lexsort((candidates, -cosines))[:count]
        return candidates[order], cosines[order]

    def near(
        self, queries: ArrayLike, threshold: float, exact: VectorRows
    ) -> tuple[Ints, Ints, Floats]:
        """All pairs of at least a threshold: (query's index, row, cosine), by query, then row.

        A query that is a row itself finds itself. The cosine of two rows' vectors, as the table was
        given them, is the same from either side. A pair is missed only where the code's error is
        more than seven times the usual.

        Args:
            queries: shape (n, dims).
            threshold: above 0.
            exact: the table.

        Raises:
            EmbeddingError: queries of another size than the vectors, or not finite.
        """
        vectors = exact.checked(queries)
        found: list[_Pairs] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
        size = max(1, min(_BLOCK, _SCANNED // max(1, self._slots)))
        for start in range(0, len(vectors), size):
            pairs = self._maybe_near(vectors[start : start + size], threshold, exact)
            found += [(places + start, rows) for places, rows in pairs]
        places, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        order = np.lexsort((rows, places))
        places, rows = places[order], rows[order]
        cosines = exact.pairs(vectors[places], rows)
        is_near = cosines >= threshold
        return places[is_near], rows[is_near], cosines[is_near]

    def _candidates(
        self, query: Rows, count: int, exact: VectorRows, is_live: Bools | None
    ) -> Ints:
        """Live rows among which the best ``count`` are."""
        slots = self._slots
        if not slots or count < 1:
            return np.zeros(0, dtype=np.int64)
        assert self._coding is not None
        if is_live is None:
            live = len(exact) - exact.dead
        else:
            live = int(np.count_nonzero(is_live[: self._size]))
        wanted = int(np.ceil(self._coding.reach * max(_LEAST_CANDIDATES, _CANDIDATES_EACH * count)))
        if live <= wanted:
            return _live(self._rows(np.arange(slots)), exact, is_live)
        turned = self._coding.turned(query)
        # As many as hold the wanted number of live ones, if those are spread evenly.
        fetch = max(wanted, wanted * slots // live)
        while fetch < slots:
            rows = _live(self._rows(self._scan(turned, fetch)[1][0]), exact, is_live)
            expected = fetch * live / slots
            if _LIVE_SHARE * wanted <= len(rows) >= min(_CROWDED * expected, _ENOUGH * wanted):
                return rows
            fetch *= 2
        return _live(self._rows(np.arange(slots)), exact, is_live)

    def _maybe_near(self, queries: Rows, threshold: float, exact: VectorRows) -> Iterator[_Pairs]:
        """All (query, row) whose cosine may reach a threshold, and few others."""
        least = threshold - _ROUNDING
        slots = self._slots
        if slots <= _SMALL:
            rows = self._rows(np.arange(slots))
            places, found = np.nonzero(exact.dots(rows, queries) >= least)
            yield places, rows[found]
            return
        assert self._coding is not None
        floors = self._coding.floors(queries, threshold)
        turned = self._coding.turned(queries)
        pending, fetch = np.arange(len(queries)), _FIRST_FETCH
        while len(pending):
            fetch = min(fetch, slots)
            scores, found = self._scan(turned[pending], fetch)
            is_done = (scores[:, -1] < floors[pending]) | (fetch == slots)
            for place in np.flatnonzero(is_done).tolist():
                query = pending[place]
                rows = self._rows(found[place][scores[place] >= floors[query]])
                rows = rows[exact.dots(rows, queries[query][None])[0] >= least]
                yield np.full(len(rows), query), rows
            pending = pending[~is_done]
            fetch *= 4

    def _scan(self, turned: Rows, count: int) -> tuple[Rows, Ints]:
        """(scores, slots) of the best codes for each query, both of shape (queries, count)."""
        asked, lift = _guarded(turned)
        with self._lock, _one_thread():
            scores, slots = self._codes.search(asked, count)
        return scores + lift, slots

    def _rows(self, slots: Ints) -> Ints:
        """The rows of slots; what FAISS filled up with -1 is left out."""
        slots = slots[slots >= 0]
        packed = len(self._table)
        if not packed:
            return slots + self._passed
        return np.where(slots < packed, self._table.take(slots, mode="clip"), slots + self._passed)

    # --- on disk ----------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All state as arrays, a copy; ``of`` takes them back."""
        with self._lock:
            coding = self._coding or Coding.plain(0)
            codes = np.zeros(0, np.uint8) if not coding.dims else faiss.serialize_index(self._codes)
            return {
                "codes": codes,
                "table": self._table,
                "mean": coding.mean,
                "scale": np.array([coding.scale]),
                "counts": np.array([self._size, self._passed, self._next_check]),
            }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> VectorSearch:
        """What ``arrays`` gave.

        Raises:
            StoreCorrupt: they do not fit together, or this version of FAISS cannot read the codes:
                build one from the table.
        """
        mean = np.array(arrays["mean"], dtype=np.float32)
        search = cls(Coding(mean, float(arrays["scale"][0])) if len(mean) else None)
        search._table = np.array(arrays["table"], dtype=np.int64)
        search._size, search._passed, search._next_check = arrays["counts"].tolist()
        if len(mean):
            search._codes = _read(arrays["codes"], _turn(len(mean)).dims)
        if search._slots + search._passed != search._size or len(search._table) > search._slots:
            raise StoreCorrupt("the codes of vectors are not as many as the vectors")
        return search


def _live(rows: Ints, exact: VectorRows, is_live: Bools | None) -> Ints:
    found = exact.has(rows)
    if is_live is not None:
        found &= is_live[rows]
    return rows[found]


def _spread(rows: Ints) -> Ints:
    """So many of the rows as are worth measuring, from all over."""
    return rows[:: max(1, len(rows) // _SAMPLE)]


def _squares(rows: Rows) -> Floats:
    squares: Floats = np.einsum("nd,nd->n", rows, rows).astype(np.float64)
    return squares


# --- turning -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A fixed rotation of vectors that are first filled up with zeros to a round size.

    Dimensions are shuffled, some mirrored, laid out as a matrix, and mixed along its columns and
    along its rows. That costs a tenth of a full matrix, mixes as well (recall@50 of a model whose
    variances span two orders: .9996 with either, .98 without), and its products are too small for
    BLAS to start threads.

    Attributes:
        order: shuffles, shape (dims,).
        signs: mirrors, shape (dims,).
        left, right: orthogonal, shapes (a, a) and (b, b) with a * b = dims.
    """

    order: Ints
    signs: Rows
    left: Rows
    right: Rows

    @property
    def dims(self) -> int:
        """Size of what comes out."""
        return len(self.order)

    def apply(self, vectors: Rows) -> Rows:
        """Shape (n, dims), from (n, dims or fewer)."""
        filled = np.zeros((len(vectors), self.dims), dtype=np.float32)
        filled[:, : vectors.shape[1]] = vectors
        mixed = filled[:, self.order] * self.signs
        grid = mixed.reshape(len(vectors), len(self.left), len(self.right))
        turned: Rows = np.matmul(self.left, np.matmul(grid, self.right))
        return turned.reshape(filled.shape)


@lru_cache(maxsize=16)
def _turn(dims: int) -> _Turn:
    """The rotation for vectors of a size. Saved codes depend on it, so it must never change."""
    side = 2 ** max(2, round(np.log2(max(dims, 1)) / 2))
    other = -(-dims // side)
    random = np.random.RandomState(dims)
    order = random.permutation(side * other)
    signs = random.choice(np.array([-1, 1], dtype=np.float32), side * other)
    # Orthogonal and evenly distributed: the signs make the factor unique.
    factor, triangle = np.linalg.qr(random.standard_normal((other, other)))
    right = (factor * np.sign(np.diag(triangle))).astype(np.float32)
    return _Turn(order, signs, _hadamard(side), right)


def _hadamard(size: int) -> Rows:
    """Orthogonal, and all entries of one magnitude; ``size`` is a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    scaled: Rows = (matrix / np.sqrt(size)).astype(np.float32)
    return scaled


# --- FAISS ---------------------------------------------------------------------------------------


# FAISS rounds a code's possible scores to 0..255 and adds them up in 16 bits. With more codes than
# this the sum of a close match can run over, and the best rows would be lost.
_MOST_CODES = 256
_SUM_LIMIT = 65_535
# So one more code, the lowest level in every row, is given so large a score that the others are
# rounded more coarsely: four dimensions, as codes fill whole bytes.
_GUARD = 4


def _width(dims: int) -> int:
    """Dimensions in FAISS."""
    return dims + _GUARD if dims // 2 > _MOST_CODES else dims


def _guarded(turned: Rows) -> tuple[Rows, Rows]:
    """Queries as FAISS is to be asked, and what to add to the scores it gives, shape (n, 1)."""
    dims = turned.shape[1]
    if _width(dims) == dims:
        return turned, np.zeros((len(turned), 1), dtype=np.float32)
    asked = np.zeros((len(turned), _width(dims)), dtype=np.float32)
    asked[:, :dims] = turned
    guard = np.abs(turned).sum(axis=1) * np.float32(255 / (_SUM_LIMIT - dims))
    asked[:, dims] = guard
    return asked, guard[:, None] * np.float32(_LEVELS[-1] / np.sqrt(dims))


def _packed(dims: int, codes: Bytes | None = None) -> Any:
    """Codes laid out for the fast scan."""
    width = _width(dims)
    plain: Any = faiss.IndexPQ(width, width // 2, 4, faiss.METRIC_INNER_PRODUCT)
    pairs = np.array([(_LEVELS[code & 3], _LEVELS[code >> 2]) for code in range(16)])
    table = np.broadcast_to(pairs / np.sqrt(dims), (width // 2, 16, 2)).astype(np.float32)
    faiss.copy_array_to_vector(table.ravel(), plain.pq.centroids)
    plain.is_trained = True
    if codes is not None:
        filled = np.zeros((len(codes), width // 4), dtype=np.uint8)
        filled[:, : codes.shape[1]] = codes
        faiss.copy_array_to_vector(filled.ravel(), plain.codes)
        plain.ntotal = len(codes)
    return faiss.IndexPQFastScan(plain)


def _make_room(index: Any, rows: int) -> None:
    """Room for more rows, filled with zeros, as codes come in blocks.

    FAISS takes memory as it finds it, and saves with the last block whatever was in there before.
    """
    old = int(index.codes.size())
    new = -(-(index.ntotal + rows) // index.bbs) * index.bbs * index.M2 // 2
    if new > old:
        index.codes.resize(new)
        faiss.rev_swig_ptr(index.codes.get(), new)[old:] = 0


def _read(codes: Bytes, dims: int) -> Any:
    try:
        index = faiss.deserialize_index(codes)
    except RuntimeError as error:
        raise StoreCorrupt("this version of FAISS cannot read the codes of vectors") from error
    if not isinstance(index, faiss.IndexPQFastScan) or index.d != _width(dims):
        raise StoreCorrupt("the codes of vectors are of another kind")
    return index


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
