"""Rows by id as SQLAlchemy would give them."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime

import pytest
from sqlalchemy import select

from graphmem.errors import StoreCorrupt, StoreError
from graphmem.store import Store, reading, records
from graphmem.store.bulk import among, given, ours
from graphmem.store.lookup import Lookup
from graphmem.store.schema import evidence, fact, pending
from graphmem.testing import ScriptedExtractor
from graphmem.types import Entity, Scope, Triple
from store_parts import ANA, at, claim, drain, put, said

EVE = Scope("eve")
LOOKUPS = {
    "fact": Lookup(select(fact).where(ours(fact), among(fact.c.id))),
    "evidence": Lookup(select(evidence).where(ours(evidence), among(evidence.c.passage_id))),
    "pending": Lookup(select(pending).where(ours(pending), among(pending.c.id))),
    "its own facts": records._FACTS,
    "its own passages": records._PASSAGES_BY_ID,
    "its own entities": reading._ENTITIES,
}


def cities(passage):
    """What somebody says of where they live, and where they do not."""
    *_, verb, place = passage.text.rstrip(".").split()
    return [Triple(passage.speaker, "lives in", place, polarity=verb != "not")]


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    """Facts of both polarities, one of which is retired, and passages that wait for a worker."""
    with closing(Store.open(tmp_path / "m.db" if request.param == "file" else ":memory:")) as store:
        put(
            store,
            said("I live in Oslo.", 1),
            said("I live not Rome.", 2),
            said("It is in Lima.", 3),
        )
        drain(store, ScriptedExtractor(cities))
        put(store, said("I live in Oslo.", 1), scope=EVE)
        drain(store, ScriptedExtractor(cities))
        put(store, said("I live in Quito.", now := 5), said("I live in Brno.", now))
        assert claim(store, texts=1, now=at(9))
        yield store


def ids_of(store: Store) -> list[str]:
    facts, passages = store.facts(ANA), store.passages(ANA)
    return [one.id for one in (*facts, *passages, *store.entities(ANA))]


@pytest.mark.parametrize("which", sorted(LOOKUPS))
def test_rows_are_those_of_the_statement(store, which):
    lookup, ids = LOOKUPS[which], ids_of(store)
    with store._database.reading() as connection:
        expected = connection.execute(lookup._statement, given(ANA, ids)).all()
        found = lookup.rows(connection, ANA, ids)
    assert len(found) > 1
    for one, other in zip(found, expected, strict=True):
        assert tuple(one) == tuple(other)
        assert [type(value) for value in one] == [type(value) for value in other]
        assert one._fields == other._fields
        assert [getattr(one, name) for name in one._fields] == list(other)


def test_the_rows_that_are_compared_hold_every_kind_of_value(store):
    ids = ids_of(store)
    with store._database.reading() as connection:
        rows = {
            name: LOOKUPS[name].rows(connection, ANA, ids)
            for name in ("fact", "evidence", "pending")
        }
    assert {one.polarity for one in rows["fact"]} == {True, False}
    assert all(isinstance(one.polarity, bool) for one in rows["fact"])
    assert {type(one.retired_at) for one in rows["fact"]} == {datetime, type(None)}
    assert {type(one.lease_until) for one in rows["pending"]} == {datetime, type(None)}
    assert all(one.due_at.tzinfo for one in rows["pending"])
    assert {one.valid_from for one in rows["evidence"]} >= {None}


def test_only_the_scopes_own_rows_come_whatever_is_asked_for(store):
    (eve,) = store.passages(EVE)
    lookup = records._PASSAGES_BY_ID
    mine = [one.id for one in store.passages(ANA)]
    odd = ["", "p-0", "'", '"', "\\", "],[", "\x00", "\ud800", "京都", eve.id + " "]
    with store._database.reading() as connection:
        found = lookup.rows(connection, ANA, [*odd, *mine[:2], *mine[:2], "no such id"])
        assert sorted(one.id for one in found) == sorted(mine[:2])
        assert lookup.rows(connection, ANA, []) == []
        assert lookup.rows(connection, Scope("nobody"), mine) == []
        assert [one.id for one in lookup.rows(connection, EVE, iter([eve.id]))] == [eve.id]


def test_a_closed_store_says_so(store):
    (first, *_) = store.entities(ANA)
    assert store.by_id(ANA, entities=[first.id])[2] == {first.id: Entity(first.id, first.name)}
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.by_id(ANA, entities=[first.id])


def test_a_table_that_is_missing_is_an_error_of_ours(store):
    (first, *_) = store.entities(ANA)
    with store._database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE entity")
    with pytest.raises(StoreCorrupt, match="lacks tables"):
        store.by_id(ANA, entities=[first.id])
