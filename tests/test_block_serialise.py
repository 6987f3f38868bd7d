"""Dumps, pickles and copies of a block: they hold an address and knobs, and open the store anew."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from pathlib import Path

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.workflow import Context, JsonPickleSerializer, JsonSerializer

from block_parts import PlainEmbedder, PlainExtractor, Script, host, open_block, runs_agents, said
from graphmem import GraphMemoryBlock, RecallSettings
from graphmem.errors import EmbedderMismatch
from graphmem.testing import HashEmbedder, ScriptedExtractor

pytestmark = runs_agents

QUESTION = [said("Where did Maja move?")]


@pytest.fixture
def block(tmp_path: Path):
    made = open_block(
        tmp_path / "m.db", agent="coach", token_budget=300, settings=RecallSettings(seed_k=3)
    )
    made.remember("Maja moved to Oslo.", session_id="old")
    assert made.drain(30) == 0
    yield made
    made.close()


def ask(block: GraphMemoryBlock) -> str:
    return asyncio.run(block.aget(QUESTION, session_id="s"))


def test_a_dump_is_json_and_opens_the_same_memory(block):
    data = json.loads(json.dumps(block.model_dump()))
    assert data == json.loads(block.model_dump_json())
    assert {"uri", "scope", "agent", "token_budget", "settings"} <= data.keys()
    assert not {"embed_model", "llm", "extractor", "tokenizer_fn"} & data.keys()
    again = GraphMemoryBlock(**data, embed_model=PlainEmbedder(), extractor=PlainExtractor())
    assert again.model_dump() == block.model_dump()
    assert again.settings == RecallSettings(seed_k=3)
    assert "Oslo" in ask(block)
    assert ask(again) == ask(block)
    again.close()


def test_a_dump_can_be_validated_where_the_defaults_fit(tmp_path: Path):
    pytest.importorskip("onnxruntime")
    made = GraphMemoryBlock(uri=tmp_path / "m.db")
    again = GraphMemoryBlock.model_validate(made.model_dump())
    third = GraphMemoryBlock.model_validate_json(made.model_dump_json())
    assert again.model_dump() == third.model_dump() == made.model_dump()
    assert made.uri == str(tmp_path / "m.db")
    for one in (made, again, third):
        one.close()


@pytest.mark.parametrize(
    "clone",
    [
        lambda one: pickle.loads(pickle.dumps(one)),
        copy.copy,
        copy.deepcopy,
        lambda one: one.model_copy(),
        lambda one: one.model_copy(deep=True),
        lambda one: JsonPickleSerializer().deserialize(JsonPickleSerializer().serialize(one)),
    ],
    ids=["pickle", "copy", "deepcopy", "model_copy", "model_copy deep", "JsonPickleSerializer"],
)
def test_a_copy_opens_the_store_on_first_use(block, clone):
    twin = clone(block)
    assert type(twin) is GraphMemoryBlock
    assert twin.model_dump() == block.model_dump()
    assert twin._live.memory is None
    assert twin._live is not block._live
    assert "Oslo" in ask(twin)
    twin.remember("Tomo moved to Porto.", session_id="old")
    assert twin.drain(30) == 0
    assert "Porto" in asyncio.run(block.aget([said("Where did Tomo move?")]))
    twin.close()
    assert "Oslo" in ask(block)


def test_a_pickle_works_while_the_block_is_in_use_and_outlives_it(block):
    data = pickle.dumps(block)
    block.close()
    twin = pickle.loads(data)
    assert "Oslo" in ask(twin)
    assert pickle.loads(pickle.dumps(twin)).model_dump() == twin.model_dump()
    twin.close()


def test_a_changed_copy_has_its_own_memory(block):
    other = block.model_copy(update={"scope": "bo"})
    assert ask(other) == ""
    assert "Oslo" in ask(block)
    other.close()


def test_a_pickle_keeps_the_frameworks_models(tmp_path: Path):
    made = open_block(tmp_path / "m.db", embed_model=MockEmbedding(embed_dim=8), llm=MockLLM())
    made.remember("Maja moved to Oslo.")
    made.drain(5)
    twin = pickle.loads(pickle.dumps(made))
    assert isinstance(twin._given.embed_model, MockEmbedding)
    assert isinstance(twin._given.llm, MockLLM)
    assert "Oslo" in ask(twin)
    made.close()
    twin.close()


class LockedEmbedder(HashEmbedder):
    """Has a lock, as local models do, and so can not be pickled."""


def test_what_can_not_be_pickled_is_left_out_with_a_warning(tmp_path: Path, caplog):
    made = open_block(
        tmp_path / "m.db", embed_model=LockedEmbedder(), extractor=ScriptedExtractor()
    )
    made.remember("Maja moved to Oslo.")
    assert made.drain(30) == 0
    made._given.embed_model._lock = threading.Lock()
    data = pickle.dumps(made)
    left_out = [r.message for r in caplog.records if "cannot be pickled" in r.message]
    assert [message.split()[0] for message in left_out] == ["embed_model", "extractor"]
    twin = pickle.loads(data)
    assert twin._given.embed_model is None
    # The default is another model, or none: said as a fault, and nothing is mixed.
    assert ask(twin) == ""
    assert twin._live.faults.counts() == {"recall": 1}
    assert "Oslo" in ask(made)
    made.close()


async def test_a_copy_whose_store_can_not_be_opened_keeps_the_words(tmp_path: Path):
    made = open_block(tmp_path / "m.db", embed_model=PlainEmbedder(dims=32))
    made.remember("Maja moved to Oslo.")
    assert made.drain(30) == 0
    made.close()
    with pytest.raises(EmbedderMismatch):
        open_block(tmp_path / "m.db", embed_model=PlainEmbedder(dims=16))
    twin = copy.deepcopy(made)
    twin._given = type(twin._given)(PlainEmbedder(dims=16), None, PlainExtractor(), None)
    await twin.aput([said("Tomo moved to Porto.")], True, "s")
    assert len(twin._live.spill) == 1
    twin._given = made._given
    assert await twin.adrain(30) == 0
    assert twin.stats().spilled == 0
    assert "Porto" in await twin.aget([said("Where did Tomo move?")], session_id="s")
    twin.close()


async def stored_and_restored(agent, block, serializer) -> Context:
    context = Context(agent)
    await agent.run(QUESTION[0].content, memory=host(block), ctx=context)
    data = json.loads(json.dumps(context.to_dict(serializer=serializer)))
    return Context.from_dict(agent, data, serializer=serializer)


async def test_a_context_stored_by_pickle_brings_the_block_back(block):
    script = Script()
    restored = await stored_and_restored(script.agent(), block, JsonPickleSerializer())
    memory = await restored.store.get("memory")
    (twin,) = memory.memory_blocks
    assert twin.model_dump() == block.model_dump()
    # The history is gone, the long-term memory is not.
    sent = await memory.aget(input=QUESTION[0].content)
    assert [message.role.value for message in sent] == ["system"]
    assert "Oslo" in sent[0].content
    await memory.sql_store._async_engine.dispose()
    twin.close()


async def test_a_context_stored_as_json_has_no_memory_and_the_address_brings_it_back(block):
    script = Script()
    with pytest.warns(Warning, match="key: memory"):
        restored = await stored_and_restored(script.agent(), block, JsonSerializer())
    assert await restored.store.get("memory", default=None) is None
    again = GraphMemoryBlock(
        **block.model_dump(), embed_model=PlainEmbedder(), extractor=PlainExtractor()
    )
    await script.agent().run(QUESTION[0].content, memory=host(again), ctx=restored)
    assert [("Oslo" in told) for told in script.memories()] == [True, True]
    again.close()


def test_the_frameworks_json_serializer_takes_the_block_alone(block):
    text = JsonSerializer().serialize({"block": block.model_dump()})
    data = JsonSerializer().deserialize(text)["block"]
    again = GraphMemoryBlock(**data, embed_model=PlainEmbedder(), extractor=PlainExtractor())
    assert ask(again) == ask(block) != ""
    again.close()
