"""Measure one size after the other, and show the figures side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphmem.errors import InvalidInput
from graphmem.experiments.provenance import machine
from graphmem.experiments.report.plots import by_size, must_be_drawable, save
from graphmem.experiments.speed.measuring import measure
from graphmem.experiments.speed.processes import fresh
from graphmem.experiments.speed.world import FACTS, FLUSH
from graphmem.files import must_take_file, must_take_folder, write_json

__all__ = ["LEAST", "bench_speed"]

LEAST = 100
"""Passages of the smallest store that is measured."""

_Result = Mapping[str, Any]
_COSTS = {
    "recall": "recall_ms",
    "recall, prpack": "prpack_recall_ms",
    "VectorMemoryBlock": "vector_block_ms",
    f"put {FLUSH} messages": "put_ms",
    "forget": "forget_ms",
}


def bench_speed(
    sizes: Sequence[int] = (1_000, 10_000),
    *,
    seed: int = 0,
    json_path: str | Path | None = None,
    plots: bool = False,
    keep: str | Path | None = None,
    quick: bool = False,
    console: Console | None = None,
) -> dict[str, Any]:
    """Measure recall, writing, opening and size at each size, each in a process of one thread.

    The store is a generated one (see ``world.World``), written as a user's is. What is measured
    later finds what was written before: 600 messages by the flushes that are indexed, those of the
    writer beside the recalls, and 1,200 by the puts, before the forgets and behind them. What is
    slow is measured less often.

    Args:
        sizes: passages of each store, at least 100.
        seed: of the generated worlds.
        json_path: where to write the figures.
        plots: draw cost against size beside them, as PNG.
        keep: a folder that keeps the stores as they were built from one run to the next. Delete it
            after a change in how a store is written.
        quick: measure everything a few times only, to see that it works.
        console: where to show the table; standard output where omitted.

    Returns:
        ``results``, a mapping for each size, with the ``machine`` and what was stored. All times
        are without the embedder's, and have ``p50`` and ``p95`` where they are mappings:

        - ``recall_ms``: questions about the world, also by stage, and ``processor`` time;
          ``busy_recall_ms``: while a thread stores and drains flushes; ``prpack_recall_ms``: with
          igraph's prpack on the whole graph in place of the walk, from the same seed entities.
        - ``vector_block_ms``: processor time of LlamaIndex's ``VectorMemoryBlock`` with the same
          messages (``nodes``: 50,000 at most) in one session.
        - ``put_ms``, ``fsync_ms``: ``aput`` of 40 messages with an idle worker, and a plain write
          and fsync of their words in turn with it; ``put_banned_ms``: the put after the forgets.
        - ``flush_ms_per_passage``: see ``writing.flushes_indexed``; ``forget_ms``: until the
          receipt of forgetting one passage is there.
        - ``open_s``, ``start_s``: see ``opening.opened``; ``bytes_per_passage``: what 50 recalls
          in a fresh process add to its ``memory``, and to what is ``resident`` with mapped files;
          and on ``disk``.
        - ``loop_gap_ms``: the ``max`` by which a heartbeat of a millisecond is late while the block
          recalls, and when ``idle``.
        - ``times_recall``: how many times the recall's others are, median to median (``busy``: p95
          to p95; ``vector_block``: processor time to processor time); ``load``: the machine's
          average load of the minute before.

    Raises:
        NotFound, InvalidInput, MissingDependency: a wrong size, a file that cannot be written, or
            no matplotlib to draw with; nothing has run then.
        GraphMemError: a measuring process failed.
    """
    _check(sizes, json_path, plots, keep)
    results = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
            kept = None if keep is None else str(Path(keep).resolve())
            one, _ = fresh(measure, passages=size, seed=seed, folder=folder, keep=kept, quick=quick)
        results.append(one)
        content = _content(results, seed)
        if json_path is not None:
            write_json(json_path, content)
    (console or Console()).print(_table(results))
    if plots and json_path is not None:
        save(Path(json_path).with_suffix(".png"), by_size(_lines(results)))
    return content


def _check(
    sizes: Sequence[int], json_path: str | Path | None, plots: bool, keep: str | Path | None
) -> None:
    wrong = [size for size in sizes if size < LEAST]
    if wrong or not sizes:
        raise InvalidInput(
            f"sizes are numbers of passages, at least {LEAST} each, such as 1000 and 10000"
        )
    must_take_file(json_path)
    must_take_folder(keep)
    if plots:
        if json_path is None:
            raise InvalidInput("--plots draws beside the figures: name their file with --json")
        must_be_drawable(Path(json_path).parent)


def _content(results: Sequence[_Result], seed: int) -> dict[str, Any]:
    return {
        "facts_of_passage": FACTS,
        "messages_of_flush": FLUSH,
        "seed": seed,
        "threads": 1,
        "machine": machine(),
        "results": list(results),
    }


def _lines(results: Sequence[_Result]) -> dict[str, list[tuple[int, float]]]:
    """Passages and median milliseconds of what is drawn."""
    return {
        name: [(one["passages"], one[key]["p50"]) for one in results]
        for name, key in _COSTS.items()
    }


def _table(results: Sequence[_Result]) -> Table:
    table = Table(title="speed: median / 95th percentile in milliseconds, unless another unit")
    table.add_column("passages", justify="left")
    for one in results:
        table.add_column(f"{one['passages']:,}", justify="right")
    for name, cell in _ROWS.items():
        table.add_row(name, *(cell(one) for one in results))
    return table


def _both(key: str) -> Callable[[_Result], str]:
    return lambda one: f"{one[key]['p50']:.2f} / {one[key]['p95']:.2f}"


def _times(key: str) -> Callable[[_Result], str]:
    return lambda one: f"{one['times_recall'][key]:.1f}"


def _kilobytes(key: str) -> Callable[[_Result], str]:
    def cell(one: _Result) -> str:
        size = one["bytes_per_passage"][key]
        return "?" if size is None else f"{size / 1000:.1f}"

    return cell


_ROWS: dict[str, Callable[[_Result], str]] = {
    "recall": _both("recall_ms"),
    "… processor time": lambda one: f"{one['recall_ms']['processor']['p50']:.2f}",
    "… while a thread writes": _both("busy_recall_ms"),
    "… with prpack on the whole graph": _both("prpack_recall_ms"),
    "VectorMemoryBlock, processor time": _both("vector_block_ms"),
    f"put {FLUSH} messages": _both("put_ms"),
    "… where something is banned": _both("put_banned_ms"),
    "plain fsync": _both("fsync_ms"),
    "index a flush, for each passage": _both("flush_ms_per_passage"),
    "forget a passage": _both("forget_ms"),
    "event loop held, at most": lambda one: f"{one['loop_gap_ms']['max']:.1f}",
    "prpack: times the recall": _times("prpack"),
    "VectorMemoryBlock: times the recall": _times("vector_block"),
    "open to the first recall, s": lambda one: f"{one['open_s']:.2f}",
    "memory of a passage, kB": _kilobytes("memory"),
    "… with mapped files, kB": _kilobytes("resident"),
    "on disk, kB": _kilobytes("disk"),
}
