"""LongMemEval as published: questions, each with its own history of chats with an assistant.

Each question is a scope of its own: its history, session by session in the order of their times
(read as UTC); some go on after the question's own date. The gold records are the turns marked
``has_answer``, or, where none is, all turns of the answer sessions. Abstention questions
(``…_abs``) ask for what never happened: they have no gold records, as in the paper's own measuring
of retrieval.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.formats.fields import (
    Fields,
    answer,
    flag,
    label,
    objects,
    shown,
    some_list,
    text,
    wording,
)
from graphmem.experiments.formats.source import Source
from graphmem.types import Message, Role, Scope

__all__ = ["ABSTENTION", "fits", "read"]

ABSTENTION = "abstention"
"""The kind of questions that their history does not answer."""

_TIME = re.compile(
    r"(\d{4})/(\d{2})/(\d{2})(?: \([a-z]+\))?(?: (\d{2}):(\d{2}))?", re.ASCII | re.IGNORECASE
)


@dataclass(slots=True)
class _History:
    """The turns of one question: records in order, ids of the marked ones, ids by session."""

    records: list[Record] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    sessions: dict[str, list[str]] = field(default_factory=dict)


def fits(source: Source) -> bool:
    """Whether its questions have histories."""
    return source.has("haystack_sessions")


def read(source: Source) -> DataSet:
    """The set in the file."""
    records: list[Record] = []
    questions: list[Question] = []
    left_out: Counter[str] = Counter()
    known: set[str] = set()
    for fields in objects(source.name, "", source.rows):
        key = fields.new("question_id", known)
        known.add(key)
        history = _history(fields, Scope(key), left_out)
        is_answerable = not key.endswith("_abs")
        gold = _gold(fields, history) if is_answerable else []
        if is_answerable and not gold:
            left_out["questions without evidence"] += 1
            continue
        records += history.records
        category = fields.get("question_type", text)
        questions.append(
            Question(
                id=key,
                scope=Scope(key),
                text=fields.get("question", text),
                gold=tuple(gold),
                kind=category if is_answerable else ABSTENTION,
                answer=fields.get("answer", answer, ""),
                asked_at=fields.get("question_date", _time, None),
            )
        )
    return DataSet(source.name, tuple(records), tuple(questions), dict(+left_out))


def _gold(fields: Fields, history: _History) -> list[str]:
    if history.marked:
        return history.marked
    named = fields.get("answer_session_ids", _labels)
    return [key for session in dict.fromkeys(named) for key in history.sessions.get(session, ())]


def _history(fields: Fields, scope: Scope, left_out: Counter[str]) -> _History:
    history = _History()
    turns = fields.get("haystack_sessions", _lists)
    ids = fields.get("haystack_session_ids", _labels)
    times = fields.get("haystack_dates", _times)
    for name, values in (("haystack_session_ids", ids), ("haystack_dates", times)):
        if len(values) != len(turns):
            raise fields.wrong(name, f"{len(values)} for {len(turns)} sessions")
    # The file of evidence alone has its sessions in any order.
    for place in sorted(range(len(turns)), key=times.__getitem__):
        found = fields.objects(f"haystack_sessions[{place}]", turns[place])
        # Some histories hold a session twice, at two times.
        session = ids[place] if ids[place] not in history.sessions else f"{ids[place]}#{place}"
        said = history.sessions.setdefault(session, [])
        for number, turn in enumerate(found):
            words = turn.get("content", wording)
            if not words.strip():
                left_out["empty turns"] += 1
                continue
            role = turn.get("role", _role)
            record_id = f"{scope.user}:{session}:{number}"
            message = Message(words, role=role, speaker=role, said_at=times[place])
            history.records.append(Record(record_id, scope, session, message))
            said.append(record_id)
            if turn.get("has_answer", flag, False):
                history.marked.append(record_id)
    return history


def _lists(value: Any) -> list[list[Any]]:
    return [some_list(item) for item in some_list(value)]


def _labels(value: Any) -> list[str]:
    return [label(item) for item in some_list(value)]


def _times(value: Any) -> list[datetime]:
    return [_time(item) for item in some_list(value)]


def _role(value: Any) -> Role:
    if value not in ("user", "assistant"):
        raise ValueError(f"must be user or assistant, not {shown(value)}")
    return "user" if value == "user" else "assistant"


def _time(value: Any) -> datetime:
    found = _TIME.fullmatch(text(value).strip())
    if not found:
        raise ValueError(f"must be a time such as '2023/05/30 (Tue) 23:40', not {shown(value)}")
    year, month, day, hour, minute = (int(part or 0) for part in found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
