"""LlamaIndex's ``VectorMemoryBlock`` with the same messages in one session, one node each."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import VectorMemoryBlock

from graphmem.experiments.speed.models import WordEmbedder
from graphmem.experiments.speed.timing import figures, within
from graphmem.experiments.speed.world import World
from graphmem.experiments.systems.hosted import HostEmbedding, TextStore

__all__ = ["MOST_NODES", "vector_block"]

MOST_NODES = 50_000
"""Nodes of the block at most: it takes a second of processor time a call by then."""

_SESSION = "session"
_CALLS = 20
_SECONDS = 20.0


def vector_block(passages: int, seed: int) -> dict[str, Any]:
    """Milliseconds of processor time that a call of ``aget`` takes, its embedding left out.

    The session is named, as a host does. Meant for a process of its own: the nodes are many
    objects.
    """
    return asyncio.run(_measure(World(passages, seed)))


async def _measure(world: World) -> dict[str, Any]:
    embedder = WordEmbedder()
    block = VectorMemoryBlock(vector_store=TextStore(), embed_model=HostEmbedding(embedder))
    nodes = min(world.passages, MOST_NODES)
    for message in itertools.islice(_messages(world), nodes):
        await block.aput([message], session_id=_SESSION)
    times: list[float] = []
    for question in within(_SECONDS, world.questions(_CALLS + 1)):
        seconds = embedder.seconds
        start = time.process_time()
        found = await block.aget([ChatMessage(content=question)], session_id=_SESSION)
        took = time.process_time() - start - (embedder.seconds - seconds)
        assert found
        times.append(took * 1e3)
    # The first one loads what the others find loaded.
    return {**figures(times[1:]), "calls": len(times) - 1, "nodes": nodes}


def _messages(world: World) -> Iterator[ChatMessage]:
    for _, messages in world.batches():
        yield from (ChatMessage(content=one.text) for one in messages)
