"""Rows: what a bench measured, one system on one data set at a time, and where rows are kept.

A ``Setup`` is everything that decides a row's figures; its fingerprint names the row's file. A row
keeps the outcome of each question, so that every figure can be computed again, and what timing and
models have cost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphmem.experiments.bootstrap import intervals
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.metrics import (
    FIGURES,
    Outcome,
    figures,
    grouped,
    mean_figures,
    stale_first,
)
from graphmem.experiments.preparing import Origin
from graphmem.experiments.variants import Variant
from graphmem.files import replacing
from graphmem.identity import content_id
from graphmem.types import Usage

__all__ = ["Cost", "Result", "Row", "RowFolder", "Setup", "config_name", "result"]

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setup:
    """What is measured.

    Attributes:
        data: the data set's name.
        origin: how the set is made.
        left_out: how many things of the files could not be used, by what they are.
        content: digest of its records and questions.
        system, triples, seed: as in ``bench_recall``; ``triples`` is ``""`` for a system without.
        variant: which constants of recall differ from the product's.
        settings: all constants by name; None for a system without.
        depth: how many records are asked for.
        budget: tokens for ``within_budget``.
        embedder, model: their names; ``""`` where no model is asked.
        code: digest of the source that decides the figures: graphmem's, and one's own system's.
    """

    data: str
    origin: Origin
    left_out: Mapping[str, int]
    content: str
    system: str
    triples: str
    seed: int
    variant: Variant
    settings: Mapping[str, Any] | None
    depth: int
    budget: int
    embedder: str
    model: str
    code: str

    @property
    def fingerprint(self) -> str:
        """Equal for setups that must have the same figures, whatever their variant is called."""
        return content_id("row", _decisive(asdict(self)))

    @property
    def config(self) -> str:
        """The name of system, source of triples and variant together."""
        return config_name(self.system, self.triples, self.variant.label)


def _decisive(setup: Mapping[str, Any]) -> str:
    """What decides the figures, as text; equal before and after a file."""
    # A variant's constants are in the settings.
    return json.dumps({k: v for k, v in setup.items() if k != "variant"}, sort_keys=True)


def config_name(system: str, triples: str, variant: str) -> str:
    """System, source of triples and variant in one name; what is usual is not said."""
    own = system.removeprefix("__main__:")  # typed into a notebook or a script
    parts = (own, "" if triples == "recorded" else triples, variant)
    return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a row took.

    Attributes:
        index_seconds: from the first record to the last fact and vector in place; what a cache
            knew took no time.
        milliseconds: for ``total`` and for each stage that the system tells, the 50th and 95th
            percentile of a recall; ``total`` is without embedding the question.
        ingest, query: model calls and tokens while taking the records in, and while asking.
    """

    index_seconds: float
    milliseconds: Mapping[str, tuple[float, float]]
    ingest: Usage
    query: Usage


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one data set, measured.

    Attributes:
        setup: what was measured.
        outcomes: one for each question with gold, in the set's order.
        cost: time, calls and tokens.
        routes: how many questions each route answered.
        machine: what it was measured on.
    """

    setup: Setup
    outcomes: tuple[Outcome, ...]
    cost: Cost
    routes: Mapping[str, int] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)


class RowFolder:
    """A folder of finished rows, a file each, whole or not there at all.

    Args:
        folder: made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, setup: Setup, data: DataSet) -> Row | None:
        """The row of that setup; None where it is missing or its file is damaged.

        A file that tells of another setup, or of other questions than the set's, is damaged too.
        """
        try:
            kept = json.loads(self._file(setup).read_bytes())
            row = Row(
                setup=setup,
                outcomes=_outcomes(kept["outcomes"]),
                cost=_cost(kept["cost"]),
                routes=kept["routes"],
                machine=kept["machine"],
            )
            is_asked = _decisive(kept["setup"]) == _decisive(asdict(setup))
        except Exception:  # whatever is wrong with it, it is measured again
            return None
        is_whole = [one.id for one in row.outcomes] == [one.id for one in data.asked]
        return row if is_asked and is_whole else None

    def keep(self, row: Row) -> None:
        """Write a finished row."""
        columns = {f.name: [getattr(one, f.name) for one in row.outcomes] for f in fields(Outcome)}
        content = {
            "setup": asdict(row.setup),
            "cost": asdict(row.cost),
            "routes": dict(row.routes),
            "machine": dict(row.machine),
            "outcomes": columns,
        }
        with replacing(self._file(row.setup)) as file:
            file.write(f"{json.dumps(content, ensure_ascii=False)}\n".encode())

    def _file(self, setup: Setup) -> Path:
        return self._folder / f"{setup.fingerprint}.json"


