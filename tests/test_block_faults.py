"""Everything beneath the block fails in turn: the agent goes on, and no words are lost."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import InsertMethod

from block_parts import (
    Script,
    SlowEmbedder,
    flushing,
    heard,
    host,
    open_block,
    runs_agents,
    said,
    texts,
)
from builders import stated, until
from graphmem import GraphMemoryBlock
from graphmem.block import FaultEvent, RecallEvent
from graphmem.errors import InvalidInput, StoreCorrupt, StoreFull
from graphmem.store import Store
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.types import Extraction

pytestmark = runs_agents

ERRORS = [ValueError("odd"), ConnectionError("down"), TimeoutError("slow"), OSError("disk")]


class Switch:
    """Fails with an error until it is switched off; counts what it is asked."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.calls = 0

    def check(self) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error


class FaultyEmbedder(HashEmbedder):
    """A HashEmbedder behind two switches."""

    def __init__(self, texts: Exception | None, queries: Exception | None) -> None:
        super().__init__()
        self.texts, self.queries = Switch(texts), Switch(queries)

    def embed(self, texts):
        self.texts.check()
        return super().embed(texts)

    def embed_query(self, text):
        self.queries.check()
        return HashEmbedder().embed([text])[0]


def faults_of(events: list) -> list[FaultEvent]:
    return [event for event in events if isinstance(event, FaultEvent)]


