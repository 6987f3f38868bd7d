from __future__ import annotations

import sys
from functools import lru_cache
from types import ModuleType

from graphmem.memo import Memo, let_go


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


def test_all_that_the_package_remembers_is_let_go_of_wherever_it_came_since(monkeypatch):
    module = ModuleType("graphmem.late")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    let_go()
    module.lengths = Memo(len, 9)
    module.upper = lru_cache(str.upper)
    for _ in range(2):
        assert module.lengths["secret"] == 6
        assert module.upper("secret") == "SECRET"
        assert module.upper.cache_info().currsize == len(module.lengths) == 1
        let_go()
        assert module.upper.cache_info().currsize == len(module.lengths) == 0
    again = ModuleType(module.__name__)
    again.lengths, again.upper = Memo(len, 9), str.upper
    monkeypatch.setitem(sys.modules, module.__name__, again)
    assert again.lengths["secret"] == 6
    let_go()
    assert not again.lengths
