"""The vectors of one kind of thing, by its position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import EmbeddingError
from graphmem.index.columns import Column
from graphmem.index.lists import Bools, Floats, Ints
from graphmem.index.saving import Segment
from graphmem.index.search import VectorSearch
from graphmem.index.vectors import VectorRows

__all__ = ["Senses"]

_Rows = NDArray[np.float32]
_Code = type[np.int16] | type[np.int8]

# A vector that comes again is the same one if no number is further off than its code may be.
_SAME = {np.int16: 1e-4, np.int8: 1e-2}


class Senses:
    """Which row of a vector table belongs to which position; no row, no sense: a cosine of 0.

    Args:
        code: what numbers are rounded to.
        is_searched: whether the nearest are looked for among all.
    """

    def __init__(self, code: _Code, *, is_searched: bool = False) -> None:
        self._code = code
        self._same = _SAME[code]
        self._rows = VectorRows(code)
        self._search = VectorSearch() if is_searched else None
        self._row = Column(np.int32)
        self._owner = Column(np.int32)

    def __len__(self) -> int:
        """Number of vectors."""
        return len(self._rows) - self._rows.dead

    @property
    def dims(self) -> int:
        """Numbers of a vector; 0 before the first."""
        return self._rows.dims

    @property
    def nbytes(self) -> int:
        """Memory in bytes, without what is mapped from files."""
        search = 0 if self._search is None else self._search.nbytes
        return self._rows.nbytes + self._row.nbytes + self._owner.nbytes + search

    def check(self, ids: Sequence[str], vectors: _Rows) -> None:
        """Check vectors that are to be put.

        Raises:
            EmbeddingError: wrong shape or size, or values that are not finite.
        """
        if len(ids):
            rows = self._rows.checked(vectors)
            if len(rows) != len(ids):
                raise EmbeddingError(f"{len(ids)} vectors expected, got {len(rows)}")

    def reserve(self, size: int) -> None:
        """There are so many positions."""
        self._row.resize(size, -1)

    def has(self, positions: Ints) -> Bools:
        """Which of them have a vector."""
        return self._row.values[positions] >= 0

    def put(self, positions: Ints, vectors: _Rows) -> Ints:
        """Give positions a vector, in place of the one they have.

        Returns:
            The positions that had none, or another one.
        """
        known = np.nonzero(self.has(positions))[0]
        same = np.zeros(len(positions), dtype=np.bool_)
        if len(known):
            off = np.abs(self.take(positions[known]) - vectors[known]).max(axis=1)
            same[known] = off <= self._same
        positions, vectors = positions[~same], vectors[~same]
        if len(positions):
            self.drop(positions)
            first = self._rows.append(vectors)
            if self._search is not None:
                self._search.add(vectors)
            self._row.values[positions] = np.arange(first, first + len(positions))
            self._owner.append(positions)
        return positions

    def drop(self, positions: Ints) -> None:
        """Forget the vectors of positions."""
        rows = self._row.values[positions].astype(np.int64)
        rows = rows[rows >= 0]
        if len(rows):
            self._rows.drop(rows)
            self._owner.values[rows] = -1
            self._row.values[positions] = -1

    def cosines(self, positions: Ints, queries: _Rows) -> Floats:
        """Shape (queries, positions); 0 where there is no vector."""
        if not self.dims:
            return np.zeros((len(queries), len(positions)))
        return self._rows.dots(self._row.values[positions].astype(np.int64), queries)

    def take(self, positions: Ints) -> _Rows:
        """Shape (positions, dims), zeros where there is none or the position is -1."""
        if not len(self._row):
            return np.zeros((len(positions), self.dims), dtype=np.float32)
        rows = np.where(positions >= 0, self._row.values[positions], -1)
        return self._rows.take(rows.astype(np.int64))

    def nearest(self, query: _Rows, count: int) -> Ints:
        """The ``count`` nearest positions, nearest first."""
        if self._search is None or not self.dims:
            return np.zeros(0, dtype=np.int64)
        rows, _ = self._search.search(query, count, self._rows)
        return self._owner.values[rows].astype(np.int64)

    def near(self, positions: Ints, threshold: float) -> tuple[Ints, Ints, Floats]:
        """(which of ``positions``, another one, cosine) for all pairs of at least a threshold."""
        if self._search is None or not self.dims or not len(positions):
            none = np.zeros(0, dtype=np.int64)
            return none, none, np.zeros(0)
        which, rows, cosines = self._search.near(self.take(positions), threshold, self._rows)
        others = self._owner.values[rows].astype(np.int64)
        is_other = (others >= 0) & (others != positions[which])
        return which[is_other], others[is_other], cosines[is_other]

    # -- files -----------------------------------------------------------------------------------

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The files in which vectors are."""
        return self._rows.segments

    def write(self, path: Path, *, whole: bool) -> bool:
        """Write the vectors that are in no file, or all; changes nothing, may run beside readers.

        Returns:
            Whether there was anything to write; then ``adopt`` it.
        """
        return self._rows.write(path, whole=whole)

    def adopt(self, path: Path) -> None:
        """Read vectors from the file that was written from now on."""
        self._rows.adopt(path)

    @property
    def wants_repack(self) -> bool:
        """Whether many vectors are dropped, or are unlike those that the codes were made for."""
        return self._search is not None and self._search.wants_repack(self._rows)

    def repacked(self) -> VectorSearch:
        """A search without the dropped ones; for ``swap``. May run beside readers."""
        return VectorSearch.built(self._rows)

    def swap(self, search: VectorSearch) -> None:
        """Search with another one from now on."""
        search.catch_up(self._rows)
        self._search = search

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is in no file, copied; ``load`` takes it back."""
        names = np.array([one.name.encode() for one in self.segments], dtype="S64")
        found: dict[str, NDArray[Any]] = {
            "row": self._row.values.copy(),
            "owner": self._owner.values.copy(),
            "stale": self._rows.stale.copy(),
            "files": names,
        }
        if self._search is not None:
            found |= {f"search.{key}": one for key, one in self._search.arrays().items()}
        return found

    def load(
        self, arrays: Mapping[str, NDArray[Any]], folder: Path, segments: Sequence[Segment]
    ) -> None:
        """Take over what ``arrays`` gave and the files in a folder.

        Raises:
            StoreCorrupt: they do not fit together.
        """
        names = {name.decode() for name in arrays["files"].tolist()}
        own = [one for one in segments if one.name in names]
        self._rows = VectorRows.of(self._code, folder, own, arrays["stale"])
        self._row = Column(np.int32, values=arrays["row"])
        self._owner = Column(np.int32, values=arrays["owner"])
        if self._search is not None:
            found = {key[7:]: one for key, one in arrays.items() if key.startswith("search.")}
            self._search = VectorSearch.of(found)
