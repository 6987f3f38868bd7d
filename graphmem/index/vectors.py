"""Vectors by row: rounded to integers, on disk where they are mapped, in memory where they are new.

All vectors are of unit length, or zero for "no sense", so an inner product is a cosine.

A row keeps its number for ever. It is one integer code for each dimension and one scale for the
row: MiniLM's cosines are off by 2e-6 with 16 bits and by 4e-4 with 8 bits, 2e-5 and
2e-3 at most. The codes lie
in *segments*, files that are written once and mapped, and behind them in a tail in memory. The
scales are all in memory, 4 bytes a row: a scale of zero is how a row is dropped, wherever it lies.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmem.errors import EmbeddingError, StoreCorrupt
from graphmem.index.columns import Column
from graphmem.index.lists import Bools, Floats, Ints
from graphmem.index.saving import Segment

__all__ = ["Rows", "VectorRows"]

Rows = NDArray[np.float32]
Codes = NDArray[np.signedinteger[Any]]
CodeType = type[np.int16] | type[np.int8]

# Rows that are converted at a time: 512 x 384 float32 stay in a core's cache.
_BLOCK = 512
# A file is written anew when more than this share of its rows is dropped.
_STALE_SHARE = 0.1

# A segment file: this header, the scales, and at the next multiple of 64 the codes.
_HEADER = struct.Struct("<8sIIIIQQ24x")
_MAGIC = b"grmmvec\n"
_FORMAT = 1
_ALIGNMENT = _HEADER.size


class VectorRows:
    """A table of vectors that grows at its end.

    One thread at a time may change it; others may read meanwhile.

    Args:
        dtype: of the codes, ``np.int16`` or ``np.int8``.
    """

    def __init__(self, dtype: CodeType = np.int16) -> None:
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self._scales = Column(np.float32)
        self._stale = np.zeros(0, dtype=np.int64)
        self._dead = 0
        self._layout = _Layout((), Column(dtype, 0), 0)

    def __len__(self) -> int:
        """Number of rows, those without a vector included."""
        return len(self._scales)

    @property
    def dims(self) -> int:
        """Size of the vectors; 0 before the first."""
        return int(self._layout.tail.values.shape[1])

    @property
    def dead(self) -> int:
        """Number of rows without a vector: dropped, or zero from the beginning."""
        return self._dead

    @property
    def stale(self) -> Ints:
        """Dropped rows whose codes still stand in a file, ascending."""
        return self._stale

    @property
    def tail_size(self) -> int:
        """Number of rows that are in no file."""
        return len(self) - self._layout.split

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The files, in order of their rows."""
        return tuple(part.segment for part in self._layout.parts)

    @property
    def nbytes(self) -> int:
        """Memory, in bytes, without what is mapped."""
        return self._scales.nbytes + self._layout.tail.nbytes + self._stale.nbytes

    # --- changing ---------------------------------------------------------------------------------

    def append(self, vectors: ArrayLike) -> int:
        """Add vectors, shape (n, dims); returns the number of the first row.

        Raises:
            EmbeddingError: wrong shape or size, or values that are not finite.
        """
        vectors = self.checked(vectors)
        first = len(self)
        if not len(vectors):
            return first
        if not self.dims:
            tail = Column(self._dtype.type, vectors.shape[1])
            self._layout = self._layout._replace(tail=tail)
        for start in range(0, len(vectors), _BLOCK):
            codes, scales = self._rounded(vectors[start : start + _BLOCK])
            self._layout.tail.append(codes)
            self._scales.append(scales)  # last: it is what makes the rows visible
            self._dead += int(np.count_nonzero(scales == 0))
        return first

    def drop(self, rows: Ints) -> None:
        """Forget the vectors of rows; they score 0 from now on. Rows of -1 are none's loss.

        Codes in memory are overwritten. Those in a file stay there until it is written anew.
        """
        rows = np.unique(np.asarray(rows, dtype=np.int64))
        rows = rows[rows >= 0]
        scales = self._scales.values
        rows = rows[scales[rows] != 0]
        if not len(rows):
            return
        scales[rows] = 0
        self._dead += len(rows)
        split = self._layout.split
        self._layout.tail.values[rows[rows >= split] - split] = 0
        self._stale = np.union1d(self._stale, rows[rows < split])

    def checked(self, vectors: ArrayLike) -> Rows:
        """Vectors as this table takes them, shape (n, dims).

        Raises:
            EmbeddingError: wrong shape or size, or values that are not finite.
        """
        rows = np.asarray(vectors, dtype=np.float32)
        if rows.ndim != 2 or not rows.shape[1]:
            raise EmbeddingError(
                f"vectors of shape {rows.shape}: give one row for each text, shape (texts, dims)"
            )
        if self.dims and rows.shape[1] != self.dims:
            raise EmbeddingError(
                f"vectors of {rows.shape[1]} numbers cannot join vectors of {self.dims}: "
                "all vectors of a memory must come from one embedding model"
            )
        if not np.isfinite(rows).all():
            raise EmbeddingError(
                "a vector holds values that are not finite numbers: "
                "give zeros for a text that has no vector"
            )
        return rows

    def _rounded(self, vectors: Rows) -> tuple[Codes, Rows]:
        limit = float(np.iinfo(self._dtype).max)
        scales = np.abs(vectors).max(axis=1).astype(np.float64) / limit
        if self._dtype == np.int16:
            # Powers of two, so that rounding a vector that was taken from here changes nothing.
            fractions, exponents = np.frexp(scales)
            scales = np.ldexp(np.sign(scales), exponents - (fractions == 0.5))
        scales = scales.astype(np.float32)
        # What is too small to have a scale has no sense either.
        inverse = np.divide(1.0, scales, out=np.zeros(len(scales)), where=scales > 0)
        codes = vectors * inverse[:, None]
        np.rint(codes, out=codes)
        np.clip(codes, -limit, limit, out=codes)
        return codes.astype(self._dtype), scales

    # --- reading ----------------------------------------------------------------------------------

    def has(self, rows: Ints) -> Bools:
        """Which of the rows have a vector; -1 stands for none."""
        if not len(self):
            return np.zeros(len(rows), dtype=np.bool_)
        found: Bools = (self._scales.values[rows] != 0) & (rows >= 0)
        return found

    def dots(self, rows: Ints, queries: ArrayLike) -> Floats:
        """Inner products of rows with queries, shape (queries, rows).

        A row's product does not depend on what else is asked for, to the last bit, and is computed
        in the calling thread.

        Args:
            rows: in any order, repeated or not; -1 stands for none and scores 0.
            queries: shape (queries, dims).
        """
        queries = self.checked(queries)
        rows = np.asarray(rows, dtype=np.int64)
        products = np.zeros((len(queries), len(rows)), dtype=np.float32)
        for places, codes in self._gathered(rows):
            products[:, places] = _row_dots(codes.astype(np.float32), queries)
        return products.astype(np.float64) * self._scales_of(rows)

    def pairs(self, queries: ArrayLike, rows: Ints) -> Floats:
        """Inner product of each query with its own row, the query rounded as a row would be.

        Exact from there, so that the product of two vectors is the same whichever is the query.

        Args:
            queries: shape (n, dims).
            rows: shape (n,).
        """
        queries = self.checked(queries)
        products = np.zeros(len(rows))
        scales = np.zeros(len(rows))
        for places, codes in self._gathered(np.asarray(rows, dtype=np.int64)):
            rounded, scales[places] = self._rounded(queries[places])
            # Sums of whole numbers below 2 ** 53: no order of adding makes a difference.
            products[places] = np.einsum(
                "nd,nd->n", rounded.astype(np.float64), codes.astype(np.float64)
            )
        return products * (scales * self._scales_of(rows))

    def take(self, rows: Ints) -> Rows:
        """The vectors of rows, shape (n, dims), a copy; zeros where there is none."""
        rows = np.asarray(rows, dtype=np.int64)
        taken = np.zeros((len(rows), self.dims), dtype=np.float32)
        for places, codes in self._gathered(rows):
            taken[places] = codes
        taken *= self._scales_of(rows)[:, None]
        return taken

    def _scales_of(self, rows: Ints) -> Rows:
        if not len(self):
            return np.zeros(len(rows), dtype=np.float32)
        return np.where(rows >= 0, self._scales.values[rows], np.float32(0))

    def _gathered(self, rows: Ints) -> Iterator[tuple[Ints | slice, Codes]]:
        """(places in ``rows``, their codes), a block at a time, in the order of the files."""
        layout = self._layout
        order = None if (rows[1:] >= rows[:-1]).all() else np.argsort(rows, kind="stable")
        ordered = rows if order is None else rows[order]
        borders = [0, *(part.end for part in layout.parts)]
        cuts = np.searchsorted(ordered, [*borders, np.iinfo(np.int64).max]).tolist()
        sources = [*(part.codes for part in layout.parts), layout.tail.values]
        for source, first, start, end in zip(sources, borders, cuts[:-1], cuts[1:], strict=True):
            for at in range(start, end, _BLOCK):
                chosen = slice(at, min(at + _BLOCK, end))
                places = chosen if order is None else order[chosen]
                yield places, source.take(ordered[chosen] - first, axis=0)

    # --- files ------------------------------------------------------------------------------------

    @property
    def wants_repack(self) -> bool:
        """Whether so many rows of the files are dropped that they should be written anew."""
        return len(self._stale) > _STALE_SHARE * self._layout.split

    def save_tail(self, path: Path) -> Segment | None:
        """Write what is in memory as a new file and map it; None where there is nothing to write.

        Smaller files before it are taken into the new one, so that there are never more than about
        twenty and each row is written that often at most. Files that are no longer among
        ``segments`` are the owner's to remove.

        Args:
            path: nothing lies there.

        Raises:
            OSError: the disk refuses; nothing has changed.
        """
        return self.adopt(path) if self.write(path) else None

    def repack(self, path: Path) -> Segment | None:
        """Write all rows as one new file, dropped ones as zeros; as ``save_tail`` otherwise."""
        return self.adopt(path) if self.write(path, whole=True) else None

    def write(self, path: Path, *, whole: bool = False) -> bool:
        """The first half of ``save_tail`` or ``repack``: writes, and changes nothing here.

        May run while another thread appends and drops.

        Returns:
            Whether there was anything to write.
        """
        end = len(self)
        layout = self._layout
        first = 0 if whole else _first_to_write(layout, end)
        if first == end:
            return False
        header = _Header(self._dtype.itemsize, self.dims, first, end - first)
        scales = self._scales.values[first:end].copy()
        with path.open("xb") as file:
            try:
                self._write(file, header, scales)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    path.unlink()
                raise
        return True

    def _write(self, file: BinaryIO, header: _Header, scales: Rows) -> None:
        file.write(header.packed())
        file.write(scales.astype("<f4").data)
        file.write(bytes(header.codes_start - file.tell()))
        for start in range(0, header.rows, _BLOCK):
            block = scales[start : start + _BLOCK]
            rows = np.arange(start, start + len(block)) + header.first
            codes = np.concatenate([found for _, found in self._gathered(rows)])
            codes[block == 0] = 0
            file.write(codes.astype(self._dtype.newbyteorder("<"), copy=False).data)

    def adopt(self, path: Path) -> Segment:
        """The second half: map the file in place of the rows that it holds.

        What was dropped since it was written is dropped in it.

        Raises:
            StoreCorrupt: it is not what ``write`` wrote here.
        """
        part = _Part.opened(path)
        layout = self._layout
        kept = tuple(before for before in layout.parts if before.end <= part.first)
        if (kept[-1].end if kept else 0) != part.first or not layout.split <= part.end <= len(self):
            raise StoreCorrupt(f"{path.name} does not continue the rows that are there")
        tail = Column(self._dtype.type, self.dims, layout.tail.values[part.end - layout.split :])
        inside = np.flatnonzero((part.scales != 0) & (self._scales.values[part.span] == 0))
        self._layout = _Layout((*kept, part), tail, part.end)
        self._stale = np.concatenate((self._stale[self._stale < part.first], inside + part.first))
        return part.segment

    @classmethod
    def of(
        cls, dtype: CodeType, folder: Path, segments: Sequence[Segment], stale: ArrayLike = ()
    ) -> VectorRows:
        """The table whose files are given.

        Their sizes are looked at; their bytes must have been verified.

        Args:
            dtype: of the codes.
            folder: where they are.
            segments: what ``segments`` gave.
            stale: what ``stale`` gave.

        Raises:
            StoreCorrupt: a file is missing, cut short, of another kind, or does not continue the
                one before it.
        """
        table = cls(dtype)
        parts = tuple(_Part.opened(folder / one.name, one) for one in segments)
        if not parts:
            return table
        dims, split = parts[0].dims, 0
        for part in parts:
            if part.first != split or part.dims != dims or part.codes.dtype != dtype:
                raise StoreCorrupt(f"{part.segment.name} does not continue the rows before it")
            split = part.end
        table._layout = _Layout(parts, Column(dtype, dims), split)
        table._scales = Column(np.float32, values=np.concatenate([part.scales for part in parts]))
        table._dead = int(np.count_nonzero(table._scales.values == 0))
        gone = np.asarray(stale, dtype=np.int64)
        if len(gone) and not 0 <= gone.min() <= gone.max() < split:
            raise StoreCorrupt("rows are said to be dropped that no file has")
        table.drop(gone)
        return table


