"""Small data sets, systems and models for the tests of the harness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms import MockLLM
from llama_index.core.llms.callbacks import llm_chat_callback
from pydantic import Field

from graphmem.errors import InvalidInput
from graphmem.experiments import Answer, DataSet, Question, Record
from graphmem.experiments.systems import Parts, Progress
from graphmem.types import Message, Scope, Triple, Usage

ANA, BO, ALL = Scope("ana"), Scope("bo"), Scope("everything")


def said(
    key: str, scope: Scope, session: str, speaker: str, text: str, *triples: tuple[str, str, str]
) -> Record:
    """A message of a chat, said at eight on a day of May 2025 that its session names."""
    return Record(
        key,
        scope,
        session,
        Message(
            text,
            role="assistant" if speaker == "Assistant" else "user",
            speaker=speaker,
            said_at=datetime(2025, 5, int(session), 20, tzinfo=timezone.utc),
        ),
        tuple(Triple(*one) for one in triples),
    )


def written(key: str, title: str, text: str, *triples: tuple[str, str, str]) -> Record:
    """A document of the one scope."""
    message = Message(text, role="document", title=title)
    return Record(key, ALL, None, message, tuple(Triple(*one) for one in triples))


CHAT = DataSet(
    "two small chats",
    (
        said("a0", ANA, "1", "Ana", "Maja moved to Oslo", ("Maja", "moved to", "Oslo")),
        said("a1", ANA, "1", "Assistant", "Maja loves fish, I guess", ("Maja", "loves", "fish")),
        said("a2", ANA, "2", "Ana", "Oslo has a tram called Nora", ("Oslo", "has", "Nora")),
        said("a3", ANA, "2", "Ana", "it rained all day"),
        said("b0", BO, "1", "Bo", "Maja moved to Ghent", ("Maja", "moved to", "Ghent")),
    ),
    (
        Question("q0", ANA, "Where did Maja move?", ("a0",), answer="Oslo"),
        Question("q1", ANA, "What tram is where Maja moved to?", ("a0", "a2"), answer="Nora"),
        Question("q2", BO, "Where did Maja move?", ("b0",), answer="Ghent"),
        Question("q3", BO, "Who is Zoe?", ()),
    ),
)

DOCUMENTS = DataSet(
    "three small documents",
    (
        written("d0", "Lisbon", "It lies on the Tagus.", ("Lisbon", "lies on", "Tagus")),
        written("d1", "Tagus", "It rises in Spain.", ("Tagus", "rises in", "Spain")),
        written("d2", "Lisbon", "It lies on the Tagus."),
    ),
    (Question("q0", ALL, "Where does the river of Lisbon rise?", ("d0", "d1"), answer="Spain"),),
)


def unheard(done: int, total: int) -> None:
    """Progress that nobody watches."""


class Noting(MockLLM):
    """A chat model that takes each sentence of the messages before the prompt for a fact."""

    asked: list[Sequence[ChatMessage]] = Field(default_factory=list)
    is_down: bool = False

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        if self.is_down:
            raise TimeoutError("nobody answers")
        self.asked.append(messages)
        told = [message.content or "" for message in messages[:-1]]
        facts = "".join(f"<fact>{one}</fact>" for text in told for one in re.split(r"\n", text))
        return ChatResponse(
            message=ChatMessage(role="assistant", content=f"<facts>{facts}</facts>")
        )


class Backwards:
    """A system of one's own: the records of the scope, last first."""

    usage = Usage()

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.records: Sequence[Record] = ()

    def ingest(self, data: DataSet, progress: Progress) -> None:
        self.records = data.records
        progress(len(data.records), len(data.records))

    def ask(self, question: Question, top_k: int) -> Answer:
        found = [one.id for one in reversed(self.records) if one.scope == question.scope]
        return Answer(tuple(found[:top_k]), 0.1)

    def close(self) -> None:
        self.records = ()


class Inside:
    """Holds a factory."""

    Own = Backwards


def forgetful(parts: Parts) -> object:
    """Makes something that is no system."""
    return object()


def broken(parts: Parts) -> Backwards:
    """Fails."""
    raise RuntimeError("no disk")


def choosy(parts: Parts) -> Backwards:
    """Fails in graphmem's own words."""
    raise InvalidInput("choosy needs a model: pass llm=")


def unwilling() -> Backwards:
    """Takes no parts."""
    raise AssertionError
