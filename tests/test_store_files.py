"""The file: torn, foreign, newer, older, read-only, full, and without traces of the forgotten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Select, select, text
from sqlalchemy.dialects.sqlite import dialect

from graphmem.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreVersion,
)
from graphmem.store import (
    Store,
    arrival,
    belief,
    forgetting,
    migrations,
    naming,
    order,
    queue,
    reading,
    records,
    rivals,
    sqlite,
    transaction,
    vectors,
)
from graphmem.store.bulk import Bulk, ours
from graphmem.store.lookup import Lookup
from graphmem.store.schema import vector
from graphmem.testing import ScriptedExtractor
from graphmem.types import Scope
from store_parts import ANA, NOW, drain, extract, farsighted, neighbourly, put, rows, said


def filled(path: Path, size: int = 60) -> None:
    store = Store.open(path)
    put(store, *(said(f"Number {n} is about place{n}. " + "words " * 50, n) for n in range(size)))
    drain(store, neighbourly())
    store.close()


def raw(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def snapshot(folder: Path, into: Path) -> Path:
    """The files as a crash at this moment would leave them."""
    into.mkdir()
    for path in folder.glob("m.db*"):
        if not path.name.endswith("-shm"):
            shutil.copy(path, into / path.name)
    return into / "m.db"


def test_a_closed_store_is_one_file_that_reopens_as_it_was(tmp_path):
    path = tmp_path / "m.db"
    store = Store.open(path)
    put(store, *(said(f"Number {n} is about place{n}.", n) for n in range(20)))
    drain(store, neighbourly())
    before = rows(store)
    store.close()
    assert [one.name for one in tmp_path.iterdir()] == ["m.db"]
    store = Store.open(path)
    assert rows(store) == before
    store.close()


def test_every_truncation_of_a_closed_store_is_refused_and_left_alone(tmp_path):
    whole = tmp_path / "whole.db"
    filled(whole)
    data = whole.read_bytes()
    cut = tmp_path / "cut.db"
    page = 4096
    points = {0, 1, 15, 16, 99, 100, 511, 512, page - 1, len(data) - 1}
    points |= set(range(page, len(data), page * 7)) | set(range(page + 1, len(data), page * 11))
    for size in sorted(points):
        cut.write_bytes(data[:size])
        with pytest.raises(StoreCorrupt, match=r"backup|remove"):
            Store.open(cut)
        assert cut.read_bytes() == data[:size]
    cut.write_bytes(data)
    store = Store.open(cut)
    assert len(store.passages(ANA)) == 60
    store.close()


def test_a_crash_with_a_log_is_recovered_and_a_cut_log_gives_an_earlier_state(tmp_path):
    path = tmp_path / "m.db"
    store = Store.open(path)
    for n in range(30):
        put(store, said(f"Number {n}. " + "words " * 100, n))
    crashed = snapshot(tmp_path, tmp_path / "crash")
    store.close()
    log = (tmp_path / "crash" / "m.db-wal").read_bytes()
    seen = set()
    for number, size in enumerate([*range(0, len(log), len(log) // 12 + 1), len(log)]):
        again = tmp_path / str(number)
        shutil.copytree(crashed.parent, again)
        (again / "m.db-wal").write_bytes(log[:size])
        reopened = Store.open(again / "m.db")
        found = reopened.passages(ANA)
        assert [one.ordinal for one in found] == list(range(len(found)))
        seen.add(len(found))
        reopened.close()
    assert max(seen) == 30


def test_a_truncated_file_with_a_log_is_recovered_or_refused(tmp_path):
    filled(tmp_path / "m.db")
    store = Store.open(tmp_path / "m.db")
    for n in range(10):
        put(store, said(f"Later {n}. " + "words " * 100, 100 + n))
    crashed = snapshot(tmp_path, tmp_path / "crash")
    expected = rows(store)
    store.close()
    data = crashed.read_bytes()
    outcomes = set()
    for number, size in enumerate([*range(0, len(data), len(data) // 30 + 1), len(data)]):
        again = tmp_path / str(number)
        shutil.copytree(crashed.parent, again)
        (again / "m.db").write_bytes(data[:size])
        before = {one.name: one.read_bytes() for one in again.iterdir()}
        try:
            reopened = Store.open(again / "m.db")
        except StoreCorrupt:
            outcomes.add("refused")
            for name, content in before.items():
                assert (again / name).read_bytes() == content
        else:
            outcomes.add("recovered")
            assert rows(reopened) == expected
            reopened.close()
    assert outcomes == {"refused", "recovered"}


def test_a_log_without_its_file_is_not_a_new_store(tmp_path):
    path = tmp_path / "m.db"
    store = Store.open(path)
    put(store, said("Something."))
    lost = snapshot(tmp_path, tmp_path / "crash")
    store.close()
    lost.unlink()
    with pytest.raises(StoreCorrupt, match="missing"):
        Store.open(lost)
    assert not lost.exists()


def test_garbage_is_refused_when_it_is_met(tmp_path):
    path = tmp_path / "m.db"
    filled(path)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt):
        Store.open(path).close()


def test_other_files_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "m.db"
    for content in (b"hello", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(StoreCorrupt):
            Store.open(path)
        assert path.read_bytes() == content
    path.unlink()
    with closing(raw(path)) as other:
        other.execute("CREATE TABLE llama_index_memory (id)")
    content = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program"):
        Store.open(path)
    assert path.read_bytes() == content
    with pytest.raises(StoreError, match="folder"):
        Store.open(tmp_path)


def test_a_newer_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "m.db"
    filled(path, 3)
    with closing(raw(path)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    content = path.read_bytes()
    with pytest.raises(StoreVersion, match="upgrade graphmem") as caught:
        Store.open(path)
    assert (caught.value.found, caught.value.known) == (99, migrations.SCHEMA_VERSION)
    assert path.read_bytes() == content


def _age(path: Path) -> None:
    """Make the file one of version 0, which had no evidence.extractor."""
    _age_to_1(path)
    with closing(raw(path)) as connection:
        connection.execute("ALTER TABLE evidence DROP COLUMN extractor")
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'schema_version'")


def _age_to_1(path: Path) -> None:
    """Make the file one of version 1, which did not know what evidence lacks."""
    _age_to_2(path)
    with closing(raw(path)) as connection:
        connection.execute("DROP INDEX evidence_lacks")
        connection.execute("ALTER TABLE evidence DROP COLUMN lacks")
        connection.execute("ALTER TABLE entity DROP COLUMN told")
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'")


def _age_to_2(path: Path) -> None:
    """Make the file one of version 2, which had no identity and no statistics."""
    _age_to_3(path)
    with closing(raw(path)) as connection:
        for statement in (
            "DROP INDEX log_fact",
            "DROP INDEX pending_failed",
            "DROP INDEX fact_slot",
            "CREATE INDEX fact_slot ON fact (user, agent, slot)",
            "DROP TABLE sqlite_stat1",
            "DELETE FROM meta WHERE key = 'identity'",
            "UPDATE meta SET value = '2' WHERE key = 'schema_version'",
        ):
            connection.execute(statement)


def _age_to_5(path: Path) -> None:
    """Make the file one of version 5, which found vectors and what added a fact by their ids."""
    with closing(raw(path)) as connection:
        for statement in (
            "ALTER TABLE vector RENAME TO numbered",
            "CREATE TABLE vector (user TEXT NOT NULL, agent TEXT NOT NULL, kind TEXT NOT NULL,"
            " id TEXT NOT NULL, model TEXT NOT NULL, dims INTEGER NOT NULL, data BLOB NOT NULL,"
            " PRIMARY KEY (user, agent, kind, id))",
            *(
                f"INSERT INTO vector SELECT user, agent, '{kind}', {kind}.id, model, dims, data"
                f" FROM {kind} JOIN numbered USING (user, agent) WHERE n = {kind}.embedded"
                for kind in ("passage", "fact", "entity")
            ),
            "DROP TABLE numbered",
            "INSERT INTO alias SELECT user, agent, id, name, uses FROM entity",
            "ALTER TABLE entity RENAME TO called",
            "CREATE TABLE entity (user TEXT NOT NULL, agent TEXT NOT NULL, id TEXT NOT NULL,"
            " name TEXT NOT NULL, told INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (user, agent, id))"
            " WITHOUT ROWID",
            "INSERT INTO entity SELECT user, agent, id, name, told FROM called",
            "DROP TABLE called",
            "DROP TABLE removed",
            "ALTER TABLE passage DROP COLUMN embedded",
            "ALTER TABLE fact DROP COLUMN embedded",
            "ALTER TABLE fact DROP COLUMN entry",
            "DROP INDEX fact_subject",
            "CREATE INDEX fact_subject ON fact (user, agent, subject_id)",
            "DROP INDEX evidence_fact",
            "CREATE INDEX evidence_fact ON evidence (user, agent, fact_id)",
            "DROP INDEX log_words",
            "CREATE INDEX log_words ON log (user, agent, id) WHERE salt IS NOT NULL",
            "DELETE FROM sqlite_stat1 WHERE tbl = 'removed'",
            "UPDATE sqlite_stat1 SET idx = 'entity' WHERE tbl = 'entity'",
            "UPDATE meta SET value = '5' WHERE key = 'schema_version'",
        ):
            connection.execute(statement)


def _age_to_4(path: Path) -> None:
    """Make the file one of version 4, which had no bans, no verdicts and no chain."""
    _age_to_5(path)
    with closing(raw(path)) as connection:
        for statement in (
            "DROP TABLE ban",
            "DROP TABLE verdict",
            "DROP INDEX fact_value",
            "ALTER TABLE fact DROP COLUMN value",
            "ALTER TABLE evidence DROP COLUMN mood",
            "ALTER TABLE message DROP COLUMN recorded_us",
            "ALTER TABLE scope DROP COLUMN head",
            "ALTER TABLE scope DROP COLUMN bans",
            "ALTER TABLE occurrence DROP COLUMN recorded_us",
            "DROP INDEX log_words",
            "DROP INDEX log_reason",
            "CREATE INDEX log_words ON log (user, agent, id)"
            " WHERE before IS NOT NULL OR after IS NOT NULL",
            "ALTER TABLE log DROP COLUMN actor_kind",
            "ALTER TABLE log DROP COLUMN salt",
            "ALTER TABLE log DROP COLUMN digest",
            "ALTER TABLE log DROP COLUMN link",
            "DELETE FROM meta WHERE key IN ('secret', 'beliefs')",
            "DELETE FROM sqlite_stat1 WHERE tbl IN ('ban', 'verdict')"
            " OR idx IN ('fact_value', 'log_reason')",
            "UPDATE log SET action = 'put' WHERE kind = 'passage' AND action = 'add'",
            "UPDATE meta SET value = '4' WHERE key = 'schema_version'",
        ):
            connection.execute(statement)


def _age_to_3(path: Path) -> None:
    """Make the file one of version 3, whose log was looked through by kind."""
    _age_to_4(path)
    with closing(raw(path)) as connection:
        for statement in (
            "DROP INDEX log_words",
            "CREATE INDEX log_fact ON log (user, agent, id) WHERE kind = 'fact'",
            "UPDATE sqlite_stat1 SET idx = 'log_fact' WHERE idx = 'log_words'",
            "UPDATE meta SET value = '3' WHERE key = 'schema_version'",
        ):
            connection.execute(statement)


def _add_extractor(connection) -> None:
    connection.execute(
        text("ALTER TABLE evidence ADD COLUMN extractor TEXT NOT NULL DEFAULT 'old'")
    )


def test_an_older_file_is_brought_up_to_date(tmp_path, monkeypatch):
    path = tmp_path / "m.db"
    filled(path, 5)
    _age(path)
    monkeypatch.setitem(migrations.STEPS, 0, _add_extractor)
    store = Store.open(path)
    fact = store.facts(ANA)[0]
    assert {one.extractor for one in store.evidence(ANA, fact.id)} == {"old"}
    put(store, said("New words.", 99))
    drain(store, neighbourly())
    assert {one.extractor for f in store.facts(ANA) for one in store.evidence(ANA, f.id)} == {
        "old",
        "scripted/1",
    }
    store.close()
    Store.open(path).close()


def test_a_file_of_version_1_learns_which_names_are_known(tmp_path):
    """The counts are those of a file that counted from the start, in every scope."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    for path in (old, new):
        filled(path, 5)
        store = Store.open(path)
        put(store, said("Perhaps Quito.", 50, "assistant", role="assistant"))
        put(store, said("Nothing but rain.", 51), session="far")  # Lima0 is not in it
        put(store, said("It is Oslo.", 52), scope=Scope("ana", "coach"))
        drain(store, farsighted())
        store.close()
    _age_to_1(old)
    known = "SELECT user, agent, name, told FROM entity ORDER BY user, agent, name"
    tables = "SELECT type, name FROM sqlite_master ORDER BY name"
    Store.open(old).close()
    with closing(raw(old)) as one, closing(raw(new)) as other:
        rows = one.execute(known).fetchall()
        assert rows == other.execute(known).fetchall()
        told = {(agent, name): count for _, agent, name, count in rows}
        assert told["", "Quito"] == told["", "Lima0"] == 0 < told["coach", "Oslo"]
        assert one.execute(tables).fetchall() == other.execute(tables).fetchall()
    store = Store.open(old)
    put(store, said("New words.", 99))
    drain(store, farsighted())
    assert store.facts(ANA, subject="New words")
    store.close()


