"""Answers that are remembered: for small questions that come again by the million."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, Generic, TypeVar

__all__ = ["Memo", "let_go"]

Answer = TypeVar("Answer")

_CACHED = type(lru_cache(maxsize=1)(len))
# Of each module that was looked through: itself, how many names it had, what remembers among them.
_found: dict[str, tuple[ModuleType, int, list[Any]]] = {}


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

    What is remembered is found where it is kept, in the modules: nobody has to announce it. A
    module is looked through again when it has got other names, as while it is being imported.
    """
    package = __name__.partition(".")[0]
    within = f"{package}."
    for name, module in list(sys.modules.items()):
        if name.startswith(within) or name == package:
            known, names, kept = _found.get(name, (None, 0, []))
            if known is not module or names != len(vars(module)):
                values = list(vars(module).values())
                kept = [value for value in values if isinstance(value, (Memo, _CACHED))]
                _found[name] = module, len(values), kept
            for one in kept:
                if isinstance(one, Memo):
                    one.clear()
                else:
                    one.cache_clear()
