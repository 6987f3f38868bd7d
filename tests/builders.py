"""Makes small values and memories with sensible defaults."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from graphmem import GraphMemory, Message, Triple
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.types import Passage

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NAMES = ("Maja", "Tomo", "Ines", "Rui", "Bea", "Lars", "Noor", "Pavel")
PLACES = ("Lisbon", "Zagreb", "Oslo", "Porto", "Ghent", "Brno")


def open_memory(path: Path, **options: Any) -> GraphMemory:
    """A memory on a file with the public doubles, unless told otherwise."""
    options.setdefault("embed_model", HashEmbedder())
    options.setdefault("extractor", ScriptedExtractor(stated))
    return GraphMemory.open(f"sqlite:///{path}", **options)


def stated(passage: Passage) -> list[Triple]:
    """Reads "Maja moved to Oslo", and "she moved" when the passages before name somebody."""
    words = passage.text.rstrip(".").split()
    if "moved" not in words:
        return []
    subject = words[words.index("moved") - 1]
    if subject == "she":
        named = [
            word for earlier in passage.before for word in earlier.text.split() if word in NAMES
        ]
        if not named:
            return []
        subject = named[-1]
    place = words[-1]
    return [Triple(subject, "moved to", place), Triple(place, "is home of", subject)]


def story(count: int, *, sessions: int = 4, seed: int = 7) -> list[tuple[str, Message]]:
    """(session, message) pairs, each stamped with its own minute, every one different."""
    rng = random.Random(seed)
    told: list[tuple[str, Message]] = []
    for number in range(count):
        name, place = rng.choice(NAMES), rng.choice(PLACES)
        text = rng.choice(
            (
                f"note {number}: {name} moved to {place}",
                f"note {number}: then she moved to {place}",
                f"note {number}: nothing much happened near {place}",
            )
        )
        said_at = NOON + timedelta(minutes=number)
        speaker = "Ana" if number % 2 else "Zoe"
        told.append((f"s{number % sessions}", Message(text, speaker=speaker, said_at=said_at)))
    return told


def batches(
    told: Sequence[tuple[str, Message]], rng: random.Random
) -> list[tuple[str, list[Message]]]:
    """The same messages in another order and cut into other batches, one session a batch."""
    order = list(told)
    rng.shuffle(order)
    cut: list[tuple[str, list[Message]]] = []
    while order:
        size = rng.randint(1, 60)
        piece, order = order[:size], order[size:]
        for session in sorted({session for session, _ in piece}):
            cut.append((session, [message for name, message in piece if name == session]))
    return cut


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for a condition; whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
