"""Correcting a memory through the block: the same calls as the engine's, and no stale recall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from block_parts import host, open_block, said, texts
from graphmem.errors import Ambiguous, InvalidInput, NotAllowed
from graphmem.types import Actor, Scope


@pytest.fixture
def block(tmp_path: Path):
    opened = open_block(tmp_path / "m.db")
    opened.remember([said("It was raining. Maja moved to Oslo."), said("Tomo moved to Porto.")])
    assert opened.drain(30) == 0
    yield opened
    opened.close()


def fact(block: Any, subject: str) -> Any:
    return next(one for one in block.memory.facts(Scope("ana"), subject=subject))


async def asked(block: Any, words: str = "Where is Maja?") -> str:
    return str(await block.aget([said(words)], session_id="s1"))


async def test_a_fact_goes_and_the_recall_of_the_turn_with_it(block):
    assert "Oslo" in await asked(block)
    receipt = await block.aforget(fact=fact(block, "Maja"), actor="Ana")
    assert receipt.cut
    assert receipt.state == "erased"
    assert texts(block) == ["It was raining.", "Tomo moved to Porto."]
    assert "Oslo" not in await asked(block)
    assert "Porto" in await asked(block, "Where is Tomo?")


async def test_what_the_host_hands_over_again_is_refused(block):
    block.forget(entity="Maja")
    memory = host(block, session="s9")
    await memory.aput_messages([said("Maja moved to Oslo."), said("Tomo likes tea.")])
    receipt = await block.aremember(memory)
    assert len(receipt.refused) == len(receipt.dropped) == 1
    assert texts(block)[-1] == "Tomo likes tea."
    (ban,) = block.bans()
    block.unforget(ban=ban)
    assert (await block.aremember(memory)).stored
    assert "Maja moved to Oslo." in texts(block)


async def test_in_words_a_preview_comes_first(block):
    shown = await block.aforget(query="forget that Maja moved to Oslo")
    assert shown.state == "preview"
    assert len(texts(block)) == 2
    with pytest.raises(Ambiguous):
        block.forget(query="forget who moved", preview=False)
    await block.aforget(query="forget that Maja moved to Oslo", preview=False)
    assert "Oslo" not in "".join(texts(block))
    with pytest.raises(InvalidInput, match="exactly one"):
        block.forget(fact="f", query="x")


async def test_rulings_void_the_recall_of_the_turn(block):
    maja = fact(block, "Maja")
    block.verify(maja, actor="Ana")
    assert fact(block, "Maja").status == "verified"
    with pytest.raises(NotAllowed):
        block.verify(maja, actor=Actor("bot", "agent"))
    before = await asked(block)
    block.reject(maja, actor="Ana", reason="a slip")
    assert fact(block, "Maja").status == "rejected"
    assert await asked(block) != before
    block.unforget(fact=maja)
    block.dispute(maja)
    assert fact(block, "Maja").status == "disputed"


async def test_rulings_elsewhere_void_it_too(block, tmp_path):
    before = await asked(block)
    other = open_block(tmp_path / "m.db")
    other.reject(fact(other, "Maja"))
    assert await asked(block) != before
    other.close()
