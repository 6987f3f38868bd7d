"""The block behind a real Memory and a real FunctionAgent: what arrives, what is asked, by whom."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.llms.types import (
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import Field
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from block_parts import (
    Script,
    WatchedBlock,
    flushing,
    heard,
    host,
    open_block,
    runs_agents,
    said,
    texts,
)
from builders import NOON
from graphmem import GraphMemory
from graphmem.block import IngestEvent, RecallEvent
from graphmem.errors import InvalidInput, NotFound
from graphmem.testing import HashEmbedder

pytestmark = runs_agents


async def filled(block, *lines: str, session: str = "old") -> None:
    """Let a block know some lines of an earlier session."""
    await block.aremember([said(line) for line in lines], session_id=session)
    assert await block.adrain(30) == 0


# -- one recall per user message -----------------------------------------------------------------


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5])
async def test_a_turn_asks_once_and_every_call_of_it_gets_the_same_bytes(tmp_path: Path, rounds):
    embedder = HashEmbedder()
    block = open_block(tmp_path / "m.db", WatchedBlock, embed_model=embedder)
    await filled(block, "Maja moved to Oslo.", "Tomo moved to Porto.")
    before = embedder.calls
    script = Script(rounds)
    with heard() as events:
        await script.agent().run("Where did Maja move?", memory=host(block))
    assert embedder.calls - before == 1
    assert len([event for event in events if isinstance(event, RecallEvent)]) == 1
    assert [roles for roles, _ in block._seen] == [
        ["user"],
        *[["user", "user"]] * rounds,
        ["user", *["assistant", "tool"] * rounds, "assistant"],
    ]
    assert len({text for _, text in block._seen}) == 1
    assert "Oslo" in block._seen[0][1]
    assert all("Oslo" in memory for memory in script.memories())
    assert len(script.prompts) == rounds + 1
    block.close()


async def test_what_is_learnt_within_a_turn_shows_in_the_next_one_only(tmp_path: Path):
    block = open_block(tmp_path / "m.db", WatchedBlock)
    await filled(block, "Maja moved to Oslo.")
    memory, script = host(block), Script(1)

    def learn_then_reply(messages, **options):
        if len(script.prompts) == 1:
            block.remember("Maja moved to Ghent.", session_id="other")
            assert block.drain(30) == 0
        return Script.reply(script, messages, **options)

    agent = script.agent()
    agent.llm.response_generator = learn_then_reply
    await agent.run("Where did Maja move?", memory=memory)
    assert len(block._seen) == 3
    assert len({text for _, text in block._seen}) == 1
    assert "Ghent" not in block._seen[-1][1]
    # The same words in the next turn are asked anew.
    await agent.run("Where did Maja move?", memory=memory)
    assert "Ghent" in block._seen[-1][1]
    block.close()


async def test_a_forget_within_a_turn_shows_at_once(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    await filled(block, "Maja moved to Oslo.")
    await filled(block, "Tomo moved to Porto.", session="kept")
    question = [said("Who moved?")]
    first = await block.aget(question, session_id="s")
    assert "Oslo" in first
    assert "Porto" in first
    await block.aforget(session="old")
    assert await block.adrain(30) == 0
    second = await block.aget([*question, *question], session_id="s")
    assert "Oslo" not in second
    assert "Porto" in second
    block.close()


async def test_other_processes_forgets_count_too(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    await filled(block, "Maja moved to Oslo.")
    assert "Oslo" in await block.aget([said("Who moved?")], session_id="s")
    with GraphMemory.open(tmp_path / "m.db", embed_model=HashEmbedder(), scope="ana") as other:
        other.forget(session="old")
    assert "Oslo" not in await block.aget([said("Who moved?")], session_id="s")
    block.close()


async def test_calls_at_the_same_time_make_one_recall(tmp_path: Path):
    embedder = HashEmbedder()
    block = open_block(tmp_path / "m.db", embed_model=embedder)
    await filled(block, "Maja moved to Oslo.")
    before = embedder.calls
    found = await asyncio.gather(
        *[block.aget([said("Where is Maja?")], session_id="s") for _ in range(20)]
    )
    assert embedder.calls - before == 1
    assert len(set(found)) == 1
    assert "Oslo" in found[0]
    block.close()


async def test_only_the_last_user_text_is_the_question(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    await filled(block, "Maja moved to Oslo.", "The ferry costs nine crowns.")
    history = [said("Tell me about Maja."), said("She moved to Oslo.", "assistant")]
    with heard() as events:
        text = await block.aget([*history, said("What does the ferry cost?")], session_id="s")
    assert [event.query for event in events] == ["What does the ferry cost?"]
    assert "ferry" in text
    block.close()


@pytest.mark.parametrize(
    "messages",
    [
        None,
        [],
        [said("Hello!", "assistant")],
        [said("")],
        [said("   ")],
        [ChatMessage(role="user", blocks=[ImageBlock(image=b"x")])],
        [ChatMessage(role="user", blocks=[ImageBlock(image=b"x")]), said("")],
    ],
)
async def test_nothing_asked_gives_nothing(tmp_path: Path, messages):
    block = open_block(tmp_path / "m.db")
    await filled(block, "Maja moved to Oslo.")
    assert await block.aget(messages, session_id="s") == ""
    assert await block.aget([said("Maja?")], session_id="s") != ""
    block.close()


async def test_a_chat_engine_asks_once_a_turn_with_the_same_words_too(tmp_path: Path):
    block = open_block(tmp_path / "m.db", WatchedBlock)
    await filled(block, "Maja moved to Oslo.")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=host(block))
    with heard() as events:
        for _ in range(3):
            await engine.achat("Where is Maja?")
    assert len([event for event in events if isinstance(event, RecallEvent)]) == 3
    assert all("Oslo" in text for _, text in block._seen)
    block.close()


async def test_the_callers_messages_and_list_stay_as_they_are(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    messages = [said("Maja moved to Oslo.", speaker="Zoe"), said("Good.", "assistant")]
    before = [message.model_dump() for message in messages]
    await block.aput(messages, from_short_term_memory=True, session_id="s1")
    await block.aget(messages, session_id="s1")
    assert [message.model_dump() for message in messages] == before
    assert texts(block, "s1") == ["Maja moved to Oslo.", "Good."]
    block.close()


# -- what is stored ------------------------------------------------------------------------------


async def test_what_falls_out_of_the_window_is_stored_and_recalled(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    memory, agent = flushing(block), Script().agent()
    for line in ("Maja moved to Oslo.", "Tomo moved to Porto.", "I like plums best.", "Bye."):
        await agent.run(line, memory=memory)
    assert "Maja moved to Oslo." in texts(block, "s1")
    assert await block.adrain(30) == 0
    assert [str(fact.text) for fact in block.memory.facts("ana", subject="Maja")] == [
        "Maja moved to Oslo"
    ]
    script = Script()
    await script.agent().run("Where is Maja?", memory=host(block, session="s2"))
    assert "Oslo" in script.memories()[0]
    block.close()


async def test_redelivery_in_any_form_adds_nothing(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    lines = [said(f"{name} moved to Oslo.") for name in ("Maja", "Rui", "Zoe", "Bo")]
    await block.aput(lines, True, "s1")
    assert await block.adrain(30) == 0

    def counts() -> tuple[int, int, int]:
        stats = block.stats()
        return stats.messages, stats.passages, stats.facts

    once = counts()
    assert once[:2] == (4, 4)
    assert once[2] > 0
    for _ in range(3):
        await block.aput(lines, True, "s1")
    await asyncio.gather(*[block.aput(lines, True, "s1") for _ in range(20)])
    for cut in (1, 2, 3):
        await block.aput(lines[:cut], True, "s1")
        await block.aput(lines[cut:], True, "s1")
    assert await block.adrain(30) == 0
    assert counts() == once
    # Said again at another time: known words, one more occurrence, no other graph.
    with heard() as events:
        await block.aput([said("Maja moved to Oslo.", timestamp=NOON)], True, "s1")
    assert [(event.stored, event.merged) for event in events] == [(0, 1)]
    assert await block.adrain(30) == 0
    assert counts() == once
    block.close()


async def test_a_server_that_sends_the_history_with_each_request_adds_no_copies(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    agent, history = Script().agent(), []
    for line in ("Maja moved to Oslo.", "Tomo moved to Porto.", "Rui moved to Ghent.", "Bye."):
        await agent.run(line, chat_history=history, memory=flushing(block))
        history += [said(line), said("Noted.", "assistant")]
    assert sorted(texts(block)) == sorted(
        ["Maja moved to Oslo.", "Noted.", "Tomo moved to Porto.", "Rui moved to Ghent."]
    )
    block.close()


class ListStore(BasePydanticVectorStore):
    """The least vector store that a VectorMemoryBlock takes."""

    stores_text: bool = True
    nodes: list[Any] = Field(default_factory=list)

    @property
    def client(self):
        return None

    def add(self, nodes, **_):
        self.nodes.extend(nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id, **_):
        raise NotImplementedError

    def query(self, query: VectorStoreQuery, **_):
        return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])


@pytest.mark.parametrize("is_first", [True, False])
async def test_beside_a_vector_block_every_passage_has_its_session(tmp_path: Path, is_first):
    block = open_block(tmp_path / "m.db")
    store = ListStore()
    vectors = VectorMemoryBlock(vector_store=store, embed_model=MockEmbedding(embed_dim=4))
    blocks = [block, vectors] if is_first else [vectors, block]
    for session in ("s1", "s2"):
        memory, agent = flushing(*blocks, session=session), Script().agent()
        for line in (f"Maja moved to Oslo in {session}.", "I like plums best.", "Bye."):
            await agent.run(line, memory=memory)
    assert len(store.nodes) > 0
    for session in ("s1", "s2"):
        assert f"Maja moved to Oslo in {session}." in texts(block, session)
    assert texts(block, "") == []
    block.close()


async def test_what_is_no_memory_is_left_out(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    react = "Thought: she said so.\nAnswer: You live in Oslo."
    tool_call = ToolCallBlock(tool_call_id="1", tool_name="x", tool_kwargs={"q": "Kabul"})
    await block.aput(
        [
            said("You are kind.", "system"),
            said("Be brief.", "developer"),
            said('I wrote {"a": [1]} and <b>{{x}}</b>.'),
            ChatMessage(role="assistant", blocks=[tool_call]),
            said("The tool moved to Atlantis.", "tool"),
            ChatMessage(role="user", blocks=[ImageBlock(image=b"x")]),
            ChatMessage(role="user", blocks=[DocumentBlock(data=b"x", title="file")]),
            said(""),
            said(react, "assistant"),
            ChatMessage(
                role="assistant",
                blocks=[
                    ThinkingBlock(content="hm"),
                    TextBlock(text="One."),
                    TextBlock(text="Two."),
                ],
            ),
            said("large", filler="x" * 10_000),
        ],
        True,
        "s1",
    )
    assert texts(block) == [
        'I wrote {"a": [1]} and <b>{{x}}</b>.',
        "You live in Oslo.",
        "One.\nTwo.",
        "large",
    ]
    assert all(not passage.metadata for passage in block.memory.passages("ana"))
    block.close()


async def test_an_empty_batch_is_nothing(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    with heard() as events:
        await block.aput([])
        await block.aput([], True, "s1")
    assert (events, texts(block)) == ([], [])
    await block.aput([said("x")])
    assert texts(block) == ["x"]
    block.close()


@pytest.mark.parametrize("first", [["assistant", "user"], ["tool"], ["assistant"]])
async def test_a_batch_may_start_with_any_role(tmp_path: Path, first):
    block = open_block(tmp_path / "m.db")
    await block.aput([said(f"{role} speaks", role) for role in first], True, "s1")
    assert texts(block) == [f"{role} speaks" for role in first if role != "tool"]
    block.close()


async def test_speakers_and_times_come_from_the_application(tmp_path: Path):
    block = open_block(tmp_path / "m.db", assistant_name="Robo")
    zone = timezone(timedelta(hours=2))
    await block.aput(
        [
            said("zero"),
            said("one", speaker="Zoe", timestamp=NOON),
            said("two", name="Lars", timestamp="2026-03-01T13:00:00+02:00"),
            said("three", "assistant", timestamp=NOON.timestamp()),
            said("four", "assistant", speaker="Bea", timestamp="2026-03-01T12:00:00Z"),
        ],
        True,
        "s1",
    )
    found = {one.text: (one.speaker, one.said_at) for one in block.memory.passages("ana")}
    assert found == {
        "zero": ("ana", None),
        "one": ("Zoe", NOON),
        "two": ("Lars", datetime(2026, 3, 1, 13, tzinfo=zone)),
        "three": ("Robo", NOON),
        "four": ("Bea", NOON),
    }
    block.close()


@pytest.mark.parametrize(
    "timestamp",
    [datetime(2026, 3, 1), "2026-03-01T12:00:00", "2026-03-01", "yesterday", True, 1e30, [1]],
)
async def test_a_time_that_is_not_certain_is_unknown_and_said_so(tmp_path: Path, timestamp):
    block = open_block(tmp_path / "m.db")
    await block.aput([said("hello", timestamp=timestamp), said("bye", timestamp=NOON)], True, "s1")
    found = {one.text: one.said_at for one in block.memory.passages("ana")}
    assert found == {"hello": None, "bye": NOON}
    assert block.stats().faults == {"input": 1}
    block.close()


async def test_a_block_may_take_only_what_it_is_told(tmp_path: Path):
    block = open_block(tmp_path / "m.db", accept_short_term_memory=False)
    await block.aput([said("flushed")], from_short_term_memory=True, session_id="s1")
    assert texts(block) == []
    await block.aput([said("put")], session_id="s1")
    await block.aremember("told", session_id="s1")
    assert texts(block) == ["put", "told"]
    block.close()


# -- storing now ---------------------------------------------------------------------------------


async def test_a_short_chat_is_stored_at_its_end_and_the_later_flush_adds_nothing(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    memory, agent = host(block), Script(answer="I see.").agent()
    for line in ("Maja moved to Oslo.", "Tomo moved to Porto.", "Rui moved to Ghent."):
        await agent.run(line, memory=memory)
    assert texts(block) == []
    receipt = await block.aremember(memory)
    assert (len(receipt.stored), len(receipt.merged)) == (4, 0)  # three lines and "I see."
    once = texts(block, "s1")
    assert "Rui moved to Ghent." in once
    again = await block.aremember(memory)
    assert (len(again.stored), len(again.merged)) == (0, 4)
    await block.aput(await memory.aget_all(), from_short_term_memory=True, session_id="s1")
    assert texts(block, "s1") == once
    block.close()


async def test_texts_and_messages_are_remembered_by_session(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    await block.aremember("plain")
    await block.aremember(said("one", session_id="s1"))
    await block.aremember([said("two", session_id="s2"), "three"], session_id="s3")
    receipt = block.remember([said("four", session_id="s4"), said("five", session_id="s5")])
    assert len(receipt.stored) == 2
    found = {passage.text: passage.session for passage in block.memory.passages("ana")}
    assert found == {
        "plain": "",
        "one": "s1",
        "two": "s3",
        "three": "s3",
        "four": "s4",
        "five": "s5",
    }
    assert (await block.aremember([])).passages == ()
    block.close()


@pytest.mark.parametrize("wrong", [7, None, [7], [None], {"a": 1}, b"x", [said("ok"), 7]])
async def test_what_is_no_message_is_refused_at_the_applications_door(tmp_path: Path, wrong):
    block = open_block(tmp_path / "m.db")
    with pytest.raises(InvalidInput, match=r"ChatMessage"):
        await block.aremember(wrong)
    with pytest.raises(InvalidInput, match=r"ChatMessage"):
        block.remember(wrong)
    assert texts(block) == []
    block.close()


def test_the_sync_twins_do_the_same(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    receipt = block.remember(["Maja moved to Oslo.", "Tomo moved to Porto."], session_id="s1")
    assert len(receipt.stored) == 2
    assert block.drain(30) == 0
    assert block.recall("Where is Maja?").passages[0].passage.text == "Maja moved to Oslo."
    assert block.stats().passages == 2
    gone = block.forget(passage=receipt.stored[0])
    assert gone.forgotten == (receipt.stored[0],)
    assert texts(block) == ["Tomo moved to Porto."]
    block.close()


# -- whose memory --------------------------------------------------------------------------------


async def test_scopes_do_not_cross_and_sessions_do(tmp_path: Path):
    ana = open_block(tmp_path / "m.db", scope="ana")
    bo = open_block(tmp_path / "m.db", scope="bo")
    agent_of_ana = open_block(tmp_path / "m.db", scope="ana", agent="coach")
    await filled(ana, "Maja moved to Oslo.", session="one")
    question = [said("Where did Maja move?")]
    assert "Oslo" in await ana.aget(question, session_id="two")
    assert await bo.aget(question, session_id="one") == ""
    assert await agent_of_ana.aget(question, session_id="one") == ""
    for block in (ana, bo, agent_of_ana):
        block.close()


async def test_recall_can_be_kept_within_the_session(tmp_path: Path):
    block = open_block(tmp_path / "m.db", current_session_only=True)
    await filled(block, "Maja moved to Oslo.", session="one")
    await filled(block, "Maja moved to Ghent.", session="two")
    first = await block.aget([said("Where did Maja move?")], session_id="one")
    second = await block.aget([said("Where did Maja move?")], session_id="two")
    assert "Oslo." in first
    assert "Ghent." not in first
    assert "Ghent." in second
    block.close()


async def test_reset_forgets_nothing_and_forget_forgets_all(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    memory = flushing(block)
    for line in ("Maja moved to Oslo.", "I like plums best.", "Bye."):
        await Script().agent().run(line, memory=memory)
    assert await block.adrain(30) == 0
    await memory.areset()
    assert "Oslo" in await block.aget([said("Where did Maja move?")], session_id="s9")
    receipt = await block.aforget(everything=True)
    assert len(receipt.forgotten) > 0
    assert await block.aget([said("Where did Maja move?")], session_id="s9") == ""
    found = block.recall("Where did Maja move?")
    assert (found.passages, found.facts) == ((), ())
    with pytest.raises(NotFound):
        block.forget(session="s1")
    block.close()


async def test_ingest_events_say_what_was_done(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    with heard() as events:
        await block.aput([said("one"), said("system", "system"), said("one")], True, "s1")
    (event,) = [event for event in events if isinstance(event, IngestEvent)]
    assert (event.scope, event.session, event.stored, event.dropped) == ("ana", "s1", 1, 1)
    assert event.class_name() == "GraphMemoryIngestEvent"
    block.close()