@pytest.mark.parametrize("age", [_age_to_2, _age_to_3, _age_to_4, _age_to_5])
def test_an_older_file_gets_an_identity_and_the_indices_of_a_new_one(tmp_path, age):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    filled(old, 5)
    filled(new, 5)
    age(old)
    with closing(Store.open(old)) as store:
        identity = store.identity
    with closing(Store.open(old)) as store, closing(Store.open(new)) as other:
        assert store.identity == identity != other.identity
    definitions = "SELECT type, name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
    statistics = "SELECT * FROM sqlite_stat1 ORDER BY tbl, idx"
    with closing(raw(old)) as one, closing(raw(new)) as other:
        assert [row[:2] for row in one.execute(definitions)] == [
            row[:2] for row in other.execute(definitions)
        ]
        assert one.execute(statistics).fetchall() == other.execute(statistics).fetchall()


def test_an_older_file_learns_when_its_messages_came(tmp_path):
    """What its log still says of it; the tables are those of a new file."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    filled(new, 5)
    shutil.copy(new, old)
    _age_to_4(old)
    with closing(raw(old)) as connection:
        lost = connection.execute("SELECT min(id) FROM message").fetchone()[0]
        connection.execute(
            "DELETE FROM log WHERE id IN (SELECT passage.id FROM passage JOIN message"
            " USING (user, agent, thread, place, ordinal) WHERE message.id = ?)",
            [lost],
        )
    Store.open(old).close()
    came = "SELECT id, recorded_us FROM message ORDER BY id"
    with closing(raw(old)) as one, closing(raw(new)) as other:
        assert other.execute(came).fetchall()
        assert dict(one.execute(came).fetchall()) == {
            **dict(other.execute(came).fetchall()),
            lost: None,
        }
        for table in (
            "scope",
            "message",
            "occurrence",
            "evidence",
            "fact",
            "log",
            "ban",
            "verdict",
        ):
            columns = f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')"
            assert sorted(one.execute(columns)) == sorted(other.execute(columns))


def test_a_file_of_version_5_is_afterwards_as_one_that_was_built_new(tmp_path):
    """Down to what is written to it later, and to what is erased when it is forgotten."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    coach = Scope("ana", "coach")
    triples = [("Bob", "saw", "oslo"), ("bob", "saw", "Oslo"), ("Eve", "is in", "Rome")]
    texts = [" ".join(one) for one in triples]
    reader = ScriptedExtractor({text: [one] for text, one in zip(texts, triples, strict=True)})
    with closing(Store.open(new)) as store:
        for n, text_ in enumerate(texts):
            put(store, said(text_, n))
        put(store, said(texts[0], 9), scope=coach)
        drain(store, reader)
        # What stands behind it is read again, and then states nothing: the log says what it did.
        put(store, said("I came to Rome.", 1.5))
        drain(store, ScriptedExtractor({}))
        assert not store.facts(ANA, subject="Eve")
        put(store, said(texts[1], 10), session="late")
        extract(store, reader)
    shutil.copy(new, old)
    _age_to_5(old)
    with closing(Store.open(old)) as store, closing(Store.open(new)) as other:
        assert rows(store, coach)["vectors"]
        for scope in (ANA, coach):
            assert rows(store, scope) == rows(other, scope)
            assert store.verify_log(scope) == other.verify_log(scope)
        for one in (store, other):
            put(one, said(texts[2], 20), session="new")
            drain(one, reader)
            assert one.facts(ANA, subject="Eve")
            one.forget(ANA, entity="Rome", now=NOW)
        assert rows(store) == rows(other)
        assert store.log(ANA)[:-1] == other.log(ANA)[:-1]
        assert not [one for one in store.log(ANA) if "Rome" in f"{one.before} {one.after}"]
    same = (
        "SELECT user, agent, id, name, told, uses FROM entity ORDER BY 1, 2, 3",
        "SELECT * FROM alias",
        "SELECT * FROM removed",
        "SELECT user, agent, id, entry FROM fact ORDER BY 1, 2, 3",
        "SELECT model, dims, data FROM vector ORDER BY data",
        "SELECT type, name FROM sqlite_master ORDER BY name",
    )
    with closing(raw(old)) as one, closing(raw(new)) as other:
        for statement in same:
            assert one.execute(statement).fetchall() == other.execute(statement).fetchall()
        assert one.execute("SELECT count(*) FROM alias").fetchone()[0]


