"""Everything that is measured at one size, one thing after the other, on one store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from graphmem.block import GraphMemoryBlock
from graphmem.experiments.speed.building import STORE, build, copy_of
from graphmem.experiments.speed.models import ClauseExtractor, WordEmbedder
from graphmem.experiments.speed.opening import bytes_on_disk, opened
from graphmem.experiments.speed.processes import fresh
from graphmem.experiments.speed.recalling import busy, loop_gaps, quiet, summary, whole_graph
from graphmem.experiments.speed.vector_block import vector_block
from graphmem.experiments.speed.world import USER, Batch, World
from graphmem.experiments.speed.writing import TimedStore, flushes_indexed, forgets, puts
from graphmem.memory import GraphMemory
from graphmem.progress import Steps, progress_steps
from graphmem.store import Store

__all__ = ["measure"]

_QUESTIONS = 300
_BUSY_QUESTIONS = 200
_LOOP_QUESTIONS = 50
_OPENINGS = 3
_INDEXED = 15
_FORGOTTEN = 30
_PUTS = 30
_STEPS = 7


def measure(passages: int, seed: int, folder: str, keep: str | None, quick: bool) -> dict[str, Any]:
    """The figures of one size, JSON-able. Meant for a process of its own.

    Args:
        passages: how many there are.
        seed: of the world.
        folder: an empty folder for the store; what is measured changes it.
        keep: a folder for stores as they were built; the measured one is a copy then.
        quick: measure everything a few times only, to see that it works.
    """
    world = World(passages, seed)
    place = Path(folder)
    # What else this machine was doing: it is in every time.
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    with progress_steps(f"{passages:,} passages", _STEPS) as steps:
        found = {"passages": passages, "load": load, **_stored(world, place, keep, steps)}
        found |= _opened(world, place, 1 if quick else _OPENINGS, steps)
        flushes = world.flushes()
        fewer = 10 if quick else 1
        remembered, recalled = _remembered(world, place, flushes, fewer, steps)
        found |= remembered
        found |= _hosted(world, place, flushes, fewer, steps)
        found |= _forgotten(world, place, flushes, recalled, fewer, steps)
        steps.begin("the vector block")
        found["vector_block_ms"], _ = fresh(vector_block, passages=passages, seed=seed)
        steps.finish(_line(passages, "the vector block", found["vector_block_ms"]["p50"]))
    return _compared(found)


def _stored(world: World, place: Path, keep: str | None, steps: Steps) -> dict[str, Any]:
    progress = steps.begin("storing and reading")
    if keep is None:
        seconds: float | None = build(world, place, progress)
    else:
        seconds = copy_of(world, Path(keep), place, progress)
    known = "there already" if seconds is None else f"{seconds:.1f} s"
    steps.finish(f"{world.passages:,} passages: stored and read, {known}")
    return {"build_s": None if seconds is None else round(seconds, 3)}


def _opened(world: World, place: Path, times: int, steps: Steps) -> dict[str, Any]:
    steps.begin("opening")
    # Before anything opens it here: in a fresh process it is as after a restart.
    sizes = {"disk": bytes_on_disk(place)}
    found = opened(world, place, times=times)
    sizes |= {name: found[name] for name in ("memory", "resident")}
    steps.finish(f"{world.passages:,} passages: opening, {found['open_s']:.2f} s")
    return {
        "open_s": found["open_s"],
        "start_s": found["start_s"],
        "bytes_per_passage": {
            name: None if size is None else round(size / world.passages)
            for name, size in sizes.items()
        },
    }


def _remembered(
    world: World, place: Path, flushes: Iterator[Batch], fewer: int, steps: Steps
) -> tuple[dict[str, Any], list[str]]:
    """What a memory does without a framework, and the ids of passages that it recalled."""
    store = TimedStore.open(place / STORE)
    assert isinstance(store, TimedStore)
    models = WordEmbedder(), ClauseExtractor()
    questions = world.questions(_QUESTIONS // fewer)
    with GraphMemory(store, *models, scope=USER, workers=1) as memory:
        stats = memory.stats()
        steps.begin("recall")
        recalls, processor = quiet(memory, models[0], questions)
        found: dict[str, Any] = {"recall_ms": {**summary(recalls), "processor": processor}}
        found["prpack_recall_ms"] = whole_graph(memory, recalls)
        steps.finish(_line(world.passages, "recall", found["recall_ms"]["p50"]))
        steps.begin("indexing")
        found["flush_ms_per_passage"] = flushes_indexed(
            memory, store, models, flushes, questions[0], count=_INDEXED // fewer
        )
        found["busy_recall_ms"] = busy(memory, questions[: _BUSY_QUESTIONS // fewer], flushes)
        per_passage = found["flush_ms_per_passage"]["p50"]
        steps.finish(_line(world.passages, "indexing, for each passage", per_passage))
    ids = dict.fromkeys(one.passage.id for recall in recalls for one in recall)
    return {"facts": stats.facts, "entities": stats.entities, **found}, list(ids)


def _hosted(
    world: World, place: Path, flushes: Iterator[Batch], fewer: int, steps: Steps
) -> dict[str, Any]:
    """What LlamaIndex's ``Memory`` would wait for."""
    steps.begin("put")
    with closing(_block(place)) as block:
        gaps = loop_gaps(block, world.questions(_LOOP_QUESTIONS // fewer))
        put, fsync = puts(block, flushes, place / "plain", count=_PUTS // fewer)
    steps.finish(_line(world.passages, "put", put["p50"]))
    return {"loop_gap_ms": gaps, "put_ms": put, "fsync_ms": fsync}


def _forgotten(
    world: World,
    place: Path,
    flushes: Iterator[Batch],
    ids: Sequence[str],
    fewer: int,
    steps: Steps,
) -> dict[str, Any]:
    """What forgetting costs, and a put where something is banned: all is compared with that."""
    steps.begin("forget")
    models = WordEmbedder(), ClauseExtractor()
    with GraphMemory(Store.open(place / STORE), *models, scope=USER, workers=1) as memory:
        memory.recall(world.questions(1)[0])
        times = forgets(memory, ids[: _FORGOTTEN // fewer])
    with closing(_block(place)) as block:
        put, _ = puts(block, flushes, place / "plain", count=_PUTS // fewer)
    steps.finish(_line(world.passages, "forget", times["p50"]))
    return {"forget_ms": times, "put_banned_ms": put}


def _block(place: Path) -> GraphMemoryBlock:
    return GraphMemoryBlock(
        uri=str(place / STORE),
        scope=USER,
        embed_model=WordEmbedder(),
        extractor=ClauseExtractor(),
        workers=1,
        recall_timeout=3600.0,
    )


def _line(passages: int, what: str, milliseconds: float) -> str:
    return f"{passages:,} passages: {what}, {milliseconds:.2f} ms"


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    """The figures, with how many times the recall's they are.

    Medians, of processor time where the other is; ``busy`` is p95 to p95.
    """
    recall, block = found["recall_ms"], found["vector_block_ms"]
    return found | {
        "times_recall": {
            "prpack": round(found["prpack_recall_ms"]["p50"] / recall["p50"], 2),
            "vector_block": round(block["p50"] / recall["processor"]["p50"], 2),
            "busy": round(found["busy_recall_ms"]["p95"] / recall["p95"], 2),
        }
    }
