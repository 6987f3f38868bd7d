"""What is told, forgotten and contradicted: every case in several wordings.

The wordings stand in two files beside this module, each sentence with the triples that a model read
out of it (``triples_by`` says who). A sentence that comes back inside another text brings its
triples along, and a changed spelling changes them as well: so a memory can be fed the same words in
many ways, and reads the same of them each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cache
from importlib import resources
from typing import Any, Literal, cast

from graphmem.types import Message, Passage, Role, Triple

__all__ = ["Change", "Readings", "Said", "Sentence", "Telling", "changes", "tellings", "triples_by"]

_LATER = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what a model reads out of it."""

    text: str
    triples: tuple[Triple, ...] = ()

    def spelled(self, spelling: Callable[[str], str]) -> Sentence:
        """The same in another spelling, of which the model's names are as well."""
        triples = (
            replace(
                triple,
                subject=spelling(triple.subject),
                predicate=spelling(triple.predicate),
                object=spelling(triple.object),
            )
            for triple in self.triples
        )
        return Sentence(spelling(self.text), tuple(triples))


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a case.

    Attributes:
        sentences: its words, in order.
        session: its conversation; ``None`` for a text on its own.
        speaker: who said it; ``None`` for a document.
        role: in the protocol's sense.
        at: when it was said; ``None`` is unknown.
        title: of a document.
        part: ``old`` for what ceases to be so, ``new`` for what says so, ``""`` for anything else.
    """

    sentences: tuple[Sentence, ...]
    session: str | None = None
    speaker: str | None = None
    role: Role = "user"
    at: datetime | None = None
    title: str | None = None
    part: Literal["old", "new", ""] = ""

    @property
    def text(self) -> str:
        """Its sentences as one text."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def is_bounded(self) -> bool:
        """Whether its words say until when it holds what they state."""
        triples = [triple for sentence in self.sentences for triple in sentence.triples]
        return bool(triples) and all(triple.valid_to for triple in triples)

    def message(self, **metadata: Any) -> Message:
        """It as a memory takes it."""
        return Message(self.text, self.role, self.speaker, self.at, self.title, metadata)


@dataclass(frozen=True, slots=True)
class Telling:
    """Words of which a value is to be forgotten, beside a twin that is not.

    Attributes:
        name: of the wording.
        told: the messages; the twin stands in another session than the value.
        value: the fact to forget, as a triple.
        gone: the words that tell the value, in exactly one message.
        entity: the name to forget where an entity is forgotten.
        question: asks for the value.
        ask: asks in words to forget it.
        twin: the words that tell the twin.
        twin_question: asks for the twin.
        again: the value in other words, by the same and by another speaker.
    """

    name: str
    told: tuple[Said, ...]
    value: Triple
    gone: str
    entity: str
    question: str
    ask: str
    twin: str
    twin_question: str
    again: tuple[Said, ...]

    @property
    def source(self) -> Said:
        """The message that tells the value."""
        return next(said for said in self.told if self.gone in said.text)


@dataclass(frozen=True, slots=True)
class Change:
    """Words that contradict earlier ones.

    Attributes:
        name: of the wording.
        told: the messages in the order of their arrival, their ``part`` told.
        question: asks for what changes.
        stale: words of the fact that ceases to hold, as in its subject, predicate and object.
        current: words of the fact that holds instead, or ``""`` where nothing does.
        kept: words of facts of the old messages that hold on.
        then: a time at which the old held; ``None`` where no times are known.
        now: a time at which it does not.
    """

    name: str
    told: tuple[Said, ...]
    question: str
    stale: str
    current: str = ""
    kept: tuple[str, ...] = ()
    then: datetime | None = None
    now: datetime = _LATER

    @property
    def is_bounded(self) -> bool:
        """Whether the old words say themselves until when they hold."""
        return all(said.is_bounded for said in self.told if said.part == "old")


@dataclass
class Readings:
    """The recorded reading of sentences, wherever they stand in a text."""

    known: dict[str, tuple[Triple, ...]] = field(default_factory=dict)

    def learn(self, said: Iterable[Said]) -> None:
        """Know what these messages' sentences state."""
        for one in said:
            self.known.update((sentence.text, sentence.triples) for sentence in one.sentences)

    def read(self, passage: Passage) -> list[Triple]:
        """What the known sentences in a passage state."""
        found = [triples for text, triples in self.known.items() if text in passage.text]
        return list(dict.fromkeys(triple for triples in found for triple in triples))


@cache
def _file(name: str) -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return cast(Mapping[str, Any], json.loads(text))


def triples_by() -> str:
    """What read the recorded triples."""
    return str(_file("contradiction")["triples_by"])


def tellings() -> tuple[Telling, ...]:
    """The wordings of the deletion sequence."""
    return tuple(map(_telling, _file("deletion")["tellings"]))


def changes() -> dict[str, tuple[Change, ...]]:
    """The wordings of the contradiction matrix, by case."""
    cases: Mapping[str, Sequence[Mapping[str, Any]]] = _file("contradiction")["cases"]
    return {case: tuple(map(_change, wordings)) for case, wordings in cases.items()}


def _telling(item: Mapping[str, Any]) -> Telling:
    made = {"told": tuple(map(_said, item["told"])), "again": tuple(map(_said, item["again"]))}
    return Telling(**{**item, **made, "value": Triple(*item["value"])})


def _change(item: Mapping[str, Any]) -> Change:
    made: dict[str, Any] = {"told": tuple(map(_said, item["told"]))}
    made["kept"] = tuple(item.get("kept", ()))
    made |= {name: _day(item[name]) for name in ("then", "now") if name in item}
    return Change(**{**item, **made})


def _said(item: Mapping[str, Any]) -> Said:
    return Said(
        tuple(
            Sentence(text, tuple(Triple(*names[:3], **_rest(names[3:])) for names in triples))
            for text, triples in item["says"]
        ),
        session=item.get("session"),
        speaker=item.get("speaker"),
        role=item.get("role", "user"),
        at=datetime.fromisoformat(item["at"]) if "at" in item else None,
        title=item.get("title"),
        part=item.get("is", ""),
    )


def _rest(values: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return values[0] if values else {}


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
