"""What is found by a number or through another row is all that there is, whatever was done."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from store_parts import ANA, at, drain, extract, put, said

TRIPLES = [
    ("Bob", "saw", "Oslo"),
    ("bob", "saw", "OSLO"),
    ("BOB", "lives in", "Rome"),
    ("Eve", "lives in", "Rome"),
    ("Eve", "does not live in", "rome"),
]
TEXTS = [" ".join(one) for one in TRIPLES]
READER = ScriptedExtractor({text: [one] for text, one in zip(TEXTS, TRIPLES, strict=True)})
# Reads what no passage says, too.
FANCIFUL = ScriptedExtractor({text: [*TRIPLES[:2], ("Ada", "is in", "Lima")] for text in TEXTS})
DEAF = ScriptedExtractor({})

DEED = st.one_of(
    st.tuples(st.just("put"), st.integers(0, len(TEXTS)), st.integers(0, 3)),
    st.tuples(st.just("read"), st.sampled_from((READER, FANCIFUL, DEAF)), st.booleans()),
    st.tuples(st.just("forget"), st.integers(0, 9), st.booleans()),
)

OWNED = """
    SELECT embedded FROM passage UNION ALL SELECT embedded FROM fact
    UNION ALL SELECT embedded FROM entity
"""
COUNTED = """
    SELECT id, name, uses FROM entity UNION ALL SELECT entity_id, name, uses FROM alias
"""
USED = """
    SELECT id, called, count(*) FROM (
        SELECT fact.subject_id AS id, evidence.subject AS called
        FROM evidence JOIN fact ON fact.id = fact_id
        UNION ALL SELECT fact.object_id, evidence.object
        FROM evidence JOIN fact ON fact.id = fact_id
    ) GROUP BY id, called
"""
CHECKS = {
    "a vector that has no owner, or two": f"""
        SELECT n FROM vector WHERE (SELECT count(*) FROM ({OWNED}) WHERE embedded = n) != 1
    """,
    "the number of a vector that is not there": f"""
        SELECT * FROM ({OWNED}) WHERE embedded NOT NULL AND embedded NOT IN (SELECT n FROM vector)
    """,
    "evidence that its fact's row does not lead to": """
        SELECT passage_id, n FROM evidence LEFT JOIN fact ON fact.id = fact_id
        WHERE grounded AND mood = '' AND coalesce(instr(passages, passage_id), 0) = 0
    """,
    "a fact's words in the log that nothing leads to": """
        SELECT seq, id FROM log WHERE kind = 'fact' AND action = 'add' AND salt NOT NULL
            AND (id, seq) NOT IN (
                SELECT id, entry FROM fact WHERE entry NOT NULL
                UNION ALL SELECT fact_id, entry FROM removed
            )
    """,
    "words in the log of a fact that is nowhere else": """
        SELECT fact_id, entry FROM removed WHERE (fact_id, entry) NOT IN (
            SELECT id, seq FROM log WHERE salt NOT NULL
        )
    """,
    "spellings that are counted but not used so often": f"SELECT * FROM ({COUNTED}) "
    f"EXCEPT SELECT * FROM ({USED})",
    "spellings that are used and not counted": f"SELECT * FROM ({USED}) EXCEPT "
    f"SELECT * FROM ({COUNTED})",
    "an entity that is not called what it is called most": """
        SELECT entity.name, alias.name FROM entity JOIN alias ON entity_id = id
        WHERE alias.uses > entity.uses OR (alias.uses = entity.uses AND alias.name < entity.name)
    """,
}


def act(store: Store, deed: tuple, minute: int) -> None:
    what, which, how = deed
    if what == "put":
        text = "Just kidding." if which == len(TEXTS) else f"{TEXTS[which]}{'!' * how}"
        put(store, said(text, how * 100 + minute), now=at(minute))
    elif what == "read":
        (drain if how else extract)(store, which, now=at(minute))
    elif how and (facts := store.facts(ANA)):
        store.forget(ANA, facts=[facts[which % len(facts)].id], now=at(minute))
    elif passages := store.passages(ANA):
        store.forget(ANA, passages=[passages[which % len(passages)].id], now=at(minute))


def wrong(path: Path) -> dict[str, list]:
    with closing(sqlite3.connect(path)) as connection:
        found = {what: connection.execute(words).fetchall() for what, words in CHECKS.items()}
    return {what: rows for what, rows in found.items() if rows}


@settings(max_examples=40)
@given(st.lists(DEED, min_size=3, max_size=14))
def test_numbers_lead_to_all_rows_whatever_is_done(tmp_path_factory, deeds):
    path = tmp_path_factory.mktemp("numbers") / "m.db"
    with closing(Store.open(path)) as store:
        for minute, deed in enumerate(deeds):
            act(store, deed, minute)
            assert wrong(path) == {}, deed
        found = {one.id: len(store.evidence(ANA, one.id)) for one in store.facts(ANA)}
    with closing(sqlite3.connect(path)) as connection:
        assert found == dict(
            connection.execute("SELECT fact_id, count(*) FROM evidence GROUP BY fact_id")
        )
