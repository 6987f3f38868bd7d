"""The tables of a report: figures with intervals, differences, kinds of questions, and cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from graphmem.experiments.metrics import Outcome, mean_figures
from graphmem.experiments.report.comparison import ALL, Entry, compare
from graphmem.experiments.report.wording import data_name, interval, percent, points, shift

__all__ = [
    "SHOWN",
    "Table",
    "by_data",
    "cost_table",
    "differences_table",
    "figures_table",
    "joined",
    "kinds_table",
]

SHOWN = {
    "recall@2": "R@2",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "all@5": "all gold @5",
    "ndcg@10": "nDCG@10",
    "mrr": "MRR",
    "within_budget": "within budget",
}
"""The figures that tables show, and what their columns are called."""

_STALE = "stale first"
_FIGURE = re.compile(r"=|[+−–-]?\d[^A-Za-z]*")
_BOUNDS = re.compile(r" (\[[^\]]*\])")


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """Rows of text below a header: Markdown where it is printed, HTML in a notebook.

    Columns of figures stand to the right, columns of words to the left.

    Attributes:
        header: names of the columns.
        rows: as many cells each.
        caption: what stands above, in HTML alone.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def __repr__(self) -> str:
        sides = ["---:" if is_figures else "---" for is_figures in self._are_figures()]
        lines = [self.header, sides, *self.rows]
        return "\n".join(f"| {' | '.join(map(_in_markdown, line))} |" for line in lines)

    def _repr_html_(self) -> str:
        sides = ["right" if is_figures else "left" for is_figures in self._are_figures()]
        head = _html_row("th", self.header, sides)
        body = "\n".join(_html_row("td", row, sides) for row in self.rows)
        above = f"<caption>{escape(self.caption)}</caption>\n" if self.caption else ""
        return f"<table>\n{above}<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>"

    def _are_figures(self) -> list[bool]:
        columns = [[row[place] for row in self.rows] for place in range(len(self.header))]
        return [
            any(cells) and all(_FIGURE.fullmatch(cell) for cell in cells if cell)
            for cells in columns
        ]


def _in_markdown(cell: str) -> str:
    return cell.replace("|", "\\|")


def _html_row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    made = (
        f'<{tag} style="text-align: {side}">{_in_html(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def _in_html(cell: str) -> str:
    """Bounds stand small below their mean, on a line of their own."""
    return _BOUNDS.sub(
        r'<br><small style="white-space: nowrap">\1</small>', escape(cell, quote=False)
    )


def by_data(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by what a report calls their data set: its name and number of questions."""
    sets: dict[str, list[Entry]] = {}
    for entry in found:
        sets.setdefault(entry.setup.data, []).append(entry)
    return {
        f"{data_name(data)} ({_counted(len(group[0].outcomes), 'question')})": group
        for data, group in sets.items()
    }


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def joined(tables: Mapping[str, Table], *, caption: str = "") -> Table:
    """Tables of equal columns as one, each below the name it has, which opens its first row.

    A column that a table lacks is empty there.
    """
    header = list(dict.fromkeys(name for table in tables.values() for name in table.header))
    rows = []
    for name, table in tables.items():
        for number, row in enumerate(table.rows):
            cells = dict(zip(table.header, row, strict=True))
            rows.append(["" if number else name, *(cells.get(column, "") for column in header)])
    return Table(["data", *header], rows, caption)


def figures_table(group: Sequence[Entry]) -> Table:
    """Figures of one data set, each with its interval."""
    known = [entry.intervals() for entry in group]
    columns = dict(SHOWN)
    if any("stale_first" in one for one in known):
        columns["stale_first"] = _STALE
    return Table(
        ["system", *columns.values()],
        [
            [entry.setup.config, *(interval(one[name]) if name in one else "" for name in columns)]
            for entry, one in zip(group, known, strict=True)
        ],
    )


def differences_table(found: Sequence[Entry]) -> Table:
    """Each configuration against the one it is measured by; no rows for a single one."""
    rows = [
        [
            ALL if one.data == ALL else data_name(one.data),
            one.config,
            one.against,
            *(shift(one.figures[name]) for name in SHOWN),
        ]
        for one in compare(found)
    ]
    return Table(["data", "system", "against", *SHOWN.values()], rows)


def kinds_table(group: Sequence[Entry]) -> Table:
    """Figures of one data set by hop count and kind; no rows where its questions have neither."""
    shown = {name: column for name, column in SHOWN.items() if name != "ndcg@10"}
    rows: list[list[str]] = []
    for label, belongs in _labels(group[0]):
        apart = {one.config: one for one in compare(group, among=belongs)}
        for entry in group:
            outcomes = [[o for o in row.outcomes if belongs(o)] for row in entry.rows]
            means = [mean_figures(some) for some in outcomes]
            other = apart.get(entry.setup.config)
            rows.append(
                [
                    label,
                    str(len(outcomes[0])),
                    entry.setup.config,
                    *(percent(sum(one[name] for one in means) / len(means)) for name in shown),
                    points(other.figures["recall@5"]) if other else "",
                ]
            )
    return Table(["questions", "n", "system", *shown.values(), "R@5 against the other"], rows)


def _labels(entry: Entry) -> list[tuple[str, Callable[[Outcome], bool]]]:
    """Hop counts and kinds of an entry's questions, each with what belongs to it."""

    def of_hops(hops: int) -> Callable[[Outcome], bool]:
        return lambda one: one.hops == hops

    def of_kind(kind: str) -> Callable[[Outcome], bool]:
        return lambda one: one.kind == kind

    hops = sorted({one.hops for one in entry.outcomes if one.hops})
    kinds = sorted({one.kind for one in entry.outcomes if one.kind})
    return [
        *((_counted(n, "hop"), of_hops(n)) for n in hops),
        *((kind, of_kind(kind)) for kind in kinds),
    ]


def cost_table(found: Sequence[Entry]) -> Table:
    """Time, calls and tokens of the first seed: what no two runs have alike."""
    rows = []
    for entry in found:
        cost = entry.rows[0].cost
        stages = [
            f"{stage} {high:.1f}"
            for stage, (_, high) in cost.milliseconds.items()
            if stage != "total" and high >= 0.05
        ]
        rows.append(
            [
                data_name(entry.setup.data),
                entry.setup.config,
                f"{cost.index_seconds:.1f}",
                f"{entry.times[0]:.1f}" if entry.times else "",
                f"{entry.times[1]:.1f}" if entry.times else "",
                ", ".join(stages),
                *(
                    f"{usage.calls:,} / {usage.prompt_tokens + usage.completion_tokens:,}"
                    for usage in (cost.ingest, cost.query)
                ),
                ", ".join(f"{route} {count}" for route, count in entry.rows[0].routes.items()),
            ]
        )
    header = ["data", "system", "index s", "p50 ms", "p95 ms", "stages, p95 ms"]
    header += ["ingest: calls / tokens", "query: calls / tokens", "routes"]
    return Table(header, rows)
