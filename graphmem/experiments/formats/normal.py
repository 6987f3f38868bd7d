"""The normal form, in which a set of any kind can be written.

JSON, gzipped or not::

    {"name": …, "passages": [{"id", "text", "title"?, "triples": [[s, p, o], …],
                              "scope"?, "session"?, "session_time"?, "speaker"?}, …],
     "queries": [{"id", "text", "gold": [passage ids], "stale"?: [passage ids], "scope"?,
                  "type"?, "hops"?, "answer"?, "asked_at"?}, …]}

``text`` starts with the title's line where there is a title. Passages with a speaker are messages
of a chat, in order; a speaker called "assistant", in any case, is the assistant, all others are
people. A question of a chat searches its own scope. A question without gold has no answer in the
memory. Ids are texts or whole numbers. Times are ISO 8601 with a zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from graphmem.experiments.dataset import EVERYTHING, DataSet, Question, Record
from graphmem.experiments.formats.fields import (
    Fields,
    answer,
    label,
    labels_of,
    text,
    time,
    triples,
    whole,
)
from graphmem.experiments.formats.source import Source
from graphmem.types import Message, Role, Scope

__all__ = ["fits", "read"]


def fits(source: Source) -> bool:
    """Whether it is an object with passages or queries."""
    content = source.content
    return isinstance(content, dict) and ("passages" in content or "queries" in content)


def read(source: Source) -> DataSet:
    """The set in the file."""
    content = Fields(source.name, "the file", source.content)
    records: dict[str, Record] = {}
    for fields in content.each("passages"):
        record = _record(fields, fields.new("id", records))
        records[record.id] = record
    questions: dict[str, Question] = {}
    for fields in content.each("queries"):
        question = _question(fields, fields.new("id", questions), records)
        questions[question.id] = question
    return DataSet(source.name, tuple(records.values()), tuple(questions.values()))


def _record(fields: Fields, record_id: str) -> Record:
    title = fields.get("title", text, "")
    words = fields.get("text", text)
    speaker = fields.get("speaker", text, "")
    body = words.removeprefix(f"{title}\n") if title else words
    message = Message(
        text=body if body.strip() else words,
        role=_role(speaker),
        speaker=speaker or None,
        said_at=fields.get("session_time", time, None),
        title=title or None,
    )
    return Record(
        id=record_id,
        scope=fields.get("scope", Scope, EVERYTHING),
        session=fields.get("session", label, None) if speaker else None,
        message=message,
        triples=tuple(fields.get("triples", triples, ())),
    )


def _role(speaker: str) -> Role:
    if not speaker:
        return "document"
    return "assistant" if speaker.casefold() == "assistant" else "user"


def _question(fields: Fields, question_id: str, records: Mapping[str, Record]) -> Question:
    scope = fields.get("scope", Scope, EVERYTHING)
    of_scope = partial(labels_of, scope=scope, records=records)
    return Question(
        id=question_id,
        scope=scope,
        text=fields.get("text", text),
        gold=fields.get("gold", of_scope),
        stale=fields.get("stale", of_scope, ()),
        kind=fields.get("type", text, ""),
        hops=fields.get("hops", whole, None),
        answer=fields.get("answer", answer, ""),
        asked_at=fields.get("asked_at", time, None),
    )
