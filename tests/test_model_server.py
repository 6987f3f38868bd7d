"""The whole path with a model behind HTTP: host, block, queue, openai SDK, and a server that dies.

The quick tests talk to a scripted server. Those marked ``llm`` talk to a real model: they need the
environment variable ``GRAPHMEM_TEST_SERVER``, a shell command that prints the base URL of an
OpenAI-compatible server on its first line and serves until it is ended. A model of 1.5 billion
parameters does; one of 0.5 repeats itself without end.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import ChatMessage
from llama_index.core.utils import get_tokenizer

from block_parts import heard, host, open_block, said
from builders import open_memory
from graphmem import GraphMemoryBlock, demo
from graphmem.block import IngestEvent
from graphmem.extractors import OpenAIExtractor
from graphmem.store import Store
from graphmem.types import Extraction, Passage
from model_server import ModelServer, Reply, completion, serving, shown

CONVERSATION = demo.load()
HALF = len(CONVERSATION.sessions) // 2
FIRST_HALF = replace(CONVERSATION, sessions=CONVERSATION.sessions[:HALF])
SECOND_HALF = replace(CONVERSATION, sessions=CONVERSATION.sessions[HALF:])


class NotingExtractor(OpenAIExtractor):
    """Counts how often each passage was read."""

    def __init__(self, base_url: str, **options: Any) -> None:
        super().__init__("any", base_url, **options)
        self.read: Counter[str] = Counter()

    def extract(self, passages: Sequence[Passage]) -> list[Extraction]:
        found = super().extract(passages)
        self.read.update(one.passage_id for one in found if one.error is None)
        return found


class FlushedBlock(GraphMemoryBlock):
    """Notes what the host flushes."""

    _flushes: list[list[str]] = PrivateAttr(default_factory=list)

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        self._flushes.append([message.content or "" for message in messages])
        await super().aput(messages, from_short_term_memory, session_id)


def impatient(server: ModelServer, **options: Any) -> NotingExtractor:
    return NotingExtractor(server.base_url, retries=1, backoff=0.01, **options)


def opened(path: Path, extractor: OpenAIExtractor, **options: Any) -> Any:
    """The demo's block."""
    return open_block(
        path,
        scope=CONVERSATION.user,
        assistant_name=CONVERSATION.assistant,
        extractor=extractor,
        **options,
    )


def naming_model(request: dict[str, Any]) -> Reply:
    """Says of each message that its speaker names what it writes with a capital."""
    triples = [
        {"source": line["label"], "subject": line["speaker"], "predicate": "names", "object": name}
        for line in shown(request)
        if "label" in line
        for name in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", line["text"])
    ]
    return completion(json.dumps({"triples": triples}))


def labelled(requests: Sequence[dict[str, Any]]) -> Counter[str]:
    """The texts that requests ask to read, with the number of times they do."""
    return Counter(
        line["text"] for request in requests for line in shown(request) if "label" in line
    )


def stored(events: Sequence[Any]) -> int:
    """How often the block was handed messages that it had not known."""
    return sum(isinstance(event, IngestEvent) and event.stored > 0 for event in events)


# -- calls per flush -----------------------------------------------------------------------------

CHAT = "so the dog from next door ran off with my left shoe again and"
PROSE = "the committee was told that estimates of costs had to be made on a better basis"


def count(text: str) -> int:
    """As the host counts."""
    return len(get_tokenizer()(text))


def message_of(tokens: int, number: int, words: str = CHAT) -> str:
    """A message of exactly so many tokens, unlike the others."""
    text, left = f"{number}:", tokens - count(f"{number}:")
    sizes = {word: count(f" {word}") for word in words.split()}
    for word in words.split() * tokens:
        if sizes[word] > left:
            break
        text, left = f"{text} {word}", left - sizes[word]
    return text + " a" * left


def chat_of(sizes: Sequence[int], words: str) -> list[ChatMessage]:
    roles = ("user", "assistant")
    return [
        said(message_of(size, number, words), roles[number % 2])
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([75] * 40, CHAT),
        ([75] * 39 + [375], CHAT),
        ([75] * 39 + [375], PROSE),
        ([1_500, 1_500], PROSE),
        ([30] * 100, CHAT),
    ],
    ids=["40 messages", "3,300 tokens", "long words", "two messages", "100 messages"],
)
async def test_a_flush_is_one_call(tmp_path: Path, sizes: list[int], words: str) -> None:
    with serving(naming_model) as server:
        block = open_block(tmp_path / "m.db", FlushedBlock, extractor=impatient(server))
        memory = host(block, token_limit=5_000)  # of which 3,500 for the chat
        for message in [*chat_of(sizes, words), said(message_of(3_550 - sum(sizes), 999))]:
            await memory.aput(message)
        assert await block.adrain(60) == 0
        assert [[count(text) for text in flush] for flush in block._flushes] == [sizes]
        assert server.calls == 1
        stats = block.stats()
        assert (stats.messages, stats.pending, stats.usage.calls) == (len(sizes), 0, 1)
        block.close()


