"""MuSiQue as published: JSON lines, a question a line, each with its own twenty paragraphs.

The passages of all questions are one memory, as in published work on retrieval. Of MuSiQue-Full,
the questions that their own paragraphs do not answer are left out: the paragraphs of their
counterparts, which lie in the same memory, do answer them.
"""

from __future__ import annotations

from collections import Counter

from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.formats.documents import Pool, paragraphs, question, question_id
from graphmem.experiments.formats.fields import flag, objects
from graphmem.experiments.formats.source import Source

__all__ = ["fits", "read"]


def fits(source: Source) -> bool:
    """Whether its questions have paragraphs."""
    return source.has("paragraphs")


def read(source: Source) -> DataSet:
    """The set in the file."""
    pool = Pool()
    questions: dict[str, Question] = {}
    left_out: Counter[str] = Counter()
    for number, fields in enumerate(objects(source.name, "", source.rows)):
        gold = []
        for paragraph in paragraphs(fields, "paragraphs"):
            passage = pool.add(paragraph.title, paragraph.text)
            if paragraph.is_supporting:
                gold.append(passage)
        if not fields.get("answerable", flag, True):
            left_out["unanswerable questions"] += 1
            continue
        if not gold:
            raise fields.wrong("paragraphs", "none of them is supporting")
        key = question_id(fields, number, questions)
        questions[key] = question(fields, key, gold)
    return DataSet(source.name, pool.records(), tuple(questions.values()), dict(+left_out))
