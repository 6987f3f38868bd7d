"""Both matrices, measured and shown."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, product
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from graphmem.embedding import resolve
from graphmem.errors import InvalidInput
from graphmem.experiments.provenance import machine
from graphmem.experiments.trust.cases import (
    Change,
    Readings,
    Telling,
    changes,
    tellings,
    triples_by,
)
from graphmem.experiments.trust.contradiction import SCORES, scores
from graphmem.experiments.trust.deletion import STEPS, TARGETS, sequence
from graphmem.files import must_take_file, write_json
from graphmem.progress import progress_bar
from graphmem.testing import ScriptedExtractor
from graphmem.types import Embedder, Extractor

__all__ = ["bench_trust"]

SOURCES = ("recorded", "rules")


@dataclass(frozen=True, slots=True)
class _Cell:
    """What went wrong in one cell of a matrix, as (wording, what was seen)."""

    row: str
    column: str
    wordings: int
    failures: tuple[tuple[str, str], ...]

    @property
    def passed(self) -> bool:
        """Whether every wording has."""
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """It as JSON-able values."""
        listed = [{"wording": wording, "saw": saw} for wording, saw in self.failures]
        return {"passed": self.passed, "wordings": self.wordings, "failures": listed}


def bench_trust(
    *,
    triples: str | Sequence[str] = SOURCES,
    wordings: int | None = None,
    embed_model: Any = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Go through the deletion sequence and the contradiction matrix, in every wording.

    Args:
        triples: ``recorded`` ones, which a model read, those of the offline ``rules``, or one after
            the other. Only with recorded ones can all be expected to pass.
        wordings: the first so many of each case; all where omitted.
        embed_model: as for ``GraphMemory.open``.
        json_path: where to write the result.
        console: where to show the tables; standard output where omitted.

    Returns:
        ``deletion`` and ``contradiction``, each with ``passed`` cells ``of`` all, and with every
        wording that failed in a cell and why; a cell has passed when all its wordings have.
        ``steps`` have a cell for each target, ``cells`` are those of the cases. Beside them
        ``wordings``, ``triples`` (what read them) and ``machine``. Of two sources these are the
        first one's figures, and the second's stand under its name.

    Raises:
        NotFound, InvalidInput: an unknown source of triples, no wording, or a result that cannot be
            written there.
        MissingDependency: there is no embedding model, or the rules' parser is not installed.
    """
    must_take_file(json_path)
    sources = list(dict.fromkeys([triples] if isinstance(triples, str) else triples))
    if not sources or not set(sources) <= set(SOURCES):
        raise InvalidInput(f"triples must be of {', '.join(SOURCES)}, not {triples!r:.80}")
    if wordings is not None and wordings < 1:
        raise InvalidInput("wordings must be at least 1")
    embedder = resolve(embed_model)
    measured = {source: _measure(source, wordings, embedder) for source in sources}
    first, *others = measured
    result = {**measured[first], **{name: measured[name] for name in others}, "machine": machine()}
    if json_path is not None:
        write_json(json_path, result)
    for source, found in measured.items():
        _show(source, found, console or Console())
    return result


def _measure(triples: str, wordings: int | None, embedder: Embedder) -> dict[str, Any]:
    told = tellings()[:wordings]
    cases = {case: items[:wordings] for case, items in changes().items()}
    total = len(told) * len(TARGETS) + sum(map(len, cases.values()))
    done = count(1)
    with progress_bar(f"{triples} triples") as progress:

        def advance() -> None:
            progress(next(done), total)

        deletion = _deletion(triples, told, embedder, advance)
        contradiction = _contradiction(triples, cases, embedder, advance)
    steps = [
        {"step": number, "name": name, **_row(deletion, name)}
        for number, name in enumerate(STEPS, 1)
    ]
    return {
        "deletion": {**_passed(deletion), "steps": steps},
        "contradiction": {
            **_passed(contradiction),
            "cells": {case: _row(contradiction, case) for case in cases},
        },
        "wordings": {"deletion": len(told), **{case: len(some) for case, some in cases.items()}},
        "triples": triples_by() if triples == "recorded" else _rules().name,
    }


def _passed(cells: Sequence[_Cell]) -> dict[str, int]:
    return {"passed": sum(cell.passed for cell in cells), "of": len(cells)}


def _row(cells: Sequence[_Cell], row: str) -> dict[str, Any]:
    mine = [cell for cell in cells if cell.row == row]
    return {**_passed(mine), "cells": {cell.column: cell.to_json() for cell in mine}}


def _deletion(
    triples: str, told: Sequence[Telling], embedder: Embedder, advance: Callable[[], None]
) -> list[_Cell]:
    failures: dict[tuple[str, str], list[tuple[str, str]]] = {
        (name, target): [] for name in STEPS for target in TARGETS
    }
    for target, telling in product(TARGETS, told):
        extractor, readings = _reader(triples)
        with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
            checks = sequence(telling, target, Path(folder), embedder, extractor, readings)
        for check in checks:
            if not check.passed:
                failures[check.name, target].append((telling.name, check.saw))
        advance()
    return [_Cell(*place, len(told), tuple(found)) for place, found in failures.items()]


def _contradiction(
    triples: str,
    cases: Mapping[str, Sequence[Change]],
    embedder: Embedder,
    advance: Callable[[], None],
) -> list[_Cell]:
    failures: dict[tuple[str, str], list[tuple[str, str]]] = {
        (case, letter): [] for case in cases for letter in SCORES
    }
    for case, change in ((case, change) for case, some in cases.items() for change in some):
        extractor, readings = _reader(triples)
        with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
            found = scores(change, Path(folder), embedder, extractor, readings)
        for letter, saw in found.items():
            if saw:
                failures[case, letter].append((change.name, saw))
        advance()
    return [_Cell(*place, len(cases[place[0]]), tuple(bad)) for place, bad in failures.items()]


def _reader(triples: str) -> tuple[Extractor, Readings | None]:
    if triples == "rules":
        return _rules(), None
    readings = Readings()
    return ScriptedExtractor(readings.read, name="recorded/1"), readings


@cache
def _rules() -> Extractor:
    from graphmem.extractors.rules import RulesExtractor

    return RulesExtractor()


def _show(source: str, found: Mapping[str, Any], console: Console) -> None:
    deletion, contradiction = found["deletion"], found["contradiction"]
    steps = {f"{step['step']} {step['name']}": step["cells"] for step in deletion["steps"]}
    cases = {case: row["cells"] for case, row in contradiction["cells"].items()}
    targets = {target: target for target in TARGETS}
    console.print(_table(f"deletion, {source} triples", deletion, steps, targets))
    console.print(_table(f"contradiction, {source} triples", contradiction, cases, SCORES))


def _table(
    title: str,
    passed: Mapping[str, Any],
    rows: Mapping[str, Mapping[str, Any]],
    columns: Mapping[str, str],
) -> Table:
    """How many wordings have passed in each cell."""
    table = Table(title=f"{title}: {passed['passed']} of {passed['of']} cells", box=SIMPLE)
    table.add_column("")
    for name in columns.values():
        table.add_column(name, justify="right")
    for row, cells in rows.items():
        table.add_row(row, *(_shown(cells[column]) for column in columns))
    return table


def _shown(cell: Mapping[str, Any]) -> str:
    good = cell["wordings"] - len(cell["failures"])
    return f"{'' if cell['passed'] else '✗ '}{good}/{cell['wordings']}"
