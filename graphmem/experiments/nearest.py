"""The nearest vectors: how many of them our index finds, and what it costs, beside others.

The vectors are those of data sets' passages, facts and names, the queries are their questions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem.errors import InvalidInput
from graphmem.experiments.cache import embedder_of, keep
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.metrics import percentiles
from graphmem.experiments.preparing import prepare
from graphmem.experiments.provenance import machine
from graphmem.experiments.systems import Parts
from graphmem.experiments.systems.graphmem import GraphMemorySystem
from graphmem.experiments.vector_indexes import KINDS, Found, Nearest, Rows, one_thread
from graphmem.files import must_take_file, must_take_folder, write_json
from graphmem.progress import Steps, progress_steps
from graphmem.types import Embedder

__all__ = ["bench_vectors", "recall_of"]

SIZES = (1_000, 10_000)
"""Vectors that are drawn from all, before all of them."""
CUTS = (5, 50)
ADDED = 400
"""Vectors that are added, and dropped, at once."""
_QUESTIONS = 300
# What is as near as the last one that was wanted, but for rounding, is as good.
_TIE = 1e-6


def recall_of(found: Found, products: NDArray[np.floating[Any]], count: int) -> float:
    """Which share of the best ``count`` is found, 0 to 1; of equals any will do.

    Args:
        found: numbers, best first.
        products: of every vector with the query.
        count: at most as many as there are.
    """
    last = np.partition(products, len(products) - count)[len(products) - count]
    once = np.unique(found[:count])
    return float((products[once] >= last - _TIE).sum()) / count


@dataclass(frozen=True, slots=True)
class _Sense:
    """What a memory holds in vectors, each once, and questions."""

    rows: Rows
    queries: Rows


def bench_vectors(
    data: Sequence[str | Path | DataSet],
    *,
    embed_model: Any = None,
    cache: str | Path | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Look for the nearest of real vectors in our index and in others, one thread each.

    Args:
        data: files in any format that ``load_dataset`` knows, or data sets, with their triples.
        embed_model: as for ``GraphMemory.open``.
        cache: a folder that keeps vectors from one run to the next.
        json_path: where to write the result.
        console: where to show the table; standard output where omitted.

    Returns:
        ``results``, a mapping for each size and index: ``vectors`` (how many), ``index``
        (``graphmem``; ``numpy``, every product; the others are FAISS's, ``PQfs`` with codes of a
        bit a dimension that are trained and 500 candidates that are scored exactly), ``recall_5``
        and ``recall_50`` (share of the true best, 0 to 1, means over the questions), ``ms`` of a
        search (``p50``, ``p95``), ``build_s``, ``add_ms`` and ``drop_ms`` (400 at once; of few
        vectors a tenth is dropped), ``recall_50_dropped`` (of what is left when those that are near
        the questions were dropped), and ``bytes_per_vector`` in memory, vectors in files aside.
        Times are of the processor. Beside them ``queries`` (how many), ``dims``, and ``machine``.

    Raises:
        NotFound, InvalidInput, MissingDependency: a wrong file, or something is missing for it;
            nothing has run then.
    """
    must_take_file(json_path)
    must_take_folder(cache)
    embedder = embedder_of(embed_model, cache)
    sets = [one.data for one in prepare(data)]
    with progress_steps("indexes", len(sets) + (len(SIZES) + 1) * len(KINDS)) as steps:
        try:
            sense = _sense(sets, embedder, steps)
        finally:
            keep(embedder)
        fit = len(sense.rows) - ADDED
        if fit < 2 * max(CUTS):
            raise InvalidInput(f"{len(sense.rows)} vectors are too few: name larger data sets")
        sizes = [*(size for size in SIZES if size < fit), fit]
        with one_thread():
            results = [one for size in sizes for one in _measured(sense, size, steps)]
    found = {"queries": len(sense.queries), "dims": sense.rows.shape[1], "results": results}
    content = {**found, "machine": machine()}
    if json_path is not None:
        write_json(json_path, content)
    (console or Console()).print(_table(results))
    return content


