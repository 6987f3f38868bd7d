"""The tables: rows are the truth, everything else is derived from them.

Every table of a scope's rows has (user, agent) first in its key: there is no row without an owner,
and no join that could leave it. Instants are microseconds since 1970 in UTC, so that they compare
alike in every database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
)
from sqlalchemy.types import TypeDecorator

from graphmem.errors import InvalidInput
from graphmem.identity import clean_text
from graphmem.types import Scope, VectorKind

__all__ = [
    "KINDS",
    "NOWHERE",
    "SCHEMA_VERSION",
    "TABLES",
    "alias",
    "chunks",
    "entity",
    "evidence",
    "fact",
    "log",
    "message",
    "meta",
    "metadata",
    "mine",
    "occurrence",
    "passage",
    "pending",
    "scope_row",
    "vector",
]

SCHEMA_VERSION = 2

# Where an unstamped message stands when nothing before it in its thread was stamped.
NOWHERE = -(2**62)

# What has a vector, and changes as a row of its own.
KINDS: tuple[VectorKind, ...] = ("passage", "fact", "entity")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
# SQLite takes 32,766 variables in a statement, older builds 999.
_CHUNK = 400

T = TypeVar("T")


class Instant(TypeDecorator[datetime]):
    """An aware datetime as microseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """To microseconds."""
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """To a datetime in UTC."""
        return None if value is None else _EPOCH + value * _MICROSECOND


