"""Which calls of a host belong to one user message, so that they get one recall.

LlamaIndex asks a block 2 + (tool rounds) times in a turn: with ``[…, user]``, once per tool round
with ``[…, user, user]``, and after the answer with ``[…, user, assistant, tool, assistant]``.
Messages carry no id, and a flush may cut the front off the list in between. What stays is the
*place* of the user message in its session: the number of messages flushed so far plus its index in
the list. The same words at the same place, not yet answered, are the same message; after the
answer, or at another place, they are asked anew.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

__all__ = ["Occurrence", "Turn", "Turns"]

MAX_SESSIONS = 1_024
# A host that never shows the answered turn, nor a history, looks the same day after day: the same
# words an hour later are another question.
MAX_TURN_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What one call shows of the turn it belongs to.

    Attributes:
        query: text of the last user message.
        index: where that message stands in the list; the first of equal ones in a row.
        is_answered: whether other messages follow it.
    """

    query: str
    index: int
    is_answered: bool


@dataclass(slots=True, eq=False)
class Occurrence:
    """One user message and the text that was recalled for it.

    Attributes:
        query: its text.
        place: its number in the session.
        basis: the settings under which the text is valid.
        started: when it was first seen, on the monotonic clock in seconds.
        is_answered: whether a call has seen its answer.
        is_lost: the recall failed or took too long: the turn goes on without.
    """

    query: str
    place: int
    basis: Hashable
    started: float
    is_answered: bool = False
    is_lost: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _text: str = ""
    _version: int | None = None

    def text(self, version: Callable[[], int], recall: Callable[[], str]) -> str:
        """The recalled text: made by the first call, and anew only when the version has changed.

        Calls at the same time wait for the first one.

        Args:
            version: number of the last change that makes a recalled text void (a forget).
            recall: makes the text.
        """
        with self._lock:
            if self.is_lost:
                return ""
            try:
                now = version()
                if self._version != now:
                    self._text, self._version = recall(), now
            except Exception:
                self.is_lost = True
                raise
            # A caller may have given up on it meanwhile.
            return "" if self.is_lost else self._text


@dataclass(slots=True)
class _Session:
    flushed: int = 0
    newest: Occurrence | None = None


class Turns:
    """The newest occurrence of each session, for the most recently used sessions. Thread-safe."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[Hashable, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def occurrence(self, key: Hashable, turn: Turn, basis: Hashable) -> Occurrence:
        """The occurrence that a call belongs to; a new one where it is none that is known.

        Args:
            key: whose memory, and which session.
            turn: what the call shows.
            basis: every setting that the text depends on.
        """
        now = time.monotonic()
        with self._lock:
            session = self._session(key)
            place = session.flushed + turn.index
            newest = session.newest
            if newest is None or not _is_same(newest, turn, place, basis, now):
                newest = session.newest = Occurrence(turn.query, place, basis, now)
            newest.is_answered = newest.is_answered or turn.is_answered
            return newest

    def flushed(self, key: Hashable, count: int) -> None:
        """The host has cut that many messages off the front of a session's list."""
        with self._lock:
            self._session(key).flushed += count

    def clear(self) -> None:
        """Let go of every recalled text; the places stay."""
        with self._lock:
            for session in self._sessions.values():
                session.newest = None

    def _session(self, key: Hashable) -> _Session:
        session = self._sessions.pop(key, None) or _Session()
        self._sessions[key] = session
        if len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)
        return session


def _is_same(newest: Occurrence, turn: Turn, place: int, basis: Hashable, now: float) -> bool:
    if newest.query != turn.query or newest.basis != basis:
        return False
    if now - newest.started > MAX_TURN_SECONDS:
        return False
    if newest.place == place:
        return turn.is_answered or not newest.is_answered
    # Other runs on the session may have moved it; the first answer seen is still its own.
    return turn.is_answered and not newest.is_answered
