"""Answers that are remembered: for small questions that come again by the million."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar, final

__all__ = ["Memo", "let_go"]

Answer = TypeVar("Answer")

_CACHED = type(lru_cache(maxsize=1)(len))


@final
class Memo(dict[str, Answer], Generic[Answer]):
    """The answers of a pure function by its argument: ``memo[text]``; all are forgotten when full.

    A hit reads one entry of a dictionary; ``functools.lru_cache`` also moves it to the front of a
    list, which among a hundred thousand takes several times as long.

    Args:
        ask: the function.
        most: so many answers are kept at most.
    """

    def __init__(self, ask: Callable[[str], Answer], most: int) -> None:
        super().__init__()
        self._ask = ask
        self._most = most

    def __missing__(self, text: str) -> Answer:
        answer = self._ask(text)
        if len(self) >= self._most:
            self.clear()
        self[text] = answer
        return answer


def let_go() -> None:
    """Let go of every answer that this package remembers: their questions are words of somebody's.

    What is remembered is found where it is kept, in the modules: nobody has to announce it.
    """
    package = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for value in list(vars(module).values()):
                # Of thousands of values a few are: asked as briefly as can be.
                kind = type(value)
                if kind is Memo:
                    value.clear()
                elif kind is _CACHED:
                    value.cache_clear()
