"""LoCoMo as published (``locomo10.json``): long conversations of two people, with questions.

Each sample is a scope: ``conversation`` holds the speakers' turns by session with the sessions'
times (read as UTC), ``qa`` the questions. What a picture shows is part of its turn, as far as its
caption tells. An adversarial question has a false premise, and so no answer; it keeps its evidence,
the turns that the premise was made from. Evidence is read leniently, for it is written by hand:
several turns in one text, zeros and colons too many; turns that do not exist are left out, and so
are questions that no turn is left for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.formats.fields import (
    Fields,
    answer,
    objects,
    shown,
    some_list,
    text,
    whole,
    wording,
)
from graphmem.experiments.formats.source import Source
from graphmem.times import MONTHS
from graphmem.types import Message, Scope

__all__ = ["CATEGORIES", "fits", "read"]

CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
"""Names of the categories that the file numbers."""

_SESSION = re.compile(r"session_(\d{1,9})", re.ASCII)
_TURN = re.compile(r"D:?(\d+):0*(\d+)", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{2}) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.ASCII)


def fits(source: Source) -> bool:
    """Whether it has conversations with questions."""
    return source.has("conversation") and source.has("qa")


def read(source: Source) -> DataSet:
    """The set in the file."""
    records: dict[str, Record] = {}
    questions: list[Question] = []
    left_out: Counter[str] = Counter()
    known: set[str] = set()
    for fields in objects(source.name, "", source.rows):
        sample = fields.new("sample_id", known)
        known.add(sample)
        turns = _turns(fields.within("conversation"), sample, left_out)
        records.update((record.id, record) for record in turns.values())
        questions += _questions(fields, sample, turns, left_out)
    return DataSet(source.name, tuple(records.values()), tuple(questions), dict(+left_out))


def _turns(fields: Fields, sample: str, left_out: Counter[str]) -> dict[str, Record]:
    """Records of one conversation by their ``dia_id``, in the order of sessions and turns."""
    turns: dict[str, Record] = {}
    for number in sorted(_sessions(fields)):
        session = f"session_{number}"
        said_at = fields.get(f"{session}_date_time", _time, None)
        for turn in fields.each(session):
            key = turn.new("dia_id", turns)
            words = _words(turn)
            if not words:
                left_out["empty turns"] += 1
                continue
            message = Message(words, speaker=turn.get("speaker", text), said_at=said_at)
            turns[key] = Record(f"{sample}:{key}", Scope(sample), session, message)
    return turns


def _sessions(fields: Fields) -> Iterator[int]:
    """Numbers of the sessions that have turns; some have a time alone."""
    for name in fields:
        found = _SESSION.fullmatch(name)
        if found and name in fields:
            yield int(found[1])


def _words(turn: Fields) -> str:
    words = turn.get("text", wording).strip()
    caption = turn.get("blip_caption", wording, "").strip()
    return f"{words} [shows a picture: {caption}]".strip() if caption else words


def _questions(
    fields: Fields, sample: str, turns: Mapping[str, Record], left_out: Counter[str]
) -> Iterator[Question]:
    for number, asked in enumerate(fields.each("qa")):
        evidence = asked.get("evidence", _evidence, [])
        gold = [turns[key].id for key in evidence if key in turns]
        left_out["evidence turns that do not exist"] += len(evidence) - len(gold)
        if not gold:
            left_out["questions without evidence"] += 1
            continue
        yield Question(
            id=f"{sample}:q{number}",
            scope=Scope(sample),
            text=asked.get("question", text),
            gold=tuple(gold),
            kind=asked.get("category", _category),
            answer=asked.get("answer", answer, ""),
        )


def _evidence(value: Any) -> list[str]:
    """The turns that the texts name, each once; a text that names none stands for itself."""
    named: dict[str, None] = {}
    for item in some_list(value):
        found = [f"D{session}:{turn}" for session, turn in _TURN.findall(wording(item))]
        named.update(dict.fromkeys(found or [item]))
    return list(named)


def _category(value: Any) -> str:
    number = whole(value)
    if number not in CATEGORIES:
        raise ValueError(f"must be a number from 1 to {len(CATEGORIES)}, not {shown(value)}")
    return CATEGORIES[number]


def _time(value: Any) -> datetime:
    found = _TIME.fullmatch(text(value).strip().lower())
    if not found or found[5] not in MONTHS:
        raise ValueError(f"must be a time such as '1:56 pm on 8 May, 2023', not {shown(value)}")
    hour = int(found[1]) % 12 + (12 if found[3] == "p" else 0)
    month = MONTHS.index(found[5]) + 1
    return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=timezone.utc)
