"""Swallowed faults: every one is counted, logged, and shown to whoever listens.

A memory must not break its agent, so the block and the worker go on after a fault. They may do so
only through here.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from graphmem.identity import clean_text
from graphmem.types import Scope

__all__ = ["Fault", "FaultKind", "Faults", "described"]

logger = logging.getLogger("graphmem")

MAX_CHARS = 2_000
# So many of the newest are kept, as one scope is not shown those of others.
MOST_KEPT = 100

FaultKind = Literal["input", "recall", "storage", "extraction", "embedding"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong and was survived.

    Attributes:
        kind: the stage that failed.
        error: the exception.
        consequence: what it means for the user, as a sentence.
    """

    kind: FaultKind
    error: BaseException
    consequence: str


def described(error: BaseException) -> str:
    """Type and message of an exception as text that can be stored and shown anywhere.

    A server may put a whole prompt into its message, and bytes that are no text.
    """
    return clean_text(f"{type(error).__name__}: {error}")[:MAX_CHARS]


class Faults:
    """Counts faults by kind, remembers the newest ones, and passes each to the listeners."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._newest: deque[tuple[Scope | None, str]] = deque(maxlen=MOST_KEPT)
        self._listeners: list[Callable[[Fault], None]] = []

    def listen(self, listener: Callable[[Fault], None]) -> None:
        """Call ``listener`` with every later fault, from the thread in which it happened."""
        self._listeners.append(listener)

    def record(
        self,
        kind: FaultKind,
        error: BaseException,
        consequence: str,
        *,
        scope: Scope | None = None,
    ) -> None:
        """Count and log a fault, and tell the listeners.

        Args:
            kind: the stage that failed.
            error: the exception.
            consequence: see ``Fault``.
            scope: on whose text it happened, which the error may quote; ``None`` where on nobody's.
        """
        message = described(error)
        with self._lock:
            self._counts[kind] += 1
            self._newest.append((scope, message))
        logger.warning("%s fault, %s (%s)", kind, consequence, message)
        for listener in self._listeners:
            try:
                listener(Fault(kind, error, consequence))
            except Exception:  # a listener's own fault must not become the agent's
                logger.exception("a fault listener failed")

    def forget_last(self) -> None:
        """Let go of the newest faults' words: they may quote what is being forgotten."""
        with self._lock:
            self._newest.clear()

    def counts(self) -> dict[str, int]:
        """Number of faults so far, by kind."""
        with self._lock:
            return dict(self._counts)

    def last_of(self, scope: Scope) -> str:
        """The newest fault in words that happened on a scope's text or on nobody's, or ``""``."""
        with self._lock:
            newest = reversed(self._newest)
            return next((message for whose, message in newest if whose in (None, scope)), "")
