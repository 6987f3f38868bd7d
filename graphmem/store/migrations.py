"""Bringing an older file's schema up to date, one version at a time, all or nothing."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping

from sqlalchemy import Connection, delete, insert, select, text, update

from graphmem.errors import StoreCorrupt, StoreVersion
from graphmem.store import chain
from graphmem.store.schema import SCHEMA_VERSION, STATISTICS, meta, metadata

__all__ = [
    "RULES",
    "SCHEMA_VERSION",
    "STEPS",
    "Step",
    "beliefs",
    "believe_by",
    "build",
    "identity",
    "secret",
    "upgrade",
    "version",
]

RULES = 1
"""Version of the rules by which evidence becomes facts. Raise it when the same rows would give
other facts: every store believes anew when it is opened next (see ``renewal``)."""

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


def _hold_to_account(connection: Connection) -> None:
    """To 5: bans, verdicts, when messages came, and a log that is chained from now on.

    When a message came is when its first passage was logged; where that entry is gone, unknown.
    """
    for statement in (
        "ALTER TABLE scope ADD COLUMN head BLOB",
        "ALTER TABLE scope ADD COLUMN bans INTEGER DEFAULT 0 NOT NULL",
        "ALTER TABLE message ADD COLUMN recorded_us BIGINT",
        "ALTER TABLE occurrence ADD COLUMN recorded_us BIGINT",
        """
        CREATE TEMPORARY TABLE came AS
            SELECT user, agent, id, min(at) AS at FROM log
            WHERE kind = 'passage' AND action = 'put' GROUP BY user, agent, id
        """,
        "CREATE UNIQUE INDEX temp.came_passage ON came (user, agent, id)",
        """
        UPDATE message SET recorded_us = (
            SELECT min(came.at) FROM passage JOIN came ON came.user = passage.user
                AND came.agent = passage.agent AND came.id = passage.id
            WHERE passage.user = message.user AND passage.agent = message.agent
                AND passage.thread = message.thread AND passage.place = message.place
                AND passage.ordinal = message.ordinal
        )
        """,
        "DROP TABLE came",
        "ALTER TABLE evidence ADD COLUMN mood TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE fact ADD COLUMN value TEXT",
        "CREATE INDEX fact_value ON fact (user, agent, value) WHERE value IS NOT NULL",
        "ALTER TABLE log ADD COLUMN actor_kind TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE log ADD COLUMN salt BLOB",
        "ALTER TABLE log ADD COLUMN digest BLOB",
        "ALTER TABLE log ADD COLUMN link BLOB",
        "DROP INDEX log_words",
        """
        CREATE TABLE verdict (
            user TEXT NOT NULL, agent TEXT NOT NULL, fact_id TEXT NOT NULL,
            ruling TEXT NOT NULL, at BIGINT NOT NULL,
            actor TEXT NOT NULL, actor_kind TEXT NOT NULL, reason TEXT NOT NULL,
            PRIMARY KEY (user, agent, fact_id)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE ban (
            user TEXT NOT NULL, agent TEXT NOT NULL, "key" BLOB NOT NULL, id TEXT NOT NULL,
            kind TEXT NOT NULL, cause TEXT NOT NULL, since BIGINT, at BIGINT NOT NULL,
            actor TEXT NOT NULL, actor_kind TEXT NOT NULL, reason TEXT NOT NULL, fact_id TEXT,
            PRIMARY KEY (user, agent, "key")
        ) WITHOUT ROWID
        """,
        "CREATE INDEX ban_fact ON ban (user, agent, fact_id) WHERE fact_id IS NOT NULL",
    ):
        connection.execute(text(statement))
    _key_digests(connection)
    _seal_logs(connection)
    for statement in (
        "CREATE INDEX log_words ON log (user, agent, id) WHERE salt IS NOT NULL",
        "CREATE INDEX log_reason ON log (user, agent) WHERE reason > ''",
    ):
        connection.execute(text(statement))
    _advise(connection)


_OLD_ENTRIES = """
    SELECT seq, at, action, kind, id, actor, actor_kind, reason, before, after FROM log
    WHERE user = :user AND agent = :agent AND seq > :seq ORDER BY seq LIMIT 1000
"""
_SALT_ENTRY = """
    UPDATE log SET salt = :salt, digest = :digest
    WHERE user = :user AND agent = :agent AND seq = :seq
"""


def _seal_logs(connection: Connection) -> None:
    """Put digests on the words of what is logged, and one link on all of it in each scope."""
    written = connection.execute(text("SELECT user, agent FROM scope WHERE seq > 0")).all()
    for user, agent in written:
        owner = {"user": user, "agent": agent}
        head = {**owner, "head": chain.link(None, _sealed(connection, owner))}
        for statement in (
            """
            UPDATE log SET link = :head WHERE user = :user AND agent = :agent AND seq = (
                SELECT max(seq) FROM log WHERE user = :user AND agent = :agent
            )
            """,
            "UPDATE scope SET head = :head WHERE user = :user AND agent = :agent",
        ):
            connection.execute(text(statement), head)


def _sealed(connection: Connection, owner: Mapping[str, str]) -> Iterator[str]:
    """What a link covers of a scope's entries, whose words get a digest on the way."""
    last = 0
    while rows := connection.execute(text(_OLD_ENTRIES), {**owner, "seq": last}).all():
        salted = []
        for row in rows:
            entry = chain.Entry(*row)
            digest = None
            if entry.has_words:
                salt = secrets.token_bytes(chain.SALT_BYTES)
                digest = chain.digest(salt, entry.reason, entry.before, entry.after)
                salted.append({**owner, "seq": entry.seq, "salt": salt, "digest": digest})
            yield chain.line(*entry[:7], digest)
        if salted:
            connection.execute(text(_SALT_ENTRY), salted)
        last = rows[-1].seq


def _stay_together(connection: Connection) -> None:
    """To 6: numbers in place of indices over hashes, and one row for most entities.

    Vectors that are there get negative numbers: no entry of the log will have those.
    """
    # What is live stands in the pages that become free: there is nothing to overwrite in them.
    kept = connection.execute(text("PRAGMA secure_delete")).scalar_one()
    connection.execute(text("PRAGMA secure_delete = OFF"))
    for statement in (
        "ALTER TABLE passage ADD COLUMN embedded BIGINT",
        "ALTER TABLE fact ADD COLUMN entry BIGINT",
        "ALTER TABLE fact ADD COLUMN embedded BIGINT",
        """
        CREATE TABLE numbered (
            user TEXT NOT NULL, agent TEXT NOT NULL, n BIGINT NOT NULL,
            model TEXT NOT NULL, dims INTEGER NOT NULL, data BLOB NOT NULL,
            PRIMARY KEY (user, agent, n)
        )
        """,
        "INSERT INTO numbered SELECT user, agent, -rowid, model, dims, data FROM vector",
        """
        CREATE TABLE called (
            user TEXT NOT NULL, agent TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
            told INTEGER DEFAULT '0' NOT NULL, uses INTEGER NOT NULL, embedded BIGINT,
            PRIMARY KEY (user, agent, id)
        )
        """,
        """
        INSERT INTO called
            SELECT entity.user, entity.agent, entity.id, entity.name, told, coalesce(uses, 1), NULL
            FROM entity LEFT JOIN alias ON alias.user = entity.user AND alias.agent = entity.agent
                AND alias.entity_id = entity.id AND alias.name = entity.name
            ORDER BY uses DESC
        """,
        """
        DELETE FROM alias WHERE (user, agent, entity_id, name) IN (
            SELECT user, agent, id, name FROM entity
        )
        """,
        "DROP TABLE entity",
        "ALTER TABLE called RENAME TO entity",
        *(
            f"""
            UPDATE {kind} SET embedded = (
                SELECT -vector.rowid FROM vector WHERE vector.user = {kind}.user
                    AND vector.agent = {kind}.agent AND vector.kind = '{kind}'
                    AND vector.id = {kind}.id
            )
            """
            for kind in ("passage", "fact", "entity")
        ),
        "DROP TABLE vector",
        "ALTER TABLE numbered RENAME TO vector",
        """
        UPDATE fact SET entry = (
            SELECT max(log.seq) FROM log WHERE log.user = fact.user AND log.agent = fact.agent
                AND log.id = fact.id AND log.kind = 'fact' AND log.action = 'add'
                AND log.salt IS NOT NULL
        )
        """,
        """
        CREATE TABLE removed (
            user TEXT NOT NULL, agent TEXT NOT NULL, fact_id TEXT NOT NULL, entry BIGINT NOT NULL,
            PRIMARY KEY (user, agent, fact_id, entry)
        ) WITHOUT ROWID
        """,
        """
        INSERT INTO removed SELECT user, agent, id, seq FROM log
            WHERE kind = 'fact' AND action = 'add' AND salt IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM fact WHERE fact.user = log.user AND fact.agent = log.agent
                    AND fact.id = log.id AND fact.entry = log.seq
            )
        """,
        "DROP INDEX log_words",
        """
        CREATE INDEX log_words ON log (user, agent, id)
            WHERE salt IS NOT NULL AND action != 'add'
        """,
        # By older rules a fact's row may not name all passages that hold it.
        """
        UPDATE fact SET passages = (
            SELECT json_group_array(value) FROM (
                SELECT value FROM json_each(fact.passages) UNION SELECT passage_id FROM evidence
                WHERE evidence.user = fact.user AND evidence.agent = fact.agent
                    AND evidence.fact_id = fact.id AND grounded AND mood = ''
            )
        ) WHERE EXISTS (
            SELECT 1 FROM evidence WHERE evidence.user = fact.user AND evidence.agent = fact.agent
                AND evidence.fact_id = fact.id AND grounded AND mood = ''
                AND instr(fact.passages, passage_id) = 0
        )
        """,
        "DROP INDEX evidence_fact",
        """
        CREATE INDEX evidence_fact ON evidence (user, agent, fact_id)
            WHERE grounded = 0 OR mood != ''
        """,
        "DROP INDEX fact_subject",
        "CREATE INDEX fact_subject ON fact (user, agent, subject_id, object_id)",
    ):
        connection.execute(text(statement))
    connection.execute(text(f"PRAGMA secure_delete = {kept}"))
    # Nearly half of the file is free: it is rewritten as after a forget (see ``sqlite``).
    connection.execute(
        text("INSERT OR IGNORE INTO meta VALUES ('erasure_owed', :id)"), {"id": uuid.uuid4().hex}
    )
    _advise(connection)


# From version n to n + 1. A step is never changed once released: files of its age are out there.
STEPS: dict[int, Step] = {
    1: _know_names,
    2: _be_somebody,
    3: _find_words,
    4: _hold_to_account,
    5: _stay_together,
}

_VERSION = "schema_version"
_IDENTITY = "identity"
_SECRET = "secret"
_BELIEFS = "beliefs"


def build(connection: Connection) -> None:
    """Make the tables of the newest version in an empty database."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(meta).values(key=_VERSION, value=str(SCHEMA_VERSION)))
    _identify(connection)
    _key_digests(connection)
    believe_by(connection, RULES)
    _advise(connection)


def identity(connection: Connection) -> str:
    """The store's own id: random, made with it, the same in every copy of the file."""
    value: str = connection.execute(
        select(meta.c.value).where(meta.c.key == _IDENTITY)
    ).scalar_one()
    return value


def secret(connection: Connection) -> bytes:
    """The key of the store's digests: made with it, the same in every copy of the file."""
    value = connection.execute(select(meta.c.value).where(meta.c.key == _SECRET)).scalar_one()
    return bytes.fromhex(value)


def beliefs(connection: Connection) -> int:
    """The version of the rules by which the store's facts were made; 0: nobody has said."""
    value = connection.execute(select(meta.c.value).where(meta.c.key == _BELIEFS)).scalar()
    return int(value) if value is not None and value.isdecimal() else 0


def believe_by(connection: Connection, rules: int) -> None:
    """Note the version of the rules by which the store's facts were made."""
    connection.execute(delete(meta).where(meta.c.key == _BELIEFS))
    connection.execute(insert(meta).values(key=_BELIEFS, value=str(rules)))


def _identify(connection: Connection) -> None:
    connection.execute(insert(meta).values(key=_IDENTITY, value=uuid.uuid4().hex))


def _key_digests(connection: Connection) -> None:
    connection.execute(insert(meta).values(key=_SECRET, value=secrets.token_hex(32)))


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
