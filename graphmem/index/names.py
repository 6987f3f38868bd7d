"""Names of entities in running text: which stand in a passage, which in a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphmem.words import STOP_WORDS, words

__all__ = ["NameTable", "is_nameable", "stands_in"]

Words = tuple[str, ...]


def is_nameable(name: Sequence[str], longest: int) -> bool:
    """Whether a name's words are telling enough to be looked for in running text.

    One to ``longest`` words, not all of them stop words; a single word needs three characters.
    """
    if not 0 < len(name) <= longest or all(word in STOP_WORDS for word in name):
        return False
    return len(name) > 1 or len(name[0]) >= 3


class NameTable:
    """Names by their words; several entities may share one (``"U.S."`` and ``"u s"``).

    Args:
        longest: names of more words are not looked for.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        # Values are replaced, never changed: a copy may share them.
        self._ids: dict[Words, frozenset[str]] = {}
        self._words: dict[str, Words] = {}
        self._lengths: dict[str, frozenset[int]] = {}

    def copy(self) -> NameTable:
        """The same names, untouched by what happens to this table later."""
        other = NameTable(self._longest)
        other._ids = dict(self._ids)
        other._words = dict(self._words)
        other._lengths = dict(self._lengths)
        return other

    def add(self, entity_id: str, name: str) -> Words | None:
        """Learn a name; returns its words if no entity had it before and it can be looked for."""
        if entity_id in self._words:
            return None
        name_words = words(name)
        if not is_nameable(name_words, self._longest):
            return None
        self._words[entity_id] = name_words
        known = self._ids.get(name_words, frozenset())
        self._ids[name_words] = known | {entity_id}
        self._lengths[name_words[0]] = self._lengths.get(name_words[0], frozenset()) | {
            len(name_words)
        }
        return None if known else name_words

    def drop(self, entity_id: str) -> None:
        """Unlearn an entity's name."""
        name_words = self._words.pop(entity_id, None)
        if name_words is None:
            return
        left = self._ids.pop(name_words) - {entity_id}
        if left:
            self._ids[name_words] = left

    def ids(self, name_words: Words) -> frozenset[str]:
        """The entities of that name."""
        return self._ids.get(name_words, frozenset())

    def all_in(self, text: Sequence[str]) -> set[Words]:
        """Every name that stands in the text, overlapping ones too."""
        return {found for start in range(len(text)) for found in self._at(text, start)}

    def longest_in(self, text: Sequence[str]) -> list[Words]:
        """The names in the text without overlap, the longest first, then the leftmost."""
        matches = [
            (len(found), start, found)
            for start in range(len(text))
            for found in self._at(text, start)
        ]
        taken: set[int] = set()
        chosen: list[tuple[int, Words]] = []
        for length, start, found in sorted(matches, key=lambda match: (-match[0], match[1])):
            span = range(start, start + length)
            if taken.isdisjoint(span):
                taken.update(span)
                chosen.append((start, found))
        return [found for _, found in sorted(chosen)]

    def _at(self, text: Sequence[str], start: int) -> Iterator[Words]:
        for length in sorted(self._lengths.get(text[start], ())):
            candidate = tuple(text[start : start + length])
            if len(candidate) == length and candidate in self._ids:
                yield candidate


def stands_in(name: Words, text: Words) -> bool:
    """Whether the name's words follow each other somewhere in the text."""
    length, start = len(name), -1
    for _ in range(text.count(name[0])):
        start = text.index(name[0], start + 1)
        if text[start : start + length] == name:
            return True
    return False
