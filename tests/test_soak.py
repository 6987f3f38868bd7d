"""Thousands of random operations, after each of which a memory is what a plain dictionary says."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from graphmem import GraphMemory, Message, Triple
from graphmem.experiments.trust.paths import signature
from graphmem.testing import HashEmbedder, ScriptedExtractor

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
PEOPLE = ("Maja", "Tomo", "Ines", "Rui", "Bea", "Lars", "Noor", "Pavel")
PLACES = ("Lisbon", "Zagreb", "Oslo", "Porto", "Ghent")
QUESTION = "Where does Maja live?"

Value = tuple[str, str, bool]
"""Who, where, and whether it is so."""


def read(passage):
    """Reads "Maja lives in Oslo, note 7." and "Maja no longer lives in Oslo, note 8."."""
    words = passage.text.split(",")[0].split()
    return [Triple(words[0], "lives in", words[-1], polarity=words[1] != "no")]


@dataclass
class Expected:
    """What a memory must hold: told messages, and what must not come back."""

    told: dict[str, tuple[Value, datetime]] = field(default_factory=dict)
    # A forgotten value with the words that went with it: both come back together.
    values: dict[Value, set[str]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    rejected: set[Value] = field(default_factory=set)

    def hear(self, text: str, value: Value, at: datetime) -> None:
        if text not in self.texts and value not in self.values:
            self.told[text] = value, at

    def known(self) -> set[Value]:
        return {value for value, _ in self.told.values()}

    def home(self, person: str) -> str | None:
        """Where somebody lives, as the story goes when it is told in order."""
        place = None
        for (who, where, is_so), _ in sorted(self.told.values(), key=lambda one: one[1]):
            if who != person or (who, where, is_so) in self.rejected:
                continue
            if is_so:
                place = where
            elif place == where:
                place = None
        return place

    def forget_fact(self, value: Value) -> None:
        texts = {text for text, (told, _) in self.told.items() if told == value}
        for text in texts:
            del self.told[text]
        self.values[value] = texts
        self.texts |= texts

    def forget_text(self, text: str) -> None:
        value, _ = self.told.pop(text)
        self.texts.add(text)
        if value not in self.known():
            self.values[value] = {text}

    def allow(self, person: str, place: str) -> None:
        """Whether it is so or not may be told again, and what was found wrong is believed."""
        for value in ((person, place, True), (person, place, False)):
            self.texts -= self.values.pop(value, set())
            self.rejected.discard(value)


class Soak:
    """One memory on a file beside what is expected of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.folder = folder
        self.memory = self.open()
        self.expected = Expected()
        self.heard: dict[str, tuple[Value, datetime]] = {}
        self.done: dict[str, int] = {}

    def open(self) -> GraphMemory:
        return GraphMemory.open(
            f"sqlite:///{self.folder / 'm.db'}",
            embed_model=HashEmbedder(dims=16),
            extractor=ScriptedExtractor(read),
        )

    def run(self, operations: int, looks: int) -> None:
        kinds = {
            self.remember: 40,
            self.deny: 12,
            self.tell_again: 10,
            self.forget_fact: 5,
            self.forget_passage: 6,
            self.unforget: 6,
            self.reject: 5,
            self.accept: 4,
            self.restart: 2,
            self.begin_anew: 0.4,
        }
        for number in range(operations):
            (operation,) = self.rng.choices(list(kinds), list(kinds.values()))
            operation()
            self.done[operation.__name__] = self.done.get(operation.__name__, 0) + 1
            if number % looks == looks - 1:
                self.compare()
            if number % 500 == 499:
                self.compare_index()
        self.compare()
        self.compare_index()

    # -- operations ------------------------------------------------------------------------------

    def remember(self, is_so: bool = True) -> None:
        value = (self.rng.choice(PEOPLE), self.rng.choice(PLACES), is_so)
        verb = "lives in" if is_so else "no longer lives in"
        text = f"{value[0]} {verb} {value[1]}, note {len(self.heard)}."
        at = START + timedelta(seconds=self.rng.random() * 5e7)
        self.heard[text] = value, at
        self.tell(text)

    def deny(self) -> None:
        self.remember(is_so=False)

    def tell_again(self) -> None:
        if self.heard:
            self.tell(self.rng.choice(sorted(self.heard)))

    def tell(self, text: str) -> None:
        value, at = self.heard[text]
        self.memory.remember(Message(text, said_at=at))
        self.expected.hear(text, value, at)

    def forget_fact(self) -> None:
        self.settle()
        value = self.one_of(self.expected.known() - self.expected.rejected)
        if value is not None:
            self.memory.forget(fact=self.ids()[value])
            self.expected.forget_fact(value)

    def forget_passage(self) -> None:
        self.settle()
        expected = self.expected
        texts = [
            text for text, (value, _) in expected.told.items() if value not in expected.rejected
        ]
        if texts:
            text = self.rng.choice(sorted(texts))
            passage = next(one for one in self.memory.passages() if one.text == text)
            self.memory.forget(passage=passage.id)
            expected.forget_text(text)

    def unforget(self) -> None:
        # What was told before is read while it is still banned.
        self.settle()
        value = self.one_of(set(self.expected.values))
        if value is not None:
            self.memory.unforget(fact=(value[0], "lives in", value[1]))
            self.expected.allow(*value[:2])

    def reject(self) -> None:
        self.settle()
        value = self.one_of(self.expected.known() - self.expected.rejected)
        if value is not None:
            self.memory.reject(self.ids()[value])
            self.expected.rejected.add(value)

    def accept(self) -> None:
        self.settle()
        value = self.one_of(self.expected.rejected & self.expected.known())
        if value is not None:
            self.memory.unforget(fact=self.ids()[value])
            self.expected.rejected.discard(value)

    def begin_anew(self) -> None:
        self.settle()
        if self.expected.told:
            self.memory.forget(everything=True)
            self.expected.texts |= self.expected.told.keys()
            self.expected.told.clear()

    def restart(self) -> None:
        self.memory.close()
        if self.rng.random() < 0.5:
            shutil.rmtree(self.folder / "m.db.index", ignore_errors=True)
        self.memory = self.open()

    def one_of(self, values: set[Value]) -> Value | None:
        return self.rng.choice(sorted(values)) if values else None

    # -- comparisons -----------------------------------------------------------------------------

    def settle(self) -> None:
        assert self.memory.drain(60) == 0

    def ids(self) -> dict[Value, str]:
        return {(fact.subject, fact.object, fact.polarity): fact.id for fact in self.memory.facts()}

    def compare(self) -> None:
        self.settle()
        expected, facts = self.expected, self.memory.facts()
        held = {(fact.subject, fact.object, fact.polarity): fact for fact in facts}
        assert len(held) == len(facts)
        assert held.keys() == expected.known()
        assert {one.text for one in self.memory.passages()} == expected.told.keys()
        rejected = {value for value, fact in held.items() if fact.status == "rejected"}
        assert rejected == expected.rejected & held.keys()
        homes = {person: set() for person in PEOPLE}
        for (person, place, is_so), fact in held.items():
            if is_so and fact.is_live:
                homes[person].add(place)
        assert homes == {
            person: {home} if (home := expected.home(person)) else set() for person in PEOPLE
        }
        names = {name for value in held for name in value[:2]}
        assert {entity.name for entity in self.memory.entities()} == names

    def compare_index(self) -> None:
        self.settle()
        assert self.memory.verify_log().is_intact
        before = signature(self.memory.recall(QUESTION))
        self.memory.close()
        shutil.rmtree(self.folder / "m.db.index", ignore_errors=True)
        self.memory = self.open()
        assert signature(self.memory.recall(QUESTION)) == before


@pytest.mark.parametrize("seed", [1, 2])
def test_three_hundred_operations_leave_what_a_dictionary_says(tmp_path, seed):
    soak = Soak(tmp_path, seed)
    soak.run(150, looks=1)
    soak.memory.close()
    assert len(soak.done) >= 9


@pytest.mark.slow
def test_ten_thousand_operations_leave_what_a_dictionary_says(tmp_path):
    soak = Soak(tmp_path, 3)
    soak.run(10_000, looks=20)
    soak.memory.close()
    assert len(soak.done) == 10
    assert min(soak.done.values()) > 20
