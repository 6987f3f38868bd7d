"""The log's chain: whatever is done to a row of it shows, and erasing words does not break it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import StoreCorrupt
from graphmem.store import Store, chain
from graphmem.testing import ScriptedExtractor
from graphmem.types import Actor, LogCheck, Scope
from store_parts import ANA, NOW, at, drain, embed, extract, put, said

WORDS = st.text(max_size=8)
MAYBE = st.none() | WORDS
OSLO = {
    "Bob is in Oslo.": [("Bob", "is in", "Oslo")],
    "Eve is in Rome.": [("Eve", "is in", "Rome")],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with several transactions: puts, readings, vectors, a forget with a reason."""
    path = tmp_path / "m.db"
    with closing(Store.open(path)) as store:
        for n, text in enumerate((*OSLO, "Nothing else.")):
            put(store, said(text, n), now=at(n))
            drain(store, ScriptedExtractor(OSLO), now=at(n + 0.5))
        oslo = next(one for one in store.passages(ANA) if "Oslo" in one.text)
        store.forget(ANA, passages=[oslo.id], reason="moved away", now=at(9))
        put(store, said("The last word.", 10), now=at(10))
        assert checked(store) == LogCheck(len(store.log(ANA)), 1, None, checked(store).head)
    return path


def checked(store: Store, scope: Scope = ANA) -> LogCheck:
    return store.verify_log(scope)


def broken_at(path: Path) -> int | None:
    with closing(Store.open(path)) as store:
        return checked(store).broken_at


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, statement


def column(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute(statement)]


# -- what shows ----------------------------------------------------------------------------------

VALUES = {
    "at": "at + 1",
    "action": "'merge'",
    "kind": "'entity'",
    "id": "'f-0'",
    "actor": "'somebody'",
    "actor_kind": "'agent'",
    "reason": "'because'",
    "before": "'{}'",
    "after": "'{}'",
    "salt": "randomblob(16)",
    "digest": "randomblob(16)",
    "link": "randomblob(32)",
}


def test_the_log_is_whole_before_anybody_touches_it(path):
    assert broken_at(path) is None
    columns = column(path, "SELECT name FROM pragma_table_info('log')")
    assert {*columns} == {*VALUES, "user", "agent", "seq"}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("which", ["with words", "without", "the last"])
def test_a_changed_column_shows(path, name, which):
    where = {
        "with words": "salt IS NOT NULL AND kind = 'fact'",
        "without": "salt IS NULL AND action = 'embed'",
        "the last": "seq = (SELECT max(seq) FROM log)",
    }
    (seq,) = column(path, f"SELECT max(seq) FROM log WHERE {where[which]}")
    first = 1 + max(column(path, f"SELECT seq FROM log WHERE link NOT NULL AND seq < {seq}"))
    change(path, f"UPDATE log SET {name} = {VALUES[name]} WHERE seq = {seq}")
    assert first <= broken_at(path) <= seq


@pytest.mark.parametrize("name", ["salt", "digest", "link"])
def test_a_column_that_is_emptied_shows(path, name):
    (seq,) = column(path, f"SELECT min(seq) FROM log WHERE {name} NOT NULL")
    change(path, f"UPDATE log SET {name} = NULL WHERE seq = {seq}")
    assert broken_at(path) is not None


@pytest.mark.parametrize("name", ["before", "after"])
def test_an_entry_that_cannot_be_read_is_said_to_be_damaged(path, name):
    with closing(Store.open(path)) as store:
        entries = len(store.log(ANA))
        assert store.diff(ANA, at(-9), at(9)).added
    assert entries
    change(path, f"UPDATE log SET {name} = '{{' WHERE kind = 'fact'")
    with closing(Store.open(path)) as store:
        with pytest.raises(StoreCorrupt, match=r"damaged.*verify_log"):
            store.log(ANA)
        with pytest.raises(StoreCorrupt, match="damaged"):
            store.diff(ANA, at(-9), at(9))
        assert not store.verify_log(ANA).is_intact


