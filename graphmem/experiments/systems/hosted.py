"""What LlamaIndex's vector block is given: a store that keeps texts, and our embedder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryResult

from graphmem.types import Embedder

__all__ = ["HostEmbedding", "TextStore"]


class TextStore(SimpleVectorStore):
    """``SimpleVectorStore`` that keeps the texts as well, which the block insists on."""

    stores_text: bool = True
    _nodes: dict[str, BaseNode] = PrivateAttr(default_factory=dict)
    _found: list[BaseNode] = PrivateAttr(default_factory=list)

    @property
    def found(self) -> list[BaseNode]:
        """What the last query found, best first."""
        return self._found

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """As ``SimpleVectorStore``."""
        self._nodes.update((node.node_id, node) for node in nodes)
        return super().add(nodes, **options)

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """As ``SimpleVectorStore``, with the texts."""
        result = super().query(query, **options)
        result.nodes = [self._nodes[key] for key in result.ids or []]
        self._found = list(result.nodes)
        return result


class HostEmbedding(BaseEmbedding):
    """An ``Embedder`` as LlamaIndex wants it; ``milliseconds`` adds up what questions took."""

    milliseconds: float = 0.0
    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        start = time.perf_counter()
        vector: list[float] = self._embedder.embed_query(query).tolist()
        self.milliseconds += (time.perf_counter() - start) * 1e3
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embedder.embed(texts).tolist()
        return rows
