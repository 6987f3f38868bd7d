"""Rows side by side: a system's figures over its seeds, and how systems differ.

Systems are compared question by question on the questions that both have answered. A variant of
recall is compared with what it departs from, everything else with the first row's system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmem.experiments.bootstrap import Difference, Interval, differences, intervals
from graphmem.experiments.metrics import FIGURES, Outcome, figures, recall_at, stale_first
from graphmem.experiments.rows import Row, Setup, config_name

__all__ = ["ALL", "Comparison", "Entry", "compare", "entries"]

ALL = "all"
"""Stands for the data sets of a comparison taken together."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entry:
    """One configuration of one system on one data set, over all its seeds.

    Attributes:
        rows: one a seed; all of the same data, system, source of triples and variant.
    """

    rows: tuple[Row, ...]

    @property
    def setup(self) -> Setup:
        """That of the first seed."""
        return self.rows[0].setup

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Those of the first seed: which questions there are."""
        return self.rows[0].outcomes

    @property
    def times(self) -> tuple[float, float] | None:
        """Milliseconds of a recall in the first seed, 50th and 95th percentile, where known."""
        return self.rows[0].cost.milliseconds.get("total")

    def figures(self) -> Floats:
        """Shape (questions, ``FIGURES``), each the mean over the seeds."""
        table: Floats = np.mean([figures(row.outcomes) for row in self.rows], axis=0)
        return table

    def recall(self, cut: int) -> float:
        """Mean recall at a rank, over questions and seeds."""
        return float(np.mean([[recall_at(one, cut) for one in row.outcomes] for row in self.rows]))

    def intervals(self) -> dict[str, Interval]:
        """Each figure's mean and its interval, by name; ``stale_first`` where there is one."""
        if not self.outcomes:
            return {}
        found = intervals(self.figures(), np.random.default_rng(0))
        named = dict(zip(FIGURES, found, strict=True))
        stale = np.mean([stale_first(row.outcomes) for row in self.rows], axis=0)
        if len(stale):
            (named["stale_first"],) = intervals(stale[:, None], np.random.default_rng(0))
        return named

    def spread(self, figure: str) -> tuple[float, float]:
        """The lowest and the highest mean of a figure among the seeds."""
        place = FIGURES.index(figure)
        means = [float(figures(row.outcomes)[:, place].mean()) for row in self.rows]
        return min(means), max(means)


def entries(rows: Iterable[Row]) -> list[Entry]:
    """Rows with their seeds brought together, in order of first appearance."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.setup.data, row.setup.config), []).append(row)
    return [Entry(tuple(group)) for group in groups.values()]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much higher each figure of a configuration is than another's.

    Attributes:
        data: the data set, or ``ALL`` for all that both have answered.
        config, against: names of the two configurations.
        figures: second minus first, by figure, paired by question.
    """

    data: str
    config: str
    against: str
    figures: Mapping[str, Difference]

    def as_json(self) -> dict[str, Any]:
        """The same as JSON-able values."""
        return {
            "data": self.data,
            "config": self.config,
            "against": self.against,
            "questions": next(iter(self.figures.values())).questions,
            **{
                name: {
                    "mean": one.mean,
                    "interval": [one.low, one.high],
                    "share_above": one.share_above,
                }
                for name, one in self.figures.items()
            },
        }


def compare(
    found: Sequence[Entry], *, among: Callable[[Outcome], bool] = lambda outcome: True
) -> list[Comparison]:
    """Each configuration against the one it is measured by, on each data set and on all together.

    Args:
        found: what there is.
        among: which questions count.
    """
    by_config: dict[str, dict[str, Entry]] = {}
    for entry in found:
        by_config.setdefault(entry.setup.config, {})[entry.setup.data] = entry
    compared: list[Comparison] = []
    for config, sets in by_config.items():
        against = _reference(next(iter(sets.values())).setup, by_config)
        if against == config:
            continue
        both = {
            data: _shared(by_config[against][data], entry, among)
            for data, entry in sets.items()
            if data in by_config[against]
        }
        pairs = {data: pair for data, pair in both.items() if pair is not None}
        for data, pair in pairs.items():
            compared.append(Comparison(data, config, against, _differences([pair])))
        if len(pairs) > 1:
            compared.append(Comparison(ALL, config, against, _differences(list(pairs.values()))))
    return compared


def _reference(setup: Setup, known: Mapping[str, object]) -> str:
    """The configuration that one is measured by; itself for the first."""
    if setup.variant.label:
        base = config_name(setup.system, setup.triples, setup.variant.base)
        if base in known:
            return base
    return next(iter(known))


def _shared(
    first: Entry, second: Entry, among: Callable[[Outcome], bool]
) -> tuple[Floats, Floats] | None:
    """Figures of both on the questions that both have answered; None where there are none."""
    place = {one.id: number for number, one in enumerate(first.outcomes)}
    pairs = [
        (place[one.id], number)
        for number, one in enumerate(second.outcomes)
        if one.id in place and among(one)
    ]
    if not pairs:
        return None
    left, right = zip(*pairs, strict=True)
    return first.figures()[list(left)], second.figures()[list(right)]


def _differences(pairs: Sequence[tuple[Floats, Floats]]) -> dict[str, Difference]:
    first, second = zip(*pairs, strict=True)
    found = differences(first, second, np.random.default_rng(0))
    return dict(zip(FIGURES, found, strict=True))
