"""The report as Markdown: figures with intervals, differences, kinds of questions, and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphmem.experiments.report.comparison import Entry, entries
from graphmem.experiments.report.tables import (
    SHOWN,
    Table,
    by_data,
    cost_table,
    differences_table,
    figures_table,
    kinds_table,
)
from graphmem.experiments.report.wording import data_name, left_out, percent
from graphmem.experiments.rows import Row

__all__ = ["markdown"]


def markdown(rows: Sequence[Row]) -> str:
    """The whole report: figures with intervals, differences, parts of the questions, and cost."""
    found = entries(rows)
    if not found:
        return "# Recall\n\nNothing was measured.\n"
    kinds = _per_data(found, kinds_table)
    parts = [
        "# Recall",
        _about(found),
        "## Figures",
        *_per_data(found, figures_table),
        *_told(found),
        *_seeds(found),
        *_differences(found),
        *(["## Kinds of questions", *kinds] if kinds else []),
        "## Time and cost",
        "A recall without embedding the question (`embed` is the embedding). Vectors and "
        "extractions that a cache knew took no time to index.",
        str(cost_table(found)),
        "## Measured with",
        _measured_with(found),
    ]
    return "\n\n".join(parts) + "\n"


def _about(found: Sequence[Entry]) -> str:
    setup = found[0].setup
    return (
        "Shares of 100; in brackets the 95 % interval (bootstrap over questions). R@k: share of "
        "the gold records among the first k. MRR: 1 / rank of the first gold record, 0 where none "
        f"is among the {setup.depth} that were asked for. Within budget: share of the gold records "
        f"among those that fit into {setup.budget} tokens, taken whole in the order of the "
        "ranking; one that does not fit is passed over. Stale first: share of the update "
        "questions that rank an outdated record above all current ones (lower is better)."
    )


def _per_data(found: Sequence[Entry], table: Callable[[Sequence[Entry]], Table]) -> list[str]:
    """A heading and a table for each data set that has rows in it."""
    tables = {name: table(group) for name, group in by_data(found).items()}
    return [part for name, one in tables.items() if one.rows for part in (f"### {name}", str(one))]


def _told(found: Sequence[Entry]) -> list[str]:
    """How often the answer stands in the text of systems that rank no records."""
    lines = []
    for entry in found:
        told = [one.told for row in entry.rows for one in row.outcomes if one.told is not None]
        if told:
            lines.append(
                f"{entry.setup.config} ranks no records of {data_name(entry.setup.data)}: it hands "
                f"over text, in which the answer stands for {percent(sum(told) / len(told))} of "
                "the questions with an answer in words."
            )
    return lines


def _seeds(found: Sequence[Entry]) -> list[str]:
    """How far apart the seeds lie, where there are several."""
    several = [entry for entry in found if len(entry.rows) > 1 and entry.outcomes]
    if not several:
        return []
    rows = [
        [
            data_name(entry.setup.data),
            entry.setup.config,
            str(len(entry.rows)),
            *("{} – {}".format(*map(percent, entry.spread(name))) for name in SHOWN),
        ]
        for entry in several
    ]
    return [
        "## From seed to seed",
        "Figures above are means over the seeds; here the lowest and the highest seed. A seed is "
        "an order of documents: messages of a chat keep theirs, so that a set without documents "
        "has no spread.",
        str(Table(["data", "system", "seeds", *SHOWN.values()], rows)),
    ]


def _differences(found: Sequence[Entry]) -> list[str]:
    table = differences_table(found)
    if not table.rows:
        return []
    return [
        "## Differences",
        "A system minus the one it is held against, in points: mean, 95 % interval (paired "
        "bootstrap over the questions that both answered; for all data sets together each set is "
        "drawn from in itself), and the share of resamples above zero; = where no question "
        "differs.",
        str(table),
    ]


def _measured_with(found: Sequence[Entry]) -> str:
    about = found[0].rows[0].machine
    lines = [", ".join(f"{name} {value}" for name, value in about.items())]
    embedders = dict.fromkeys(entry.setup.embedder for entry in found)
    models = dict.fromkeys(entry.setup.model for entry in found if entry.setup.model)
    seeds = sorted({row.setup.seed for entry in found for row in entry.rows})
    lines.append(f"embedder: {', '.join(embedders)}")
    if models:
        lines.append(f"model: {', '.join(models)}")
    lines.append(f"seeds (order of documents): {', '.join(map(str, seeds))}")
    for entry in found:
        for what, number in entry.setup.left_out.items():
            lines.append(f"{data_name(entry.setup.data)}: left out {left_out(number, what)}")
        origin = entry.setup.origin
        if origin.lookups or len(origin.files) > 1:
            made = "look-ups of" if origin.lookups else "one memory of"
            lines.append(f"{data_name(entry.setup.data)}: {made} {', '.join(origin.files)}")
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines))
