"""Run again what a result file lists, and see whether its figures still hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments.formats.fields import (
    Fields,
    objects,
    shown,
    text,
    texts,
    whole,
    wording,
)
from graphmem.experiments.measuring import Measurer
from graphmem.experiments.metrics import FIGURES
from graphmem.experiments.preparing import Origin, Prepared, prepare
from graphmem.experiments.report.wording import data_name, signed
from graphmem.experiments.rows import Result, Setup, result
from graphmem.experiments.systems import kind_of
from graphmem.experiments.variants import Variant
from graphmem.files import must_take_folder
from graphmem.types import Extractor

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

__all__ = ["TOLERANCE", "Drift", "bench_replay"]

TOLERANCE = 0.01
"""How far a share may lie from the committed one: one question of a hundred. Other builds of the
numeric libraries add up in another order, and a near tie may fall the other way."""

_JUDGED = (*FIGURES, "stale_first", "answer_in_text")


@dataclass(frozen=True, slots=True)
class Drift:
    """A figure that no longer holds.

    Attributes:
        data, config: of the row.
        figure: its name; ``questions`` where there are not as many any more; ``content`` (a digest)
            and ``embedder`` where the data or the embedder is another one.
        committed, now: its values; None where it is missing.
    """

    data: str
    config: str
    figure: str
    committed: float | str | None
    now: float | str | None


def bench_replay(
    file: str | Path,
    data: Sequence[str | Path],
    *,
    tolerance: float = TOLERANCE,
    embed_model: Any = None,
    cache: str | Path | None = None,
    model: Extractor | None = None,
    llm: LLM | None = None,
    console: Console | None = None,
) -> list[Drift]:
    """Measure the rows of a result file again and show which figures have moved.

    A row of the product's defaults is measured with the defaults of today; a variant changes what
    it changed then. Timings are not judged. Rows that asked a model are left out where none is
    given.

    Args:
        file: written by ``bench_recall``.
        data: the data files, or folders that hold them; found by their names.
        tolerance: how far a share may move, 0 to 1.
        embed_model: as in ``bench_recall``.
        cache: as in ``bench_recall``.
        model: reads triples, where rows had a model do so.
        llm: for rows of systems that ask one.
        console: where to show what was found; standard output where omitted.

    Returns:
        All drifts; empty where every figure holds.

    Raises:
        NotFound: a file is missing.
        InvalidInput: the file was not written by ``bench_recall``, or a field of it is wrong; there
            is no model for any of its rows, or the tolerance is no share.
    """
    if not 0 <= tolerance <= 1:
        raise InvalidInput(f"the tolerance is a share from 0 to 1, not {tolerance:g}")
    must_take_folder(cache)
    console = console or Console(markup=False)
    committed = _measurable(_read(Path(file)), model, llm, console)
    measurer = Measurer(embed_model, cache=cache, model=model, llm=llm)
    sets: dict[Origin, Prepared] = {}
    setups: list[Setup] = []
    for one in committed:
        counts = (one[name] for name in ("lookups", "sample", "records"))
        origin = Origin(tuple(one["files"]), one["format"], *counts)
        if origin not in sets:
            sets[origin] = _prepared(origin, data)
        setups.append(_setup(measurer, sets[origin], one))
    rows = list(measurer.measure(setups, list(sets.values())))
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
        missing = [name for name in (*_NEEDED, *_MAY_BE_NULL) if name not in known]
        if missing:
            raise InvalidInput(
                f"{path}: results[{place}] lacks {', '.join(missing)}: replay takes what "
                "graphmem bench recall --json of this version wrote"
            )
    return [_row(fields) for fields in objects(str(path), "results", content["results"])]


def _row(fields: Fields) -> Result:
    """What is replayed of a row, each value of its type."""
    return {
        **{name: fields.get(name, read) for name, read in _NEEDED.items()},
        **{name: fields.get(name, read, None) for name, read in _MAY_BE_NULL.items()},
        **{name: fields.get(name, _figure, None) for name in _JUDGED},
    }


def _order(value: Any) -> int:
    """A seed."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a whole number, not {shown(value)}")  # noqa: TRY004
    return value


