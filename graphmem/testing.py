"""Public doubles for tests, ours and yours: deterministic, offline, driven by plain data.

They satisfy the same protocols as the real parts and are used with the real store, index and block,
so that a test needs no mock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphmem.identity import normal_form
from graphmem.types import Extraction, Passage, Triple, Usage

__all__ = ["HashEmbedder", "ScriptedExtractor"]

TripleLike = Triple | tuple[str, str, str]


class HashEmbedder:
    """Bag-of-words vectors by feature hashing: texts that share words are similar, nothing else is.

    Args:
        dims: size of the vectors.
        name: the model's name as the store will know it.

    Attributes:
        calls: number of texts embedded so far, by ``embed`` and ``embed_query`` together.
    """

    def __init__(self, dims: int = 64, name: str = "hash") -> None:
        self.dims = dims
        self.calls = 0
        self._name = name
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name as the store knows it."""
        return self._name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array of shape (len(texts), dims); a text without words is a row of zeros."""
        with self._lock:
            self.calls += len(texts)
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in normal_form(text).split():
                code = crc32(word.encode())
                row[code % self.dims] += 1.0 if code & 0x10000 else -1.0
            length = float(np.linalg.norm(row))
            if length:
                row /= length
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Array of shape (dims,)."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector


class ScriptedExtractor:
    """Triples from a table: exact passage text → triples; a text not in it has nothing to learn.

    Args:
        script: passage text (or full text, with its title) → triples; or a function of the passage
            that returns triples, or raises, or returns an ``Extraction``.
        name: as kept with each fact.

    Attributes:
        batches: the passages of each call so far.
    """

    def __init__(
        self,
        script: Mapping[str, Iterable[TripleLike]]
        | Callable[[Passage], Iterable[TripleLike] | Extraction] = {},  # noqa: B006 - read only
        *,
        name: str = "scripted/1",
    ) -> None:
        self._script = script
        self._name = name
        self._lock = threading.Lock()
        self.batches: list[tuple[Passage, ...]] = []

    @property
    def name(self) -> str:
        """As kept with each fact."""
        return self._name

    @property
    def usage(self) -> Usage:
        """One call per batch, no tokens."""
        return Usage(calls=len(self.batches))

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """The scripted triples of each passage."""
        with self._lock:
            self.batches.append(tuple(passages))
        return [self._one(passage) for passage in passages]

    def _one(self, passage: Passage) -> Extraction:
        if callable(self._script):
            found = self._script(passage)
        else:
            found = self._script.get(passage.text, self._script.get(passage.full_text, ()))
        if isinstance(found, Extraction):
            return found
        triples = tuple(item if isinstance(item, Triple) else Triple(*item) for item in found)
        return Extraction(passage.id, triples)