async def test_the_demo_costs_at_most_a_call_per_flush_and_shows_what_it_used(
    tmp_path: Path,
) -> None:
    with serving(naming_model) as server, heard() as events:
        block = opened(tmp_path / "m.db", impatient(server))
        await demo.play(CONVERSATION, block)
        assert await block.adrain(60) == 0
        stats = block.stats()
        block.close()
    assert 0 < server.calls <= stored(events)
    assert stats.passages == len(CONVERSATION.lines)
    assert stats.usage.calls == server.calls
    assert stats.usage.prompt_tokens == 100 * server.calls
    assert stats.usage.completion_tokens == 10 * server.calls
    assert (stats.pending, stats.failed, stats.unembedded, stats.last_error) == (0, 0, 0, "")
    assert stats.facts > 20
    assert labelled(server.requests) == Counter(line.text for line in CONVERSATION.lines)


# -- a server that dies --------------------------------------------------------------------------


def dying_at(text: str) -> Callable[[dict[str, Any]], Reply]:
    """The naming model until it is shown this text: then no call gets an answer any more."""
    dead: list[bool] = []

    def answer(request: dict[str, Any]) -> Reply:
        if dead or text in labelled([request]):
            dead.append(True)
            return Reply(hangs_up=True)
        return naming_model(request)

    return answer


async def test_a_server_that_dies_half_way_costs_no_passage(tmp_path: Path) -> None:
    last_words = FIRST_HALF.sessions[-1].lines[0].text
    with serving(dying_at(last_words)) as first, heard() as events:
        extractor = impatient(first)
        block = opened(tmp_path / "m.db", extractor)
        await demo.play(FIRST_HALF, block)
        assert await block.adrain(60) > 0
    read_before = len(extractor.read)
    assert 0 < read_before < len(FIRST_HALF.lines)

    with heard() as later:  # nobody listens at the port now
        await demo.play(SECOND_HALF, block)
        assert await block.adrain(60) > 0
    stats = block.stats()
    assert stats.passages == len(CONVERSATION.lines)
    assert stats.pending == stats.passages - read_before
    assert stats.failed > 0
    assert stats.faults["extraction"] > 0
    assert first.base_url in stats.last_error
    assert "is it running" in stats.last_error
    assert len(block.recall("Where does Aunt Vera live?")) > 0  # by words and vectors

    with serving(naming_model, port=first.port) as second:
        assert await block.adrain(60) == 0
        stats = block.stats()
        block.close()
    assert second.base_url == first.base_url
    assert (stats.pending, stats.failed, stats.unembedded) == (0, 0, 0)
    assert stats.usage.calls <= stored([*events, *later])
    assert extractor.read == Counter(dict.fromkeys(extractor.read, 1))
    assert len(extractor.read) == stats.passages
    assert labelled(second.requests).keys() | labelled(first.requests).keys() == {
        line.text for line in CONVERSATION.lines
    }


