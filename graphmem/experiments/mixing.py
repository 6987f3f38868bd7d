"""Several data sets in one memory: documents and chats together, as a memory in use holds them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import EVERYTHING, DataSet, Question, Record

__all__ = ["mixed"]


def mixed(*datasets: DataSet) -> DataSet:
    """All records of some sets in one scope, and all their questions asked there.

    Ids and sessions begin with the set's name, so that nothing collides and no two conversations
    become one; the kind of a question does as well, so that each set can still be told apart. Who
    speaks keeps the name. What sets say of people of one name then counts as said of one person:
    mix few conversations, and none of the sets with a history for each question.

    Args:
        datasets: with different names.

    Raises:
        InvalidInput: there are none, or two have one name.
    """
    names = Counter(data.name for data in datasets)
    if not names:
        raise InvalidInput("mixed needs at least one data set")
    for name, number in names.items():
        if number > 1:
            raise InvalidInput(f"{number} data sets are called {name!r}: give each its own name")
    return DataSet(
        name=" + ".join(names),
        records=tuple(_record(data.name, one) for data in datasets for one in data.records),
        questions=tuple(_question(data.name, one) for data in datasets for one in data.questions),
        left_out={
            f"{data.name}: {what}": number
            for data in datasets
            for what, number in data.left_out.items()
        },
    )


def _record(name: str, record: Record) -> Record:
    message, session = record.message, record.session
    if message.role != "document":
        session = "/".join((name, str(record.scope), session or ""))
    if message.role == "user" and message.speaker is None:
        # Else it would count as said by the user of the common scope.
        message = replace(message, speaker=record.scope.user)
    return replace(
        record, id=f"{name}/{record.id}", scope=EVERYTHING, session=session, message=message
    )


def _question(name: str, question: Question) -> Question:
    return replace(
        question,
        id=f"{name}/{question.id}",
        scope=EVERYTHING,
        gold=tuple(f"{name}/{key}" for key in question.gold),
        stale=tuple(f"{name}/{key}" for key in question.stale),
        kind=f"{name}: {question.kind}" if question.kind else name,
    )
