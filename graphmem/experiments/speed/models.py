"""What reads a generated world: an embedder and an extractor that cost next to nothing.

Both add up the processor time they take, to be left out of what is measured.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphmem.types import Extraction, Passage, Triple

__all__ = ["ClauseExtractor", "WordEmbedder"]

_WORD = re.compile(r"\w+")
_NAME = r"[A-Z]\w*(?: [A-Z]\w*)*"
_SUBJECT = re.compile(_NAME)
_CLAUSE = re.compile(rf"\b([a-z]+) ({_NAME})")
_ROWS = 1 << 13
_ROW_BITS = 13


class _Meter:
    """Seconds of processor time, of whatever thread."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                self.seconds += time.thread_time() - start


class WordEmbedder:
    """Texts that share words are near: a word is the sum of two rows of a table of Gaussians.

    Args:
        dims: size of the vectors.
    """

    name = "words/1"

    def __init__(self, dims: int = 384) -> None:
        self.dims = dims
        self._table = np.random.default_rng(0).standard_normal((_ROWS, dims), dtype=np.float32)
        self._meter = _Meter()

    @property
    def seconds(self) -> float:
        """Processor time so far."""
        return self._meter.seconds

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array of shape (len(texts), dims); a text without words is a row of zeros."""
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        with self._meter.running():
            for row, text in zip(rows, texts, strict=True):
                codes = np.array([crc32(word.encode()) for word in _WORD.findall(text.lower())])
                if codes.size:
                    both = np.concatenate([codes % _ROWS, (codes >> _ROW_BITS) % _ROWS])
                    row[:] = self._table[both].sum(axis=0)
                    row /= np.linalg.norm(row)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Array of shape (dims,)."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector


class ClauseExtractor:
    """Reads sentences as ``World`` makes them: a name, then a verb and a name, several times."""

    name = "clauses/1"

    def __init__(self) -> None:
        self._meter = _Meter()

    @property
    def seconds(self) -> float:
        """Processor time so far."""
        return self._meter.seconds

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """The clauses of each passage."""
        with self._meter.running():
            return [Extraction(one.id, tuple(_triples(one.text))) for one in passages]


def _triples(text: str) -> Iterator[Triple]:
    for sentence in text.split("."):
        subject = _SUBJECT.match(sentence.strip())
        if subject is not None:
            for verb, end in _CLAUSE.findall(sentence):
                yield Triple(subject[0], verb, end)
