"""The demo: a conversation of half a year, played through LlamaIndex's ``Memory``, then questions.

Nell talks to her assistant Kit in eight conversations. Each has a ``Memory`` of its own with a
chat window so small that it overflows; what falls out of it, and the rest at the end of each
conversation, reaches one ``GraphMemoryBlock``. The questions need what was said in one, two or
three of the conversations, and the last one has no answer in any.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from rich.console import Console
from rich.rule import Rule
from rich.text import Text
from sqlalchemy.ext.asyncio import create_async_engine

from graphmem.block import GraphMemoryBlock
from graphmem.display.plain import plain
from graphmem.display.terminal import say, show_recall, show_stats
from graphmem.errors import InvalidInput
from graphmem.memory import GraphMemory
from graphmem.progress import progress_bar
from graphmem.types import Embedder, Extractor, Recall, Stats

__all__ = ["Answer", "Conversation", "Line", "Question", "Session", "ask", "load", "play", "run"]

# A window of about six messages: LlamaIndex's default of 30,000 tokens would hand nothing over.
TOKEN_LIMIT = 400
TOKEN_FLUSH_SIZE = 150
TOP_K = 5
_HOPS = {0: "no answer in memory", 1: "one hop", 2: "two hops", 3: "three hops"}


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the conversation; ``key`` names those that a question needs."""

    role: str
    text: str
    said_at: datetime
    key: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: its id and its lines, a minute apart."""

    id: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, how many facts it must connect (0: no answer), and the keys of their lines."""

    text: str
    hops: int
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the demo plays, and what it asks."""

    user: str
    assistant: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def lines(self) -> list[Line]:
        """All lines in order."""
        return [line for session in self.sessions for line in session.lines]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question's recall, and the ids of the passages that should be in it."""

    question: Question
    recall: Recall
    gold: frozenset[str]

    @property
    def share(self) -> float:
        """Share of the gold passages that were recalled; 0 to 1, and 1 where there are none."""
        found = self.gold & {ranked.passage.id for ranked in self.recall.passages}
        return len(found) / len(self.gold) if self.gold else 1.0


def load() -> Conversation:
    """The conversation that ships with the package."""
    source = resources.files("graphmem").joinpath("demo_conversation.json")
    data = json.loads(source.read_text(encoding="utf-8"))
    return Conversation(
        user=data["user"],
        assistant=data["assistant"],
        sessions=tuple(_session(item) for item in data["sessions"]),
        questions=tuple(
            Question(item["text"], item["hops"], tuple(item["gold"])) for item in data["questions"]
        ),
    )


def _session(data: dict[str, Any]) -> Session:
    started = datetime.fromisoformat(data["started"])
    lines = (
        Line(
            role=item["role"],
            text=item["text"],
            said_at=started + timedelta(minutes=at),
            key=item.get("key", ""),
        )
        for at, item in enumerate(data["messages"])
    )
    return Session(data["id"], tuple(lines))