def test_the_planner_is_told_of_every_index(tmp_path):
    """One that it takes for small it would read whole."""
    filled(tmp_path / "m.db", 1)
    with closing(raw(tmp_path / "m.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM pragma_table_list")]
        known = {
            (table, index, len(stat.split()) - 1)
            for table, index, stat in connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1")
        }
        for table in sorted(set(tables) - {"meta", "scope"}):
            for _, index, *_ in connection.execute(f"PRAGMA index_list({table})").fetchall():
                width = len(connection.execute(f"PRAGMA index_info({index})").fetchall())
                assert {(table, index, width), (table, table, width)} & known, index


# Where statements that are made once stand.
MODULES = (
    arrival,
    belief,
    forgetting,
    naming,
    order,
    queue,
    reading,
    records,
    rivals,
    transaction,
    vectors,
)
# These load a scope, or a part of it that has no ids.
WHOLE = {"_PASSAGES", "_IN_THREAD", "_ALL_ENTITIES", "_ALL_OF_OBJECT"}


def made_once() -> dict[str, str]:
    """By module and name the text of every SELECT that is made once, and of those in lookups."""
    written = {"render_postcompile": True}
    values = {
        "user": "",
        "agent": "",
        "ids": "[]",
        "read": "[]",
        "thread": "",
        "kind": "",
        "work": "",
    }
    values |= {"place": 0, "ordinal": 0, "part": 0, "owner": "", "lease_until": NOW}
    values |= {"works": ["embed"], "now": NOW, "most": 1}
    found = {}
    for module in MODULES:
        for name, one in sorted(vars(module).items()):
            statement = one._statement if isinstance(one, Lookup) else one
            if isinstance(statement, Select) and name not in WHOLE:
                words = statement.params(values).compile(dialect=dialect(), compile_kwargs=written)
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = str(words)
    return found


