"""Names of entities in running text: which stand in a passage, which in a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from graphmem.lexical import is_nameable, words

__all__ = ["NameTable", "stands_in"]

Words = tuple[str, ...]


class NameTable:
    """Names by their words; several entities may share one (``"U.S."`` and ``"u s"``).

    Args:
        longest: names of more words are not looked for.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._ids: dict[Words, set[str]] = defaultdict(set)
        self._words: dict[str, Words] = {}
        self._lengths: dict[str, set[int]] = defaultdict(set)

    def add(self, entity_id: str, name: str) -> Words | None:
        """Learn a name; returns its words if no entity had it before and it can be looked for."""
        if entity_id in self._words:
            return None
        name_words = words(name)
        if not is_nameable(name_words, self._longest):
            return None
        self._words[entity_id] = name_words
        known = self._ids[name_words]
        known.add(entity_id)
        self._lengths[name_words[0]].add(len(name_words))
        return name_words if len(known) == 1 else None

    def drop(self, entity_id: str) -> None:
        """Unlearn an entity's name."""
        name_words = self._words.pop(entity_id, None)
        if name_words is None:
            return
        self._ids[name_words].discard(entity_id)
        if not self._ids[name_words]:
            del self._ids[name_words]

    def ids(self, name_words: Words) -> frozenset[str]:
        """The entities of that name."""
        return frozenset(self._ids.get(name_words, ()))

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
        for length in self._lengths.get(text[start], ()):
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
