"""A store whose facts were made by older rules believes anew when it is opened."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from graphmem.store import Store, migrations
from graphmem.testing import ScriptedExtractor
from graphmem.types import Scope
from store_parts import ANA, at, drain, put, rows, said

BEN = Scope("ben")
MOVES = {
    "Bob lives in Oslo.": [("Bob", "lives in", "Oslo")],
    "Bob lives in Rome.": [("Bob", "lives in", "Rome")],
    "Bob likes tea.": [("Bob", "likes", "tea")],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.db"
    with closing(Store.open(path)) as store:
        for scope in (ANA, BEN):
            put(store, *(said(text, n) for n, text in enumerate(MOVES)), scope=scope)
        drain(store, ScriptedExtractor(MOVES))
    return path


def by_older_rules(path: Path) -> None:
    """As rules would leave it that knew of no value which replaces another."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (
            "UPDATE fact SET slot = NULL, value = NULL, retired_at = NULL, replaced_by = NULL",
            "UPDATE meta SET value = '0' WHERE key = 'beliefs'",
        ):
            connection.execute(statement)


def migrated(store: Store, scope: Scope) -> list[Any]:
    return [one for one in store.log(scope) if one.action == "migrate"]


def test_facts_are_believed_by_the_rules_of_today(path):
    with closing(Store.open(path)) as store:
        expected = {scope: rows(store, scope) for scope in (ANA, BEN)}
        assert expected[ANA]["retired"]
        assert not migrated(store, ANA), "nothing was older"
    by_older_rules(path)
    with closing(Store.open(path)) as store:
        assert {scope: rows(store, scope) for scope in (ANA, BEN)} == expected
        for scope in (ANA, BEN):
            (entry,) = migrated(store, scope)
            assert (entry.kind, entry.id, entry.actor_kind) == ("scope", "", "system")
            assert entry.after == {"rules": migrations.RULES, "facts": 3}
            assert store.verify_log(scope).is_intact
            assert store.forget_seq(scope) == store.seq(scope), "kept recalls are stale"
            assert store.changed(scope, after=entry.seq - 1).is_whole, "and so is an index"
    with closing(Store.open(path)) as store:
        assert len(migrated(store, ANA)) == 1, "once is enough"
        put(store, said("Bob lives in Lima.", 9))
        drain(store, ScriptedExtractor({"Bob lives in Lima.": [("Bob", "lives in", "Lima")]}))
        live = [one.object for one in store.facts(ANA, subject="Bob") if one.is_live]
        assert sorted(live) == ["Lima", "tea"], "the slots are there as well"


def test_a_file_of_an_older_schema_believes_anew_too(path):
    from test_store_files import _age_to_4

    with closing(Store.open(path)) as store:
        expected = rows(store)
    _age_to_4(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE fact SET slot = NULL, retired_at = NULL, replaced_by = NULL")
    with closing(Store.open(path)) as store:
        assert rows(store) == expected
        assert len(migrated(store, ANA)) == 1
        assert store.verify_log(ANA).is_intact


def test_what_was_interrupted_goes_on(path, monkeypatch):
    by_older_rules(path)
    with monkeypatch.context() as patched:
        patched.setattr("graphmem.store.renewal.believe_by", _stop)
        with pytest.raises(KeyboardInterrupt):
            Store.open(path)
    with closing(Store.open(path)) as store:
        assert rows(store)["retired"]
        put(store, said("More.", 9), now=at(9))
        assert store.verify_log(ANA).is_intact


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_store_of_newer_rules_is_left_alone(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'beliefs'")
    with closing(Store.open(path)) as store:
        assert not migrated(store, ANA)
