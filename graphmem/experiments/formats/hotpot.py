"""HotpotQA and 2WikiMultihopQA as published: a list of questions, each with its own ten passages.

Both write passages as ``[title, [sentences]]`` and supporting facts as ``[title, sentence]``; the
columns in which data hubs hand them out (``{"title": […], "sentences": […]}``) are read as well.
The passages of all questions are one memory. In HotpotQA's fullwiki setting the passages come from
a search and may miss a supporting one: it is then taken from another question's passages, or the
question is left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.formats.documents import Pool, question, question_id
from graphmem.experiments.formats.fields import Fields, objects, shown, some_list, text, wording
from graphmem.experiments.formats.source import Source

__all__ = ["fits", "passages", "read", "supporting_titles"]

LEFT_OUT = "questions whose supporting passages are not in the file"


def fits(source: Source) -> bool:
    """Whether its questions have a context."""
    return source.has("context") and source.has("question")


def read(source: Source) -> DataSet:
    """The set in the file."""
    pool = Pool()
    asked: dict[str, tuple[Fields, dict[str, str]]] = {}
    for number, fields in enumerate(objects(source.name, "", source.rows)):
        own = {title: pool.add(title, words) for title, words in passages(fields)}
        asked[question_id(fields, number, asked)] = fields, own
    questions: list[Question] = []
    left_out: Counter[str] = Counter()
    for key, (fields, own) in asked.items():
        gold = [
            own[title] if title in own else next(iter(pool.titled(title)), "")
            for title in supporting_titles(fields)
        ]
        if all(gold):
            questions.append(question(fields, key, gold))
        else:
            left_out[LEFT_OUT] += 1
    return DataSet(source.name, pool.records(), tuple(questions), dict(+left_out))


def passages(fields: Fields) -> list[tuple[str, str]]:
    """Titles and texts of a question's own passages."""
    return fields.get("context", _context)


def supporting_titles(fields: Fields) -> list[str]:
    """Titles of the passages that the answer rests on, each once, in their order."""
    return fields.get("supporting_facts", _titles)


def _context(value: Any) -> list[tuple[str, str]]:
    found = []
    for number, (title, sentences) in enumerate(_pairs(value, "title", "sentences")):
        if not isinstance(sentences, list) or not all(isinstance(one, str) for one in sentences):
            raise ValueError(f"item {number} must have a list of sentences, not {shown(sentences)}")
        # HotpotQA's sentences begin with the space between them, 2WikiMultihopQA's do not.
        words = " ".join(wording(one).strip() for one in sentences)
        found.append((text(title), words))
    return found


def _titles(value: Any) -> list[str]:
    titles = [text(title) for title, _ in _pairs(value, "title", "sent_id")]
    if not titles:
        raise ValueError("must name a passage")
    return list(dict.fromkeys(titles))


def _pairs(value: Any, *columns: str) -> list[Any]:
    """Rows of two, from a list of rows or from two columns."""
    if isinstance(value, dict):
        first, second = (some_list(value.get(name)) for name in columns)
        if len(first) != len(second):
            raise ValueError(f"{columns[0]} and {columns[1]} must be of one length")
        return list(zip(first, second, strict=True))
    for number, item in enumerate(some_list(value)):
        if not isinstance(item, list) or len(item) != 2:
            raise ValueError(f"item {number} must be {list(columns)}, not {shown(item)}")
    return list(value)
