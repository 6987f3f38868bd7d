"""What the formats of multi-hop questions over documents share."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from graphmem.experiments.dataset import EVERYTHING, Question, Record
from graphmem.experiments.formats.fields import (
    Fields,
    answer,
    flag,
    some_list,
    text,
    wording,
)
from graphmem.types import Message, Triple

__all__ = ["Paragraph", "Pool", "paragraphs", "question", "question_id"]

# MuSiQue's ids begin with the shape of the question: 2hop, 3hop1, 3hop2, 4hop1, 4hop2, 4hop3.
_SHAPE = re.compile(r"(\dhop\d?)__", re.ASCII)
# Where sets keep the answer: HippoRAG's files come from several.
_ANSWERS = ("answer", "gold_ans", "reference", "obj")


class Paragraph(NamedTuple):
    """A passage as a question lists it, and whether the answer rests on it."""

    title: str
    text: str
    is_supporting: bool


class Pool:
    """Documents of one memory, each once, told apart by title and text, white space aside."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._titled: dict[str, list[str]] = {}
        self._documents: list[Message] = []

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, title: str, words: str) -> str:
        """The id of the document, which is made if it is not there."""
        key = _key(f"{title}\n{words}")
        if key not in self._ids:
            self._ids[key] = f"p{len(self)}"
            self._titled.setdefault(title, []).append(self._ids[key])
            self._documents.append(_document(title, words))
        return self._ids[key]

    def find(self, full_text: str) -> str | None:
        """The id of the document of that title line and text."""
        return self._ids.get(_key(full_text))

    def titled(self, title: str) -> Sequence[str]:
        """Ids of all documents of that title."""
        return self._titled.get(title, ())

    def records(self, triples: Mapping[str, Sequence[Triple]] | None = None) -> tuple[Record, ...]:
        """All documents in the order they came, with the triples recorded for them by id."""
        recorded = triples or {}
        return tuple(
            Record(key, EVERYTHING, None, message, tuple(recorded.get(key, ())))
            for key, message in zip(self._ids.values(), self._documents, strict=True)
        )


def _document(title: str, words: str) -> Message:
    if not words.strip():
        return Message(title, role="document")
    return Message(words, role="document", title=title if title.strip() else None)


def _key(full_text: str) -> str:
    return "".join(full_text.split())


def paragraphs(
    fields: Fields, name: str, *, is_supporting: bool | None = None
) -> Iterator[Paragraph]:
    """The passages of a question, listed as objects with title and text (``paragraph_text``).

    Args:
        fields: the question.
        name: the list.
        is_supporting: what holds where a passage does not say; ``None``: each must say.
    """
    for one in fields.each(name):
        written = "paragraph_text" if "paragraph_text" in one else "text"
        title, words = one.get("title", wording, ""), one.get(written, wording)
        if not f"{title}{words}".strip():
            raise one.wrong(written, "a passage must have a title or a text")
        if is_supporting is None:
            yield Paragraph(title, words, one.get("is_supporting", flag))
        else:
            yield Paragraph(title, words, one.get("is_supporting", flag, is_supporting))


def question_id(fields: Fields, number: int, known: Container[str]) -> str:
    """The id of a question, or its number where it has none."""
    return fields.new("_id" if "_id" in fields else "id", known, str(number))


def question(fields: Fields, key: str, gold: Sequence[str]) -> Question:
    """A question whose gold passages are known.

    Its kind is its ``type``, or the shape that a MuSiQue id begins with; its hops are the steps it
    is taken apart into, or the number of its passages.
    """
    gold = tuple(dict.fromkeys(gold))
    shape = _SHAPE.match(key)
    steps = (fields.get(name, some_list, ()) for name in ("question_decomposition", "evidences"))
    return Question(
        id=key,
        scope=EVERYTHING,
        text=fields.get("question", text),
        gold=gold,
        kind=fields.get("type", text, shape[1] if shape else ""),
        hops=next((len(parts) for parts in steps if parts), len(gold)),
        answer=next((fields.get(name, answer) for name in _ANSWERS if name in fields), ""),
    )
