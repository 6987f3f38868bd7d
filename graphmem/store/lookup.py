"""Rows for what is looked up at every recall and write: compiled once, as the driver gives them.

SQLAlchemy prepares each execution of a SELECT and wraps each row, which for a few short rows takes
several times as long as SQLite does.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Select

from graphmem.store.bulk import given
from graphmem.types import Scope

__all__ = ["Lookup"]


class Lookup:
    """A SELECT by ``ours`` (see ``bulk``), as a rule with ``among``.

    Args:
        statement: what is selected; its columns have names of their own. Parameters of its own
            take what the driver takes.
    """

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(
        self,
        connection: Connection,
        scope: Scope,
        ids: Iterable[str] | None = None,
        **others: str | int,
    ) -> Sequence[Any]:
        """The rows that exist, as named tuples, in the statement's order.

        Args:
            connection: where to look.
            scope: whose rows.
            ids: of ``among``.
            **others: the statement's own parameters.
        """
        compiled = self._for(connection.dialect)
        values = compiled.pick({**compiled.fixed, **given(scope, ids), **others})
        cursor = connection.connection.cursor()
        try:
            cursor.execute(compiled.text, values)
            return [compiled.make(row) for row in cursor.fetchall()]
        finally:
            cursor.close()

    def _for(self, dialect: Dialect) -> _Compiled:
        if dialect.name not in self._compiled:
            self._compiled[dialect.name] = _compile(self._statement, dialect)
        return self._compiled[dialect.name]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement's text, its values, and what makes a row of what the driver gives."""

    text: str
    fixed: dict[str, Any]
    pick: Callable[[dict[str, Any]], tuple[Any, ...]]
    make: Callable[[Sequence[Any]], Any]


def _compile(statement: Select[Any], dialect: Dialect) -> _Compiled:
    compiled: Any = statement.compile(dialect=dialect)
    columns = list(statement.selected_columns)
    row: Any = namedtuple("row", [column.name for column in columns])  # type: ignore[misc]
    processors = [
        (at, process)
        for at, column in enumerate(columns)
        if (process := column.type.dialect_impl(dialect).result_processor(dialect, None))
    ]

    def make(values: Sequence[Any]) -> Any:
        if processors:
            values = list(values)
            for at, process in processors:
                if values[at] is not None:
                    values[at] = process(values[at])
        return row._make(values)

    return _Compiled(str(compiled), compiled.params, itemgetter(*compiled.positiontup), make)
