"""Which passages are looked at: the nearest by vectors, by words and by what they are about.

Scoring every passage would make a recall as slow as the memory is large. What answers a question is
near it by its sense or its words, or stands beside what is, or is led to by the walk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmem.index.index import Index
from graphmem.index.lists import Bools, Floats, Ints, each_once
from graphmem.recall.question import Question
from graphmem.settings import RecallSettings

__all__ = ["candidates"]

# Of a question's words the rarest are looked for, until so many passages have them.
_MOST_HOLDERS = 30_000
# Whoever stands in a window with less weight brings in nobody: with all, nothing else is found.
_LEAST_WEIGHT = 0.2


def candidates(
    memory: Index, question: Question, settings: RecallSettings, session: str | None
) -> Ints:
    """The passages to be looked at, ascending.

    All of a memory or session of at most ``look_all`` passages; of a larger one the ``look_k``
    nearest by vectors and by words each, what is about something that the question names, and those
    that see one of them in their window.
    """
    eligible = memory.passages.is_here
    if session is not None:
        eligible = np.zeros(len(memory.passages), dtype=np.bool_)
        eligible[memory.passages.session(session)] = True
    if np.count_nonzero(eligible) <= settings.look_all:
        return np.nonzero(eligible)[0]
    found = [
        _by_words(memory, question, settings, eligible),
        _by_topic(memory, question, settings, eligible),
    ]
    if question.vector is not None:
        found.append(_by_sense(memory, question.vector, settings, session))
    near = memory.passages.threads.seen_by(
        each_once(np.concatenate(found)),
        [offset for offset, weight in settings.window if weight >= _LEAST_WEIGHT],
    )
    return near[eligible[near]]


def _by_words(memory: Index, question: Question, settings: RecallSettings, eligible: Bools) -> Ints:
    """By BM25, each passage alone."""
    terms, passages, counts = _rarest(*question.holders, len(question.idf))
    norm = settings.bm25_k1 * _length_norm(memory, passages, memory.mean_heard, settings.bm25_b)
    parts = question.idf[terms] * counts / (counts + norm)
    scores = np.zeros(len(memory.passages))
    scores += np.bincount(passages, parts, minlength=len(scores))
    found = np.nonzero(scores * eligible)[0]
    return found[memory.passages.ids.highest(found, scores[found], settings.look_k)]


def _rarest(terms: Ints, passages: Ints, counts: Floats, size: int) -> tuple[Ints, Ints, Floats]:
    """The holders of the rarest terms, as many as may be read: common ones find nobody by them."""
    spread = np.bincount(terms, minlength=size)
    if len(terms) <= _MOST_HOLDERS:
        return terms, passages, counts
    order = np.argsort(spread, kind="stable")
    is_read = np.zeros(size, dtype=np.bool_)
    is_read[order] = np.cumsum(spread[order]) <= max(_MOST_HOLDERS, spread[spread > 0].min())
    kept = np.repeat(is_read, spread)
    return terms[kept], passages[kept], counts[kept]


def _length_norm(memory: Index, passages: Ints, mean: float, b: float) -> Floats:
    return 1 - b + b * memory.heard(passages) / max(mean, 1e-9)


def _by_sense(
    memory: Index, vector: NDArray[np.float32], settings: RecallSettings, session: str | None
) -> Ints:
    """By cosine, each passage alone."""
    senses = memory.senses["passage"]
    if session is None:
        return senses.nearest(vector, settings.look_k)
    # The nearest of all may be of other sessions.
    found = memory.passages.session(session)
    cosines = senses.cosines(found, vector[None])[0]
    return found[memory.passages.ids.highest(found, cosines, settings.look_k)]


def _by_topic(memory: Index, question: Question, settings: RecallSettings, eligible: Bools) -> Ints:
    """About a telling name in the question, those about the most telling first."""
    about, telling = question.about
    kept = eligible[about] & (telling > 0)
    about, telling = about[kept], telling[kept]
    return about[memory.passages.ids.highest(about, telling, settings.look_k)]
