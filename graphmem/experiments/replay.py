"""Run again what a result file lists, and see whether its figures still hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments.measuring import Measurer
from graphmem.experiments.metrics import FIGURES
from graphmem.experiments.preparing import Prepared, prepare
from graphmem.experiments.rows import Result, Setup, result
from graphmem.experiments.variants import Variant
from graphmem.experiments.wording import data_name

__all__ = ["TOLERANCE", "Drift", "bench_replay"]

TOLERANCE = 0.005
"""How far a share may lie from the committed one: other builds of the numeric libraries add up in
another order, and a near tie may fall the other way."""

_JUDGED = (*FIGURES, "stale_first")
# What a row must tell so that it can be measured again.
_NEEDED = (
    *("data", "files", "lookups", "sample", "questions"),
    *("system", "triples", "seed", "variant", "changes", "part", "base"),
    *("depth", "budget", "model"),
)


@dataclass(frozen=True, slots=True)
class Drift:
    """A figure that no longer holds.

    Attributes:
        data, config: of the row.
        figure: its name, or ``questions`` where there are not as many any more.
        committed, now: its values; None where it is missing.
    """

    data: str
    config: str
    figure: str
    committed: float | None
    now: float | None


def bench_replay(
    file: str | Path,
    data: Sequence[str | Path],
    *,
    tolerance: float = TOLERANCE,
    console: Console | None = None,
    **parts: Any,
) -> list[Drift]:
    """Measure the rows of a result file again and show which figures have moved.

    A row of the product's defaults is measured with the defaults of today; a variant changes what
    it changed then. Timings are not judged. Rows that asked a model are left out where none is
    given.

    Args:
        file: written by ``bench_recall``.
        data: the data files, or folders that hold them; found by their names.
        tolerance: how far a share may move, 0 to 1.
        console: where to show what was found; standard output where omitted.
        parts: ``embed_model``, ``cache``, ``model`` and ``llm``, as for ``bench_recall``.

    Returns:
        All drifts; empty where every figure holds.

    Raises:
        NotFound: a file is missing.
        InvalidInput: the file was not written by ``bench_recall``.
    """
    console = console or Console(markup=False)
    committed = _measurable(_read(Path(file)), parts, console)
    measurer = Measurer(parts.pop("embed_model", None), **parts)
    sets: dict[tuple[Any, ...], Prepared] = {}
    setups: list[Setup] = []
    for one in committed:
        made = (tuple(one["files"]), one["lookups"], one["sample"])
        if made not in sets:
            sets[made] = _prepared(*made, data)
        setups.append(_setup(measurer, sets[made], one))
    rows = measurer.measure(setups, list(sets.values()))
    drifts: list[Drift] = []
    for setup, old, row in zip(setups, committed, rows, strict=True):
        drifts += _moved(setup, old, result(row), tolerance)
    _show(console, drifts, len(rows), tolerance)
    return drifts


def _read(path: Path) -> list[Result]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFound(f"no such result file: {path}") from error
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is no result file: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("results"), list):
        raise InvalidInput(f"{path} is no result file: it has no list of results")
    if not content["results"]:
        raise InvalidInput(f"{path} lists no results")
    for place, one in enumerate(content["results"]):
        known = one if isinstance(one, dict) else {}
        missing = [name for name in _NEEDED if name not in known]
        if missing:
            raise InvalidInput(
                f"{path}: results[{place}] lacks {', '.join(missing)}: replay takes what "
                "graphmem bench recall --json of this version wrote"
            )
    return list(content["results"])


def _measurable(
    committed: Sequence[Result], parts: Mapping[str, Any], console: Console
) -> list[Result]:
    """The rows for which there is a model, where they need one."""
    has_model = parts.get("model") is not None or parts.get("llm") is not None
    left_out = [one for one in committed if one["model"] and not has_model]
    for one in left_out:
        console.print(
            f"left out, for it asked {one['model']}: {one['system']} on {data_name(one['data'])}",
            soft_wrap=True,
        )
    return [one for one in committed if one not in left_out]


def _prepared(
    files: Sequence[str], lookups: int, sample: int, data: Sequence[str | Path]
) -> Prepared:
    paths = [_found(name, data) for name in files]
    (made,) = prepare(paths, lookups=lookups, sample=sample, mix=len(paths) > 1)
    return made


def _found(name: str, data: Sequence[str | Path]) -> Path:
    for path in map(Path, data):
        if path.name == name:
            return path
        if (path / name).exists():
            return path / name
    raise NotFound(f"the result file was measured on {name!r}: pass it, or its folder, with --data")


def _setup(measurer: Measurer, given: Prepared, one: Result) -> Setup:
    changes = {name: _value(value) for name, value in one["changes"].items()}
    variant = Variant(one["variant"], changes, one["part"], one["base"])
    (setup,) = measurer.setups(
        given,
        [one["system"]],
        [one["triples"] or "recorded"],
        [one["seed"]],
        [variant],
        depth=one["depth"],
        budget=one["budget"],
    )
    return setup


def _value(value: Any) -> Any:
    """A setting as JSON keeps it, as the settings take it."""
    return tuple(tuple(item) for item in value) if isinstance(value, list) else value


def _moved(
    setup: Setup, old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float
) -> list[Drift]:
    found = []
    if old["questions"] != new["questions"]:
        found.append(("questions", old["questions"], new["questions"]))
    for name in _JUDGED:
        before, now = old.get(name), new.get(name)
        if before is None and now is None:
            continue
        # Half a unit in the last place of what JSON keeps must not decide.
        if before is None or now is None or abs(before - now) > tolerance + 1e-9:
            found.append((name, before, now))
    return [Drift(setup.data, setup.config, *one) for one in found]


def _show(console: Console, drifts: Sequence[Drift], rows: int, tolerance: float) -> None:
    if not drifts:
        console.print(f"{rows} of {rows} rows hold within {100 * tolerance:g} points")
        return
    table = Table(title="figures that no longer hold, in percent", box=SIMPLE, pad_edge=False)
    for column in ("data", "system", "figure"):
        table.add_column(column, overflow="fold")
    for column in ("committed", "now", "moved"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in drifts:
        table.add_row(data_name(one.data), one.config, one.figure, *_values(one))
    console.print(table)


def _values(one: Drift) -> tuple[str, str, str]:
    if one.figure == "questions":
        return str(one.committed), str(one.now), ""
    shown = ["" if value is None else f"{100 * value:.1f}" for value in (one.committed, one.now)]
    moved = ""
    if one.committed is not None and one.now is not None:
        moved = f"{100 * (one.now - one.committed):+.1f}"
    return shown[0], shown[1], moved
