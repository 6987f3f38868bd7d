from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment_parts import ANA, BO, CHAT, said, written
from graphmem.errors import InvalidInput
from graphmem.experiments import DataSet, Question
from graphmem.experiments.dataset import EVERYTHING
from graphmem.experiments.preparing import prepare
from graphmem.experiments.shrinking import shrunk

LIBRARY = DataSet(
    "a library",
    tuple(written(f"d{n}", f"Town {n}", "It has a mill.") for n in range(40)),
    tuple(
        Question(f"q{n}", EVERYTHING, "Which mill?", (f"d{2 * n}", f"d{2 * n + 1}"))
        for n in range(20)
    ),
)


def ids(data: DataSet) -> list[str]:
    return [record.id for record in data.records]


def asked(data: DataSet) -> list[str]:
    return [question.id for question in data.questions]


@st.composite
def datasets(draw: st.DrawFn) -> DataSet:
    records = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from("abd"), max_size=25))):
        key = f"r{number}"
        if kind == "d":
            records.append(written(key, f"Town {number}", "It has a mill."))
        else:
            records.append(said(key, ANA if kind == "a" else BO, "1", "Ana", f"line {number}"))
    names = st.lists(st.sampled_from(records).map(lambda one: one.id), unique=True, max_size=3)
    pairs = draw(st.lists(st.tuples(names, names), max_size=8)) if records else []
    questions = (
        Question(f"q{number}", ANA, "Who?", tuple(gold), tuple(stale))
        for number, (gold, stale) in enumerate(pairs)
    )
    return DataSet("some", tuple(records), tuple(questions))


@given(datasets(), st.integers(1, 30), st.integers(0, 3))
def test_a_smaller_set_is_a_part_in_its_order_and_answers_what_it_asks(
    data: DataSet, records: int, seed: int
) -> None:
    small = shrunk(data, records, seed)
    assert small == shrunk(data, records, seed)
    assert small.records == tuple(one for one in data.records if one in small.records)
    assert small.questions == tuple(one for one in data.questions if one in small.questions)
    kept = set(ids(small))
    documents = [one for one in data.records if one.message.role == "document"]
    assert sum(one in documents for one in small.records) == min(records, len(documents))
    for scope in data.scopes:
        mine = [r for r in data.records if r.scope == scope and r not in documents]
        assert [r.id for r in mine[:records]] == [r.id for r in mine if r.id in kept]
    if small is not data:
        for question in data.questions:
            is_answered = {*question.gold, *question.stale} <= kept
            assert (question in small.questions) == (bool(question.gold) and is_answered)


@given(datasets(), st.integers(25, 99))
def test_a_set_that_is_no_larger_stays_as_it_is(data: DataSet, records: int) -> None:
    assert shrunk(data, records) is data


@given(st.integers(2, 39), st.integers(0, 99))
def test_questions_are_drawn_until_their_documents_are_a_quarter(records: int, seed: int) -> None:
    small = shrunk(LIBRARY, records, seed)
    assert len(small.records) == records
    assert len(small.questions) >= records / 8  # each has two


def test_the_seed_draws() -> None:
    drawn = {tuple(asked(shrunk(LIBRARY, 20, seed))) for seed in range(9)}
    assert len(drawn) > 5


def test_a_question_whose_stale_record_is_gone_is_not_asked() -> None:
    (first, *_) = CHAT.questions
    late = replace(first, id="late", stale=("a3",))
    data = replace(CHAT, questions=(*CHAT.questions, late))
    assert asked(shrunk(data, 3)) == ["q0", "q1", "q2"]
    assert ids(shrunk(data, 3)) == ["a0", "a1", "a2", "b0"]
    assert asked(shrunk(data, 2)) == ["q0", "q2"]
    assert asked(shrunk(data, 4)) == ["q0", "q1", "q2", "q3", "late"]


def test_a_run_is_made_of_the_smaller_sets() -> None:
    (prepared,) = prepare([CHAT], records=2)
    assert prepared.data == shrunk(CHAT, 2)
    assert prepared.origin.records == 2
    (mixed,) = prepare([CHAT, LIBRARY], records=2, mix=True)
    assert len(mixed.data.records) == 3 + 2
    (lookups,) = prepare([CHAT], records=1, lookups=9)
    assert lookups.data.records == shrunk(CHAT, 1).records


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1 record"):
        shrunk(CHAT, 0)
    with pytest.raises(InvalidInput, match=r"0 \(everything\) or more"):
        prepare([CHAT], records=-1)
    with pytest.raises(InvalidInput, match="answer none of its questions: keep more"):
        prepare([LIBRARY], records=1)
