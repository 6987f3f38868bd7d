"""A smaller set of the same kind, for what takes long: models that read, and sweeps."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet, Question
from graphmem.types import Scope

__all__ = ["shrunk"]

# Of the documents kept, one in so many is there for a question: the others are in its way.
_NEEDED_IN = 4


def shrunk(data: DataSet, records: int, seed: int = 0) -> DataSet:
    """The first messages of each conversation, some documents, and the questions they answer.

    Of the messages in each scope, the first ``records`` are kept. Of the set's documents, so many
    are kept: what questions name, one question after the other as ``seed`` draws them, until it is
    a quarter; then others as ``seed`` draws them. A question is kept where it names records, gold
    or stale, and all of them are kept.

    Args:
        data: the set; one that is no larger comes back as it is.
        records: how many, at least 1.
        seed: the same keeps the same.

    Returns:
        A set of the same name; records and questions stand in their order.

    Raises:
        InvalidInput: ``records`` is below 1.
    """
    if records < 1:
        raise InvalidInput(f"a smaller set has at least 1 record, not {records}")
    kept = _first_messages(data, records)
    kept |= _drawn_documents(data, records, kept, random.Random(seed))
    if len(kept) == len(data.records):
        return data
    return replace(
        data,
        records=tuple(record for record in data.records if record.id in kept),
        questions=tuple(question for question in data.asked if _named(question) <= kept),
    )


def _first_messages(data: DataSet, records: int) -> set[str]:
    count: Counter[Scope] = Counter()
    kept = set()
    for record in data.records:
        if record.message.role != "document" and count[record.scope] < records:
            count[record.scope] += 1
            kept.add(record.id)
    return kept


def _drawn_documents(data: DataSet, records: int, said: set[str], draw: random.Random) -> set[str]:
    documents = [record.id for record in data.records if record.message.role == "document"]
    known, needed = frozenset(documents), frozenset[str]()
    for question in draw.sample(data.asked, len(data.asked)):
        wanted = needed | _named(question) - said
        if _NEEDED_IN * len(needed) < records and wanted <= known and len(wanted) <= records:
            needed = wanted
    others = [key for key in draw.sample(documents, len(documents)) if key not in needed]
    return {*needed, *others[: records - len(needed)]}


def _named(question: Question) -> set[str]:
    return {*question.gold, *question.stale}
