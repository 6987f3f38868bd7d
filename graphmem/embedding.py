"""From whatever the user has to an ``Embedder``: one door, one check of what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmem.errors import EmbeddingError, InvalidInput
from graphmem.identity import clean_text
from graphmem.minilm import WAYS_OUT, LocalEmbedder
from graphmem.types import Embedder

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

__all__ = ["LlamaIndexEmbedder", "checked", "resolve"]


def resolve(embed_model: Embedder | BaseEmbedding | str | Path | None = None) -> Embedder:
    """The embedder that ``embed_model`` stands for.

    None is the bundled offline model, a path is a folder with a model of one's own, a LlamaIndex
    embedding is wrapped, and an embedder is returned as it is.

    Raises:
        MissingDependency: nothing was passed and the extra ``local`` is not installed.
        NotFound: the folder is not there.
        InvalidInput: it is none of these.
    """
    if embed_model is None:
        return LocalEmbedder()
    if isinstance(embed_model, str | Path):
        return LocalEmbedder(embed_model)
    if isinstance(embed_model, Embedder) and not isinstance(embed_model, type):
        return embed_model
    from llama_index.core.base.embeddings.base import BaseEmbedding

    if isinstance(embed_model, BaseEmbedding):
        return LlamaIndexEmbedder(embed_model)
    raise InvalidInput(f"embed_model cannot be of type {type(embed_model).__name__}. {WAYS_OUT}")


def checked(
    vectors: ArrayLike, count: int, *, name: str, dims: int | None = None
) -> NDArray[np.float32]:
    """The vectors of ``count`` texts as unit rows of float32; a row of zeros stays zero.

    Args:
        vectors: what an embedder returned: numbers of shape (count, dims), of any length.
        count: how many texts were embedded.
        name: the embedder's, for the message.
        dims: their known size; None accepts any.

    Raises:
        EmbeddingError: another shape, or a number that is not finite.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} returned vectors of several sizes, or no numbers") from error
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EmbeddingError(f"{name} returned shape {rows.shape} for {count} texts")
    if dims is not None and rows.shape[1] != dims:
        raise EmbeddingError(f"{name} returned {rows.shape[1]} dimensions, and {dims} before")
    if not np.isfinite(rows).all():
        raise EmbeddingError(f"{name} returned numbers that are not finite")
    # Scaled by the largest number first: the square of a very large or small one leaves the range.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return unit.astype(np.float32)


class LlamaIndexEmbedder:
    """Any LlamaIndex embedding as an ``Embedder``, called synchronously, its vectors checked.

    Blank texts are not sent (servers refuse them); their rows are zero.

    Args:
        model: the LlamaIndex embedding.
    """

    def __init__(self, model: BaseEmbedding) -> None:
        self._model = model
        self._dims: int | None = None

    @property
    def name(self) -> str:
        """Class and model name: "OpenAIEmbedding:text-embedding-3-small"."""
        return f"{type(self._model).__name__}:{self._model.model_name}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array of shape (len(texts), dims), float32; rows have length 1, or 0 for blank texts.

        Raises:
            EmbeddingError: the model raised, or its vectors do not fit the texts.
        """
        cleaned = [clean_text(text) for text in texts]
        places = [place for place, text in enumerate(cleaned) if text.strip()]
        sent = [cleaned[place] for place in places]
        rows = self._ask(self._model.get_text_embedding_batch, sent) if sent else None
        result = np.zeros((len(texts), self._size()), dtype=np.float32)
        if rows is not None:
            result[places] = rows
        return result

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Array of shape (dims,), as ``embed``; many models read questions another way."""
        cleaned = clean_text(text)
        if not cleaned.strip():
            return np.zeros(self._size(), dtype=np.float32)
        row: NDArray[np.float32] = self._ask(self._queries, [cleaned])[0]
        return row

    def _queries(self, texts: list[str]) -> list[list[float]]:
        return [self._model.get_query_embedding(text) for text in texts]

    def _ask(
        self, model: Callable[[list[str]], list[list[float]]], texts: list[str]
    ) -> NDArray[np.float32]:
        try:
            vectors = model(texts)
        except Exception as error:  # whatever a user's model and its server may raise
            raise EmbeddingError(f"{self.name} failed: {error}") from error
        rows = checked(vectors, len(texts), name=self.name, dims=self._dims)
        self._dims = rows.shape[1]
        return rows

    def _size(self) -> int:
        """Dimensions; a model that has embedded nothing yet is asked for one word."""
        if self._dims is None:
            self._ask(self._queries, ["size"])
        return self._dims or 0
