"""The tables: rows are the truth, everything else is derived from them.

Every table of a scope's rows has (user, agent) first in its key: there is no row without an owner,
and no join that could leave it. Instants are microseconds since 1970 in UTC, so that they compare
alike in every database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    ForeignKeyConstraint,
    FromClause,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
    literal_column,
    or_,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from graphmem.errors import InvalidInput
from graphmem.identity import clean_text
from graphmem.types import Scope, VectorKind

__all__ = [
    "HAS_REASON",
    "HAS_WORDS",
    "IS_NO_ADDITION",
    "KINDS",
    "NOWHERE",
    "SCHEMA_VERSION",
    "STATISTICS",
    "TABLES",
    "alias",
    "ban",
    "chunks",
    "entity",
    "evidence",
    "fact",
    "is_doubted",
    "log",
    "message",
    "meta",
    "metadata",
    "microseconds",
    "mine",
    "occurrence",
    "passage",
    "pending",
    "removed",
    "scope_row",
    "vector",
    "verdict",
]

SCHEMA_VERSION = 6

# Where an unstamped message stands when nothing before it in its thread was stamped.
NOWHERE = -(2**62)

# What has a vector, and changes as a row of its own.
KINDS: tuple[VectorKind, ...] = ("passage", "fact", "entity")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
# SQLite takes 32,766 variables in a statement, older builds 999.
_CHUNK = 400

T = TypeVar("T")


def microseconds(value: datetime) -> int:
    """A time as it is kept."""
    return (value - _EPOCH) // _MICROSECOND


# One write's rows have one time.
@lru_cache(maxsize=1 << 12)
def _instant(us: int) -> datetime:
    return _EPOCH + us * _MICROSECOND


class Instant(TypeDecorator[datetime]):
    """An aware datetime as microseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """To microseconds."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """To a datetime in UTC."""
        return None if value is None else _instant(value)


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


def _key(name: str, type_: type[TypeEngine[Any]] = Words) -> Column[Any]:
    return Column(name, type_, primary_key=True, autoincrement=False)


def _belongs(column: str, parent: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["user", "agent", column], [f"{parent}.user", f"{parent}.agent", f"{parent}.id"]
    )


def _partial(where: ColumnElement[bool], name: str, *columns: Column[Any]) -> None:
    """An index of the rows alone for which a condition holds."""
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


# Facts about the whole store: its identity, its schema version, its embedding model and that
# model's dimensions.
meta = Table(
    "meta",
    metadata,
    Column("key", Words, primary_key=True),
    Column("value", Words, nullable=False),
    sqlite_with_rowid=False,
)

# One row per scope: locked by every writer of the scope, it hands out the log's numbers. head is
# the last link of the log's chain, bans how many rows of ban the scope has: most have none.
scope_row = _table(
    "scope",
    Column("seq", BigInteger, nullable=False),
    Column("forget_seq", BigInteger, nullable=False),
    Column("head", LargeBinary),
    Column("bans", Integer, nullable=False, server_default="0"),
)

# What somebody said, once for each content within a session. said_us and said_offset (seconds east
# of UTC) are those of the earliest occurrence; (place, ordinal) is its order within the thread.
# recorded_us is when the store first got it; NULL is unknown.
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
    Column("recorded_us", BigInteger),
    Index("message_thread", "user", "agent", "thread", "ordinal", unique=True),
    clustered=False,
)

# The known times of a message that was said more than once, or had none at first, one row for each.
# recorded_us is when the store learnt of it; NULL: with the message, or unknown.
occurrence = _table(
    "occurrence",
    _key("message_id"),
    _key("said_us", BigInteger),
    Column("recorded_us", BigInteger),
    _belongs("message_id", "message"),
)

# A span of the text of the message that stands at (thread, place, ordinal). Ids are hashes, and an
# index over hashes touches a page for each new row: there is one here, and no column for the
# message's. embedded is the number of its vector, as in fact and entity; NULL: it has none yet.
passage = _table(
    "passage",
    _key("id"),
    Column("part", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("thread", Words, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("embedded", BigInteger),
    Index("passage_order", "user", "agent", "thread", "place", "ordinal", "part"),
    clustered=False,
)

# A triple as one passage states it; n is its number among the passage's triples. lacks is the
# entity of its only end that is not held where what is said holds the other, and NULL otherwise.
# mood says how it was meant, where that was not in earnest.
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
    Column("mood", Words, nullable=False, server_default=""),
    _belongs("passage_id", "passage"),
)


def is_doubted(rows: FromClause) -> ColumnElement[bool]:
    """The condition that evidence may not hold its fact: else the fact's row names the passage."""
    return or_(rows.c.grounded == literal_column("0"), rows.c.mood != literal_column("''"))


# Only of that: an index of all evidence would touch a page for each row.
_partial(
    is_doubted(evidence),
    "evidence_fact",
    evidence.c.user,
    evidence.c.agent,
    evidence.c.fact_id,
)
_partial(
    evidence.c.lacks.is_not(None),
    "evidence_lacks",
    evidence.c.user,
    evidence.c.agent,
    evidence.c.lacks,
)

# What the evidence adds up to. slot names what it is a value of, where there can be one value only;
# value what it denies, where it denies something. entry is the number of the log's that added it.
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
    Column("value", Words),
    Column("entry", BigInteger),
    Column("embedded", BigInteger),
    Index("fact_subject", "user", "agent", "subject_id", "object_id"),
    clustered=False,
)

_partial(fact.c.slot.is_not(None), "fact_slot", fact.c.user, fact.c.agent, fact.c.slot)
_partial(fact.c.value.is_not(None), "fact_value", fact.c.user, fact.c.agent, fact.c.value)

