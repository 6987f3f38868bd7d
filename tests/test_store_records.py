"""Rows as values: what is unpacked by place is what is selected."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta, timezone

from graphmem.facts import Evidence
from graphmem.store import records
from graphmem.store.schema import fact
from graphmem.types import Fact

FACT_COLUMNS = [
    "user",
    "agent",
    "id",
    "subject_id",
    "object_id",
    "subject",
    "predicate",
    "object",
    "polarity",
    "valid_from",
    "valid_to",
    "recorded_at",
    "retired_at",
    "status",
    "replaced_by",
    "passages",
    "slot",
    "value",
    "entry",
    "embedded",
]
# Some are computed: they are named by what they are computed from.
EVIDENCE_COLUMNS = [
    "evidence.fact_id",
    "evidence.passage_id",
    "evidence.subject",
    "evidence.predicate",
    "evidence.object",
    "evidence.polarity",
    "evidence.valid_from",
    "evidence.valid_to",
    "evidence.speaker",
    "evidence.grounded",
    "entity.told",
    "message.role",
    "message.said_us",
    "passage.ordinal",
    "evidence.recorded_at",
    "evidence.extractor",
    "passage.thread",
    "message.recorded_us",
    "evidence.mood",
    "message.said_offset",
]

COMPUTED = ("entity.told", "message.said_us")


def test_a_fact_is_unpacked_as_its_columns_stand():
    assert [column.name for column in fact.columns] == FACT_COLUMNS
    values = {one.name: one.name for one in fields(Fact)} | {"passages": ("p-1", "p-2")}
    row = [values.get(name, f"no field: {name}") for name in FACT_COLUMNS]
    row[FACT_COLUMNS.index("passages")] = '["p-1", "p-2"]'
    assert records.to_fact(row) == Fact(**values)


def test_evidence_is_unpacked_as_it_is_selected():
    selected = list(records._EVIDENCE.selected_columns)
    assert len(selected) == len(EVIDENCE_COLUMNS)
    for column, name in zip(selected, EVIDENCE_COLUMNS, strict=True):
        # A computed column's text holds the other's name.
        assert name in str(column).replace('"', "")
    plain = [str(column) for column in selected if hasattr(column, "table")]
    assert plain == [
        one for one in EVIDENCE_COLUMNS if one not in ("entity.told", "message.said_us")
    ]
    values = {one.name: one.name for one in fields(Evidence)}
    row = [values.get(name.partition(".")[2], f"no field: {name}") for name in EVIDENCE_COLUMNS]
    said_at, heard_at = (datetime(2025, 3, day, tzinfo=timezone.utc) for day in (1, 2))
    computed = {"evidence.grounded": False, "entity.told": True}
    computed["message.said_us"] = int(said_at.timestamp() * 1e6)
    computed["message.said_offset"] = 3600
    computed["message.recorded_us"] = int(heard_at.timestamp() * 1e6)
    for name, value in computed.items():
        row[EVIDENCE_COLUMNS.index(name)] = value
    expected = values | {"grounded": True, "by_name": True}
    expected |= {"said_at": said_at, "heard_at": heard_at}
    assert records.to_evidence(row).said_at.utcoffset() == timedelta(hours=1)
    assert records.to_evidence(row) == Evidence(**expected)


def test_evidence_that_is_grounded_by_itself_is_not_by_a_name():
    row = dict.fromkeys(EVIDENCE_COLUMNS)
    for own, name, found in (
        (True, True, (True, False)),
        (True, False, (True, False)),
        (False, True, (True, True)),
        (False, False, (False, False)),
    ):
        row |= {"evidence.grounded": own, "entity.told": name}
        one = records.to_evidence(list(row.values()))
        assert (one.grounded, one.by_name) == found
