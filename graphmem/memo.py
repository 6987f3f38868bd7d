"""Answers that are remembered: for small questions that come again by the million."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Memo"]

Answer = TypeVar("Answer")


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