def refusing_disk(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Switch:
    """A switch before every put of the store."""
    disk, write = Switch(error), Store.put
    monkeypatch.setattr(
        Store, "put", lambda *args, **options: (disk.check(), write(*args, **options))[1]
    )
    return disk


# -- recall --------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_an_embedder_that_fails_to_embed_the_question_leaves_the_words(tmp_path, error):
    embedder = FaultyEmbedder(None, error)
    block = open_block(tmp_path / "m.db", embed_model=embedder)
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0
    script = Script(2)
    with heard() as events:
        await script.agent().run("Where is Maja?", memory=host(block))
    assert all("Oslo" in memory for memory in script.memories())
    assert [event.kind for event in faults_of(events)] == ["embedding"]
    assert (embedder.queries.calls, block.stats().faults) == (1, {"embedding": 1})
    block.close()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_disk_that_fails_to_read_costs_one_turn_its_memory(
    tmp_path, error, monkeypatch, caplog
):
    block = open_block(tmp_path / "m.db")
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0
    disk = Switch(error)
    read = Store.seq
    monkeypatch.setattr(Store, "seq", lambda *args: (disk.check(), read(*args))[1])
    script, memory = Script(2), host(block)
    with heard() as events:
        await script.agent().run("Where is Maja?", memory=memory)
    assert len(script.prompts) == 3
    assert not any("Oslo" in told for told in script.memories())
    assert [event.kind for event in faults_of(events)] == ["recall"]
    assert (disk.calls, block.stats().faults["recall"]) == (1, 1)
    assert len([record for record in caplog.records if "recall fault" in record.message]) == 1
    disk.error = None
    await script.agent().run("Where is Maja?", memory=memory)
    assert "Oslo" in script.memories()[-1]
    block.close()


async def test_a_recall_that_takes_too_long_is_given_up_for_its_turn(tmp_path):
    slow = SlowEmbedder()
    block = open_block(tmp_path / "m.db", embed_model=slow, recall_timeout=0.2)
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0
    question = [said("Where is Maja?")]
    started = time.monotonic()
    assert await block.aget(question, session_id="s") == ""
    assert time.monotonic() - started < 5
    assert block.stats().faults == {"recall": 1}
    slow.gate.set()
    await asyncio.sleep(0.1)
    # What comes late must not change the turn's text; the next turn has it.
    assert await block.aget([*question, *question], session_id="s") == ""
    answered = [*question, said("I do not know.", "assistant")]
    assert await block.aget(answered, session_id="s") == ""
    assert "Oslo" in await block.aget([*answered, *question], session_id="s")
    block.close()


async def test_strict_raises_what_would_be_swallowed(tmp_path, monkeypatch):
    block = open_block(tmp_path / "m.db", strict=True)
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0
    disk = Switch(StoreFull("no room"))
    read, write = Store.seq, Store.put
    monkeypatch.setattr(Store, "seq", lambda *args: (disk.check(), read(*args))[1])
    monkeypatch.setattr(
        Store, "put", lambda *args, **options: (disk.check(), write(*args, **options))[1]
    )
    with pytest.raises(StoreFull, match="no room"):
        await block.aget([said("Where is Maja?")], session_id="s")
    with pytest.raises(StoreFull, match="no room"):
        await block.aput([said("Tomo moved to Porto.")], True, "s")
    disk.error = None
    with pytest.raises(InvalidInput, match="time zone"):
        await block.aput([said("When?", timestamp="2026-03-01T12:00:00")], True, "s")
    assert "Oslo" in await block.aget([said("Where is Maja?")], session_id="s")
    assert block.drain(30) == 0
    # Kept in spite of the errors.
    assert texts(block, "s") == ["Tomo moved to Porto.", "When?"]
    block.close()


# -- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_model_that_fails_to_read_delays_facts_only(tmp_path, error):
    model = Switch(error)

    def read(passage):
        model.check()
        return stated(passage)

    block = open_block(tmp_path / "m.db", extractor=ScriptedExtractor(read))
    memory = flushing(block)
    with heard() as events:
        for line in ("Maja moved to Oslo.", "Bye."):
            await Script().agent().run(line, memory=memory)
        assert until(lambda: "extraction" in block.stats().faults)
    assert "Maja moved to Oslo." in texts(block)
    assert {event.kind for event in faults_of(events)} == {"extraction"}
    assert "Oslo" in await block.aget([said("Where is Maja?")], session_id="s9")
    assert block.memory.facts("ana") == []
    model.error = None
    assert await block.adrain(30) == 0
    assert [fact.text for fact in block.memory.facts("ana", subject="Maja")] == [
        "Maja moved to Oslo"
    ]
    block.close()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_an_embedder_that_fails_delays_vectors_only(tmp_path, error):
    embedder = FaultyEmbedder(error, None)
    block = open_block(tmp_path / "m.db", embed_model=embedder)
    await block.aput([said("Maja moved to Oslo.")], True, "s")
    assert until(lambda: "embedding" in block.stats().faults)
    assert texts(block) == ["Maja moved to Oslo."]
    assert block.stats().unembedded > 0
    embedder.texts.error = None
    assert await block.adrain(30) == 0
    assert block.stats().unembedded == 0
    block.close()


@pytest.mark.parametrize(
    "error", [*ERRORS, StoreFull("full")], ids=lambda error: type(error).__name__
)
async def test_a_disk_that_refuses_delays_the_words_but_keeps_them(
    tmp_path, error, monkeypatch, caplog
):
    block = open_block(tmp_path / "m.db")
    disk = refusing_disk(monkeypatch, error)
    memory, agent = flushing(block), Script().agent()
    with heard() as events:
        for line in ("Maja moved to Oslo.", "I like plums best."):
            await agent.run(line, memory=memory)
    assert faults_of(events)[0].kind == "storage"
    assert block.stats().spilled > 0
    assert texts(block) == []
    assert any("storage fault" in record.message for record in caplog.records)
    receipt = await block.aremember("Tomo moved to Porto.", session_id="s1")
    assert (receipt.stored, len(receipt.deferred)) == ((), 1)
    disk.error = None
    await agent.run("Bye.", memory=memory)
    assert block.stats().spilled == 0
    # Once each, in the order in which they were said.
    found = texts(block, "s1")
    assert found == [
        "Maja moved to Oslo.",
        "Noted.",
        "Tomo moved to Porto.",
        "I like plums best.",
    ] or found == ["Maja moved to Oslo.", "Noted.", "I like plums best.", "Tomo moved to Porto."]
    block.close()


async def test_a_store_locked_by_somebody_else_is_waited_for(tmp_path):
    block = open_block(tmp_path / "m.db")
    other = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        put = asyncio.create_task(block.aput([said("Maja moved to Oslo.")], True, "s"))
        await asyncio.sleep(0.3)
    finally:
        other.execute("ROLLBACK")
        other.close()
    await put
    assert until(lambda: texts(block) == ["Maja moved to Oslo."])
    assert block.stats().spilled == 0
    block.close()


async def test_when_even_the_spill_is_full_that_is_said_and_the_oldest_stay(tmp_path, monkeypatch):
    block = open_block(tmp_path / "m.db")
    disk = refusing_disk(monkeypatch, StoreFull("full"))
    block._live.spill._max_messages = 2
    with heard() as events:
        for number in range(3):
            await block.aput([said(f"line {number}")], True, "s")
    assert "refused" in faults_of(events)[-1].consequence
    with pytest.raises(StoreFull):
        await block.aremember("line 4")
    disk.error = None
    assert block.drain(30) == 0
    assert texts(block) == ["line 0", "line 1"]
    block.close()


async def test_what_waits_can_be_forgotten_before_it_is_written(tmp_path, monkeypatch):
    block = open_block(tmp_path / "m.db")
    disk = refusing_disk(monkeypatch, StoreFull("full"))
    await block.aput([said("secret")], True, "s1")
    await block.aput([said("plain")], True, "s2")
    with pytest.raises(InvalidInput, match="exactly one"):
        block.forget(session="s2", everything=True)
    assert block.stats().spilled == 2
    block.forget(session="s1")
    disk.error = None
    assert block.drain(30) == 0
    assert texts(block) == ["plain"]
    block.close()


async def test_cancelling_a_put_leaves_it_whole(tmp_path, monkeypatch):
    block = open_block(tmp_path / "m.db")
    entered, gate = threading.Event(), threading.Event()
    write = Store.put

    def slow(*args, **options):
        entered.set()
        gate.wait(10)
        return write(*args, **options)

    monkeypatch.setattr(Store, "put", slow)
    lines = [said("Maja moved to Oslo."), said("Tomo moved to Porto.", session_id="s2")]
    put = asyncio.create_task(block.aput(lines, True))
    assert await asyncio.to_thread(entered.wait, 10)
    put.cancel()
    with pytest.raises(asyncio.CancelledError):
        await put
    gate.set()
    assert until(lambda: len(texts(block)) == 2)
    assert block.stats().faults == {}
    block.close()


async def test_cancelling_a_recall_is_no_fault_and_the_next_call_gets_it(tmp_path):
    slow = SlowEmbedder()
    block = open_block(tmp_path / "m.db", embed_model=slow)
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0
    first = asyncio.create_task(block.aget([said("Where is Maja?")], session_id="s"))
    assert await asyncio.to_thread(slow.entered.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    slow.gate.set()
    assert "Oslo" in await block.aget([said("Where is Maja?")], session_id="s")
    assert block.stats().faults == {}
    block.close()


# -- odd input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [None, "text", 7, {"a": 1}, [7], [None, "x"]])
async def test_what_is_no_message_is_a_fault_and_nothing_else(tmp_path, wrong):
    block = open_block(tmp_path / "m.db")
    await block.aput(wrong, True, "s")
    await block.aput([said("fine")], True, "s")
    assert texts(block) == ["fine"]
    assert block.stats().faults == {"input": 1}
    if wrong is not None:
        assert await block.aget(wrong, session_id="s") == ""
        assert block.stats().faults == {"input": 2}
    strict = open_block(tmp_path / "m.db", strict=True)
    with pytest.raises(InvalidInput):
        await strict.aput(wrong, True, "s")
    block.close()
    strict.close()


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 lone",
        "nul \x00 inside",
        "שלום עולם",
        "京都に住んでいます",
        "word " * 40_000,
        "{{x}} {y}",
    ],
    ids=["surrogate", "nul", "rtl", "cjk", "long", "braces"],
)
async def test_hard_text_is_stored_and_recalled(tmp_path, text):
    block = open_block(tmp_path / "m.db")
    message = ChatMessage.model_construct(
        role="user", additional_kwargs={}, blocks=said("x").blocks
    )
    message.blocks[0].text = text
    message.role = said("x").role
    await block.aput([message, said("Maja moved to Oslo.")], True, "s")
    assert await block.adrain(30) == 0
    assert "Maja moved to Oslo." in texts(block)
    assert len(texts(block)) > 1
    assert isinstance(await block.aget([message], session_id="t"), str)
    assert "Oslo" in await block.aget([said("Where is Maja?")], session_id="t")
    assert block.stats().faults == {}
    block.close()


