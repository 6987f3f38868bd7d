"""Evidence: what one passage states, as rows from which facts are computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from graphmem.identity import content_id, normal_form
from graphmem.types import Role, Triple

__all__ = [
    "PEOPLE",
    "Evidence",
    "Ruling",
    "entity_id",
    "entity_id_of",
    "fact_id",
    "firm",
    "is_trusted",
    "reject_reason",
    "trusted",
]

# The longest of 27,000 triples that models read out of documents and chats has 352. What is far
# longer is a model that repeats itself.
MAX_NAME_CHARS = 1_000

PEOPLE: tuple[Role, ...] = ("user", "document")
"""Roles whose words are believed; a document is somebody's."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A triple as one passage states it: a row, from which facts are computed.

    Attributes:
        passage_id: the passage that states it.
        subject, predicate, object: as the extractor wrote them.
        polarity: False for a denial.
        valid_from, valid_to: as stated; ``None`` is unknown.
        speaker: who claims it.
        grounded: whether both ends are in the passage (see ``ground``), or one is and the other is
            a name that a grounded triple of a person or a document brought up elsewhere.
        by_name: whether it is grounded by such a name only: enough to believe it, not to retire
            another fact.
        role: role of the passage.
        said_at: when the passage was said (latest occurrence); ``None`` is unknown.
        ordinal: place of the passage in its thread.
        recorded_at: when the store learnt of it.
        extractor: what read it.
        thread: the passage's thread, within which ordinals compare; ``None`` is unknown.
        heard_at: when the store first got the message; ``None`` is unknown.
        mood: how it was meant: ``""`` in earnest, ``"joke"`` not (see ``moods.mood``).
    """

    passage_id: str
    subject: str
    predicate: str
    object: str
    polarity: bool = True
    valid_from: str | None = None
    valid_to: str | None = None
    speaker: str = ""
    grounded: bool = True
    by_name: bool = False
    role: Role = "user"
    said_at: datetime | None = None
    ordinal: int = 0
    recorded_at: datetime | None = None
    extractor: str = ""
    thread: str | None = None
    heard_at: datetime | None = None
    mood: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a person ruled on a fact, beside all evidence.

    Attributes:
        verdict: that it is so, that it is in doubt, or that it is not so.
        at: when.
    """

    verdict: Literal["verified", "disputed", "rejected"]
    at: datetime


def reject_reason(triple: Triple) -> str:
    """Why it can be no fact, whatever the passage says; ``""`` when it can."""
    ends = normal_form(triple.subject), normal_form(triple.object)
    for name, form in zip(("subject", "object"), ends, strict=True):
        if not form:
            return f"its {name} is empty"
    for name, value in (("subject", triple.subject), ("object", triple.object)):
        if len(value) > MAX_NAME_CHARS:
            return f"its {name} is no name: {len(value)} characters"
    if len(triple.predicate) > MAX_NAME_CHARS:
        return f"its predicate is no relation: {len(triple.predicate)} characters"
    if not normal_form(triple.predicate):
        return "its predicate is empty"
    if ends[0] == ends[1]:
        return "its subject and object are one name"
    return ""


# Asked of each triple when it is read, and of its evidence when it is believed.
@lru_cache(maxsize=1 << 12)
def fact_id(subject: str, predicate: str, object_: str, polarity: bool) -> str:
    """Id of the fact that a triple states, however it spells it."""
    names = map(normal_form, (subject, predicate, object_))
    return content_id("f", *names, "+" if polarity else "-")


@lru_cache(maxsize=1 << 14)
def entity_id(name: str) -> str:
    """Id of the entity of a name."""
    return entity_id_of(normal_form(name))


def entity_id_of(form: str) -> str:
    """Id of the entity of a name that is in its normal form."""
    return content_id("e", form)


def trusted(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The rows that are believed: of people and documents, in words that hold them, in earnest."""
    return [row for row in evidence if row.grounded and not row.mood and is_trusted(row.role)]


def firm(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The trusted rows whose own passage holds both ends: only those may retire another fact."""
    return [row for row in trusted(evidence) if not row.by_name]


def is_trusted(role: Role) -> bool:
    """Whether what a passage of this role states is believed: an assistant may guess."""
    return role in PEOPLE