def changes_made_once() -> dict[str, str]:
    """By module and name the text of every UPDATE and DELETE that is run for many rows."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": words
        for module in MODULES
        for name, one in sorted(vars(module).items())
        if isinstance(one, Bulk) and not (words := one._for(dialect()).text).startswith("INSERT")
    }


def steps(connection, words: str) -> list[str]:
    """How SQLite would go about a statement, but for the list of ids that it is given."""
    plan = connection.execute(f"EXPLAIN QUERY PLAN {words}", (None,) * words.count("?"))
    return [step for *_, step in plan if "VIRTUAL TABLE" not in step]


def is_read_whole(step: str) -> bool:
    """Whether a step reads a table, or all of a scope's rows in one that has many of them."""
    of_scope = step.endswith("(user=? AND agent=?)")
    # A scope has one row there, few that have failed, and few entries for which a reason was given.
    few = (
        "SEARCH scope ",
        "SEARCH pending USING INDEX pending_failed ",
        "SEARCH log USING INDEX log_reason ",
    )
    return step.startswith("SCAN") or (of_scope and not step.startswith(few))


def test_what_is_asked_for_by_id_is_found_by_an_index(tmp_path):
    """No statement that is made once reads a scope from end to end, but those that load it."""
    filled(tmp_path / "m.db", 1)
    asked = made_once()
    assert len(asked) > 10
    assert asked.keys() >= {"records._FACTS", "records._PASSAGES_BY_ID", "reading._ENTITIES"}
    assert asked.keys() >= {"transaction._SAID_OF", "transaction._HEAD"}
    with closing(raw(tmp_path / "m.db")) as connection:
        for words in asked.values():
            assert not [one for one in steps(connection, words) if is_read_whole(one)], words
        whole = select(vector.c.data).where(ours(vector))
        loading = str(whole.compile(dialect=dialect()))
        assert [is_read_whole(one) for one in steps(connection, loading)] == [True]


