"""What a run found: on the terminal, and as files for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem.experiments.provenance import machine
from graphmem.experiments.report.comparison import ALL, Comparison, Entry, compare, entries
from graphmem.experiments.report.markdown import markdown
from graphmem.experiments.report.wording import data_name, percent, points
from graphmem.experiments.rows import Result, Row, Setup
from graphmem.files import replacing, write_json

__all__ = ["quiet_in_notebooks", "show", "summary", "write_report"]

_ON_TERMINAL = {
    "recall@2": "R@2",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "all@5": "all@5",
    "mrr": "MRR",
}


def summary(rows: Sequence[Row], results: Sequence[Result]) -> dict[str, Any]:
    """All results, the differences between systems, and the machine, as JSON-able values."""
    return {
        "results": results,
        "differences": [one.as_json() for one in compare(entries(rows))],
        "machine": machine(),
    }


def write_report(out: Path, rows: Sequence[Row], content: Mapping[str, Any]) -> None:
    """Write ``report.json`` (the summary) and ``report.md`` into a folder."""
    write_json(out / "report.json", content)
    with replacing(out / "report.md") as file:
        file.write(markdown(rows).encode())


def quiet_in_notebooks() -> Console:
    """Standard output; nothing in a notebook, where what a call returns shows itself."""
    console = Console(markup=False)
    console.quiet = console.is_jupyter
    return console


def show(console: Console, rows: Sequence[Row]) -> None:
    """Print a table of figures and, where there are several systems, one of differences."""
    found = entries(rows)
    console.print(_figures_table(found))
    compared = compare(found)
    if compared:
        console.print(_differences_table(compared))


def _figures_table(found: Sequence[Entry]) -> Table:
    table = _table("recall (R) of the gold passages, in percent", ("data", "system"))
    known = [entry.intervals() for entry in found]
    shown = {**_ON_TERMINAL, "within_budget": _within(found)}
    if any("stale_first" in figures for figures in known):
        shown["stale_first"] = "stale"
        table.caption = "stale: an outdated record stands first; lower is better"
        table.caption_justify = "left"
    for column in ("n", *shown.values(), "p95 ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for entry, figures in zip(found, known, strict=True):
        table.add_row(
            data_name(entry.setup.data),
            _short(entry.setup),
            str(len(entry.outcomes)),
            *(percent(figures[name].mean) if name in figures else "" for name in shown),
            f"{entry.times[1]:.1f}" if entry.times else "",
        )
    return table


def _differences_table(compared: Sequence[Comparison]) -> Table:
    """On all data sets together, where there are several: the report has each."""
    if any(one.data == ALL for one in compared):
        compared = [one for one in compared if one.data == ALL]
    table = _table("differences in points, 95 % interval", ("data", "system", "against"))
    for column in ("R@5", "MRR"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in compared:
        table.add_row(
            data_name(one.data),
            one.config.removeprefix(f"{one.against} · ").removeprefix(f"{one.against}, "),
            one.against,
            *(points(one.figures[name]) for name in ("recall@5", "mrr")),
        )
    return table


def _short(setup: Setup) -> str:
    """A variant stands below what it departs from, and is named by its change alone."""
    if not setup.variant.label:
        return setup.config
    return f"· {setup.config.removeprefix(f'{setup.system} · ')}"


def _within(found: Sequence[Entry]) -> str:
    budgets = {entry.setup.budget for entry in found}
    return f"in {max(budgets)} tok" if len(budgets) == 1 else "budget"


def _table(title: str, names: Iterable[str]) -> Table:
    table = Table(title=title, box=SIMPLE, pad_edge=False, padding=0)  # 80 columns
    for name in names:
        table.add_column(name, overflow="fold")
    return table
