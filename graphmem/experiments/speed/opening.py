"""Opening: the time to the first recall in a fresh process, and what a memory holds there."""

from __future__ import annotations

import gc
import statistics
import time
from pathlib import Path
from typing import Any

from graphmem.experiments.speed.building import open_memory
from graphmem.experiments.speed.models import WordEmbedder
from graphmem.experiments.speed.processes import fresh
from graphmem.experiments.speed.world import World

__all__ = ["bytes_on_disk", "open_and_recall", "opened"]

_ROLLUP = Path("/proc/self/smaps_rollup")
_RECALLS = 50
# Opening is repeated while it is quick.
_SECONDS = 20.0


def opened(world: World, folder: Path, *, times: int) -> dict[str, Any]:
    """Open a store in a fresh process, several times, and recall.

    Returns:
        ``open_s``, the median of the seconds from opening to the first recall, the embedding of
        its question left out; ``start_s``, what the process took besides, for the interpreter, its
        imports and its end; ``memory`` and ``resident``, bytes by which 50 recalls have made the
        process larger: of its own, and with the files that are mapped into it (None where the
        system does not say).
    """
    found: list[dict[str, Any]] = []
    start = time.monotonic()
    while len(found) < times and (not found or time.monotonic() - start < _SECONDS):
        one, wall = fresh(
            open_and_recall, folder=str(folder), passages=world.passages, seed=world.seed
        )
        found.append({**one, "start_s": wall - one.pop("all_s")})
    known = {name: [one[name] for one in found] for name in found[0]}
    return {
        name: None if None in values else round(statistics.median(values), 4)
        for name, values in known.items()
    }


def open_and_recall(folder: str, passages: int, seed: int) -> dict[str, Any]:
    """What ``opened`` runs in the fresh process; ``all_s`` is the seconds that it took."""
    begun = time.perf_counter()
    WordEmbedder().embed(["warm up"])
    questions = World(passages, seed).questions(_RECALLS)
    before = _sizes()
    start = time.perf_counter()
    with open_memory(Path(folder)) as memory:
        first = memory.recall(questions[0])
        open_s = time.perf_counter() - start - first.timings.get("embed", 0.0) / 1e3
        for question in questions[1:]:
            memory.recall(question)
        after = _sizes()
    return {
        "open_s": open_s,
        **{
            name: None if before is None or after is None else after[name] - before[name]
            for name in ("memory", "resident")
        },
        "all_s": time.perf_counter() - begun,
    }


def _sizes() -> dict[str, int] | None:
    """Bytes of this process: of its own (anonymous), and all that is resident; Linux tells."""
    gc.collect()
    if not _ROLLUP.is_file():
        return None
    lines = (line.split() for line in _ROLLUP.read_text().splitlines()[1:])
    kilobytes = {line[0].rstrip(":"): int(line[1]) for line in lines}
    return {"memory": kilobytes["Anonymous"] * 1024, "resident": kilobytes["Rss"] * 1024}


def bytes_on_disk(folder: Path) -> int:
    """Of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
