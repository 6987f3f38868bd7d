from __future__ import annotations

from graphmem.memo import Memo


def test_a_question_is_asked_once_while_there_is_room():
    asked = []

    def length(text):
        asked.append(text)
        return len(text)

    memo = Memo(length, 2)
    assert [memo[text] for text in ("a", "bb", "a", "bb")] == [1, 2, 1, 2]
    assert asked == ["a", "bb"]
    assert memo["ccc"] == 3
    assert len(memo) == 1
    assert memo["a"] == 1
    assert asked == ["a", "bb", "ccc", "a"]