async def test_a_reply_without_facts_leaves_the_known_ones(tmp_path):
    for reply in ("", "I see nothing.", "[]"):
        block = open_block(tmp_path / "m.db")
        block.remember("Maja moved to Oslo.", session_id="s")
        assert block.drain(30) == 0
        known = block.memory.facts("ana")
        assert len(known) > 0
        empty = open_block(
            tmp_path / "m.db", extractor=ScriptedExtractor(lambda p: Extraction(p.id))
        )
        empty.remember(f"It rains: {reply}", session_id="s")
        assert empty.drain(30) == 0
        assert [fact.id for fact in empty.memory.facts("ana")] == [fact.id for fact in known]
        block.close()
        empty.close()


async def test_an_llm_of_the_framework_that_talks_nonsense_loses_no_words(tmp_path):
    block = open_block(tmp_path / "m.db", llm=MockLLM(max_tokens=3))
    await block.aput([said("Maja moved to Oslo.")], True, "s")
    assert await block.adrain(1) > 0
    stats = block.stats()
    assert (stats.pending, stats.failed) == (1, 1)
    assert "extraction" in stats.faults
    assert "Oslo" in await block.aget([said("Where is Maja?")], session_id="t")
    block.close()


# -- construction --------------------------------------------------------------------------------


def test_a_file_that_is_no_store_is_an_error_at_once(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look like one " * 50)
    with pytest.raises(StoreCorrupt):
        open_block(path)
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize(
    "options",
    [
        {"token_buget": 9},
        {"scope": " "},
        {"scope": "a\x00"},
        {"name": "My memory"},
        {"name": "</memory>"},
        {"uri": ""},
        {"top_k": 0},
        {"token_budget": -1},
        {"recall_timeout": 0},
        {"workers": 0},
    ],
    ids=str,
)
def test_wrong_options_are_refused_at_once(tmp_path, options):
    given = {"uri": str(tmp_path / "m.db"), "embed_model": HashEmbedder(), **options}
    with pytest.raises(ValueError, match=next(iter(options))):
        GraphMemoryBlock(**given)
    assert not (tmp_path / "m.db").exists()


def test_options_can_be_changed_within_their_limits_and_the_address_cannot(tmp_path):
    block = open_block(tmp_path / "m.db")
    block.token_budget = 100
    with pytest.raises(ValueError, match="token_budget"):
        block.token_budget = -1
    for name in ("uri", "scope", "agent"):
        with pytest.raises(ValueError, match="frozen"):
            setattr(block, name, "other")
    assert block.token_budget == 100
    block.close()


def test_every_option_says_what_it_is():
    fields = GraphMemoryBlock.model_fields
    assert fields["priority"].default > 0
    assert [name for name, field in fields.items() if not field.description] == []
    assert GraphMemoryBlock.class_name() == "GraphMemoryBlock"


@pytest.mark.parametrize("method", list(InsertMethod))
async def test_both_ways_of_insertion_carry_the_memory(tmp_path, method):
    block = open_block(tmp_path / "m.db")
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0
    script = Script(1)
    with heard() as events:
        await script.agent().run("Where is Maja?", memory=host(block, insert_method=method))
    assert all(
        "Maja moved to Oslo." in "".join(message.content or "" for message in prompt)
        for prompt in script.prompts
    )
    assert len([event for event in events if isinstance(event, RecallEvent)]) == 1
    block.close()


async def test_a_first_use_by_many_at_once_works(tmp_path: Path):
    blocks = [open_block(tmp_path / "m.db") for _ in range(4)]
    await asyncio.gather(
        *[block.aput([said(f"line {i}")], True, f"s{i}") for i, block in enumerate(blocks * 5)],
        *[block.aget([said("line")], session_id="t") for block in blocks],
    )
    assert len(texts(blocks[0])) == 20
    assert all(block.stats().faults == {} for block in blocks)
    for block in blocks:
        block.close()