def _sense(sets: Sequence[DataSet], embedder: Embedder, steps: Steps) -> _Sense:
    texts: dict[str, None] = {}
    for data in sets:
        with closing(GraphMemorySystem(Parts(embedder))) as system:
            system.ingest(data, steps.begin(f"reading {data.name}"))
            for scope in data.scopes:
                memory = system.memory
                texts.update((one.full_text, None) for one in memory.passages(scope))
                texts.update((one.text, None) for one in memory.facts(scope))
                texts.update((one.name, None) for one in memory.entities(scope))
        steps.finish(f"{data.name}: {len(texts)} texts so far")
    questions = [one.text for data in sets for one in data.asked]
    rows = np.unique(embedder.embed(list(texts)), axis=0)
    queries = np.stack([embedder.embed_query(text) for text in questions[:_QUESTIONS]])
    # Sorted by now: in an order of chance, the same each time.
    return _Sense(rows[np.random.default_rng(0).permutation(len(rows))], queries)


def _measured(sense: _Sense, size: int, steps: Steps) -> Iterator[dict[str, Any]]:
    rows, more = sense.rows[:size], sense.rows[size : size + ADDED]
    everything = np.concatenate((rows, more))
    products = sense.queries.astype(np.float64) @ everything.T.astype(np.float64)
    # Those that are nearest to some question: where they are gone, the next have to be found.
    nearest = np.unique(np.argpartition(-products, 3, axis=1)[:, :3])
    dropped = np.random.default_rng(1).permutation(nearest)[: min(ADDED, size // 10)]
    left = np.ones(len(everything), dtype=np.bool_)
    left[dropped] = False
    for name, kind in KINDS.items():
        steps.begin(f"{name}, {size:,} vectors")
        build_ms, index = _timed(lambda kind=kind: kind(rows.copy()))  # type: ignore[misc]
        nbytes = index.nbytes
        before = _asked(index, sense.queries, products[:, :size])
        add_ms, _ = _timed(lambda index=index: index.add(more))  # type: ignore[misc]
        drop_ms, _ = _timed(lambda index=index: index.drop(dropped))  # type: ignore[misc]
        after = _recalls_left(index, sense.queries, products, left)
        yield {
            "vectors": size,
            "index": name,
            **before,
            "build_s": round(build_ms / 1e3, 3),
            "add_ms": round(add_ms, 3),
            "drop_ms": round(drop_ms, 3),
            "recall_50_dropped": after,
            "bytes_per_vector": round(nbytes / size),
        }
        steps.finish(f"{name}, {size:,} vectors: {before['ms']['p50']:.3f} ms")


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of processor time, of every thread that helps, and what came of it."""
    start = time.process_time()
    result = call()
    return (time.process_time() - start) * 1e3, result


def _asked(index: Nearest, queries: Rows, products: NDArray[np.floating[Any]]) -> dict[str, Any]:
    times: list[float] = []
    recalls: dict[int, list[float]] = {cut: [] for cut in CUTS}
    index.search(queries[0], max(CUTS))
    for query, of_all in zip(queries, products, strict=True):
        spent, found = _timed(lambda query=query: index.search(query, max(CUTS)))  # type: ignore[misc]
        times.append(spent)
        for cut, shares in recalls.items():
            shares.append(recall_of(found, of_all, cut))
    p50, p95 = percentiles(times)
    means = {f"recall_{cut}": round(float(np.mean(each)), 5) for cut, each in recalls.items()}
    return {**means, "ms": {"p50": p50, "p95": p95}}


def _recalls_left(
    index: Nearest, queries: Rows, products: NDArray[np.floating[Any]], left: NDArray[np.bool_]
) -> float | None:
    """Recall@50 of what is left; None where an index numbers its vectors anew."""
    if not index.keeps_numbers:
        return None
    shares = []
    for query, of_all in zip(queries, products, strict=True):
        found = index.search(query, max(CUTS))
        found = found[left[found]]
        shares.append(recall_of(found, np.where(left, of_all, -2.0), max(CUTS)))
    return round(float(np.mean(shares)), 5)


def _table(results: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title="the nearest of real vectors", box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("vectors", justify="right", no_wrap=True)
    table.add_column("index", no_wrap=True)
    columns = ("recall@5", "recall@50", "ms", "add ms", "drop ms", "bytes each")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for one in results:
        table.add_row(
            f"{one['vectors']:,}",
            one["index"],
            *(f"{one[f'recall_{cut}']:.4f}" for cut in CUTS),
            f"{one['ms']['p50']:.3f}",
            f"{one['add_ms']:.1f}",
            f"{one['drop_ms']:.1f}",
            f"{one['bytes_per_vector']:,}",
        )
    return table
