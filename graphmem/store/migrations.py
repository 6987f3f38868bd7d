"""Bringing an older file's schema up to date, one version at a time, all or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from sqlalchemy import Connection, insert, select, text, update

from graphmem.errors import StoreCorrupt, StoreVersion
from graphmem.store.schema import SCHEMA_VERSION, STATISTICS, meta, metadata

__all__ = ["SCHEMA_VERSION", "STEPS", "Step", "build", "identity", "upgrade", "version"]

Step = Callable[[Connection], None]


def _know_names(connection: Connection) -> None:
    """To 2: which end evidence lacks, and how often people name an entity.

    What older evidence lacks is not known: it stays withheld until its passage is read again.
    """
    for statement in (
        "ALTER TABLE evidence ADD COLUMN lacks TEXT",
        "CREATE INDEX evidence_lacks ON evidence (user, agent, lacks) WHERE lacks IS NOT NULL",
        "ALTER TABLE entity ADD COLUMN told INTEGER DEFAULT 0 NOT NULL",
        """
        CREATE TEMPORARY TABLE naming AS
            SELECT fact.user, fact.agent, fact.subject_id, fact.object_id FROM evidence
            JOIN fact ON fact.user = evidence.user AND fact.agent = evidence.agent
                AND fact.id = evidence.fact_id
            JOIN passage ON passage.user = evidence.user AND passage.agent = evidence.agent
                AND passage.id = evidence.passage_id
            JOIN message ON message.user = evidence.user AND message.agent = evidence.agent
                AND message.thread = passage.thread AND message.place = passage.place
                AND message.ordinal = passage.ordinal
            WHERE evidence.grounded AND message.role IN ('user', 'document')
        """,
        """
        CREATE TEMPORARY TABLE told AS
            SELECT user, agent, id, count(*) AS times FROM (
                SELECT user, agent, subject_id AS id FROM naming
                UNION ALL SELECT user, agent, object_id FROM naming
            ) GROUP BY user, agent, id
        """,
        "CREATE UNIQUE INDEX temp.told_entity ON told (user, agent, id)",
        """
        UPDATE entity SET told = coalesce((
            SELECT times FROM told
            WHERE told.user = entity.user AND told.agent = entity.agent AND told.id = entity.id
        ), 0)
        """,
        "DROP TABLE naming",
        "DROP TABLE told",
    ):
        connection.execute(text(statement))


def _be_somebody(connection: Connection) -> None:
    """To 3: an identity, indices that are no larger than what is looked for, and statistics."""
    for statement in (
        "DROP INDEX fact_slot",
        "CREATE INDEX fact_slot ON fact (user, agent, slot) WHERE slot IS NOT NULL",
        "CREATE INDEX pending_failed ON pending (user, agent) WHERE attempts > 0",
        "CREATE INDEX log_fact ON log (user, agent, id) WHERE kind = 'fact'",
    ):
        connection.execute(text(statement))
    _identify(connection)
    _advise(connection)


def _find_words(connection: Connection) -> None:
    """To 4: of the log only those entries are looked for that have words in them."""
    for statement in (
        "DROP INDEX log_fact",
        "CREATE INDEX log_words ON log (user, agent, id) "
        "WHERE before IS NOT NULL OR after IS NOT NULL",
    ):
        connection.execute(text(statement))
    _advise(connection)


# From version n to n + 1. A step is never changed once released: files of its age are out there.
STEPS: dict[int, Step] = {1: _know_names, 2: _be_somebody, 3: _find_words}

_VERSION = "schema_version"
_IDENTITY = "identity"


def build(connection: Connection) -> None:
    """Make the tables of the newest version in an empty database."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(meta).values(key=_VERSION, value=str(SCHEMA_VERSION)))
    _identify(connection)
    _advise(connection)


def identity(connection: Connection) -> str:
    """The store's own id: random, made with it, the same in every copy of the file."""
    value: str = connection.execute(
        select(meta.c.value).where(meta.c.key == _IDENTITY)
    ).scalar_one()
    return value


def _identify(connection: Connection) -> None:
    connection.execute(insert(meta).values(key=_IDENTITY, value=uuid.uuid4().hex))


def _advise(connection: Connection) -> None:
    """Tell the planner what to reckon with; it reads this when a connection is opened."""
    connection.execute(text("ANALYZE meta"))  # makes the table, and reads a few rows
    connection.execute(text("DELETE FROM sqlite_stat1"))
    rows = [{"tbl": of, "idx": index, "stat": stat} for (of, index), stat in STATISTICS.items()]
    connection.execute(text("INSERT INTO sqlite_stat1 VALUES (:tbl, :idx, :stat)"), rows)
    connection.execute(text("ANALYZE sqlite_master"))


def version(connection: Connection) -> int:
    """The schema version of the file.

    Raises:
        StoreCorrupt: it has none.
    """
    value = connection.execute(select(meta.c.value).where(meta.c.key == _VERSION)).scalar()
    if value is None or not value.isdecimal():
        raise StoreCorrupt("the store does not say its schema version; restore it from a backup")
    return int(value)


def upgrade(
    connection: Connection, *, steps: Mapping[int, Step] = STEPS, newest: int = SCHEMA_VERSION
) -> None:
    """Apply the steps that the file lacks, in the caller's transaction.

    Raises:
        StoreVersion: the file is newer than ``newest``, or older than the first step.
    """
    found = version(connection)
    if found > newest:
        raise StoreVersion(
            f"the store has schema version {found}, and this graphmem reads up to {newest}: "
            "upgrade graphmem, or name another file",
            found=found,
            known=newest,
        )
    for number in range(found, newest):
        if number not in steps:
            raise StoreVersion(
                f"no way leads from the store's schema version {number} to {newest}: "
                "open it with an older graphmem",
                found=found,
                known=newest,
            )
        steps[number](connection)
    if found < newest:
        connection.execute(update(meta).where(meta.c.key == _VERSION).values(value=str(newest)))
