"""A parsed text as plain values: what every rule reads.

The rules know nothing of spaCy: its documents are turned into tuples of `Word`, which live as long
as they are needed, cross threads freely and can be written down in a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

__all__ = ["LONGEST_SENTENCE", "Parse", "Sentence", "Word"]

LONGEST_SENTENCE = 150


@dataclass(frozen=True, slots=True)
class Word:
    """One token. ``head`` is the index of its governor (its own at the root of a sentence).

    Attributes:
        text, lemma: as written, and its dictionary form.
        pos, tag, dep: universal part of speech, Penn tag, and ClearNLP dependency label.
        head: index of the governing word in the same parse.
        entity: label of the named entity it is part of, or ``""``.
        entity_start: index of that entity's first word, or -1.
        start: character offset in the parsed text.
        is_spaced: whether white space follows.
    """

    text: str
    lemma: str
    pos: str
    tag: str
    dep: str
    head: int
    entity: str = ""
    entity_start: int = -1
    start: int = 0
    is_spaced: bool = True

    @property
    def lower(self) -> str:
        """The word in lower case, with a plain apostrophe."""
        return self.text.lower().replace("\u2019", "'")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Indices of a sentence's first word, of the word after its last, and of its root."""

    start: int
    end: int
    root: int

    @property
    def is_readable(self) -> bool:
        """Whether it is short enough to be prose; a longer one is a list or a dump."""
        return self.end - self.start <= LONGEST_SENTENCE


@dataclass(frozen=True, eq=False)
class Parse:
    """The words and sentences of one text."""

    text: str
    words: tuple[Word, ...]
    sentences: tuple[Sentence, ...]

    def __getitem__(self, index: int) -> Word:
        return self.words[index]

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        rows: list[list[int]] = [[] for _ in self.words]
        for index, word in enumerate(self.words):
            if word.head != index:
                rows[word.head].append(index)
        return tuple(tuple(row) for row in rows)

    def children(self, index: int, *deps: str) -> tuple[int, ...]:
        """Dependents in order of the text; only those with one of the labels, if any is given."""
        found = self._children[index]
        if not deps:
            return found
        return tuple(child for child in found if self.words[child].dep in deps)

    def child(self, index: int, *deps: str) -> int | None:
        """The first dependent with one of the labels."""
        return next(iter(self.children(index, *deps)), None)

    def subtree(self, index: int) -> Iterator[int]:
        """The word and all below it, in order of the text."""
        reached = [index]
        for at in reached:
            reached.extend(self._children[at])
        return iter(sorted(reached))

    def ancestors(self, index: int) -> Iterator[int]:
        """The governors, nearest first, up to the root."""
        while (head := self.words[index].head) != index:
            yield head
            index = head

    def join(self, indices: list[int]) -> str:
        """The words at the indices as text, spaced as written where they are neighbours."""
        parts: list[str] = []
        for at, after in zip(indices, [*indices[1:], -1], strict=True):
            word = self.words[at]
            parts.append(word.text)
            if after >= 0 and (word.is_spaced or after != at + 1):
                parts.append(" ")
        return "".join(parts).strip()
