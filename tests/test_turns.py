from __future__ import annotations

import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.block import turns as turns_module
from graphmem.block.turns import Turn, Turns


def ask(turns: Turns, query: str, index: int, *, answered: bool = False, key: str = "s"):
    return turns.occurrence(key, Turn(query, index, answered), "basis")


def test_the_calls_of_a_turn_are_one_occurrence_and_the_next_turn_is_another():
    turns = Turns()
    first = ask(turns, "hi", 0)
    assert ask(turns, "hi", 0) is first
    assert ask(turns, "hi", 0, answered=True) is first
    second = ask(turns, "hi", 4)
    assert second is not first
    assert ask(turns, "hi", 4, answered=True) is second


def test_a_flush_within_a_turn_does_not_split_it():
    turns = Turns()
    first = ask(turns, "where?", 40)
    turns.flushed("s", 38)
    assert ask(turns, "where?", 2) is first
    turns.flushed("s", 2)
    assert ask(turns, "where?", 0, answered=True) is first


def test_a_full_window_that_stands_still_does_not_join_turns():
    turns = Turns()
    seen = []
    for _ in range(5):
        # Each turn pushes two messages out, and the same words stand at the same index.
        seen.append(ask(turns, "and now?", 10))
        turns.flushed("s", 2)
    assert len({id(one) for one in seen}) == 5


def test_the_same_words_after_the_answer_are_asked_anew_even_at_the_same_place():
    turns = Turns()
    first = ask(turns, "hi", 0)
    ask(turns, "hi", 0, answered=True)
    assert ask(turns, "hi", 0) is not first


def test_other_words_other_settings_and_other_sessions_are_other_occurrences():
    turns = Turns()
    first = ask(turns, "hi", 0)
    assert turns.occurrence("s", Turn("hi", 0, False), "basis") is first
    assert ask(turns, "hi", 0, key="other") is not first
    assert turns.occurrence("s", Turn("hi", 0, False), "new basis") is not first
    assert ask(turns, "ho", 0) is not first


def test_an_hour_later_the_same_words_are_another_question(monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]
    monkeypatch.setattr(turns_module.time, "monotonic", lambda: clock[0])
    turns = Turns()
    first = ask(turns, "news?", 0)
    clock[0] = 3_000.0
    assert ask(turns, "news?", 0) is first
    clock[0] = 3_700.0
    assert ask(turns, "news?", 0) is not first


def test_sessions_are_bounded_and_the_least_recent_goes():
    turns = Turns(max_sessions=2)
    first, second = ask(turns, "q", 0, key="a"), ask(turns, "q", 0, key="b")
    assert ask(turns, "q", 0, key="a") is first
    ask(turns, "q", 0, key="c")
    assert ask(turns, "q", 0, key="a") is first
    assert ask(turns, "q", 0, key="b") is not second


def test_the_text_is_made_once_and_anew_after_a_forget():
    occurrence = ask(Turns(), "q", 0)
    calls = Counter[str]()

    def recall() -> str:
        calls["recall"] += 1
        return f"text {calls['recall']}"

    assert [occurrence.text(lambda: 7, recall) for _ in range(3)] == ["text 1"] * 3
    assert occurrence.text(lambda: 8, recall) == "text 2"


def test_calls_at_the_same_time_make_the_text_once():
    occurrence = ask(Turns(), "q", 0)
    gate = threading.Event()
    calls: list[int] = []
    texts: list[str] = []

    def recall() -> str:
        calls.append(1)
        gate.wait(5)
        return "text"

    def work() -> None:
        texts.append(occurrence.text(lambda: 0, recall))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert (len(calls), texts) == (1, ["text"] * 8)


def test_a_failed_recall_is_lost_for_its_turn_only():
    turns = Turns()
    occurrence = ask(turns, "q", 0)

    def broken() -> str:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        occurrence.text(lambda: 0, broken)
    assert occurrence.text(lambda: 0, lambda: "late") == ""
    ask(turns, "q", 0, answered=True)
    assert ask(turns, "q", 2).text(lambda: 0, lambda: "fine") == "fine"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["hi", "why?", "go on"]),
            st.integers(0, 3),  # tool rounds
            st.integers(0, 6),  # messages flushed before the answer is seen
        ),
        min_size=1,
        max_size=12,
    )
)
def test_every_turn_of_an_agent_is_exactly_one_occurrence(
    told: list[tuple[str, int, int]],
) -> None:
    turns = Turns()
    window = 0
    seen = []
    for query, rounds, cut in told:
        index = window
        calls = [ask(turns, query, index) for _ in range(1 + rounds)]
        cut = min(cut, index)
        turns.flushed("s", cut)
        index -= cut
        calls.append(ask(turns, query, index, answered=True))
        assert len({id(call) for call in calls}) == 1
        seen.append(calls[0])
        window = index + 2 + 2 * rounds
    assert len({id(one) for one in seen}) == len(told)
