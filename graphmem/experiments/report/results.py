"""What ``bench_recall`` returns: figures for programs, which a notebook shows as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphmem.errors import InvalidInput
from graphmem.experiments.report import plots
from graphmem.experiments.report.comparison import ALL, Entry, entries
from graphmem.experiments.report.tables import (
    Table,
    by_data,
    cost_table,
    differences_table,
    figures_table,
    joined,
    kinds_table,
)
from graphmem.experiments.rows import Result, Row, result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Results"]


class Results(list[Result]):
    """The rows of a run, each as in ``rows.result``; in a notebook, tables of what they found.

    The last value of a cell shows itself there: the results, one of their tables, or a picture
    (after ``%matplotlib inline``).

    Args:
        rows: what was measured.

    Attributes:
        rows: the same, with the outcome of each question.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(map(result, rows))
        self.rows = tuple(rows)

    def __repr__(self) -> str:
        configs = ", ".join(dict.fromkeys(row.setup.config for row in self.rows))
        return f"<Results of {configs or 'nothing'}>"

    def _repr_html_(self) -> str:
        differences = self.differences
        pooled = [row for row in differences.rows if row[0] == ALL]
        tables = [self.figures, replace(differences, rows=pooled or differences.rows)]
        return "\n".join(table._repr_html_() for table in tables if table.rows)

    @property
    def figures(self) -> Table:
        """Recall, MRR and so on, in percent, with intervals."""
        tables = {name: figures_table(group) for name, group in self._by_data().items()}
        return joined(tables, caption="percent, 95 % interval (bootstrap over questions)")

    @property
    def differences(self) -> Table:
        """What lies between systems, and between variants, on each data set and on all together."""
        table = differences_table(entries(self.rows))
        about = (
            "points apart (= none), 95 % interval (paired bootstrap), share of resamples above 0"
        )
        return replace(table, caption=about)

    @property
    def kinds(self) -> Table:
        """Figures by hop count and kind of question, in percent."""
        tables = {name: kinds_table(group) for name, group in self._by_data().items()}
        about = "percent, by hop count and kind; differences of R@5 in points"
        return joined(tables, caption=about)

    @property
    def cost(self) -> Table:
        """Seconds, calls and tokens: what differs from run to run."""
        return cost_table(entries(self.rows))

    def plot_by_k(self) -> Figure:
        """Recall against the number of records, a panel for each data set.

        Raises:
            InvalidInput: there is nothing to draw.
            MissingDependency: matplotlib is not installed.
        """
        return plots.by_k(self.rows)

    def plot_by_time(self) -> Figure:
        """Recall at 5 against what a recall takes, a panel for each data set.

        Raises:
            InvalidInput: there is nothing to draw.
            MissingDependency: matplotlib is not installed.
        """
        return plots.by_time(self.rows)

    def plot_parts(self, config: str | None = None) -> Figure:
        """What each part contributes that a variant switched off.

        Args:
            config: which configuration lost parts, where several did; the first where omitted.

        Raises:
            InvalidInput: it lost none.
            MissingDependency: matplotlib is not installed.
        """
        drawn = plots.parts(self.rows)
        if not drawn:
            raise InvalidInput("no part was switched off: run variants_of(ablated=['all'])")
        chosen = next(iter(drawn)) if config is None else config
        if chosen not in drawn:
            raise InvalidInput(f"{chosen!r} lost no part: choose among {', '.join(drawn)}")
        return drawn[chosen]

    def _by_data(self) -> dict[str, list[Entry]]:
        return by_data(entries(self.rows))
