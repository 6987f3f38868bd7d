"""Triples without a model or a grammar: what stands together in a sentence.

The simplest graph there is, to see what reading is worth. The terms of a sentence are

- names: words with a capital or a digit, one after another, with small words such as "of" inside;
- things: up to three other words in a row that are no stop words (verbs are among them: telling
  them from nouns takes a grammar);
- the speaker, for a word of the first person.

Each two of the first twelve terms of a sentence make a triple ``(earlier, "with", later)``, if one
of the two is a name or the speaker: pairs of things would double the triples and find a twentieth
more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from graphmem.identity import clean_text, normal_form
from graphmem.types import Extraction, Passage, Triple, Usage
from graphmem.words import STOP_WORDS

__all__ = ["CooccurrenceExtractor"]

_SENTENCE_END = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)]*\s+|[\u3002\uff01\uff1f]+|\n+")
_WORD = re.compile(r"\w+(?:['\u2019.-]\w+)*|[^\w\s'\u2019\"-]")
_INSIDE = frozenset("of the de la le van von der den di da del".split())
_FIRST_PERSON = frozenset("i i'm i've i'd i'll me my mine myself we us our ours".split())
_LONGEST_NAME = 8
_LONGEST_THING = 3
# The pairs of a sentence grow with the square of its terms.
_MOST_TERMS = 12


class CooccurrenceExtractor:
    """Links the terms of each sentence with each other; no model."""

    @property
    def name(self) -> str:
        """As kept with each fact."""
        return "cooccurrence/1"

    @property
    def usage(self) -> Usage:
        """Always zero: no model is asked."""
        return Usage()

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """One extraction for each passage, in their order."""
        return [Extraction(passage.id, tuple(_triples(passage))) for passage in passages]


def _triples(passage: Passage) -> Iterator[Triple]:
    seen: set[frozenset[str]] = set()
    for sentence in _SENTENCE_END.split(clean_text(passage.text)):
        for one, other in combinations(_terms(_WORD.findall(sentence), passage.speaker), 2):
            pair = frozenset((normal_form(one), normal_form(other)))
            is_named = _is_proper(one) or _is_proper(other) or passage.speaker in (one, other)
            if is_named and pair not in seen:
                seen.add(pair)
                yield Triple(one, "with", other)


def _terms(words: Sequence[str], speaker: str) -> list[str]:
    """The sentence's terms in order, each once."""
    found: dict[str, str] = {}
    place = 0
    while place < len(words) and len(found) < _MOST_TERMS:
        end = _name_end(words, place)
        if end == place:
            end = _thing_end(words, place)
        is_speaker = _plain(words[place]) in _FIRST_PERSON
        term = speaker if is_speaker else " ".join(words[place:end])
        if form := normal_form(term):
            found.setdefault(form, term)
        place = max(end, place + 1)
    return list(found.values())


def _name_end(words: Sequence[str], start: int) -> int:
    """Behind the last word of the name that starts here; ``start`` where none does."""
    end = start
    for place in range(start, min(len(words), start + _LONGEST_NAME)):
        if _is_proper(words[place]):
            end = place + 1
        elif end == start or words[place] not in _INSIDE:
            break
    return end


def _thing_end(words: Sequence[str], start: int) -> int:
    """Behind the last word of the thing that starts here; ``start`` where none does."""
    end = start
    while end < min(len(words), start + _LONGEST_THING) and _is_telling(words[end]):
        end += 1
    return end


def _is_telling(word: str) -> bool:
    return word[0].isalpha() and not _is_proper(word) and _plain(word) not in STOP_WORDS


def _is_proper(word: str) -> bool:
    """Whether it looks like a part of a name or a number."""
    return (word[0].isupper() or word[0].isdigit()) and _plain(word) not in STOP_WORDS


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")