async def play(
    conversation: Conversation,
    block: GraphMemoryBlock,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Play the conversation through one ``Memory`` per session.

    Returns:
        How many messages fell out of a chat window; the rest was remembered at a session's end.
    """
    # The host's chat database. A Memory that makes its own leaves it open.
    engine = create_async_engine("sqlite+aiosqlite://")
    done, fell_out, total = 0, 0, len(conversation.lines)
    try:
        for session in conversation.sessions:
            memory = Memory.from_defaults(
                session_id=session.id,
                memory_blocks=[block],
                token_limit=TOKEN_LIMIT,
                token_flush_size=TOKEN_FLUSH_SIZE,
                async_engine=engine,
            )
            for line in session.lines:
                await memory.aput(_chat_message(line))
                done += 1
                progress(done, total)
            fell_out += len(await memory.aget_all(status=MessageStatus.ARCHIVED))
            # LlamaIndex hands over what the window cannot hold, never the last turns.
            await block.aremember(memory)
    finally:
        await engine.dispose()
    return fell_out


def _chat_message(line: Line) -> ChatMessage:
    stamp = {"timestamp": line.said_at.isoformat()}
    return ChatMessage(role=line.role, content=line.text, additional_kwargs=stamp)


def ask(conversation: Conversation, memory: GraphMemory, *, top_k: int = TOP_K) -> list[Answer]:
    """Ask the questions, each recalled alone."""
    keys = {line.text: line.key for line in conversation.lines if line.key}
    stored = memory.passages(conversation.user)
    ids = {keys[passage.text]: passage.id for passage in stored if passage.text in keys}
    return [
        Answer(
            question,
            memory.recall(question.text, scope=conversation.user, top_k=top_k),
            frozenset(ids.get(key, key) for key in question.gold),
        )
        for question in conversation.questions
    ]


def run(
    console: Console,
    *,
    uri: str | None = None,
    embed_model: Embedder | None = None,
    extractor: Extractor | None = None,
) -> list[Answer]:
    """Play, ask, and print all of it.

    Args:
        console: where to print.
        uri: the store to use and keep; ``None`` is a temporary one.
        embed_model: ``None`` is the bundled model.
        extractor: ``None`` is the offline rules.
    """
    conversation = load()
    with _store(uri) as place:
        reader = f"the model {extractor.name}" if extractor else "offline English rules"
        _introduce(console, conversation, reader, place if uri else "a temporary file")
        block = GraphMemoryBlock(
            uri=place,
            scope=conversation.user,
            assistant_name=conversation.assistant,
            embed_model=embed_model,
            extractor=extractor,
        )
        with closing(block):
            _must_be_alone(conversation, block.memory)
            _play_and_read(console, conversation, block)
            answers = ask(conversation, block.memory)
            for number, answer in enumerate(answers, 1):
                _show_answer(console, number, answer)
            _show_summary(console, answers, block.stats())
    return answers


def _must_be_alone(conversation: Conversation, memory: GraphMemory) -> None:
    """A store of the user's own that knows somebody of this name is no place for a play."""
    played = {session.id for session in conversation.sessions}
    if {passage.session for passage in memory.passages(conversation.user)} - played:
        raise InvalidInput(
            f"the store holds other memories of {conversation.user!r}, and the demo would mix with "
            "them: name another file with --uri"
        )


@contextmanager
def _store(uri: str | None) -> Iterator[str]:
    if uri is not None:
        yield uri
        return
    with tempfile.TemporaryDirectory(prefix="graphmem-") as folder:
        yield f"sqlite:///{Path(folder) / 'demo.db'}"


def _introduce(console: Console, conversation: Conversation, reader: str, place: str) -> None:
    lines = conversation.lines
    say(console, "graphmem demo", style="bold")
    say(
        console,
        f"{conversation.user} talks to {conversation.assistant}: {len(lines)} messages in "
        f"{len(conversation.sessions)} conversations, {lines[0].said_at:%B %Y} to "
        f"{lines[-1].said_at:%B %Y}. Each runs in a LlamaIndex Memory with a small window; "
        f"what falls out of it goes into the graph memory, kept in {plain(place)}. "
        f"Facts are read by {plain(reader)}.",
    )
    console.print()


def _play_and_read(console: Console, conversation: Conversation, block: GraphMemoryBlock) -> None:
    total = len(conversation.lines)
    started = time.perf_counter()
    with progress_bar("playing") as advance:
        fell_out = asyncio.run(play(conversation, block, advance))
    played = time.perf_counter()
    left = block.memory.drain(progress=True)
    read = time.perf_counter()
    # The first recall of a process loads the model and builds the index: no question's own cost.
    block.memory.recall(conversation.user)
    warm = time.perf_counter()
    waiting = f"; {left} items could not be read or embedded" if left else ""
    say(
        console,
        f"Played in {played - started:.1f} s: {fell_out} messages fell out of the window, "
        f"{total - fell_out} were kept at the end of a conversation. Reading and embedding took "
        f"{read - played:.1f} s more{waiting}. First recall, with loading: "
        f"{(warm - read) * 1e3:.0f} ms.",
    )
    console.print()
    say(
        console,
        "Below each question: the passages recalled for it, best first, each with its score; "
        "those that the answer needs are ticked.",
    )


def _show_answer(console: Console, number: int, answer: Answer) -> None:
    question = answer.question
    console.print()
    console.print(Rule(Text(f"{number} · {_HOPS[question.hops]}"), align="left", style="dim"))
    say(console, question.text, style="bold")
    show_recall(console, answer.recall, gold=answer.gold)
    if not question.gold:
        say(console, "Nobody said. These are the nearest passages, no answer.", style="dim")


def _show_summary(console: Console, answers: Sequence[Answer], stats: Stats) -> None:
    console.print()
    console.print(Rule(Text("what the memory holds"), align="left", style="dim"))
    usage = stats.usage
    show_stats(
        console,
        stats,
        (
            ("model calls", f"{usage.calls:,}"),
            ("model tokens", f"{usage.prompt_tokens:,} read, {usage.completion_tokens:,} written"),
            *_shares(answers),
        ),
    )


def _shares(answers: Sequence[Answer]) -> Iterator[tuple[str, str]]:
    for hops in (1, 2, 3):
        of_kind = [answer for answer in answers if answer.question.hops == hops]
        found = sum(round(answer.share * len(answer.gold)) for answer in of_kind)
        wanted = sum(len(answer.gold) for answer in of_kind)
        yield f"recalled, {_HOPS[hops]}", f"{found} of {wanted} passages in the first {TOP_K}"
