"""What a question asks for: its words, names, cues and vector, looked up in a scope's index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.index.cues import QuestionCues, read_question
from graphmem.index.index import Index
from graphmem.index.lists import Floats, Ints, each_once_with_places
from graphmem.words import terms, words

__all__ = ["Question", "ask", "question_text"]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question as one index knows it; T terms.

    Attributes:
        terms: (T,) what is looked for, as text.
        holders: (term, passage that has it, how often), by term, then passage.
        counts: (P + 1, T) how often each passage has each term; the last is nobody's.
        idf: (T,) weight of each term, those that no passage has included.
        named: entities that the question names, ascending, hubs left out.
        about: passages that are about one of them, ascending, each with how telling the most
            telling of their names is (``Index.rarity``), from 0.
        cues: what it says besides its words.
        vector: its embedding, or None.
    """

    terms: Sequence[str]
    holders: tuple[Ints, Ints, Floats]
    counts: NDArray[np.uint16]
    idf: Floats
    named: Ints
    about: tuple[Ints, Floats]
    cues: QuestionCues
    vector: NDArray[np.float32] | None


def question_text(memory: Index, query: str) -> str:
    """What of a question is to be embedded: all but the names of hubs, who are in everything.

    The question itself where nothing else would be left.
    """
    hub_words = memory.hub_words
    if not hub_words:
        return query
    kept = [token for token in query.split() if not _is_hub(token, hub_words)]
    return " ".join(kept) if words(" ".join(kept)) else query


def ask(memory: Index, query: str, vector: NDArray[np.float32] | None) -> Question:
    """Look a question up."""
    asked = words(query)
    texts = sorted(terms([word for word in asked if word not in memory.hub_words]))
    wanted = memory.lexicon.terms(texts)
    held = memory.lexicon.spread(wanted)
    found, passages, times = holders = memory.lexicon.holders(wanted)
    counts = np.zeros((len(memory.passages) + 1, len(wanted)), dtype=np.uint16)
    counts[passages, found] = times
    size = len(memory)
    named = memory.entities.names.longest_in(asked)
    named = named[~memory.is_hub(named)]
    speakers = memory.passages.speakers
    return Question(
        texts,
        holders,
        counts,
        np.log1p((size - held + 0.5) / (held + 0.5)),
        named,
        _about(memory, named),
        read_question(query, speakers.called(asked), speakers.asker),
        vector,
    )


def _about(memory: Index, named: Ints) -> tuple[Ints, Floats]:
    of, passages, _ = memory.subjects.gather(named)
    found, which = each_once_with_places(passages)
    telling = np.zeros(len(found))
    np.maximum.at(telling, which, memory.rarity(named)[of])
    return found, telling


def _is_hub(token: str, hub_words: frozenset[str]) -> bool:
    token_words = words(token)
    return bool(token_words) and all(word in hub_words for word in token_words)
