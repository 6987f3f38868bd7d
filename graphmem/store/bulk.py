"""Statements over many rows or ids: compiled once, their values handed to the driver as they are.

SQLAlchemy prepares each value of each row in Python: for a short row that takes several times as
long as the write. Here a row is picked out of its mapping in one step, and what ``Words`` would do
for each text is done once for all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    FromClause,
    Table,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import UpdateBase

from graphmem.errors import InvalidInput
from graphmem.identity import clean_text
from graphmem.store.schema import Words
from graphmem.types import Scope

__all__ = ["Bulk", "among", "delete_row", "given", "ours", "put_row", "update_row"]

_DIRTY = re.compile("[\x00\ud800-\udfff]")


class Bulk:
    """A statement to be run for many rows, one prepared statement for all.

    Args:
        statement: an INSERT, UPDATE or DELETE whose parameters are named as the values of a row.
        names: the columns that an INSERT or UPDATE sets.
    """

    def __init__(self, statement: UpdateBase, names: Iterable[str] | None = None) -> None:
        self._statement = statement
        self._names = None if names is None else list(names)
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it for each row; values are what the driver takes (see ``schema.microseconds``).

        Raises:
            InvalidInput: a text is none.
        """
        if rows:
            compiled = self._for(connection.dialect)
            connection.exec_driver_sql(compiled.text, compiled.values(rows))

    def _for(self, dialect: Dialect) -> _Compiled:
        if dialect.name not in self._compiled:
            compiled = self._statement.compile(dialect=dialect, column_keys=self._names)
            names = compiled.positiontup
            assert names is not None
            words = [at for at, name in enumerate(names) if _is_words(compiled, name)]
            self._compiled[dialect.name] = _Compiled(str(compiled), itemgetter(*names), words)
        return self._compiled[dialect.name]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement's text, what picks its values out of a row, and which of them are words."""

    text: str
    pick: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    words: Sequence[int]

    def values(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        """The rows' values, with valid Unicode in them: as a rule that is what they are."""
        values = list(map(self.pick, rows))
        found = [row[at] for at in self.words for row in values]
        try:
            text = "".join([one for one in found if one is not None])
        except TypeError as error:
            raise InvalidInput(f"expected a string: {error}") from error
        return [tuple(map(_clean, row)) for row in values] if _DIRTY.search(text) else values


def _is_words(compiled: Any, name: str) -> bool:
    return isinstance(compiled.binds[name].type, Words)


def _clean(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else value


def put_row(table: Table, *, instead: Iterable[str] | None = None) -> Bulk:
    """Insert rows; where a row of the same key is, these of its columns get the new values.

    Args:
        table: what to insert into: every column of it.
        instead: the columns; ``()`` leaves a row as it is, ``None`` takes its being there for a
            mistake.
    """
    names = [column.name for column in table.columns]
    statement = insert(table)
    if instead is None:
        return Bulk(statement, names)
    new = {name: statement.excluded[name] for name in instead}
    if not new:
        return Bulk(statement.on_conflict_do_nothing(), names)
    key = list(table.primary_key.columns)
    return Bulk(statement.on_conflict_do_update(index_elements=key, set_=new), names)


def update_row(table: Table, names: Iterable[str]) -> Bulk:
    """Set these columns of rows, by their whole key."""
    return Bulk(table.update().where(*_here(table)), names)


def delete_row(table: Table) -> Bulk:
    """Delete rows by their whole key."""
    return Bulk(table.delete().where(*_here(table)))


def _here(table: Table) -> list[ColumnElement[bool]]:
    return [column == bindparam(column.name) for column in table.primary_key.columns]


def ours(table: FromClause) -> ColumnElement[bool]:
    """``mine`` for a statement that is made once: of the scope in ``given``."""
    return (table.c.user == bindparam("user")) & (table.c.agent == bindparam("agent"))


def among(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """That a column is one of the ids in ``given``, however many: one statement text for all."""
    values = func.json_each(bindparam("ids")).table_valued("value")
    return column.in_(select(values.c.value))


def given(scope: Scope, ids: Iterable[str] | None = None) -> dict[str, str]:
    """Parameters of a statement with ``ours`` and ``among``."""
    owner = {"user": scope.user, "agent": scope.agent}
    return owner if ids is None else {**owner, "ids": json.dumps(list(ids))}
