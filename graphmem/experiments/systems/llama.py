"""LlamaIndex's own memory blocks under test, each a real one, fed and asked as a host would.

A host hands messages over in flushes: the oldest turns of a session, until they have a number of
tokens. A turn is a message of a person and what follows it until the next; a document is a turn of
its own. Each scope of the data has a block of its own. Blocks know neither speakers nor times: who
speaks stands in front of the text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.memory import FactExtractionMemoryBlock, VectorMemoryBlock
from llama_index.core.utils import get_tokenizer

from graphmem.errors import ExtractionError, InvalidInput
from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.reading import as_told, sessions
from graphmem.experiments.systems.hosted import HostEmbedding, TextStore
from graphmem.experiments.systems.interface import Answer, Progress
from graphmem.extractors.llm import reply_usage
from graphmem.types import Embedder, Scope, Usage

__all__ = ["FLUSH_TOKENS", "FactBlock", "VectorBlock"]

T = TypeVar("T")

FLUSH_TOKENS = 3_000
"""Tokens of a flush in LlamaIndex's ``Memory`` by default (``token_flush_size``)."""

_PROTOCOL_ROLES = frozenset({"user", "assistant", "system", "tool"})


class VectorBlock:
    """``VectorMemoryBlock`` over ``SimpleVectorStore``, flushed turn by turn.

    The block makes one vector of a whole flush and hands back whole flushes, so the size of a flush
    decides all. A turn is the smallest that a host can be set to, and the best case: of the 3,000
    tokens of a default flush a small embedding model reads the first tenth, and two of them are
    eleven times this benchmark's token budget. Records of a flush that is found rank in their
    order.

    ``similarity_top_k`` (2 by default) is the number of records that is asked for.
    ``retrieval_context_window`` stays at 5 messages: a question comes alone, so it is the query. No
    session is named when asking: with one, the block would find nothing of any other session.

    Args:
        embedder: makes the vectors.
        flush_tokens: how many tokens a flush has at least; 1: one turn.
    """

    def __init__(self, embedder: Embedder, *, flush_tokens: int = 1) -> None:
        self._embedding = HostEmbedding(embedder)
        self._flush_tokens = flush_tokens
        self._blocks: dict[Scope, tuple[VectorMemoryBlock, TextStore]] = {}
        self._flushes: list[list[str]] = []

    @property
    def usage(self) -> Usage:
        """Nothing: no model is asked but the embedder."""
        return Usage()

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Hand all records to the blocks, one flush after the other."""
        self._blocks, self._flushes = {}, []
        _run(self._ingest(data, progress))

    async def _ingest(self, data: DataSet, progress: Progress) -> None:
        done = 0
        for scope, _, records in sessions(data):
            if scope not in self._blocks:
                store = TextStore()
                block = VectorMemoryBlock(vector_store=store, embed_model=self._embedding)
                self._blocks[scope] = block, store
            for flush in _flushes(records, self._flush_tokens):
                # The number of the flush in place of the session's: it comes back with the node.
                number = str(len(self._flushes))
                self._flushes.append([record.id for record in flush])
                await self._blocks[scope][0].aput(_messages(flush), session_id=number)
                done += len(flush)
                progress(done, len(data.records))

    def ask(self, question: Question, top_k: int) -> Answer:
        """The records of the flushes that the block finds."""
        if question.scope not in self._blocks:
            return Answer((), 0.0)
        block, store = self._blocks[question.scope]
        block.similarity_top_k = top_k
        self._embedding.milliseconds = 0.0
        _, spent = _run(_timed(block.aget([_asked(question)])))
        numbers = [int(node.metadata["session_id"]) for node in store.found]
        ranking = [record for number in numbers for record in self._flushes[number]]
        return Answer(tuple(ranking[:top_k]), spent - self._embedding.milliseconds)

    def close(self) -> None:
        """Let go of everything."""
        self._blocks, self._flushes = {}, []


class FactBlock:
    """``FactExtractionMemoryBlock``: all facts that a model made of the conversation, no ranking.

    The block asks its model at each flush and hands back its whole list of facts (50 at most: then
    the model condenses them) whatever is asked. A fact does not say where it is from, and
    condensing rewrites it, so there is nothing to rank and no recall of passages to measure: the
    ranking is empty. What can be measured is ``Answer.text``, the facts themselves (whether the
    answer stands in them, and their tokens), and ``usage``, what they have cost. Flushes are of
    LlamaIndex's default size, as that is what a user would pay for.

    Args:
        llm: any LLM of LlamaIndex.
        flush_tokens: how many tokens a flush has at least.

    Raises:
        InvalidInput: there is no model.
    """

    def __init__(self, llm: LLM | None, *, flush_tokens: int = FLUSH_TOKENS) -> None:
        if llm is None:
            raise InvalidInput(
                "the system fact_block reads facts with a model: pass llm=, any LLM of LlamaIndex"
            )
        self._llm = _Metered(llm)
        self._flush_tokens = flush_tokens
        self._blocks: dict[Scope, FactExtractionMemoryBlock] = {}

    @property
    def usage(self) -> Usage:
        """Calls and tokens of the model so far; a question costs none."""
        return self._llm.usage

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Hand all records to the blocks, one flush after the other.

        Raises:
            ExtractionError: the model failed.
        """
        self._blocks = {}
        _run(self._ingest(data, progress))

    async def _ingest(self, data: DataSet, progress: Progress) -> None:
        done = 0
        for scope, _, records in sessions(data):
            if scope not in self._blocks:
                self._blocks[scope] = FactExtractionMemoryBlock(llm=self._llm)
            for flush in _flushes(records, self._flush_tokens):
                try:
                    await self._blocks[scope].aput(_messages(flush))
                except Exception as error:  # every provider raises its own
                    raise ExtractionError(
                        f"the LLM failed: {type(error).__name__}: {error}"
                    ) from error
                done += len(flush)
                progress(done, len(data.records))

    def ask(self, question: Question, top_k: int) -> Answer:
        """No ranking, and all facts as text."""
        if question.scope not in self._blocks:
            return Answer((), 0.0)
        text, spent = _run(_timed(self._blocks[question.scope].aget([_asked(question)])))
        return Answer((), spent, text=text)

    def close(self) -> None:
        """Let go of everything."""
        self._blocks = {}


