"""A passage read once: what follows from its text alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from graphmem.identity import content_id, normal_form
from graphmem.index.cues import Manner, manner
from graphmem.memo import Memo
from graphmem.types import Passage
from graphmem.words import terms, words

__all__ = ["Document", "name_terms", "name_words"]

_FINAL_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Document:
    """A passage as it was read.

    Attributes:
        words: of title and text, in order.
        terms: how often each term occurs in them.
        manner: how its text is said.
        title_id: id of the entity that the title names, a final parenthesis dropped; ``""`` where
            there is no title.
    """

    words: tuple[str, ...]
    terms: Counter[str]
    manner: Manner
    title_id: str

    @classmethod
    def of(cls, passage: Passage) -> Document:
        """Read a passage."""
        text_words = words(passage.full_text)
        name = normal_form(_FINAL_PARENTHESIS.sub("", passage.title))
        return cls(
            text_words,
            terms(text_words),
            manner(passage.text, text_words),
            content_id("e", name) if name else "",
        )


name_words = Memo(words, 1 << 14)
"""The words of a name or a predicate: facts repeat them."""

name_terms = Memo(lambda name: frozenset(terms(name_words[name])), 1 << 14)
"""The terms of a name or a predicate."""