def _figure(value: Any) -> float:
    """A number that can be compared."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"must be a finite number, not {shown(value)}")
    return value


def _changes(value: Any) -> dict[str, Any]:
    """Constants of recall that differed, as the settings take them."""
    if not isinstance(value, dict):
        raise ValueError(f"must be an object, not {shown(value)}")  # noqa: TRY004
    try:
        changes = {name: _constant(one) for name, one in value.items()}
        Variant(changes=changes).settings  # noqa: B018
    except TypeError as error:
        raise ValueError(f"{shown(value)} are no settings: {error}") from error
    return changes


def _constant(value: Any) -> Any:
    """A setting as JSON keeps it, as the settings take it."""
    return tuple(tuple(item) for item in value) if isinstance(value, list) else value


# What a row must tell so that it can be measured again, and how each is read.
_NEEDED: Mapping[str, Callable[[Any], Any]] = {
    **{"data": text, "questions": whole},
    **{"files": texts, "lookups": whole, "sample": whole, "records": whole},
    **{"content": text, "system": text, "triples": wording, "seed": _order},
    **{"variant": wording, "changes": _changes, "part": wording, "base": wording},
    **{"depth": whole, "budget": whole, "embedder": text, "model": wording},
}
_MAY_BE_NULL: Mapping[str, Callable[[Any], Any]] = {"format": text}


def _measurable(
    committed: Sequence[Result], model: Extractor | None, llm: LLM | None, console: Console
) -> list[Result]:
    """The rows for which there is a model, where they need one."""
    kept = []
    for one in committed:
        lacks_model = one["triples"] == "model" and model is None
        lacks_llm = kind_of(one["system"]).needs_model and llm is None
        if not (lacks_model or lacks_llm):
            kept.append(one)
            continue
        console.print(
            f"left out, for it asked {one['model']}: {one['system']} on {data_name(one['data'])}",
            soft_wrap=True,
        )
    if not kept:
        raise InvalidInput("every row of the result file asked a model: name one")
    return kept


def _prepared(origin: Origin, data: Sequence[str | Path]) -> Prepared:
    (made,) = prepare(
        [_found(name, data) for name in origin.files],
        format=origin.format,
        lookups=origin.lookups,
        sample=origin.sample,
        records=origin.records,
        mix=len(origin.files) > 1,
    )
    return made


def _found(name: str, data: Sequence[str | Path]) -> Path:
    for path in map(Path, data):
        if path.name == name:
            return path
        if (path / name).exists():
            return path / name
    raise NotFound(f"the result file was measured on {name!r}: pass it, or its folder, with --data")


def _setup(measurer: Measurer, given: Prepared, one: Result) -> Setup:
    variant = Variant(one["variant"], one["changes"], one["part"], one["base"])
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


def _moved(
    setup: Setup, old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float
) -> list[Drift]:
    names = ("content", "embedder", "questions")
    found = [(name, old[name], new[name]) for name in names if old[name] != new[name]]
    for name in _JUDGED:
        before, now = old.get(name), new.get(name)
        if before is None and now is None:
            continue
        # Half a unit in the last place of what JSON keeps must not decide.
        # What is no number holds nothing.
        if before is None or now is None or not abs(before - now) <= tolerance + 1e-9:
            found.append((name, before, now))
    return [Drift(setup.data, setup.config, *one) for one in found]


def _show(console: Console, drifts: Sequence[Drift], rows: int, tolerance: float) -> None:
    if not drifts:
        console.print(f"{rows} of {rows} rows hold within {100 * tolerance:.2f} points")
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
    before, now = one.committed, one.now
    if one.figure == "questions" or isinstance(before, str) or isinstance(now, str):
        return str(before), str(now), ""
    moved = "" if before is None or now is None else signed(now - before)
    return _percent(before), _percent(now), moved


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