def _outcomes(columns: Mapping[str, Sequence[Any]]) -> tuple[Outcome, ...]:
    rows = zip(*(columns[one.name] for one in fields(Outcome)), strict=True)
    found = (Outcome(*row) for row in rows)
    return tuple(replace(one, ranks=tuple(one.ranks)) for one in found)


def _cost(kept: Mapping[str, Any]) -> Cost:
    spent = {stage: (middle, high) for stage, (middle, high) in kept["milliseconds"].items()}
    usages = (Usage(**kept[name]) for name in ("ingest", "query"))
    return Cost(kept["index_seconds"], spent, *usages)


def result(row: Row) -> Result:
    """A row's figures and what they were measured with, as JSON-able values.

    Figures are shares from 0 to 1; ``intervals`` holds the bounds of each (bootstrap over
    questions, 95 %), ``by_kind`` and ``by_hops`` the figures of parts.
    """
    setup = row.setup
    found: Result = {
        "data": setup.data,
        "system": setup.system,
        "triples": setup.triples,
        "variant": setup.variant.label,
        "seed": setup.seed,
        **mean_figures(row.outcomes),
        "questions": len(row.outcomes),
    }
    stale = stale_first(row.outcomes)
    if stale:
        found["stale_first"] = sum(stale) / len(stale)
    told = [one.told for one in row.outcomes if one.told is not None]
    if told:
        found["answer_in_text"] = sum(told) / len(told)
    if row.outcomes:
        found["intervals"] = _intervals(row.outcomes, stale)
    times = dict(row.cost.milliseconds)
    if "total" in times:
        found["p50_ms"], found["p95_ms"] = times.pop("total")
    found["stages"] = {stage: {"p50_ms": p50, "p95_ms": p95} for stage, (p50, p95) in times.items()}
    found["index_seconds"] = row.cost.index_seconds
    found["usage"] = {"ingest": asdict(row.cost.ingest), "query": asdict(row.cost.query)}
    found["routes"] = dict(sorted(row.routes.items()))
    found["by_kind"] = _by(row.outcomes, [one.kind for one in row.outcomes])
    found["by_hops"] = _by(row.outcomes, [str(one.hops or "") for one in row.outcomes])
    found["left_out"] = dict(setup.left_out)
    found |= asdict(setup.origin)
    for name in ("depth", "budget", "embedder", "model", "settings"):
        found[name] = getattr(setup, name)
    found["changes"] = dict(setup.variant.changes)
    found["part"], found["base"] = setup.variant.part, setup.variant.base
    found["content"], found["code"] = setup.content, setup.code
    found["machine"] = dict(row.machine)
    return found


def _intervals(outcomes: Sequence[Outcome], stale: Sequence[float]) -> dict[str, list[float]]:
    bounds = intervals(figures(outcomes), np.random.default_rng(0))
    found = {name: [one.low, one.high] for name, one in zip(FIGURES, bounds, strict=True)}
    if stale:
        (one,) = intervals(np.array(stale)[:, None], np.random.default_rng(0))
        found["stale_first"] = [one.low, one.high]
    return found


def _by(outcomes: Sequence[Outcome], labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    label_of = dict(zip((one.id for one in outcomes), labels, strict=True))
    groups = grouped(outcomes, lambda one: label_of[one.id])
    return {
        label: {**mean_figures(groups[label]), "questions": len(groups[label])}
        for label in sorted(groups)
        if label
    }
