"""A generated memory of any size: who says what, and what may be asked about it.

Passage ``n`` is a function of the seed and ``n`` alone, so that a larger world begins with the
smaller one, and what is said next is the same wherever it is asked for.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from graphmem.types import Message

__all__ = ["FACTS", "FLUSH", "SESSION", "USER", "Batch", "World"]

FACTS = 8
"""Facts of a passage."""
FLUSH = 40
"""Messages of a flush: about as many as LlamaIndex hands over by default."""
SESSION = 50
"""Messages of a session, and documents of a shelf."""
USER = "Nell"
"""Who speaks in every session, and whose memory it is."""

Triple = tuple[str, str, str]
# A session's name with what is said in it; documents have none.
Batch = tuple[str | None, list[Message]]

# Every fifth batch is documents.
_SHELVES = 5
_SPEAKERS = 60
_SPEAKERS_OF_SESSION = 3
# Entities of a passage that none before it names.
_NEW = 3
# How many facts each sentence of a passage tells of its subject.
_SENTENCES = (3, 3, 2)
_ENDS = FACTS + len(_SENTENCES)
# Entity k is named with a probability in proportion to 1 / (k + _FLATTENING): Zipf's law, but the
# most common entity is in about a twentieth of the passages, not in half of them.
_FLATTENING = 20
# One entity in so many is called as the one before it, with another name added: a synonym.
_NAMESAKES = 16
_FIRST_DAY = datetime(2000, 1, 1, 8, tzinfo=timezone.utc)
_BETWEEN_SESSIONS = timedelta(hours=6)

_SYLLABLES = [first + second for first in "bdfghklmnprstv" for second in "aeiou"]
_FIRST_NAMES = len(_SYLLABLES) ** 4
_LAST_NAMES = len(_SYLLABLES) ** 2
# Without a common factor with the number of first names: no two entities get the same.
_STRIDE = 9_999_991
_PLAIN_WORDS = 3_000
_VERBS = (
    "admired asked avoided bought built called carried chased copied drew found greeted guarded "
    "heard hired joined kept knew left lent lost mended met missed named noticed owed painted "
    "praised promised questioned raised saw sent showed sold taught thanked visited wrote"
).split()
_COMMON = (
    "after again all also always around at away because before by early every for from here home "
    "in just later long much never nobody of often on once only over quite really so some soon "
    "still then there though today together too twice under until very well when while with yet"
).split()


@dataclass(frozen=True, slots=True)
class World:
    """Passages of about 40 words in which eight facts stand literally, and questions about them.

    Four in five are said in sessions by the user and two others of sixty people, a minute after
    each other; the rest are documents with a title. Each names eleven entities, three of them for
    the first time, the others by Zipf's law; names are one to three invented words.

    Attributes:
        passages: how many there are.
        seed: another world for each.
    """

    passages: int
    seed: int = 0

    def batches(self) -> Iterator[Batch]:
        """All passages as messages, a session or a shelf of documents at a time."""
        for start in range(0, self.passages, SESSION):
            name = None if _is_shelf(start) else f"session {start // SESSION}"
            stop = min(start + SESSION, self.passages)
            yield name, [self.message(n) for n in range(start, stop)]

    def flushes(self) -> Iterator[Batch]:
        """What is said next, without an end: ``FLUSH`` messages at a time, each of a session."""
        said = (n for n in itertools.count(self.passages) if not _is_shelf(n))
        for number in itertools.count():
            yield f"flush {number}", [self.message(n) for n in itertools.islice(said, FLUSH)]

    def message(self, n: int) -> Message:
        """What passage ``n`` says."""
        random_ = self._random(f"words {n}")
        facts = self.facts(n)
        text = " ".join(_sentence(told, self._tail(random_)) for told in _by_sentence(facts))
        if _is_shelf(n):
            return Message(text, role="document", title=facts[0][0])
        said_at = _FIRST_DAY + n // SESSION * _BETWEEN_SESSIONS + timedelta(minutes=n % SESSION)
        return Message(text, speaker=self._speaker(n), said_at=said_at)

    def facts(self, n: int) -> list[Triple]:
        """The facts of passage ``n``, in the order in which they are told."""
        random_ = self._random(f"facts {n}")
        names = [self.name(entity) for entity in self._entities(random_, n)]
        subjects, objects = names[: len(_SENTENCES)], names[len(_SENTENCES) :]
        told = [
            name for name, count in zip(subjects, _SENTENCES, strict=True) for _ in range(count)
        ]
        return [
            (name, random_.choice(_VERBS), end) for name, end in zip(told, objects, strict=True)
        ]

    def name(self, entity: int) -> str:
        """What an entity is called; no two have one name."""
        return _name(self.seed, entity)

    def questions(self, count: int) -> list[str]:
        """Questions about facts of the world, each of another passage as far as there are."""
        return [self._question(number) for number in range(count)]

    def _question(self, number: int) -> str:
        random_ = self._random(f"question {number}")
        facts = self.facts(random_.randrange(self.passages))
        (subject, verb, _), (other, asked, end) = random_.sample(facts, 2)
        return random_.choice(
            (
                f"Who was it that {subject} {verb}, and when?",
                f"What do {subject} and {end} have to do with each other?",
                f"What became of the one that {other} {asked} after {subject} {verb} somebody?",
            )
        )

    def _random(self, what: str) -> random.Random:
        return _random(self.seed, what)

    def _entities(self, random_: random.Random, n: int) -> list[int]:
        known = max(_ENDS + 1, _NEW * n)
        found = list(range(known, known + _NEW)) if known == _NEW * n else []
        while len(found) < _ENDS:
            entity = _zipf(random_, known)
            if entity not in found:
                found.append(entity)
        random_.shuffle(found)
        return found

    def _speaker(self, n: int) -> str:
        of_session = self._random(f"session {n // SESSION}")
        others = of_session.sample(range(_SPEAKERS), _SPEAKERS_OF_SESSION - 1)
        names = [USER, *(_word(other * 71 + 4, 3).capitalize() for other in others)]
        return self._random(f"speaker {n}").choice(names)

    def _tail(self, random_: random.Random) -> str:
        plain = [_word(_zipf(random_, _PLAIN_WORDS), 3) for _ in range(random_.randint(1, 2))]
        return " ".join(random_.sample(_COMMON, k=random_.randint(1, 3)) + plain)


def _random(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed} {what}")


@functools.lru_cache(maxsize=100_000)
def _name(seed: int, entity: int) -> str:
    random_ = _random(seed, f"name {entity}")
    if entity % _NAMESAKES == _NAMESAKES - 1:
        return f"{_name(seed, entity - 1)} {_last_name(random_)}"
    first = _word((entity * _STRIDE + seed * 7_919) % _FIRST_NAMES, 4).capitalize()
    has_namesake = entity % _NAMESAKES == _NAMESAKES - 2
    others = 1 if has_namesake else random_.choice((0, 1, 1, 2))
    return " ".join([first, *(_last_name(random_) for _ in range(others))])


def _last_name(random_: random.Random) -> str:
    return _word(_zipf(random_, _LAST_NAMES), 2).capitalize()


def _is_shelf(n: int) -> bool:
    return n // SESSION % _SHELVES == _SHELVES - 1


def _by_sentence(facts: Sequence[Triple]) -> Iterator[Sequence[Triple]]:
    start = 0
    for count in _SENTENCES:
        yield facts[start : start + count]
        start += count


def _sentence(facts: Sequence[Triple], tail: str) -> str:
    """One subject, all that is told of it, and words that tell nothing."""
    told = [f"{verb} {end}" for _, verb, end in facts]
    return f"{facts[0][0]} {', '.join(told[:-1])} and {told[-1]} {tail}."


def _zipf(random_: random.Random, count: int) -> int:
    """A number below ``count``; k with a probability in proportion to 1 / (k + _FLATTENING)."""
    reach = math.log((count + _FLATTENING) / _FLATTENING)
    return min(count - 1, int(_FLATTENING * math.expm1(random_.random() * reach)))


def _word(number: int, syllables: int) -> str:
    found = []
    for _ in range(syllables):
        number, place = divmod(number, len(_SYLLABLES))
        found.append(_SYLLABLES[place])
    return "".join(found)
