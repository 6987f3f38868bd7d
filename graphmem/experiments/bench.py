"""Run systems on data sets and report what they recall."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem import embedding
from graphmem.experiments.cache import CachedEmbedder
from graphmem.experiments.datasets import DataSet, load_dataset
from graphmem.experiments.files import machine, must_have_folder, write_json
from graphmem.experiments.metrics import Score, mean_scores, percentiles, score
from graphmem.experiments.systems import System, open_system
from graphmem.progress import progress_bar
from graphmem.types import Embedder

__all__ = ["bench_recall"]

TOP_K = 10
Result = dict[str, Any]


def bench_recall(
    data: Sequence[str | Path],
    systems: Sequence[str] = ("graphmem",),
    *,
    json_path: str | Path | None = None,
    embed_model: Any = None,
    cache: str | Path | None = None,
    console: Console | None = None,
) -> list[Result]:
    """Measure each system on each data set, show a table, and return the figures.

    Args:
        data: files in the normal form (see ``datasets``).
        systems: names out of ``SYSTEMS``.
        json_path: where to write ``{"results": […], "machine": {…}}``.
        embed_model: as in ``GraphMemory.open``; the bundled model where omitted.
        cache: a folder that keeps vectors from one run to the next.
        console: where to show the table; standard output where omitted.

    Returns:
        For each data set and system: ``data`` (the file's name), ``system``, ``recall@2``,
        ``recall@5``, ``recall@10``, ``all@5``, ``all@10``, ``mrr`` (shares from 0 to 1, over the
        questions that have gold passages), ``questions`` (how many), ``p50_ms``, ``p95_ms`` (a
        recall besides embedding), ``routes`` (how many questions each route answered), ``by_kind``
        (the shares by kind of question), and ``stale_first`` where a file knows outdated passages:
        the share of update questions that rank one above all gold ones.

    Raises:
        NotFound, InvalidInput: a wrong file or name; nothing has run then.
    """
    must_have_folder(json_path)
    sets = [load_dataset(path) for path in data]
    embedder = embedding.resolve(embed_model)
    if cache is not None:
        embedder = CachedEmbedder(embedder, cache)
    opened = [(name, open_system(name, embedder)) for name in dict.fromkeys(systems)]
    results: list[Result] = []
    for name, system in opened:
        with closing(system):
            for dataset in sets:
                results.append(_measure(name, system, dataset))
                _save(embedder)
    if json_path is not None:
        write_json(json_path, {"results": results, "machine": machine()})
    (console or Console()).print(_table(results))
    return results


def _measure(name: str, system: System, data: DataSet) -> Result:
    with progress_bar(f"{name}: reading {data.name}") as progress:
        system.ingest(data, progress)
    questions = [question for question in data.questions if question.gold]
    scores: list[Score] = []
    times: list[float] = []
    routes: dict[str, int] = {}
    with progress_bar(f"{name}: asking {data.name}") as progress:
        for number, question in enumerate(questions, 1):
            answer = system.ask(question, TOP_K)
            scores.append(score(answer.ranking, question.gold, question.stale))
            times.append(answer.milliseconds)
            routes[answer.route] = routes.get(answer.route, 0) + 1
            progress(number, len(questions))
    kinds = sorted({question.kind for question in questions} - {""})
    result: Result = {"data": data.name, "system": name, **mean_scores(scores)}
    result["questions"] = len(questions)
    if times:
        result["p50_ms"], result["p95_ms"] = percentiles(times)
    result["routes"] = {route: routes[route] for route in sorted(routes) if route}
    result["by_kind"] = {
        kind: mean_scores([s for s, q in zip(scores, questions, strict=True) if q.kind == kind])
        for kind in kinds
    }
    stale = [
        one.stale_first
        for one, question in zip(scores, questions, strict=True)
        if one.stale_first is not None and question.kind == "update"
    ]
    if stale:
        result["stale_first"] = sum(stale) / len(stale)
    return result


def _save(embedder: Embedder) -> None:
    if isinstance(embedder, CachedEmbedder):
        embedder.save()


def _table(results: Sequence[Result]) -> Table:
    table = Table(title="recall (R) of the gold passages, in percent", box=SIMPLE, pad_edge=False)
    for column in ("data", "system"):
        table.add_column(column, overflow="fold")
    shares = ("recall@2", "recall@5", "recall@10", "all@5", "mrr")
    for column in ("R@2", "R@5", "R@10", "all@5", "MRR", "p50 ms", "p95 ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in results:
        table.add_row(
            result["data"].removesuffix(".gz").removesuffix(".json"),
            result["system"],
            *(f"{100 * result[share]:.1f}" if share in result else "" for share in shares),
            *(f"{result[key]:.1f}" if key in result else "" for key in ("p50_ms", "p95_ms")),
        )
    return table