class _Layout(NamedTuple):
    """Where the codes are, replaced as a whole so that a reader sees one state.

    Attributes:
        split: number of rows in the parts, and the first row of the tail.
    """

    parts: tuple[_Part, ...]
    tail: Column[Any]
    split: int


@dataclass(frozen=True, slots=True)
class _Header:
    """What a segment file says of itself.

    Attributes:
        first: number of its first row in the table.
    """

    itemsize: int
    dims: int
    first: int
    rows: int

    @property
    def codes_start(self) -> int:
        end = _HEADER.size + 4 * self.rows
        return -(-end // _ALIGNMENT) * _ALIGNMENT

    @property
    def size(self) -> int:
        return self.codes_start + self.rows * self.dims * self.itemsize

    def packed(self) -> bytes:
        fields = (self.itemsize, self.dims, 0, self.first, self.rows)
        return _HEADER.pack(_MAGIC, _FORMAT, *fields)

    @classmethod
    def read(cls, file: BinaryIO) -> _Header:
        prefix = file.read(_HEADER.size)
        if len(prefix) < _HEADER.size:
            raise StoreCorrupt("it is cut short")
        magic, version, itemsize, dims, _, first, rows = _HEADER.unpack(prefix)
        if magic != _MAGIC or version != _FORMAT or itemsize not in (1, 2):
            raise StoreCorrupt("it is of another format")
        header = cls(itemsize, dims, first, rows)
        size = os.fstat(file.fileno()).st_size
        if not rows or not dims or size != header.size:
            raise StoreCorrupt(f"it has {size} bytes instead of {header.size}")
        return header


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A mapped segment.

    Attributes:
        scales: as they were written, mapped.
        codes: shape (rows, dims), mapped.
    """

    segment: Segment
    first: int
    scales: Rows
    codes: Codes

    @property
    def end(self) -> int:
        return self.first + len(self.codes)

    @property
    def dims(self) -> int:
        return int(self.codes.shape[1])

    @property
    def span(self) -> slice:
        return slice(self.first, self.end)

    @classmethod
    def opened(cls, path: Path, segment: Segment | None = None) -> _Part:
        try:
            with path.open("rb") as file:
                header = _Header.read(file)
                mapped = mmap.mmap(file.fileno(), header.size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise StoreCorrupt(f"{path.name} cannot be read: {error.strerror}") from error
        except StoreCorrupt as error:
            raise StoreCorrupt(f"{path.name}: {error}") from error
        if hasattr(mmap, "MADV_RANDOM"):  # single rows are read: what lies beside them is no use
            mapped.madvise(mmap.MADV_RANDOM)
        dtype = np.dtype(f"<i{header.itemsize}")
        count = header.rows * header.dims
        return cls(
            segment=segment or Segment.of(path),
            first=header.first,
            scales=np.frombuffer(mapped, "<f4", header.rows, _HEADER.size),
            codes=np.frombuffer(mapped, dtype, count, header.codes_start).reshape(-1, header.dims),
        )


def _first_to_write(layout: _Layout, end: int) -> int:
    """Where a new file should begin: before all files at the end that are no larger than it."""
    first = layout.split
    if first == end:
        return end
    for part in reversed(layout.parts):
        if part.end - part.first > end - first:
            break
        first = part.first
    return first


def _row_dots(rows: Rows, queries: Rows) -> Rows:
    """Inner product of each row with each query, one by one, shape (queries, rows).

    A product of matrix and vector would be split among BLAS's threads, which on a busy machine wait
    for each other (p95 of 16 ms instead of .1 for 1,740 rows), and would round a row in a way that
    depends on the rows around it.
    """
    products: Rows = np.matmul(rows[:, None, :], queries[:, None, :, None])[..., 0, 0]
    return products