# Remembers one text, waits until its extraction is on its way, and ends.
ENDING = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from builders import open_memory
from graphmem.extractors import OpenAIExtractor
memory = open_memory(Path({file!r}), extractor=OpenAIExtractor("any", {url!r}))
memory.remember("Maja moved to Oslo")
print("remembered", flush=True)
sys.stdin.readline()
{ending}
"""


@contextmanager
def ending(path: Path, url: str, how: str) -> Iterator[subprocess.Popen[str]]:
    script = ENDING.format(path=sys.path, file=str(path), url=url, ending=how)
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen([sys.executable, "-c", script], text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_server_that_never_answers_holds_up_no_exit(tmp_path: Path) -> None:
    files = {"memory.close()": tmp_path / "closed.db", "": tmp_path / "left.db"}
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        processes = [stack.enter_context(ending(file, url, how)) for how, file in files.items()]
        for _ in processes:
            stack.enter_context(silent.accept()[0])  # a call comes in, and that is all
        started = time.monotonic()
        for process in processes:
            print(file=process.stdin, flush=True)
        for process in processes:
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out, err) == (0, "remembered\n", "")
        assert time.monotonic() - started < 15
    for file in files.values():
        with closing(Store.open(file)) as store:
            assert store.pending_count(work="extract") == 1
        with open_memory(file) as memory:  # what the ended process had claimed is free
            assert memory.drain(10) == 0
            assert len(memory.facts()) == 2


# -- a real model --------------------------------------------------------------------------------

_PATIENCE = 1_800.0  # seconds for one call: a model on a busy machine is slow


@contextmanager
def real_server(folder: Path) -> Iterator[RealServer]:
    """The server that ``GRAPHMEM_TEST_SERVER`` starts, for the time of the block at most."""
    command = os.environ.get("GRAPHMEM_TEST_SERVER")
    if not command:
        pytest.fail(
            "set GRAPHMEM_TEST_SERVER to a shell command that prints the base URL of an "
            "OpenAI-compatible server on its first line and serves until it is ended"
        )
    said_to = folder / "server.txt"
    with said_to.open("w") as out:
        process = subprocess.Popen(command, shell=True, stdout=out, start_new_session=True)
    server = RealServer(process)
    try:
        deadline = time.monotonic() + _PATIENCE  # a first start may fetch a model
        while "\n" not in (text := said_to.read_text()):
            assert process.poll() is None, f"{command!r} ended with code {process.returncode}"
            assert time.monotonic() < deadline, f"{command!r} printed no line"
            time.sleep(0.1)
        server.base_url = text.splitlines()[0].strip()
        assert server.base_url.startswith("http"), f"{text!r} is no base URL"
        yield server
    finally:
        server.kill()


@dataclass
class RealServer:
    """A model server in a process group of its own."""

    process: subprocess.Popen[bytes]
    base_url: str = ""
    is_killed: bool = False

    def kill(self) -> None:
        """End it and all that it started, at once."""
        if not self.is_killed:
            self.is_killed = True
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def patient(server: RealServer) -> NotingExtractor:
    """For a small model: batches that fit a context of 8,192 tokens with their reply.

    Now and then it repeats itself until it is stopped: sooner than by default.
    """
    faulthandler.cancel_dump_traceback_later()  # nothing hangs: a model takes its time
    return NotingExtractor(
        server.base_url, timeout=_PATIENCE, retries=1, batch_tokens=500, max_output_tokens=3_000
    )


@pytest.mark.llm
def test_a_real_model_reads_a_few_messages(tmp_path: Path) -> None:
    lines = ["My sister Clara lives in Lisbon.", "Haha, good night!", "She works as a nurse."]
    passages: list[Passage] = []
    for n, text in enumerate(lines):
        before = tuple(passages)
        passages.append(Passage(f"p{n}", f"m{n}", text, speaker="Maya", before=before))
    with real_server(tmp_path) as server, closing(patient(server)) as extractor:
        found = extractor.extract(passages)
        assert extractor.usage.calls == 1
        assert extractor.usage.completion_tokens > 0
    assert [each.error for each in found] == [None, None, None]
    assert ("Clara", "Lisbon") in {(t.subject, t.object) for each in found for t in each.triples}


@pytest.mark.llm
async def test_a_real_server_that_is_killed_half_way_costs_no_passage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    total = len(CONVERSATION.lines)
    with heard() as events, real_server(tmp_path) as server, closing(patient(server)) as first:
        block = opened(tmp_path / "m.db", first, embed_model=None)
        await demo.play(FIRST_HALF, block)
        deadline = time.monotonic() + 2 * _PATIENCE
        while not first.read:
            assert time.monotonic() < deadline, block.stats()
            await asyncio.sleep(0.1)
        server.kill()
        await demo.play(SECOND_HALF, block)
        assert await block.adrain() > 0
        stats = block.stats()
        block.close()
    assert stats.passages == total
    assert 0 < len(first.read) < total
    assert stats.pending == total - len(first.read)
    assert stats.failed > 0
    assert stats.faults["extraction"] > 0
    assert "is it running" in stats.last_error

    with real_server(tmp_path) as server, closing(patient(server)) as second:
        block = opened(tmp_path / "m.db", second, embed_model=None)
        left = await block.adrain()
        stats = block.stats()
        block.close()
    read = first.read + second.read
    calls = first.usage.calls + second.usage.calls
    with capsys.disabled():
        sys.stdout.write(f"\n{calls} calls for {stored(events)} flushes, {left} unread: {stats}\n")
    # What the model cannot put into words that can be read waits in sight, with the reason.
    assert left == stats.pending == stats.failed == total - len(read)
    assert bool(left) == bool(stats.last_error)
    assert len(read) > total / 2
    assert set(read.values()) == {1}
    assert stats.passages == total
    assert stats.facts > 0
    assert calls <= stored(events)
