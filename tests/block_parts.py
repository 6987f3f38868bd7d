"""Blocks, scripted agents and listeners for the tests of the LlamaIndex adapter."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.tools import FunctionTool
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.event_handlers import BaseEventHandler
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from builders import stated
from graphmem import GraphMemoryBlock
from graphmem.testing import HashEmbedder, ScriptedExtractor

_numbers = itertools.count()

# Agents read deprecated attributes of their own class.
runs_agents = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


class PlainEmbedder(HashEmbedder):
    """A HashEmbedder that can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (PlainEmbedder, (self.dims, self.name))


class SlowEmbedder(HashEmbedder):
    """Embeds a question when its gate is opened, or after ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.gate = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> Any:
        self.entered.set()
        self.gate.wait(10)
        return super().embed_query(text)


class PlainExtractor(ScriptedExtractor):
    """Reads what ``builders.stated`` reads, and can be pickled."""

    def __init__(self) -> None:
        super().__init__(stated)

    def __reduce__(self) -> tuple[Any, ...]:
        return (PlainExtractor, ())


class WatchedBlock(GraphMemoryBlock):
    """A block that notes what each call of the host saw and got."""

    _seen: list[tuple[list[str], str]] = PrivateAttr(default_factory=list)

    async def aget(self, messages: list[ChatMessage] | None = None, **options: Any) -> str:
        text = await super().aget(messages, **options)
        self._seen.append(([message.role.value for message in messages or []], text))
        return text


def open_block(path: Path, kind: type[GraphMemoryBlock] = GraphMemoryBlock, **options: Any) -> Any:
    """A block on a file with the public doubles, unless told otherwise."""
    options.setdefault("embed_model", PlainEmbedder())
    if "llm" not in options:
        options.setdefault("extractor", PlainExtractor())
    options.setdefault("scope", "ana")
    return kind(uri=f"sqlite:///{path}", **options)


def said(text: str, role: str = "user", **extra: Any) -> ChatMessage:
    return ChatMessage(role=role, content=text, additional_kwargs=extra)


def host(*blocks: Any, session: str = "s1", **options: Any) -> Memory:
    """A real Memory, its chat in a file of its own beside the store of the (first) graph block.

    Connections are closed after each use: those of the in-memory default are closed by nobody.
    """
    uri = next(block.uri for block in blocks if isinstance(block, GraphMemoryBlock))
    path = Path(uri.removeprefix("sqlite:///")).parent / f"chat-{next(_numbers)}.db"
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}", poolclass=NullPool)
    chat = SQLAlchemyChatStore(table_name="chat", async_engine=engine)
    return Memory.from_defaults(
        session_id=session, memory_blocks=list(blocks), chat_store=chat, **options
    )


def flushing(*blocks: Any, session: str = "s1") -> Memory:
    """A Memory with so small a window that only the last turn stays in it."""
    return host(*blocks, session=session, chat_history_token_ratio=1e-4, token_flush_size=10)


class Script:
    """An agent whose model calls a tool ``rounds`` times in each turn and then answers.

    Attributes:
        prompts: the messages of each model call so far.
    """

    def __init__(self, rounds: int = 0, answer: str = "Noted.") -> None:
        self.rounds = rounds
        self.answer = answer
        self.prompts: list[list[ChatMessage]] = []

    def reply(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.prompts.append(list(messages))
        last_user = max(i for i, message in enumerate(messages) if message.role == "user")
        done = sum(message.role == "tool" for message in messages[last_user:])
        if done >= self.rounds:
            return ChatMessage(role="assistant", content=self.answer)
        call = ToolCallBlock(tool_call_id=f"call-{done}", tool_name="look_up", tool_kwargs={})
        return ChatMessage(role="assistant", blocks=[call])

    def agent(self) -> FunctionAgent:
        def look_up() -> str:
            """Look something up."""
            return "The tool moved to Atlantis."

        return FunctionAgent(
            llm=MockFunctionCallingLLM(response_generator=self.reply),
            tools=[FunctionTool.from_defaults(fn=look_up)] if self.rounds else [],
            system_prompt="You are kind.",
        )

    def memories(self) -> list[str]:
        """What each model call was told by the memory."""
        return [
            "".join(message.content or "" for message in prompt if message.role == "system")
            for prompt in self.prompts
        ]


class _Listener(BaseEventHandler):
    events: list[BaseEvent]

    def handle(self, event: BaseEvent, **_: Any) -> None:
        self.events.append(event)


@contextmanager
def heard() -> Iterator[list[Any]]:
    """The events that blocks send out meanwhile."""
    dispatcher = get_dispatcher("graphmem.block")
    listener = _Listener.model_construct(events=[])
    dispatcher.add_event_handler(listener)
    try:
        yield listener.events
    finally:
        dispatcher.event_handlers.remove(listener)


def texts(block: GraphMemoryBlock, session: str | None = None) -> list[str]:
    return [passage.text for passage in block.memory.passages(block.scope, session=session)]
