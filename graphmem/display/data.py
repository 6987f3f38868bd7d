"""Facts and passages as data that JSON has, under the names of their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmem.types import Fact, Passage

__all__ = ["fact_as_dict", "passage_as_dict"]


def fact_as_dict(fact: Fact) -> dict[str, Any]:
    """A fact; times are ISO 8601 text."""
    return {
        "id": fact.id,
        "text": fact.text,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "polarity": fact.polarity,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "recorded_at": fact.recorded_at and fact.recorded_at.isoformat(),
        "retired_at": fact.retired_at and fact.retired_at.isoformat(),
        "status": fact.status,
        "is_live": fact.is_live,
        "replaced_by": fact.replaced_by,
        "passages": list(fact.passages),
    }


def passage_as_dict(passage: Passage) -> dict[str, Any]:
    """A passage: its words, whose they are and where they were said; times are ISO 8601 text."""
    return {
        "id": passage.id,
        "message_id": passage.message_id,
        "text": passage.text,
        "title": passage.title,
        "role": passage.role,
        "speaker": passage.speaker,
        "session": passage.session,
        "said_at": passage.said_at and passage.said_at.isoformat(),
    }
