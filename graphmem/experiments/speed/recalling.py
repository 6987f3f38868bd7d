"""Recall: quiet, with a writer beside it, with the whole graph walked, and from an event loop.

The embedding of the question is left out everywhere.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llama_index.core.llms import ChatMessage

from graphmem.block import GraphMemoryBlock
from graphmem.experiments.speed.inside import WholeGraph, whole_graph_of
from graphmem.experiments.speed.models import WordEmbedder
from graphmem.experiments.speed.timing import Figures, by_stage, figures, milliseconds, within
from graphmem.experiments.speed.world import Batch
from graphmem.index.lists import Floats
from graphmem.memory import GraphMemory
from graphmem.types import Recall

__all__ = ["busy", "loop_gaps", "quiet", "spent", "summary", "whole_graph"]

_LEFT_OUT = ("embed", "total")
_BUSY_SECONDS = 60.0
_WHOLE_GRAPH_SECONDS = 20.0
_QUIET_SECONDS = 60.0
_LOOP_SECONDS = 20.0
_HEARTBEAT = 0.001


def spent(recall: Recall) -> float:
    """Milliseconds of a recall without the embedding of its question."""
    return recall.timings["total"] - recall.timings.get("embed", 0.0)


def quiet(
    memory: GraphMemory, embedder: WordEmbedder, questions: Sequence[str]
) -> tuple[list[Recall], Figures]:
    """Recall after recall, nothing else running; the index is brought up to date before.

    Returns:
        The recalls, and the milliseconds of processor time that they took.
    """
    memory.recall(questions[0])
    recalls: list[Recall] = []
    processor: list[float] = []
    for question in within(_QUIET_SECONDS, questions):
        start = time.process_time() - embedder.seconds
        recalls.append(memory.recall(question))
        processor.append((time.process_time() - embedder.seconds - start) * 1e3)
    return recalls, figures(processor)


def summary(recalls: Sequence[Recall]) -> dict[str, Any]:
    """Their milliseconds, also by stage, and how many walked."""
    stages = [
        {name: value for name, value in one.timings.items() if name not in _LEFT_OUT}
        for one in recalls
    ]
    return {
        **figures([spent(one) for one in recalls]),
        "recalls": len(recalls),
        "walked": sum(one.route == "graph" for one in recalls),
        "stages": by_stage(stages),
    }


def whole_graph(memory: GraphMemory, recalls: Sequence[Recall]) -> dict[str, Any]:
    """What the same recalls take with igraph's prpack on the whole graph in place of the walk.

    The walk starts at the recall's own seed entities; building igraph's graph is not counted, and
    the other stages are those of the recall.
    """
    graph = whole_graph_of(memory)
    walks: list[float] = []
    totals: list[float] = []
    for one in within(_WHOLE_GRAPH_SECONDS, [one for one in recalls if one.seeds]):
        reset = _reset(one, graph)
        walks.append(milliseconds(lambda reset=reset: graph.solver.rank(reset)))  # type: ignore[misc]
        totals.append(spent(one) - one.timings.get("walk", 0.0) + walks[-1])
    return {**figures(totals), "recalls": len(totals), "stages": {"walk": figures(walks)}}


def _reset(recall: Recall, graph: WholeGraph) -> Floats:
    reset = np.zeros(graph.size)
    vertices = graph.vertices([seed.entity.id for seed in recall.seeds])
    reset[vertices] = [seed.weight for seed in recall.seeds]
    return reset


def busy(memory: GraphMemory, questions: Sequence[str], flushes: Iterator[Batch]) -> dict[str, Any]:
    """Recalls while a thread stores and drains one flush after the other.

    Returns:
        As ``summary``; ``written`` is the number of messages stored meanwhile.
    """
    with _writing(memory, flushes) as written:
        recalls = [memory.recall(question) for question in within(_BUSY_SECONDS, questions)]
    return {**summary(recalls), "written": sum(written)}


@contextmanager
def _writing(memory: GraphMemory, flushes: Iterator[Batch]) -> Iterator[list[int]]:
    """A thread that writes until the block ends; yields the numbers of messages so far."""
    is_over = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not is_over.is_set():
            session, messages = next(flushes)
            memory.remember(messages, session=session)
            memory.drain()
            written.append(len(messages))

    writer = threading.Thread(target=write, name="bench-writer")
    writer.start()
    try:
        yield written
    finally:
        is_over.set()
        writer.join()


def loop_gaps(block: GraphMemoryBlock, questions: Sequence[str]) -> dict[str, float]:
    """The longest pauses, in milliseconds, of an event loop that wakes up every millisecond.

    Returns:
        ``max`` while ``block.aget`` runs, ``idle`` without it for as long.
    """
    return asyncio.run(_loop_gaps(block, questions))


async def _loop_gaps(block: GraphMemoryBlock, questions: Sequence[str]) -> dict[str, float]:
    # What is loaded and brought up to date once is not what is asked for here.
    await block.aget([ChatMessage(role="user", content=questions[0])])
    start = time.monotonic()
    beats = asyncio.create_task(_beat())
    for question in within(_LOOP_SECONDS, questions[1:]):
        await block.aget([ChatMessage(role="user", content=question)])
    asked = await _stopped(beats)
    beats = asyncio.create_task(_beat())
    await asyncio.sleep(min(time.monotonic() - start, _LOOP_SECONDS))
    return {"max": max(asked), "idle": max(await _stopped(beats))}


async def _beat() -> list[float]:
    """Milliseconds by which each heartbeat is late, until cancelled."""
    late = [0.0]
    last = time.perf_counter()
    try:
        while True:
            await asyncio.sleep(_HEARTBEAT)
            now = time.perf_counter()
            late.append(round((now - last - _HEARTBEAT) * 1e3, 3))
            last = now
    except asyncio.CancelledError:
        return late


async def _stopped(beats: asyncio.Task[list[float]]) -> list[float]:
    beats.cancel()
    return await beats
