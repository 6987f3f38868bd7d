"""Explaining what is recalled of data sets, and looking up in the store what is said of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem.errors import InvalidInput
from graphmem.experiments.cache import embedder_of, keep
from graphmem.experiments.checking import Stored, faults
from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.metrics import percentiles
from graphmem.experiments.preparing import prepare
from graphmem.experiments.provenance import machine
from graphmem.experiments.report.wording import data_name
from graphmem.experiments.systems import Parts
from graphmem.experiments.systems.graphmem import GraphMemorySystem
from graphmem.experiments.triples import source
from graphmem.files import must_take_file, must_take_folder, write_json
from graphmem.memory import GraphMemory
from graphmem.progress import Steps, progress_steps

__all__ = ["bench_explain"]

_PARTS = ("walk", "bridge", "itself", "newer")


def bench_explain(
    data: Sequence[str | Path | DataSet],
    *,
    top_k: int = 5,
    sample: int = 0,
    triples: str = "recorded",
    embed_model: Any = None,
    cache: str | Path | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Explain everything that is recalled for each question, and check it against the store.

    Args:
        data: files in any format that ``load_dataset`` knows, or data sets.
        top_k: passages of each recall.
        sample: ask so many of each set's questions; 0: all.
        triples: where they come from, out of ``triples.SOURCES`` but for ``model``.
        embed_model: as for ``GraphMemory.open``.
        cache: a folder that keeps vectors from one run to the next.
        json_path: where to write the result.
        console: where to show the table; standard output where omitted.

    Returns:
        ``results``, a mapping for each set: ``questions`` (asked), ``passages`` (explained),
        ``paths`` (all of them, by part of the score) and ``steps`` (by kind) that were checked,
        ``faults`` (see ``checking.faults``, with question and passage), ``walk_told`` (which share
        of a passage's walks its paths tell, 0 to 1, where it has any) and ``explain_ms`` (with the
        embedding of the question), both with ``p50`` and ``p95``; and ``machine``.

    Raises:
        NotFound, InvalidInput, MissingDependency: a wrong file, number or name, or something is
            missing for it; nothing has run then.
    """
    must_take_file(json_path)
    must_take_folder(cache)
    if top_k < 1:
        raise InvalidInput(f"top_k must be at least 1, not {top_k}")
    read = source(triples)
    parts = Parts(embedder_of(embed_model, cache), read)
    sets = [one.data for one in prepare(data, sample=sample)]
    try:
        with progress_steps("sets", len(sets)) as steps:
            results = [_explained(one, parts, top_k, steps) for one in sets]
    finally:
        keep(parts.embedder)
    content = {"top_k": top_k, "triples": triples, "results": results, "machine": machine()}
    if json_path is not None:
        write_json(json_path, content)
    (console or Console()).print(_table(results))
    return content


def _explained(data: DataSet, parts: Parts, top_k: int, steps: Steps) -> dict[str, Any]:
    with closing(GraphMemorySystem(parts)) as system:
        system.ingest(data, steps.begin(f"reading {data.name}"))
        memory = system.memory
        stored = {scope: Stored.of(memory, scope) for scope in data.scopes}
        tally = _Tally(Counter(), Counter(), [], [], [])
        progress = steps.begin(f"explaining {data.name}")
        for done, question in enumerate(data.asked, 1):
            _explain(memory, question, top_k, stored[question.scope], tally)
            progress(done, len(data.asked))
    steps.finish(f"{data.name}: {len(tally.milliseconds)} passages")
    return {
        "data": data.name,
        "questions": len(data.asked),
        "passages": len(tally.milliseconds),
        "paths": {part: tally.paths[part] for part in _PARTS},
        "steps": dict(sorted(tally.steps.items())),
        "faults": tally.faults,
        "walk_told": _percentiles(tally.told),
        "explain_ms": _percentiles(tally.milliseconds),
    }


@dataclass(frozen=True, slots=True)
class _Tally:
    """What was told so far of one set."""

    paths: Counter[str]
    steps: Counter[str]
    told: list[float]
    milliseconds: list[float]
    faults: list[dict[str, str]]


def _explain(
    memory: GraphMemory, question: Question, top_k: int, stored: Stored, tally: _Tally
) -> None:
    for ranked in memory.recall(question.text, scope=question.scope, top_k=top_k):
        start = time.perf_counter()
        found = memory.explain(question.text, ranked, scope=question.scope, top_k=top_k)
        tally.milliseconds.append((time.perf_counter() - start) * 1e3)
        tally.paths.update(path.part for path in found.paths)
        tally.steps.update(step.kind for path in found.paths for step in path.steps)
        if walks := [path.share for path in found.paths if path.part == "walk"]:
            tally.told.append(sum(walks))
        said = faults(found, stored)
        if not found.is_recalled:
            said.append(f"it is told as {found.outcome}")
        tally.faults.extend(
            {"question": question.id, "passage": ranked.passage.id, "fault": fault}
            for fault in said
        )


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    p50, p95 = percentiles(values) if values else (None, None)
    return {"p50": p50, "p95": p95}


def _table(results: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(
        title="explanations of what was recalled, looked up in the store",
        box=SIMPLE,
        pad_edge=False,
    )
    table.add_column("data", overflow="fold")
    for column in ("questions", "passages", "paths", "steps", "wrong", "p50 ms", "p95 ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in results:
        counts = sum(one["paths"].values()), sum(one["steps"].values()), len(one["faults"])
        cells = one["questions"], one["passages"], *counts
        times = (one["explain_ms"][name] for name in ("p50", "p95"))
        table.add_row(
            data_name(one["data"]),
            *map(str, cells),
            *("–" if time is None else f"{time:.1f}" for time in times),
        )
    return table