def test_what_is_changed_by_id_is_found_by_an_index(tmp_path):
    filled(tmp_path / "m.db", 1)
    made = changes_made_once()
    assert len(made) > 10
    assert made.keys() >= {"transaction._COUNT", "transaction._COUNT_VOID", "transaction._ERASE"}
    with closing(raw(tmp_path / "m.db")) as connection:
        for words in made.values():
            taken = steps(connection, words)
            assert taken, words
            assert not [one for one in taken if is_read_whole(one)], words


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "m.db"
    filled(path, 5)
    _age(path)

    def fail(connection) -> None:
        _add_extractor(connection)
        raise StoreError("no")

    monkeypatch.setitem(migrations.STEPS, 0, fail)
    with pytest.raises(StoreError, match="no"):
        Store.open(path)
    with closing(raw(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(evidence)")]
        assert "extractor" not in columns
    monkeypatch.setitem(migrations.STEPS, 0, _add_extractor)
    Store.open(path).close()


def test_a_file_without_a_way_up_is_refused(tmp_path):
    path = tmp_path / "m.db"
    filled(path, 2)
    _age(path)
    with pytest.raises(StoreVersion, match="older graphmem"):
        Store.open(path)


@pytest.fixture
def public_path():
    """A folder that another user may enter; pytest closes its own at the start of each session."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


# Permissions do not bind the superuser: become somebody else once everything is imported.
AS_SOMEBODY_ELSE = """
import os, sys
from pathlib import Path
sys.path[:0] = {path!r}
from store_parts import *
from graphmem.errors import StoreReadOnly
warm = Store.open(":memory:")
put(warm, said("words"))
assert len(warm.passages(ANA)) == 1
warm.close()
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
"""

READ_ONLY = (
    AS_SOMEBODY_ELSE
    + """
store = Store.open({file!r})
assert len(store.passages(ANA)) == 3, store.passages(ANA)
try:
    put(store, said("more"))
except StoreReadOnly as error:
    print("refused:", error)
store.close()
"""
)


@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_read_only_store_can_be_read_and_says_that_it_cannot_be_written(public_path, which):
    folder = public_path / "folder"
    folder.mkdir()
    filled(folder / "m.db", 3)
    (folder / "m.db").chmod(0o444 if which == "file" else 0o666)
    folder.chmod(0o777 if which == "file" else 0o555)
    found = run(READ_ONLY.format(path=sys.path, file=str(folder / "m.db")))
    assert "refused:" in found.stdout, found.stderr
    assert "permissions" in found.stdout


def test_a_store_cannot_be_made_where_nothing_can_be_written(public_path):
    code = READ_ONLY.format(path=sys.path, file=str(public_path / "m.db"))
    public_path.chmod(0o555)
    found = run(code)
    public_path.chmod(0o755)
    assert "StoreReadOnly" in found.stderr


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_full_disk_refuses_the_batch_whole_and_takes_it_later(tmp_path):
    store = Store.open(tmp_path / "m.db")
    put(store, said("Before."))
    with store._database.writing() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
    limited = _limit_pages(store, pages + 20)
    big = [said(f"{n} " + "words " * 2000) for n in range(40)]
    with pytest.raises(StoreFull, match="nothing was written"):
        put(store, *big)
    assert [one.text for one in store.passages(ANA)] == ["Before."]
    limited(2**30)
    assert len(put(store, *big).stored) >= 40
    store.close()


def _limit_pages(store: Store, pages: int):
    """Make every connection refuse to grow the file, as a full disk does."""
    from sqlalchemy import event

    limit = [pages]

    def apply(connection, record, proxy) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit[0]}")

    event.listen(store._database._engine, "checkout", apply)
    return lambda more: limit.__setitem__(0, more)


def test_a_writer_that_waits_too_long_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "_PRAGMAS", ("PRAGMA busy_timeout = 100", *sqlite._PRAGMAS[1:]))
    store = Store.open(tmp_path / "m.db")
    with closing(raw(tmp_path / "m.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="try again"):
            put(store, said("words"))
        assert store.passages(ANA) == []
        other.execute("ROLLBACK")
    put(store, said("words"))
    assert len(store.passages(ANA)) == 1
    store.close()


SECRETS = ("Zanzibar", "Quetzal", "xylophone", "Ümläut", "京都")


def test_the_words_of_the_forgotten_leave_the_file(tmp_path):
    store = Store.open(tmp_path / "m.db")
    messages = [
        said(
            f"Person{n} went to {SECRETS[n % 5]}{n} with a {SECRETS[n % 5]}."
            if n % 3
            else "Kept words.",
            n,
            metadata={"of": SECRETS[n % 5]} if n % 3 else {},
        )
        for n in range(120)
    ]
    put(store, *messages[:60])
    script = ScriptedExtractor(
        lambda p: [(p.text.split()[0], "went to", p.text.split()[3].strip("."))] if "went" in p.text
        else [("Kept", "are", "words")]
    )  # fmt: skip
    drain(store, script)
    put(store, *messages[60:])
    drain(store, script, texts=7)
    assert any(secret.encode() in _bytes(tmp_path) for secret in SECRETS)
    gone = [one.id for one in store.passages(ANA) if "went" in one.text]
    for some in (gone[:1], gone[1:40], gone[40:]):
        receipt = store.forget(ANA, passages=some, now=NOW)
        assert receipt.deferred == ()
    drain(store, script)
    assert b"Kept words." in _bytes(tmp_path)
    left = _bytes(tmp_path)
    assert [secret for secret in SECRETS if secret.encode() in left] == []
    store.close()


def test_a_reader_defers_the_erasure_until_it_ends(tmp_path):
    store = Store.open(tmp_path / "m.db")
    put(store, said("Zanzibar is far."), said("Kept words."))
    first, _ = store.passages(ANA)
    with closing(raw(tmp_path / "m.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM message").fetchall()
        receipt = store.forget(ANA, passages=[first.id], now=NOW)
        assert len(receipt.deferred) == 1
        assert b"Zanzibar" in _bytes(tmp_path)
        crashed = snapshot(tmp_path, tmp_path / "crash").parent
        reader.execute("COMMIT")
    _wait_until_gone(b"Zanzibar", tmp_path)
    assert b"Kept words." in _bytes(tmp_path)
    store.close()
    # Had the process died with the reader still there, the next one would have done it.
    assert b"Zanzibar" in _bytes(crashed)
    store = Store.open(crashed / "m.db")
    _wait_until_gone(b"Zanzibar", crashed)
    assert [one.text for one in store.passages(ANA)] == ["Kept words."]
    store.close()


def _wait_until_gone(word: bytes, folder: Path) -> None:
    for _ in range(200):
        if word not in _bytes(folder):
            return
        time.sleep(0.05)
    raise AssertionError(f"{word!r} is still in {folder}")


def test_a_large_file_is_rewritten_in_the_background(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "REWRITE_AT_ONCE_BYTES", 0)
    store = Store.open(tmp_path / "m.db")
    put(store, said("Zanzibar is far."), said("Kept words."))
    receipt = store.forget(ANA, passages=[store.passages(ANA)[0].id], now=NOW)
    assert len(receipt.deferred) == 1
    _wait_until_gone(b"Zanzibar", tmp_path)
    assert b"Kept words." in _bytes(tmp_path)
    store.close()


def test_who_wants_to_write_breaks_a_rewrite_off(tmp_path, monkeypatch):
    """The rewrite is begun again when nobody writes."""
    monkeypatch.setattr(sqlite, "REWRITE_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(sqlite, "REST_SECONDS", 0.2)
    path = tmp_path / "m.db"
    store = Store.open(path)
    put(store, *(said(f"Zanzibar{n} " + "is far. " * 400, n) for n in range(3000)))
    store.forget(ANA, passages=[store.passages(ANA)[0].id], now=NOW)
    waits = []
    for n in range(12):
        time.sleep(0.25)  # long enough for the rewrite to begin
        began = time.monotonic()
        put(store, said("Kept words.", n))
        waits.append(time.monotonic() - began)
    assert sorted(waits)[6] < 0.2
    _wait_until_gone(b"Zanzibar0 ", tmp_path)
    assert b"Zanzibar1 " in _bytes(tmp_path)
    store.close()


def test_writers_do_not_wait_again_for_a_reader_until_the_log_has_doubled(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "CHECKPOINT_BYTES", 1 << 40)  # nothing is copied by itself
    monkeypatch.setattr(sqlite, "LONG_LOG_BYTES", 512 << 10)
    monkeypatch.setattr(sqlite, "READERS_SECONDS", 0.02)
    path = tmp_path / "m.db"
    with closing(Store.open(path)) as store, closing(raw(path)) as reader:
        database = store._database
        checkpoint, tried = database.checkpoint, []

        def noted(mode):
            is_done = checkpoint(mode)
            if mode == "TRUNCATE":  # for which writers wait
                tried.append(is_done)
            return is_done

        monkeypatch.setattr(database, "checkpoint", noted)
        copy, numbers = database._checkpointer._copy, iter(range(10**6))

        def grow(size):
            while database.log_bytes < size:
                put(store, said("words " * 3000 + str(next(numbers))))

        put(store, said("Before."))
        copy()
        assert tried == [], "the log is short"
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM message").fetchall()
        grow(sqlite.LONG_LOG_BYTES)
        length = database.log_bytes
        copy()
        assert tried == [False]
        for _ in range(3):
            put(store, said(f"Between {next(numbers)}."))
            copy()
        assert tried == [False], "not again so soon"
        assert length < database.log_bytes < 2 * length
        grow(2 * length)
        copy()
        assert tried == [False, False], "the reader is there still"
        grow(2 * database.log_bytes)
        reader.execute("COMMIT")
        copy()
        assert tried == [False, False, True]
        assert database.log_bytes == 0
        grow(sqlite.LONG_LOG_BYTES)
        copy()
        assert tried == [False, False, True, True], "as before the reader came"
        assert database.log_bytes == 0


def _bytes(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in sorted(folder.glob("m.db*")))


MENDED = (
    AS_SOMEBODY_ELSE
    + """
file = Path({file!r})
store = Store.open(file)
assert len(store.passages(ANA)) == 3
try:
    put(store, said("more"))
except StoreReadOnly:
    file.parent.chmod(0o755)
    file.chmod(0o644)
    put(store, said("more"))
    print("taken:", len(store.passages(ANA)))
store.close()
"""
)


@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_read_only_store_is_written_once_its_permissions_are_mended(public_path, which):
    folder = public_path / "folder"
    folder.mkdir()
    filled(folder / "m.db", 3)
    (folder / "m.db").chmod(0o444 if which == "file" else 0o644)
    folder.chmod(0o755 if which == "file" else 0o555)
    if os.geteuid() == 0:
        for one in (folder, folder / "m.db"):
            os.chown(one, 65534, 65534)
    found = run(MENDED.format(path=sys.path, file=str(folder / "m.db")))
    assert "taken: 4" in found.stdout, found.stderr
    store = Store.open(folder / "m.db")
    assert len(store.passages(ANA)) == 4
    store.close()