def test_an_entry_that_is_made_to_look_as_if_it_named_others_shows(path):
    (seq,) = column(path, "SELECT max(seq) FROM log WHERE salt IS NOT NULL AND kind = 'fact'")
    change(path, f"UPDATE log SET kind = 'log' WHERE seq = {seq}")
    assert broken_at(path) is not None


def test_a_removed_row_shows_wherever_it_is(path):
    numbers = column(path, "SELECT seq FROM log")
    data = path.read_bytes()
    for seq in numbers:
        change(path, f"DELETE FROM log WHERE seq = {seq}")
        assert broken_at(path) == seq
        path.write_bytes(data)
    assert broken_at(path) is None


def test_a_cut_tail_shows_also_where_the_scope_is_made_to_fit(path):
    ends = column(path, "SELECT seq FROM log WHERE link NOT NULL ORDER BY seq")
    change(path, f"DELETE FROM log WHERE seq > {ends[-3]}")
    assert broken_at(path) == ends[-3] + 1
    change(path, f"UPDATE scope SET seq = {ends[-3]}")
    assert broken_at(path) == ends[-3] + 1


def test_whoever_makes_another_chain_is_shown_by_a_noted_head(path):
    with closing(Store.open(path)) as store:
        put(store, said("Later.", 11), now=at(11))
        noted = checked(store).head
        assert store.verify_log(ANA, noted=noted).is_intact
        put(store, said("Later still.", 12), now=at(12))
        assert store.verify_log(ANA, noted=noted).is_intact
        assert checked(store).head != noted
    ends = column(path, "SELECT seq FROM log WHERE link NOT NULL ORDER BY seq")
    cut = f"(SELECT link FROM log WHERE seq = {ends[-3]})"
    change(
        path,
        f"DELETE FROM log WHERE seq > {ends[-3]}",
        f"UPDATE scope SET seq = {ends[-3]}, head = {cut}",
    )
    with closing(Store.open(path)) as store:
        assert checked(store).is_intact
        assert store.verify_log(ANA, noted=noted).broken_at == 1


def test_an_inserted_row_shows(path):
    columns = "user, agent, at, action, kind, id, actor, reason, actor_kind"
    last = max(column(path, "SELECT seq FROM log"))
    some = f"INSERT INTO log (seq, {columns}) SELECT seq + 1, {columns} FROM log WHERE seq = {last}"
    change(path, some)
    assert broken_at(path) == last + 1
    change(path, f"UPDATE scope SET seq = {last + 1}")
    assert broken_at(path) == last + 1


def test_rows_that_change_places_show(path):
    first, second = column(path, "SELECT seq FROM log WHERE kind = 'fact' ORDER BY seq LIMIT 2")
    change(
        path,
        f"UPDATE log SET seq = 1000000 WHERE seq = {first}",
        f"UPDATE log SET seq = {first} WHERE seq = {second}",
        f"UPDATE log SET seq = {second} WHERE seq = 1000000",
    )
    assert 1 <= broken_at(path) <= first


def test_a_row_of_another_scope_shows(path):
    other = Scope("ben")
    with closing(Store.open(path)) as store:
        put(store, said("Ben is here."), scope=other)
        assert checked(store, other).is_intact
    change(path, "UPDATE log SET user = 'other' WHERE user = 'ben'")
    with closing(Store.open(path)) as store:
        assert checked(store, other).broken_at == 1
        assert checked(store).is_intact


def test_words_that_nobody_forgot_show_as_gone(path):
    (seq,) = column(path, "SELECT max(seq) FROM log WHERE kind = 'fact' AND salt NOT NULL")
    change(path, f"UPDATE log SET before = NULL, after = NULL, salt = NULL WHERE seq = {seq}")
    assert broken_at(path) == seq


# -- what does not break it ----------------------------------------------------------------------


