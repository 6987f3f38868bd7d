"""Run systems on data sets, row by row, and report what they recall.

A run is a list of setups: each system on each data set, with each source of triples, from each
seed, with each variant of recall. With a folder for its results, every row is written as soon as it
is finished, and a run that was stopped goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.measuring import DEPTH, Measurer
from graphmem.experiments.preparing import prepare
from graphmem.experiments.report.plots import draw, must_be_drawable
from graphmem.experiments.report.results import Results
from graphmem.experiments.report.summary import quiet_in_notebooks, show, summary, write_report
from graphmem.experiments.report.wording import data_name, left_out
from graphmem.experiments.rows import Row, RowFolder, Setup
from graphmem.experiments.systems import BUDGET, SYSTEMS, Parts, kind_of, name_of
from graphmem.experiments.variants import DEFAULTS, Variant
from graphmem.files import must_take_file, must_take_folder, write_json
from graphmem.types import Extractor

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

__all__ = ["bench_recall"]


def bench_recall(
    data: Sequence[str | Path | DataSet],
    systems: Sequence[str | Callable[[Parts], Any]] = ("graphmem",),
    *,
    triples: Sequence[str] = ("recorded",),
    seeds: Sequence[int] = (0,),
    variants: Sequence[Variant] = (DEFAULTS,),
    format: str | None = None,
    lookups: int = 0,
    sample: int = 0,
    records: int = 0,
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
) -> Results:
    """Measure each system on each data set, show a table, and return the figures.

    Args:
        data: files in any format that ``load_dataset`` knows, or data sets.
        systems: names out of ``SYSTEMS``; for one's own the class, or its dotted name.
        triples: names out of ``triples.SOURCES``; a row each for systems that read triples.
        seeds: orders in which documents arrive; 0 is the file's. A row each; tables show means
            over them. Messages of a chat keep their order.
        variants: constants of recall (see ``variants_of``); a row each for systems that have them.
        format: the files' format; told by their content where omitted.
        lookups: ask that many recorded facts back in other words, in place of the questions.
        sample: draw that many questions from each set, with all records of their scopes.
        records: make each set smaller: the first so many messages of each conversation, so many
            documents, and the questions that they answer; see ``shrunk``. 0: everything.
        mix: put the records of all files into one memory.
        depth: how many records to ask for, at least 10.
        budget: tokens for ``within_budget``, and for what ``in_context`` holds.
        out: a folder for rows, ``report.json`` and ``report.md``; rows that are there already are
            not measured again. For a system of your own, its module counts and what that had
            imported from its folder or package: after a change elsewhere, delete the folder.
        plots: draw pictures into ``out`` as well.
        json_path: where to write what ``report.json`` holds.
        embed_model: as in ``GraphMemory.open``; the bundled model where omitted.
        cache: a folder that keeps vectors and a model's extractions from one run to the next.
        model: reads the triples of the source ``model``.
        llm: for systems that ask one.
        console: where to show the tables; standard output where omitted, in a notebook nowhere:
            there the results show themselves.

    Returns:
        The rows' results, as in ``rows.result``; in a notebook they are tables.

    Raises:
        NotFound, InvalidInput, MissingDependency: a wrong file or name, questions that cannot be
            asked, options that no system makes use of, or something that is not installed; nothing
            has run then.
        InvalidInput: a system raised an error, or answered with something else than an ``Answer``
            of records; finished rows have been shown, and are in ``out``.
    """
    must_take_file(json_path)
    must_take_folder(out)
    must_take_folder(cache)
    if plots:
        must_be_drawable(out)
    sets = prepare(data, format=format, lookups=lookups, sample=sample, records=records, mix=mix)
    named = [name_of(system) for system in systems]
    measurer = Measurer(embed_model, cache=cache, model=model, llm=llm)
    setups = [
        setup
        for one in sets
        for setup in measurer.setups(
            one, named, triples, seeds, variants, depth=depth, budget=budget
        )
    ]
    _must_be_used(named, triples, variants)
    shown_on = console or quiet_in_notebooks()
    for one in sets:
        _tell_of_what_is_left_out(one.data, shown_on)
        if any(s.content == one.content and _reads_recorded(s) for s in setups):
            _tell_of_no_triples(one.data, shown_on)
    folder = None if out is None else RowFolder(Path(out) / "rows")
    if folder is not None:
        by_content = {one.content: one.data for one in sets}
        found = [folder.find(setup, by_content[setup.content]) for setup in setups]
        known = sum(row is not None for row in found)
        if known:
            about = f"{known} of {len(setups)} rows were measured before and are taken from {out}"
            shown_on.print(about, soft_wrap=True)
    rows: list[Row] = []
    try:
        rows.extend(measurer.measure(setups, sets, folder))
    except BaseException:
        if rows:
            show(shown_on, rows)
        raise
    results = Results(rows)
    content = summary(rows, results)
    if json_path is not None:
        write_json(json_path, content)
    show(shown_on, rows)
    if out is not None:
        write_report(Path(out), rows, content)
        drawn = draw(Path(out), rows) if plots else []
        names = ", ".join(["report.md", "report.json", *(path.name for path in drawn)])
        shown_on.print(f"written to {out}: {names}", soft_wrap=True)
    return results


def _must_be_used(
    systems: Sequence[str], triples: Sequence[str], variants: Sequence[Variant]
) -> None:
    """Check that some system has the constants, and reads the triples, that the run varies."""
    kinds = [kind_of(system) for system in systems]
    if any(one.changes for one in variants) and not any(kind.uses_settings for kind in kinds):
        raise InvalidInput(
            "no chosen system has constants of recall to change (--set, --sweep, --ablate): add "
            "graphmem to the systems"
        )
    if set(triples) - {"recorded"} and not any(kind.uses_triples for kind in kinds):
        raise InvalidInput(
            "no chosen system reads triples (--triples): add graphmem or ppr to the systems"
        )


def _reads_recorded(setup: Setup) -> bool:
    """Whether it is known to read recorded triples: a system of one's own may not."""
    return setup.triples == "recorded" and setup.system in SYSTEMS


def _tell_of_what_is_left_out(data: DataSet, console: Console) -> None:
    unasked = sum(not question.gold for question in data.questions)
    counts = {**data.left_out, **({"questions without gold": unasked} if unasked else {})}
    if counts:
        told = ", ".join(left_out(number, what) for what, number in counts.items())
        console.print(f"{data_name(data.name)}: left out {told}", soft_wrap=True)


def _tell_of_no_triples(data: DataSet, console: Console) -> None:
    if not any(record.triples for record in data.records):
        console.print(
            f"{data_name(data.name)} records no triples, so there is no graph to walk: other "
            "sources of triples are rules, cooccurrence and model",
            soft_wrap=True,
        )
