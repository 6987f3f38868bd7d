"""An embedder that keeps what it embedded in a folder, so that a bench embeds a set once."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmem import embedding
from graphmem.errors import InvalidInput
from graphmem.files import replacing
from graphmem.identity import content_id
from graphmem.types import Embedder

__all__ = ["CachedEmbedder", "embedder_of", "keep"]


class CachedEmbedder:
    """Another embedder's vectors, each text embedded once and kept on disk by ``save``.

    Args:
        embedder: makes the vectors that are missing; texts and questions must be embedded alike.
        folder: made where it is missing; holds one file a model.

    Raises:
        InvalidInput: the model's file is damaged.
    """

    def __init__(self, embedder: Embedder, folder: str | Path) -> None:
        self._embedder = embedder
        self._file = Path(folder) / _file_name(embedder.name)
        self._lock = threading.Lock()
        self._rows: dict[str, NDArray[np.float32]] = {}
        if self._file.is_file():
            self._rows = _load(self._file)
        self._saved = len(self._rows)

    @property
    def name(self) -> str:
        """The other embedder's."""
        return self._embedder.name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the other embedder."""
        ids = [content_id("t", text) for text in texts]
        missing = {key: text for key, text in zip(ids, texts, strict=True) if key not in self._rows}
        if missing:
            rows = self._embedder.embed(list(missing.values()))
            with self._lock:
                self._rows.update(zip(missing, rows, strict=True))
        elif not ids:
            return self._embedder.embed([])
        return np.stack([self._rows[key] for key in ids])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the other embedder."""
        row: NDArray[np.float32] = self.embed([text])[0]
        return row

    def save(self) -> None:
        """Write what is new; the file is whole or as it was."""
        with self._lock:
            if self._saved == len(self._rows):
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._file) as file:
                rows = np.stack(list(self._rows.values()))
                np.savez(file, ids=np.array(list(self._rows)), rows=rows)
            self._saved = len(self._rows)


def embedder_of(embed_model: Any, cache: str | Path | None) -> Embedder:
    """An embedder as ``GraphMemory.open`` takes one, with a folder for its vectors if one is named.

    Raises:
        InvalidInput, MissingDependency: it is none, or the folder's file is damaged.
    """
    embedder = embedding.resolve(embed_model)
    return embedder if cache is None else CachedEmbedder(embedder, cache)


def keep(embedder: Embedder) -> None:
    """Save what an embedder has for a folder, if it has one."""
    if isinstance(embedder, CachedEmbedder):
        embedder.save()


def _file_name(model: str) -> str:
    """A name that people can read, and that no two models share."""
    readable = re.sub(r"[^\w.-]+", "_", model)[:60]
    return f"{readable}-{content_id('model', model)[-12:]}.npz"


def _load(file: Path) -> dict[str, NDArray[np.float32]]:
    try:
        with file.open("rb") as opened, np.load(opened) as kept:
            return _by_id(kept["ids"], kept["rows"])
    except Exception as error:
        raise InvalidInput(f"the vectors in {file} are damaged ({error}): delete it") from error


def _by_id(ids: NDArray[Any], rows: NDArray[Any]) -> dict[str, NDArray[np.float32]]:
    if ids.dtype.kind != "U" or ids.ndim != 1 or rows.dtype != np.float32 or rows.ndim != 2:
        raise ValueError("these are no vectors of texts")
    return dict(zip(ids.tolist(), rows, strict=True))