def test_forgetting_takes_the_words_and_leaves_the_chain(path):
    text = "SELECT group_concat(coalesce(before, '') || coalesce(after, '') || reason) FROM log"
    (words,) = column(path, text)
    assert "Oslo" not in words
    assert "Rome" in words, "what was not forgotten is there"
    with closing(Store.open(path)) as store:
        before = checked(store)
        store.forget(ANA, everything=True, now=at(20))
        after = checked(store)
        assert after.is_intact
        assert after.entries > before.entries
        assert after.erased > before.erased
        assert store.log(ANA)[0].id, "its entries stay"
    (words,) = column(path, text)
    assert "Rome" not in words
    assert "moved" not in words
    assert not column(path, "SELECT seq FROM log WHERE salt NOT NULL AND kind != 'log'")


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("she asked me to", "she asked me to"),
        ("that about Oslo was private", ""),
        ("OSLO!", ""),
        ("it is over", "it is over"),  # "is" and "it" say nothing
        ("", ""),
    ],
)
@pytest.mark.parametrize("is_all", [False, True])
def test_a_reason_that_repeats_the_forgotten_is_not_kept(tmp_path, reason, kept, is_all):
    with closing(Store.open(tmp_path / "m.db")) as store:
        put(store, said("Bob is in Oslo."), said("It rains."))
        target: dict[str, Any] = {"everything": True}
        if not is_all:
            target = {"passages": [one.id for one in store.passages(ANA) if "Oslo" in one.text]}
        store.forget(ANA, **target, reason=reason, now=at(1))
        forgets = [one for one in store.log(ANA) if one.action == "forget" and one.kind != "log"]
        assert {one.reason for one in forgets} == {kept}
        assert checked(store).is_intact


