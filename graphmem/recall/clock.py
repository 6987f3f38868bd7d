"""How long the stages of a recall take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType

__all__ = ["Clock"]


@dataclass(slots=True)
class Clock:
    """Milliseconds by stage; a stage that runs twice adds up."""

    spent: dict[str, float] = field(default_factory=dict)

    def stage(self, name: str) -> _Stage:
        """Time the block as this stage."""
        return _Stage(self.spent, name)


class _Stage:
    """A block that is timed: a class, for a generator takes nearly three times as long."""

    __slots__ = ("_name", "_spent", "_start")

    def __init__(self, spent: dict[str, float], name: str) -> None:
        self._spent = spent
        self._name = name
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        took = (time.perf_counter() - self._start) * 1e3
        self._spent[self._name] = self._spent.get(self._name, 0.0) + took
