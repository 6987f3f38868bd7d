"""Sets of passages and questions with known answers, as values.

``formats.load_dataset`` reads them from files, ``lookups`` and ``mixed`` make new ones out of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from graphmem.errors import InvalidInput
from graphmem.types import Message, Scope, Triple

__all__ = ["EVERYTHING", "DataSet", "Question", "Record"]

EVERYTHING = Scope("everything")
"""The scope of a set that names none: all of it is one memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """A passage of a data set: what is said, where, and the triples recorded for it.

    Attributes:
        id: its id, once in a set.
        scope: whose memory it belongs to.
        session: the conversation of a message; ``None`` for a document, or where none is named.
        message: what is said.
        triples: what somebody or something read in it, where the set records that.
    """

    id: str
    scope: Scope
    session: str | None
    message: Message
    triples: tuple[Triple, ...] = ()

    @property
    def full_text(self) -> str:
        """Title line and text, as ``Passage.full_text``."""
        message = self.message
        return f"{message.title}\n{message.text}" if message.title else message.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the records that answer it.

    Attributes:
        id: its id, once in a set.
        scope: the memory that it asks.
        text: as a person would ask it.
        gold: ids of the records that are needed; empty where the memory cannot answer.
        stale: ids of records that were true once: they should not come before the gold ones.
        kind: its category, as the set names it; ``""`` where it names none.
        hops: how many facts must be put together; ``None`` where the set does not say.
        answer: the answer in words; ``""`` where the set gives none.
        asked_at: when it is asked, timezone-aware; ``None`` where the set does not say.
    """

    id: str
    scope: Scope
    text: str
    gold: tuple[str, ...]
    stale: tuple[str, ...] = ()
    kind: str = ""
    hops: int | None = None
    answer: str = ""
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DataSet:
    """Records and questions.

    Attributes:
        name: the file's name, or what the set was made of.
        records: messages of a session in the order they were said.
        questions: in the order of the file.
        left_out: how many things could not be used, by what they are (``"malformed triples"``).
    """

    name: str
    records: tuple[Record, ...]
    questions: tuple[Question, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions that a memory can be asked: those with gold."""
        return tuple(question for question in self.questions if question.gold)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All scopes with records, sorted."""
        return tuple(sorted({record.scope for record in self.records}))

    def sample(self, questions: int, seed: int = 0) -> DataSet:
        """That many questions, drawn by ``seed``, in the set's order, with all records they ask.

        Raises:
            InvalidInput: ``questions`` is below 1.
        """
        if questions < 1:
            raise InvalidInput(f"a sample has at least 1 question, not {questions}")
        if questions >= len(self.questions):
            return self
        drawn = sorted(random.Random(seed).sample(range(len(self.questions)), questions))
        asked = tuple(self.questions[place] for place in drawn)
        scopes = {question.scope for question in asked}
        kept = tuple(record for record in self.records if record.scope in scopes)
        return replace(self, records=kept, questions=asked)

    def shuffled(self, seed: int) -> DataSet:
        """The same with documents in another order, drawn by ``seed``.

        Messages stay where they are: the order of a conversation is part of what it says.
        """
        places = [
            place for place, record in enumerate(self.records) if record.message.role == "document"
        ]
        drawn = places.copy()
        random.Random(seed).shuffle(drawn)
        records = list(self.records)
        for place, other in zip(places, drawn, strict=True):
            records[place] = self.records[other]
        return replace(self, records=tuple(records))