def test_an_earlier_reason_that_repeats_the_forgotten_goes_too(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        put(store, said("It rains."), said("Bob is in Oslo."), said("It snows."))
        rain, oslo, snow = (one.id for one in store.passages(ANA))
        store.forget(ANA, passages=[rain], reason="Bob wants it", now=at(1))
        store.forget(ANA, passages=[snow], reason="too cold", now=at(2))
        wanted = [one for one in store.log(ANA) if one.reason == "Bob wants it"]
        assert {one.kind for one in wanted} == {"passage", "ban"}
        store.forget(ANA, passages=[oslo], now=at(3))
        assert {one.reason for one in store.log(ANA)} == {"", "too cold"}
        assert checked(store) == replace(checked(store), erased=len(wanted), broken_at=None)


def test_why_somebody_ruled_on_a_forgotten_fact_goes_with_it(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        put(store, *(said(text) for text in OSLO))
        drain(store, ScriptedExtractor(OSLO))
        facts = {one.object: one.id for one in store.facts(ANA)}
        for place, reason in (("Oslo", "her doctor wrote it"), ("Rome", "heard it twice")):
            store.rule(ANA, facts[place], "verified", actor=Actor("Eve"), reason=reason, now=at(1))
        store.forget(ANA, facts=[facts["Oslo"]], now=at(2))
        reasons = {one.reason for one in store.log(ANA)}
        assert "heard it twice" in reasons
        assert "her doctor wrote it" not in reasons
        assert checked(store).is_intact


def test_an_erased_entry_is_named_once_and_no_word_is_in_the_name(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        put(store, *(said(text) for text in OSLO))
        drain(store, ScriptedExtractor(OSLO))
        said_of = [one.seq for one in store.log(ANA) if one.after]
        store.forget(ANA, session="s", now=at(1))
        (named,) = (one for one in store.log(ANA) if one.kind == "log")
        assert (named.action, named.id, named.after) == (
            "forget",
            "",
            {"erased": chain.spans(said_of)},
        )
        assert checked(store).erased == len(said_of)


def test_an_empty_log_is_whole(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        assert checked(store) == LogCheck(0)
        put(store, said("Now."))
        assert checked(store, Scope("nobody")) == LogCheck(0)
        assert checked(store).entries == 1


def test_a_write_that_fails_leaves_the_chain(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        put(store, said("Bob is in Oslo."))
        extract(store, ScriptedExtractor(OSLO))
        before = checked(store)
        with pytest.raises(LookupError):
            store.forget(ANA, passages=["p-0"], now=at(1))
        assert checked(store) == before
        embed(store)
        assert checked(store).is_intact


def test_hard_text_in_an_entry_is_chained_as_it_is_kept(tmp_path):
    with closing(Store.open(tmp_path / "m.db")) as store:
        put(store, said("Bob\udc9a is in \x00slo."))
        store.forget(ANA, session="s", reason="\ud800 \x00 naïve 京都", now=NOW)
        assert store.log(ANA)[-1].reason == "\ufffd \ufffd naïve 京都"
        assert checked(store).is_intact


# -- an older file -------------------------------------------------------------------------------


def test_an_older_log_is_sealed_as_it_is(path):
    from test_store_files import _age_to_4

    entries = len(column(path, "SELECT seq FROM log"))
    _age_to_4(path)
    with closing(Store.open(path)) as store:
        check = checked(store)
        assert check.is_intact
        assert check.entries >= entries
        words = [one for one in store.log(ANA) if one.after]
        assert words
        store.forget(ANA, everything=True, now=at(20))
        assert checked(store).is_intact
        assert checked(store).erased >= len(words)


def test_a_change_of_a_sealed_log_shows(path):
    from test_store_files import _age_to_4

    _age_to_4(path)
    Store.open(path).close()
    data = path.read_bytes()
    change(path, "UPDATE log SET actor = 'x' WHERE seq = 2")
    assert broken_at(path) == 1
    path.write_bytes(data)
    (seq,) = column(path, "SELECT min(seq) FROM log WHERE salt NOT NULL")
    change(path, f"UPDATE log SET after = '{{}}' WHERE seq = {seq}")
    assert broken_at(path) == seq


# -- the pure part -------------------------------------------------------------------------------


SAID = st.tuples(WORDS, MAYBE, MAYBE)


@given(SAID, SAID)
def test_other_words_have_another_digest(one, other):
    salt = b"s" * chain.SALT_BYTES
    assert (chain.digest(salt, *one) == chain.digest(salt, *other)) == (one == other)
    assert chain.digest(b"t" * chain.SALT_BYTES, *one) != chain.digest(salt, *one)


ROWS = st.tuples(
    st.integers(1, 99),
    st.integers(0, 99),
    *[WORDS] * 5,
    st.none() | st.binary(min_size=2, max_size=2),
)


@given(ROWS, ROWS)
def test_other_entries_have_another_line(one, other):
    assert (chain.line(*one) == chain.line(*other)) == (one == other)


@given(st.lists(ROWS, max_size=3), st.lists(ROWS, max_size=3))
def test_other_transactions_have_another_link(some, others):
    links = [chain.link(b"", (chain.line(*row) for row in rows)) for rows in (some, others)]
    assert (links[0] == links[1]) == (some == others)
    assert chain.link(links[0], ()) != chain.link(b"", ())


@pytest.mark.parametrize("words", ["{", "[]", '{"erased": 1}', '{"erased": [[1, Infinity]]}'])
def test_what_names_no_entries_in_another_chain_names_nothing(words):
    salt = bytes(chain.SALT_BYTES)
    digest = chain.digest(salt, "", None, words)
    entry = chain.Entry(1, 0, "forget", "log", "", "", "", "", None, words, salt, digest)
    head = chain.link(None, [chain.line(*entry[:7], digest)])
    assert chain.verify([entry._replace(link=head)], head=head, seq=1).is_intact


@given(st.sets(st.integers(1, 40)))
def test_spans_are_the_numbers(numbers):
    runs = chain.spans(numbers)
    assert {n for first, last in runs for n in range(first, last + 1)} == numbers
    assert all(one[1] + 1 < next_[0] for one, next_ in pairwise(runs))
    assert json.loads(json.dumps(chain.erasure(runs))) == {"erased": runs}


@given(st.sets(st.integers(1, 30)), st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30))))
def test_what_is_outside_of_all_runs(numbers, runs):
    expected = [one for one in sorted(numbers) if not any(a <= one <= b for a, b in runs)]
    assert list(chain._outside(sorted(numbers), runs)) == expected