def _flushes(records: Sequence[Record], tokens: int) -> Iterator[list[Record]]:
    """The records of a session, cut before a turn where there are at least so many tokens."""
    count: Callable[[str], list[Any]] = get_tokenizer()
    flush: list[Record] = []
    size = 0
    for record in records:
        if size >= tokens and record.message.role in ("user", "document"):
            yield flush
            flush, size = [], 0
        flush.append(record)
        size += len(count(as_told(record)))
    if flush:
        yield flush


def _messages(records: Sequence[Record]) -> list[ChatMessage]:
    return [
        ChatMessage(role=_role(record.message.role), content=as_told(record)) for record in records
    ]


def _role(role: str) -> MessageRole:
    return MessageRole(role if role in _PROTOCOL_ROLES else "user")


def _asked(question: Question) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=question.text)


async def _timed(call: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result and its milliseconds."""
    start = time.perf_counter()
    result = await call
    return result, (time.perf_counter() - start) * 1e3


def _run(call: Coroutine[Any, Any, T]) -> T:
    """Run to the end, in a thread where this one has a running loop already (a notebook's)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, call).result()


class _Metered(CustomLLM):
    """Another LLM whose chats are counted."""

    _llm: LLM = PrivateAttr()
    _usage: Usage = PrivateAttr(default=Usage())

    def __init__(self, llm: LLM) -> None:
        super().__init__()
        self._llm = llm

    @property
    def usage(self) -> Usage:
        """Calls and tokens so far."""
        return self._usage

    @property
    def metadata(self) -> LLMMetadata:
        """The other LLM's."""
        return self._llm.metadata

    async def achat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponse:
        """As the other LLM."""
        response = await self._llm.achat(messages, **options)
        self._usage += reply_usage(messages, response)
        return response

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        """As the other LLM."""
        return self._llm.complete(prompt, formatted, **options)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **options: Any
    ) -> CompletionResponseGen:
        """As the other LLM."""
        return self._llm.stream_complete(prompt, formatted, **options)