class Words(TypeDecorator[str]):
    """Text that any database takes: whatever a model, a server or a caller put into it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """To valid Unicode.

        Raises:
            InvalidInput: it is no text.
        """
        if value is None:
            return None
        if not isinstance(value, str):
            raise InvalidInput(f"expected a string, not {type(value).__name__}")
        return clean_text(value)


metadata = MetaData()


def _table(name: str, *columns: Any, clustered: bool = True) -> Table:
    """A table keyed by scope first; ``clustered`` rows are small and lie in key order."""
    return Table(
        name,
        metadata,
        Column("user", Words, primary_key=True),
        Column("agent", Words, primary_key=True),
        *columns,
        sqlite_with_rowid=not clustered,
    )


def _key(name: str, type_: type[Words] | type[Integer] | type[BigInteger] = Words) -> Column[Any]:
    return Column(name, type_, primary_key=True, autoincrement=False)


def _belongs(column: str, parent: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["user", "agent", column], [f"{parent}.user", f"{parent}.agent", f"{parent}.id"]
    )


# Facts about the whole store: its schema version, its embedding model and that model's dimensions.
meta = Table(
    "meta",
    metadata,
    Column("key", Words, primary_key=True),
    Column("value", Words, nullable=False),
    sqlite_with_rowid=False,
)

# One row per scope: locked by every writer of the scope, it hands out the log's numbers.
scope_row = _table(
    "scope",
    Column("seq", BigInteger, nullable=False),
    Column("forget_seq", BigInteger, nullable=False),
)

# What somebody said, once for each content within a session. said_us and said_offset (seconds east
# of UTC) are those of the earliest occurrence; (place, ordinal) is its order within the thread.
message = _table(
    "message",
    _key("id"),
    Column("session", Words, nullable=False),
    Column("thread", Words, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("role", Words, nullable=False),
    Column("speaker", Words, nullable=False),
    Column("title", Words, nullable=False),
    Column("text", Words, nullable=False),
    Column("metadata", Words, nullable=False),
    Column("said_us", BigInteger),
    Column("said_offset", Integer),
    Index("message_thread", "user", "agent", "thread", "ordinal", unique=True),
    clustered=False,
)

# The known times of a message that was said more than once, one row for each.
occurrence = _table(
    "occurrence",
    _key("message_id"),
    _key("said_us", BigInteger),
    _belongs("message_id", "message"),
)

# A span of the text of the message that stands at (thread, place, ordinal). Ids are hashes, and an
# index over hashes touches a page for each new row: there is one here, and no column for the
# message's.
passage = _table(
    "passage",
    _key("id"),
    Column("part", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("thread", Words, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Index("passage_order", "user", "agent", "thread", "place", "ordinal", "part"),
    clustered=False,
)

# A triple as one passage states it; n is its number among the passage's triples. lacks is the
# entity of its only end that is not held where what is said holds the other, and NULL otherwise.
evidence = _table(
    "evidence",
    _key("passage_id"),
    _key("n", Integer),
    Column("fact_id", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("predicate", Words, nullable=False),
    Column("object", Words, nullable=False),
    Column("polarity", Boolean, nullable=False),
    Column("valid_from", Words),
    Column("valid_to", Words),
    Column("speaker", Words, nullable=False),
    Column("grounded", Boolean, nullable=False),
    Column("lacks", Words),
    Column("extractor", Words, nullable=False),
    Column("recorded_at", Instant, nullable=False),
    Index("evidence_fact", "user", "agent", "fact_id"),
    _belongs("passage_id", "passage"),
)
Index(
    "evidence_lacks",
    evidence.c.user,
    evidence.c.agent,
    evidence.c.lacks,
    sqlite_where=evidence.c.lacks.is_not(None),
    postgresql_where=evidence.c.lacks.is_not(None),
)

# What the evidence adds up to. slot names what it is a value of, where there can be one value only.
fact = _table(
    "fact",
    _key("id"),
    Column("subject_id", Words, nullable=False),
    Column("object_id", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("predicate", Words, nullable=False),
    Column("object", Words, nullable=False),
    Column("polarity", Boolean, nullable=False),
    Column("valid_from", Words),
    Column("valid_to", Words),
    Column("recorded_at", Instant),
    Column("retired_at", Instant),
    Column("status", Words, nullable=False),
    Column("replaced_by", Words),
    Column("passages", Words, nullable=False),
    Column("slot", Words),
    Index("fact_slot", "user", "agent", "slot"),
    Index("fact_subject", "user", "agent", "subject_id"),
    clustered=False,
)

# told is how many grounded triples of people and documents name it: then it is a known name.
entity = _table(
    "entity",
    _key("id"),
    Column("name", Words, nullable=False),
    Column("told", Integer, nullable=False, server_default="0"),
)

# The spellings under which evidence names an entity, and how often: its name is the most used.
alias = _table("alias", _key("entity_id"), _key("name"), Column("uses", Integer, nullable=False))

vector = _table(
    "vector",
    _key("kind"),
    _key("id"),
    Column("model", Words, nullable=False),
    Column("dims", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    clustered=False,
)

# The queue. A row is due at due_at, unless a living owner holds it until lease_until.
pending = _table(
    "pending",
    _key("kind"),
    _key("id"),
    _key("work"),
    Column("attempts", Integer, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("error", Words, nullable=False),
    Column("owner", Words),
    Column("lease_until", Instant),
)
Index("pending_due", pending.c.work, pending.c.due_at)
Index(
    "pending_owner",
    pending.c.owner,
    sqlite_where=pending.c.owner.is_not(None),
    postgresql_where=pending.c.owner.is_not(None),
)

# What changed, in order. before and after are JSON, or NULL once their words had to go.
log = _table(
    "log",
    _key("seq", BigInteger),
    Column("at", Instant, nullable=False),
    Column("action", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("id", Words, nullable=False),
    Column("actor", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("before", Words),
    Column("after", Words),
)

# Those that hold a scope's rows, children before parents.
TABLES = (occurrence, evidence, passage, message, fact, alias, entity, vector, pending)


def mine(table: Table, scope: Scope) -> ColumnElement[bool]:
    """The condition that a row is the scope's: part of every statement."""
    return and_(table.c.user == scope.user, table.c.agent == scope.agent)


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists short enough for one statement's ``IN``."""
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk
