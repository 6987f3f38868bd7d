"""A store of a generated world, written as a user's is: remembered, then drained."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from graphmem.errors import ExtractionError
from graphmem.experiments.speed.models import ClauseExtractor, WordEmbedder
from graphmem.experiments.speed.world import USER, World
from graphmem.memory import GraphMemory

__all__ = ["STORE", "build", "copy_of", "open_memory"]

Progress = Callable[[int, int], None]

STORE = "memory.db"
"""The file of a store in a folder of its own, which may get others beside it."""


def open_memory(folder: Path) -> GraphMemory:
    """The memory in a folder, with one thread to extract in and one to embed in."""
    return GraphMemory.open(
        folder / STORE,
        scope=USER,
        embed_model=WordEmbedder(),
        extractor=ClauseExtractor(),
        workers=1,
    )


def build(world: World, folder: Path, progress: Progress) -> float:
    """Store a world in an empty folder; returns the seconds.

    A first recall and the comparing of names are part of it, so that what a memory keeps for the
    next opening is there.

    Raises:
        ExtractionError: something could not be read or embedded.
    """
    start = time.perf_counter()
    with open_memory(folder) as memory:
        for session, messages in world.batches():
            memory.remember(messages, session=session)
        if memory.drain(progress=progress):
            raise ExtractionError(f"the world was not read to its end: {memory.stats().last_error}")
        memory.recall(world.questions(1)[0])
        memory.drain()
    return time.perf_counter() - start


def copy_of(world: World, kept: Path, folder: Path, progress: Progress) -> float | None:
    """Copy a store that was built before into an empty folder, after building it where it is not.

    Returns:
        The seconds of building it; None where it was there.
    """
    place = kept / f"speed-{world.seed}-{world.passages}"
    seconds = None
    if not place.is_dir():
        draft = place.with_name(f"{place.name}.part")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        seconds = build(world, draft, progress)
        draft.rename(place)
    shutil.copytree(place, folder, dirs_exist_ok=True)
    return seconds
