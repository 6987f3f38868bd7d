"""Lists of values as tables, for notebooks: ``table(memory.facts(subject="Ada"))``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphmem.display import wording
from graphmem.display.markup import table_html
from graphmem.display.plain import plain
from graphmem.errors import InvalidInput
from graphmem.types import Ban, Candidate, Entity, Fact, LogEntry, Passage, RankedPassage, Source

__all__ = ["Listing", "table"]

Columns = Mapping[str, Callable[[Any], str]]


@dataclass(frozen=True, slots=True, repr=False)
class Listing:
    """Rows of words below a header: HTML in a notebook, a line each where it is printed.

    Attributes:
        header: names of the columns.
        rows: as many cells each, as they are stored.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        lines = [self.header, *self.rows]
        return "\n".join(" | ".join(map(plain, line)) for line in lines) if self.rows else "none"

    def _repr_html_(self) -> str:
        return table_html(self.header, self.rows)


def table(
    values: Iterable[Fact | Source | Passage | RankedPassage | LogEntry | Ban | Candidate | Entity],
) -> Listing:
    """Values of one kind, a row each: what a list of them tells, side by side.

    Raises:
        InvalidInput: values of different kinds, or of none that has columns.
    """
    several = list(values)
    kinds = {type(one) for one in several}
    if not several:
        return Listing((), ())
    if len(kinds) > 1 or not kinds <= set(_COLUMNS):
        known = ", ".join(kind.__name__ for kind in _COLUMNS)
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidInput(f"table takes values of one kind ({known}), not {found}")
    columns = _COLUMNS[kinds.pop()]
    return Listing(
        tuple(columns), tuple(tuple(read(one) for read in columns.values()) for one in several)
    )


def _of_passage(read: Callable[[Passage], str]) -> Callable[[RankedPassage], str]:
    return lambda one: read(one.passage)


def _signed(one: LogEntry | Ban) -> str:
    return wording.by(one.actor, one.actor_kind, one.reason)


_PASSAGE: Columns = {
    "who": lambda one: one.speaker or one.title,
    "when": lambda one: wording.day(one.said_at),
    "words": lambda one: one.text,
    "id": lambda one: one.id,
}
_COLUMNS: Mapping[type, Columns] = {
    Fact: {
        "fact": wording.triple,
        "status": wording.status,
        "since": lambda one: one.valid_from or "",
        "until": lambda one: one.valid_to or "",
        "id": lambda one: one.id,
    },
    Source: {
        "who": lambda one: one.speaker or one.role,
        "when": lambda one: wording.day(next(iter(one.said_at), None)),
        "words": lambda one: one.quote,
        "session": lambda one: one.session,
        "read by": lambda one: one.extractor,
    },
    Passage: _PASSAGE,
    RankedPassage: {
        "score": lambda one: f"{one.score:.3f}",
        **{name: _of_passage(read) for name, read in _PASSAGE.items()},
    },
    LogEntry: {
        "": lambda one: str(one.seq),
        "when": lambda one: wording.local(one.at),
        "what": lambda one: one.action,
        "of": wording.change,
        "by and why": _signed,
    },
    Ban: {
        "since": lambda one: wording.local(one.at),
        "kind": lambda one: one.kind,
        "cause": lambda one: one.cause,
        "by and why": _signed,
        "id": lambda one: one.id,
    },
    Candidate: {
        "kind": lambda one: one.kind,
        "words": lambda one: one.text,
        "why": lambda one: one.reason,
        "id": lambda one: one.id,
    },
    Entity: {"name": lambda one: one.name, "id": lambda one: one.id},
}
