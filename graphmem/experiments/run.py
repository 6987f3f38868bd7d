"""Run systems on data sets, row by row, and report what they recall.

A run is a list of setups: each system on each data set, with each source of triples, from each
seed, with each variant of recall. With a folder for its results, every row is written as soon as it
is finished, and a run that was stopped goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from graphmem.experiments.files import must_have_folder, write_json
from graphmem.experiments.measuring import BUDGET, DEPTH, Measurer
from graphmem.experiments.plots import draw, must_be_drawable
from graphmem.experiments.preparing import prepare
from graphmem.experiments.report import show, summary, write_report
from graphmem.experiments.rows import Result, RowFolder
from graphmem.experiments.variants import DEFAULTS, Variant
from graphmem.types import Extractor

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

__all__ = ["bench_recall"]


def bench_recall(
    data: Sequence[str | Path],
    systems: Sequence[str] = ("graphmem",),
    *,
    triples: Sequence[str] = ("recorded",),
    seeds: Sequence[int] = (0,),
    variants: Sequence[Variant] = (DEFAULTS,),
    format: str | None = None,
    lookups: int = 0,
    sample: int = 0,
    mix: bool = False,
    depth: int = DEPTH,
    budget: int = BUDGET,
    out: str | Path | None = None,
    plots: bool = False,
    json_path: str | Path | None = None,
    embed_model: Any = None,
    cache: str | Path | None = None,
    model: Extractor | None = None,
    llm: LLM | None = None,
    console: Console | None = None,
) -> list[Result]:
    """Measure each system on each data set, show a table, and return the figures.

    Args:
        data: files in any format that ``load_dataset`` knows.
        systems: names out of ``SYSTEMS``, or dotted names of one's own.
        triples: names out of ``triples.SOURCES``; a row each for systems that read triples.
        seeds: orders in which documents arrive; 0 is the file's. A row each.
        variants: constants of recall (see ``variants_of``); a row each for systems that have them.
        format: the files' format; told by their content where omitted.
        lookups: ask that many recorded facts back in other words, in place of the questions.
        sample: draw that many questions from each set, with all records of their scopes.
        mix: put the records of all files into one memory.
        depth: how many records to ask for.
        budget: tokens for ``within_budget``.
        out: a folder for rows, ``report.json`` and ``report.md``; rows that are there already are
            not measured again.
        plots: draw pictures into ``out`` as well.
        json_path: where to write what ``report.json`` holds.
        embed_model: as in ``GraphMemory.open``; the bundled model where omitted.
        cache: a folder that keeps vectors and a model's extractions from one run to the next.
        model: reads the triples of the source ``model``.
        llm: for systems that ask one.
        console: where to show the tables; standard output where omitted.

    Returns:
        The rows' results, as in ``rows.result``.

    Raises:
        NotFound, InvalidInput, MissingDependency: a wrong file or name, or something that is not
            installed; nothing has run then.
    """
    must_have_folder(json_path)
    must_have_folder(out)
    if plots:
        must_be_drawable(out)
    sets = prepare(data, format=format, lookups=lookups, sample=sample, mix=mix)
    measurer = Measurer(embed_model, cache=cache, model=model, llm=llm)
    setups = [
        setup
        for one in sets
        for setup in measurer.setups(
            one, systems, triples, seeds, variants, depth=depth, budget=budget
        )
    ]
    folder = None if out is None else RowFolder(Path(out) / "rows")
    rows = measurer.measure(setups, sets, folder)
    content = summary(rows)
    if json_path is not None:
        write_json(json_path, content)
    shown_on = console or Console(markup=False)
    show(shown_on, rows)
    if out is not None:
        write_report(Path(out), rows, content)
        drawn = draw(Path(out), rows) if plots else []
        names = ", ".join(["report.md", "report.json", *(path.name for path in drawn)])
        shown_on.print(f"written to {out}: {names}", soft_wrap=True)
    results: list[Result] = content["results"]
    return results
