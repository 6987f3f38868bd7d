"""Typed use of the public surface. Checked by strict mypy (see test_wheel), never run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory
from numpy.typing import NDArray
from typing_extensions import assert_type

from graphmem import (
    Embedder,
    Extraction,
    Extractor,
    Fact,
    GraphMemError,
    GraphMemory,
    GraphMemoryBlock,
    Message,
    Passage,
    RankedPassage,
    Recall,
    RecallSettings,
    Receipt,
    Scope,
    Triple,
)
from graphmem.embedding import resolve
from graphmem.extractors import LLMExtractor, OpenAIExtractor, RulesExtractor
from graphmem.minilm import LocalEmbedder
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.types import Route, Stats


class MyExtractor:
    """Satisfies the protocol by its shape alone."""

    name = "mine/1"

    def extract(self, passages: Sequence[Passage]) -> list[Extraction]:
        return [Extraction(passage.id, (Triple("a", "b", "c"),)) for passage in passages]


class MyEmbedder:
    """Likewise."""

    @property
    def name(self) -> str:
        return "mine"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 2), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.zeros(2, dtype=np.float32)


def embedders(model: BaseEmbedding) -> list[Embedder]:
    assert_type(resolve(model), Embedder)
    return [MyEmbedder(), HashEmbedder(), LocalEmbedder("folder", threads=1), resolve("folder")]


def extractors(llm: LLM) -> list[Extractor]:
    scripted = ScriptedExtractor({"text": [("a", "b", "c")]})
    return [MyExtractor(), scripted, OpenAIExtractor("model"), LLMExtractor(llm), RulesExtractor()]


def engine(llm: LLM) -> None:
    with GraphMemory.open(
        "sqlite:///memory.db", scope=Scope("ana", "coach"), settings=RecallSettings()
    ) as memory:
        assert_type(memory, GraphMemory)
        now = datetime.now(timezone.utc)
        assert_type(memory.remember("text", session="s", said_at=now, speaker="Ana"), Receipt)
        assert_type(memory.remember([Message("text"), "more"]), Receipt)
        assert_type(memory.drain(timeout=1.0), int)
        found = memory.recall("question", top_k=3)
        assert_type(found, Recall)
        assert_type(found.route, Route)
        for hit in found:
            assert_type(hit, RankedPassage)
            assert_type(hit.passage, Passage)
            assert_type(hit.facts, tuple[Fact, ...])
        assert_type(memory.facts(subject="Ana"), list[Fact])
        assert_type(memory.stats(), Stats)
        assert_type(memory.forget(session="s"), Receipt)
    GraphMemory.open("memory.db", llm=llm, embed_model=MyEmbedder()).close()


async def block(messages: list[ChatMessage]) -> None:
    made = GraphMemoryBlock(uri="sqlite:///memory.db", scope="ana", extractor=MyExtractor())
    as_block: BaseMemoryBlock[str] = made
    memory = Memory.from_defaults(session_id="s", memory_blocks=[as_block])
    assert_type(await made.aremember(messages), Receipt)
    assert_type(await made.aremember(memory), Receipt)
    assert_type(await made.adrain(), int)
    assert_type(await made.arecall("question"), Recall)
    assert_type(made.recall("question"), Recall)


def errors() -> None:
    try:
        Scope("")
    except GraphMemError as error:
        assert_type(error, GraphMemError)
