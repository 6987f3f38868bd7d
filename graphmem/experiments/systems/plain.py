"""The two memories that everything must beat: none at all, and the newest words in the context."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.systems.interface import BUDGET, Answer, Progress
from graphmem.threads import places
from graphmem.types import Scope, Usage

__all__ = ["InContext", "NoMemory"]


class NoMemory:
    """Remembers nothing: what a metric shows by itself."""

    @property
    def usage(self) -> Usage:
        """Nothing: no model is asked."""
        return Usage()

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Forget the records."""
        progress(len(data.records), len(data.records))

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank nothing."""
        return Answer((), 0.0)

    def close(self) -> None:
        """There is nothing to let go of."""


@dataclass(slots=True)
class InContext:
    """A window on the newest records of the scope, whatever is asked: a chat without a memory.

    The window ends before the first record, counted from the newest, that does not fit whole. A
    record without a time is as new as the stamped one before it in the set. Tokens are counted as
    LlamaIndex does by default.

    Attributes:
        budget: tokens that the window holds.
    """

    budget: int = BUDGET
    _windows: dict[Scope, tuple[str, ...]] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """Nothing: no model is asked."""
        return Usage()

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Keep the newest records of each scope."""
        self._windows = {
            scope: self._window([record for record in data.records if record.scope == scope])
            for scope in data.scopes
        }
        progress(len(data.records), len(data.records))

    def ask(self, question: Question, top_k: int) -> Answer:
        """The window, newest first."""
        start = time.perf_counter()
        ranking = self._windows.get(question.scope, ())[:top_k]
        return Answer(ranking, (time.perf_counter() - start) * 1e3)

    def close(self) -> None:
        """Let go of everything."""
        self._windows = {}

    def _window(self, records: list[Record]) -> tuple[str, ...]:
        from llama_index.core.utils import get_tokenizer

        count = get_tokenizer()
        said_at = [record.message.said_at for record in records]
        stamps = [None if at is None else at.timestamp() for at in said_at]
        placed = zip(places(stamps, float("-inf")), records, strict=True)
        ordered = [record for _, record in sorted(placed, key=lambda pair: pair[0])]
        window: list[str] = []
        left = self.budget
        for record in reversed(ordered):
            left -= len(count(record.full_text))
            if left < 0:
                break
            window.append(record.id)
        return tuple(window)
