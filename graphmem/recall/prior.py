"""What a question finds before any walk: h of the passages that are looked at, and their facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmem.index.index import Index
from graphmem.index.lists import Floats, Ints, each_once_with_places
from graphmem.recall.question import Question
from graphmem.recall.sight import Sight
from graphmem.settings import RecallSettings

__all__ = ["Prior", "scaled", "weigh"]


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """How well passages answer by themselves; n passages, m facts.

    Attributes:
        sight: what the passages show.
        scores: (n,) h as a share of the highest, 0 to 1.
        own: (n,) cosine of the question and a message without its neighbours, as a share of the
            highest, 0 to 1; 0 for documents.
        facts: (m,) the facts of the passages, ascending.
        cosines: (m,) of the question and each fact; 0 without vectors.
        best: (m,) the highest h of a passage that states the fact.
        own_top: what the highest own cosine was before it was scaled.
    """

    sight: Sight
    scores: Floats
    own: Floats
    facts: Ints
    cosines: Floats
    best: Floats
    own_top: float

    @property
    def passages(self) -> Ints:
        """(n,) ascending."""
        return self.sight.passages

    def share_of_own(self, own: Floats) -> Floats:
        """Cosines of messages alone, as shares of the highest."""
        return _shares(own, self.own_top)


def weigh(
    memory: Index, question: Question, seen: Sight, settings: RecallSettings, least: int
) -> Prior:
    """The prior of a question, over the ``weigh_k`` passages that show most, or ``least``."""
    count = max(settings.weigh_k, least)
    kept = np.sort(memory.passages.ids.highest(seen.passages, seen.base, count))
    own_top = float(seen.own.max(initial=0.0))
    seen = seen.only(kept)
    stated = _Stated.by(memory, question, seen.passages)
    scores = scaled(stated.lifted(seen.base, settings))
    best = np.zeros(len(stated.facts))
    np.maximum.at(best, stated.of, scores[stated.places])
    own = _shares(seen.own, own_top)
    return Prior(seen, scores, own, stated.facts, stated.cosines, best, own_top)


@dataclass(frozen=True, slots=True, eq=False)
class _Stated:
    """What passages state.

    Attributes:
        places, of: pairs of a passage and one of its facts, by their places.
        facts: ascending.
        cosines: of the question and each fact; 0 without vectors.
    """

    places: Ints
    of: Ints
    facts: Ints
    cosines: Floats

    @classmethod
    def by(cls, memory: Index, question: Question, passages: Ints) -> _Stated:
        places, stated, _ = memory.facts.stated.gather(passages)
        facts, of = each_once_with_places(stated)
        cosines = np.zeros(len(facts))
        if question.vector is not None:
            cosines = memory.senses["fact"].cosines(facts, question.vector[None])[0]
        return cls(places, of, facts, cosines)

    def lifted(self, base: Floats, settings: RecallSettings) -> Floats:
        """h: the passages' ``base`` with their best facts."""
        best = np.full(len(base), -np.inf)
        np.maximum.at(best, self.places, self.cosines[self.of])
        return base + settings.fact_weight * np.where(np.isfinite(best), best, 0.0)


def scaled(values: Floats) -> Floats:
    """The values as shares of the highest, 0 to 1; what is below zero is 0.

    Unlike a stretch from lowest to highest it does not depend on the worst of the memory, and a
    memory of one passage keeps its score; measured, the two tie.
    """
    return _shares(values, float(values.max(initial=0.0)))


def _shares(values: Floats, top: float) -> Floats:
    clipped: Floats = np.clip(values, 0.0, max(top, 0.0))
    return clipped / top if top > 0 else clipped