# Facts that are gone, with the numbers of the log's entries that added them, as long as those have
# words.
removed = _table("removed", _key("fact_id"), _key("entry", BigInteger))

# What a person ruled on a fact: that it is so, or that it is in doubt.
verdict = _table(
    "verdict",
    _key("fact_id"),
    Column("ruling", Words, nullable=False),
    Column("at", Instant, nullable=False),
    Column("actor", Words, nullable=False),
    Column("actor_kind", Words, nullable=False),
    Column("reason", Words, nullable=False),
)

# What is not to be stored again, by a keyed digest of its value: the words are not in here. since
# spares what was recorded before; NULL spares nothing. fact_id is the fact that a person rejected.
ban = _table(
    "ban",
    _key("key", LargeBinary),
    Column("id", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("cause", Words, nullable=False),
    Column("since", Instant),
    Column("at", Instant, nullable=False),
    Column("actor", Words, nullable=False),
    Column("actor_kind", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("fact_id", Words),
)
_partial(ban.c.fact_id.is_not(None), "ban_fact", ban.c.user, ban.c.agent, ban.c.fact_id)

# Its name is the spelling that evidence uses most, and uses how often that is. told is how many
# grounded triples of people and documents name it: then it is a known name. Names that are used
# often came early: in the order in which they came they share pages, and counting touches few.
entity = _table(
    "entity",
    _key("id"),
    Column("name", Words, nullable=False),
    Column("told", Integer, nullable=False, server_default="0"),
    Column("uses", Integer, nullable=False),
    Column("embedded", BigInteger),
    clustered=False,
)

# The other spellings under which evidence names an entity, and how often: most have none.
alias = _table("alias", _key("entity_id"), _key("name"), Column("uses", Integer, nullable=False))

# By the number of the log's entry that tells of it, which the row whose words it stands for has: no
# index over hashes.
vector = _table(
    "vector",
    _key("n", BigInteger),
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
_partial(pending.c.owner.is_not(None), "pending_owner", pending.c.owner)
_partial(pending.c.attempts > 0, "pending_failed", pending.c.user, pending.c.agent)

# What changed, in order. An entry's words are its reason, and before and after (JSON); they are
# erased when they have to go. digest is of what they were, with salt as long as they are there;
# link, on the last entry of each transaction, chains its entries to those before them.
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
    Column("actor_kind", Words, nullable=False, server_default=""),
    Column("salt", LargeBinary),
    Column("digest", LargeBinary),
    Column("link", LargeBinary),
)
HAS_WORDS = log.c.salt.is_not(None)
# Ids are hashes: an index of all entries would touch a page for each of them. What added a fact is
# found by its number, which the fact's row has.
IS_NO_ADDITION = and_(HAS_WORDS, log.c.action != literal_column("'add'"))
_partial(IS_NO_ADDITION, "log_words", log.c.user, log.c.agent, log.c.id)
# A literal: a bound value would not find the index.
HAS_REASON = log.c.reason > literal_column("''")
_partial(HAS_REASON, "log_reason", log.c.user, log.c.agent)

# How many rows of a table there are, and how many of them have one value in the first column of an
# index, the first two, and so on: of a store with a hundred scopes of a thousand passages each. A
# planner that knows nothing takes a scope for ten rows, and reads all of it to find one.
STATISTICS = {
    ("message", "sqlite_autoindex_message_1"): "100000 1000 1000 1",
    ("message", "message_thread"): "100000 1000 1000 50 1",
    ("occurrence", "occurrence"): "10000 100 100 2 1",
    ("passage", "sqlite_autoindex_passage_1"): "100000 1000 1000 1",
    ("passage", "passage_order"): "100000 1000 1000 50 2 1 1",
    ("evidence", "evidence"): "800000 8000 8000 8 1",
    ("evidence", "evidence_fact"): "80000 800 800 2",
    ("evidence", "evidence_lacks"): "80000 800 800 2",
    ("fact", "sqlite_autoindex_fact_1"): "800000 8000 8000 1",
    ("fact", "fact_slot"): "80000 800 800 2",
    ("fact", "fact_value"): "20000 200 200 2",
    ("fact", "fact_subject"): "800000 8000 8000 8 2",
    ("removed", "removed"): "1000 10 10 1 1",
    ("verdict", "verdict"): "1000 10 10 1",
    ("ban", "ban"): "1000 10 10 1",
    ("ban", "ban_fact"): "100 5 5 1",
    ("entity", "sqlite_autoindex_entity_1"): "300000 3000 3000 1",
    ("alias", "alias"): "30000 300 300 2 1",
    ("vector", "sqlite_autoindex_vector_1"): "1200000 12000 12000 1",
    ("pending", "pending"): "100000 10000 10000 4000 2 1",
    ("pending", "pending_due"): "100000 50000 1",
    ("pending", "pending_owner"): "1000 500",
    ("pending", "pending_failed"): "1000 500 500",
    ("log", "log"): "2000000 20000 20000 1",
    ("log", "log_words"): "80000 800 800 2",
    ("log", "log_reason"): "1000 10 10",
}

# Those that hold a scope's rows, children before parents. Bans outlive what they ban.
TABLES = (
    occurrence,
    evidence,
    passage,
    message,
    verdict,
    fact,
    removed,
    alias,
    entity,
    vector,
    pending,
)


def mine(table: Table, scope: Scope) -> ColumnElement[bool]:
    """The condition that a row is the scope's: part of every statement."""
    return and_(table.c.user == scope.user, table.c.agent == scope.agent)


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists short enough for one statement's ``IN``."""
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk
