"""``Explaining``: a memory says why a passage was recalled, or why it was not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmem.arguments import instant, text, whole_number
from graphmem.courtesy import served_first
from graphmem.curating import Curating
from graphmem.errors import InvalidInput
from graphmem.explanation import Explanation
from graphmem.identity import clean_text
from graphmem.index import Index
from graphmem.recall import Read, explain, question_text
from graphmem.recall.past import Past
from graphmem.settings import RecallSettings
from graphmem.types import LogEntry, Passage, RankedPassage, Recall, Scope
from graphmem.views import AnotherTime, Shown

__all__ = ["MAX_TOP_K", "Asked", "Explaining"]

MAX_TOP_K = 1000
_DEFAULT_TOP_K = 5
# Entries of the log that may name one passage: added, merged again, edited, forgotten.
_NEWEST = 50


Answer = TypeVar("Answer", covariant=True)


class Answering(Protocol[Answer]):
    """A stage of recall that answers a question from an index: ``recall``, ``explain``."""

    def __call__(
        self,
        memory: Index,
        query: str,
        vector: NDArray[np.float32] | None,
        read: Read,
        *,
        scope: Scope,
        top_k: int,
        settings: RecallSettings,
        session: str | None,
        past: Past | None,
    ) -> Answer:
        """The answer, of what is read of the store."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with all that a recall of it goes by.

    Attributes:
        query, session: as it was asked, cleaned.
        scope: whose memory.
        top_k: how many passages.
        as_of, known_at: the time that was asked for; ``None`` is now.
        past: the same, by the store's rows.
    """

    query: str
    scope: Scope
    top_k: int
    session: str | None
    as_of: datetime | None
    known_at: datetime | None
    past: AnotherTime | None


class Explaining(Curating):
    """The part of ``GraphMemory`` that explains.

    Attributes:
        settings: the constants of recall.
    """

    settings: RecallSettings

    def explain(
        self,
        recall: Recall | str,
        passage: RankedPassage | Passage | str | int,
        *,
        scope: Scope | str | None = None,
        top_k: int | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Explanation:
        """Why a passage was recalled for a question, or why it was not.

        The recall is made again, of the memory as it is now, and is read off: the parts of the
        score, the paths from the question to the passage with the facts and the words of each step,
        or what kept the passage out. Where it now stands elsewhere than in the recall that was
        passed, the notes say so.

        Args:
            recall: a result of ``recall``, which brings its question, scope and times with it; or
                a question.
            passage: what is asked about: a ranked passage, a passage, its ``id``, or its place in
                the recall, from 0.
            scope: whose memory; the memory's own where omitted, the recall's where one is passed.
            top_k: how many passages are shown, 1 to 1000; 5 where omitted, as many as in the
                recall where one is passed.
            session: only passages of this conversation, as for ``recall``, which does not keep it.
            as_of: a time with its zone, as for ``recall``.
            known_at: likewise.

        Returns:
            What became of the passage, as text (``str``), as data (``as_dict``) and as values. A
            passage that another scope has is "not in this scope", like one that nobody has.

        Raises:
            InvalidInput: a wrong type, a place that the recall does not have, or a scope or time
                besides those of a recall.
            EmbedderMismatch: the embedder's vectors do not fit the store's.
        """
        id_, place = _passage(recall, passage)
        if isinstance(recall, Recall):
            if scope is not None or as_of is not None or known_at is not None:
                raise InvalidInput(
                    "a recall brings its scope and times: pass the question to ask for others"
                )
            scope, as_of, known_at = recall.scope, recall.as_of, recall.known_at
            top_k = max(1, len(recall)) if top_k is None else top_k
        asked = self._asked(
            recall.query if isinstance(recall, Recall) else recall,
            scope,
            _DEFAULT_TOP_K if top_k is None else top_k,
            session,
            as_of,
            known_at,
        )
        if not self._store.passages(asked.scope, ids=[id_]):
            return self._absent(asked, id_)
        index, words = self._current(asked)
        # Not under the lock: the embedder may be a server far away.
        vector = self._query_vector(words, asked.scope)
        found = self._answer(asked, index, vector, partial(explain, passage_id=id_), needs=id_)
        if found.passage is None:
            return self._absent(asked, id_)
        notes = (*found.notes, *self._waits(asked.scope, id_), *_moved(found, place))
        return replace(found, notes=notes, as_of=asked.as_of, known_at=asked.known_at)

    def _asked(
        self,
        query: object,
        scope: Scope | str | None,
        top_k: object,
        session: object,
        as_of: object,
        known_at: object,
    ) -> Asked:
        """A question, checked.

        Raises:
            InvalidInput: a wrong type, or ``top_k`` out of range.
        """
        owner = self._scope(scope)
        if not isinstance(query, str):
            raise InvalidInput(f"query must be a string, not {type(query).__name__}")
        count = whole_number("top_k", top_k, 1, MAX_TOP_K)
        name = text("session", session)
        first, second = instant("as_of", as_of), instant("known_at", known_at)
        past = None
        if first is not None or second is not None:
            past = AnotherTime(self._store, owner, first, second)
        return Asked(clean_text(query), owner, count, name, first, second, past)

    def _current(self, asked: Asked) -> tuple[Index, str]:
        """The scope's index, and what of the question is to be embedded."""
        with served_first():
            index = self._indexes.current(asked.scope)
            with index.lock:
                return index, question_text(index, asked.query)

    def _answer(
        self,
        asked: Asked,
        index: Index,
        vector: NDArray[np.float32] | None,
        answer: Answering[Answer],
        *,
        needs: str | None = None,
    ) -> Answer:
        """What is answered by the index, or by a newer one where it has not learnt all.

        Args:
            asked: the question.
            index: the scope's.
            vector: the question's.
            answer: ``recall``, or ``explain`` of a passage.
            needs: the id of a passage that the index must know.
        """
        read = Shown(self._store, asked.scope)

        def answered(index: Index) -> Answer:
            return answer(
                index,
                asked.query,
                vector,
                read,
                scope=asked.scope,
                top_k=asked.top_k,
                settings=self.settings,
                session=asked.session,
                past=asked.past,
            )

        with served_first():
            if needs is None or _knows(index, needs):
                found = answered(index)
                if not read.has_missed:
                    return found
            # Another memory wrote since the index last learnt, or forgot: then others move up.
            return answered(self._indexes.current(asked.scope, at_once=True))

    def _absent(self, asked: Asked, passage_id: str) -> Explanation:
        """Of a passage that this scope does not have, whoever else has it."""
        empty = Explanation(
            asked.query,
            asked.scope,
            passage_id,
            "not in this scope",
            "there is no such passage in this scope: the list of its passages has their ids",
            top_k=asked.top_k,
            as_of=asked.as_of,
            known_at=asked.known_at,
        )
        entry = self._forgetting(asked.scope, passage_id)
        if entry is None:
            return empty
        who = entry.actor or (f"a {entry.actor_kind}" if entry.actor_kind else "somebody")
        why = f": {entry.reason}" if entry.reason else ""
        reason = f"forgotten on {entry.at.isoformat(' ', 'seconds')} by {who}{why}"
        return replace(empty, outcome="forgotten", reason=reason)

    def _forgetting(self, scope: Scope, passage_id: str) -> LogEntry | None:
        """The entry of the log by which a passage of this scope went; None of any other."""
        entries = self._store.log(scope, kind="passage", id=passage_id, limit=_NEWEST)
        if not entries:
            return None
        if entries[-1].action == "forget":
            return entries[-1]
        whole = self._store.log(scope, kind="scope", after=entries[-1].seq)
        return next((one for one in whole if one.action == "forget"), None)

    def _waits(self, scope: Scope, passage_id: str) -> tuple[str, ...]:
        """What is still to be done with a passage."""
        waiting = self._store.pending_work(scope, "passage", passage_id)
        if "extract" not in waiting:
            return ()
        error = f", and reading it failed: {waiting['extract']}" if waiting["extract"] else ""
        return (f"not read yet: no fact leads to it before it is{error}",)

    def _query_vector(self, query: str, scope: Scope) -> NDArray[np.float32] | None:
        """The question's vector; here nobody makes one: words still work."""
        return None


def _knows(index: Index, passage_id: str) -> bool:
    with index.lock:
        return index.passages.ids.get(passage_id) >= 0


def _passage(recall: object, passage: object) -> tuple[str, int | None]:
    """The id of the passage that is meant, and its place in the recall, where it has one.

    Raises:
        InvalidInput: neither is what it should be, or the recall has no such place.
    """
    if not isinstance(recall, (Recall, str)):
        raise InvalidInput(f"pass a Recall or a question, not {type(recall).__name__}")
    ranked = list(recall) if isinstance(recall, Recall) else []
    if isinstance(passage, int) and not isinstance(passage, bool):
        if not 0 <= passage < len(ranked):
            raise InvalidInput(
                f"there is no place {passage} in this recall of {len(ranked)} passages"
                if isinstance(recall, Recall)
                else "a place needs the recall that it is in: pass the Recall, or a passage's id"
            )
        return ranked[passage].passage.id, passage
    if isinstance(passage, RankedPassage):
        passage = passage.passage
    if isinstance(passage, Passage):
        passage = passage.id
    if not isinstance(passage, str):
        raise InvalidInput(
            f"passage must be a passage, its id or its place, not {type(passage).__name__}"
        )
    id_ = clean_text(passage)
    places = [place for place, one in enumerate(ranked) if one.passage.id == id_]
    return id_, places[0] if places else None


def _moved(found: Explanation, place: int | None) -> tuple[str, ...]:
    """A note on a passage that stands elsewhere now than in the recall."""
    if place is None or found.rank == place + 1:
        return ()
    now = "no longer ranked" if found.rank is None else f"rank {found.rank} now"
    return (f"it had rank {place + 1} in the recall that was passed, and is {now}",)
