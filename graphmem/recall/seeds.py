"""Where the walk begins: facts that fit the question, names in it, and passages a little."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from graphmem.index.graph import entity_vertices, passage_vertices
from graphmem.index.index import Index
from graphmem.index.lists import (
    Bools,
    Floats,
    Ints,
    among,
    contenders,
    each_once,
    highest,
    read_off,
)
from graphmem.recall.prior import Prior, scaled
from graphmem.settings import RecallSettings

__all__ = ["Fits", "Reset", "Seeds", "find_seeds", "fit", "seed_facts"]


@dataclass(frozen=True, slots=True, eq=False)
class Reset:
    """A reset distribution and what it is made of; empty where there is nothing to start from.

    Attributes:
        entities: ascending, each with a share from seed facts or from its name in the question.
        by_fact, by_name: those shares.
        passages: the best by themselves.
        by_passage: their shares. All shares together sum to one.
    """

    entities: Ints
    by_fact: Floats
    by_name: Floats
    passages: Ints
    by_passage: Floats

    @property
    def vertices(self) -> Ints:
        """Vertices of the entities, then of the passages."""
        return np.concatenate([entity_vertices(self.entities), passage_vertices(self.passages)])

    @property
    def weights(self) -> Floats:
        """Aligned with ``vertices``."""
        return np.concatenate([self.by_fact + self.by_name, self.by_passage])


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """How well the facts that were looked at fit the question; m facts.

    Attributes:
        facts: (m,) ascending.
        scores: (m,) of each, 0 to 1.
        live: (m,) whether it may seed.
    """

    facts: Ints
    scores: Floats
    live: Bools

    def score(self, facts: Ints) -> Floats:
        """How well facts fit the question; 0 for those that were not looked at."""
        return read_off(self.facts, self.scores, facts)

    def withheld(self, memory: Index, floor: float) -> dict[str, int]:
        """How many that may not seed fit at least so well, by reason."""
        fits = ~self.live & (self.scores >= floor) & (self.scores > 0)
        counts = Counter(memory.facts.why_withheld(fact) for fact in self.facts[fits].tolist())
        return dict(sorted(counts.items()))


def fit(prior: Prior, live: Bools, prior_weight: float) -> Fits:
    """How well each fact fits the question.

    A fact looks right far more often when its passage does too, so the passage's score counts
    ``prior_weight`` times as much as its own cosine (both as shares of the highest).
    """
    scores = scaled(scaled(prior.cosines) + prior_weight * prior.best)
    return Fits(prior.facts, scores, live)


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Where a walk begins, and why.

    Attributes:
        facts: the seed facts, best first.
        scores: how well each fits the question, 0 to 1.
        named: the entities that the question names.
        reset: what follows from them.
    """

    facts: Ints
    scores: Floats
    named: Ints
    reset: Reset


def find_seeds(
    memory: Index, prior: Prior, fits: Fits, named: Ints, settings: RecallSettings
) -> Seeds:
    """The seeds of a question."""
    live = np.where(fits.live, fits.scores, 0.0)
    likely = contenders(live, max(settings.seed_k, settings.seed_most))
    places = likely[
        seed_facts(
            live[likely],
            memory.facts.ids.ranks(fits.facts[likely]),
            settings.seed_k,
            most=settings.seed_most,
            near=settings.seed_near,
        )
    ]
    facts, scores = fits.facts[places], fits.scores[places]
    return Seeds(facts, scores, named, _reset(memory, prior, facts, scores, named, settings))


def seed_facts(scores: Floats, ranks: Ints, seed_k: int, *, most: int, near: float) -> Ints:
    """The places of the facts that fit best, with a score above 0, best first, ties by rank.

    The ``seed_k`` best, and up to ``most`` in all of those that score at least ``near`` times the
    best: where many fit alike the answer may be a list.
    """
    best = highest(scores, max(seed_k, most), ranks)
    best = best[scores[best] > 0]
    if not len(best):
        return best
    is_near = scores[best] >= near * scores[best[0]]
    return best[: max(seed_k, min(most, int(is_near.sum())))]


def _reset(
    memory: Index,
    prior: Prior,
    facts: Ints,
    scores: Floats,
    named: Ints,
    settings: RecallSettings,
) -> Reset:
    """The reset distribution of a question, from its seed facts and the entities it names.

    An entity gets the mean score of its seed facts, and ``name_weight`` when the question names
    it, both over the number of passages that mention it: what is everywhere tells little. The best
    ``passage_k`` passages get ``passage_weight * h ** passage_power``: little, so that they do not
    drown the seeds as the store grows, but enough where no fact fits.
    """
    ends = memory.facts.ends(facts).ravel()
    entities = each_once(np.concatenate([ends, named]))
    entities = entities[~memory.is_hub(entities)]
    place = {entity: at for at, entity in enumerate(entities.tolist())}
    sums, counts, by_name = (np.zeros(len(entities)) for _ in range(3))
    for end, score in zip(ends.tolist(), np.repeat(scores, 2).tolist(), strict=True):
        if end in place:
            sums[place[end]] += score
            counts[place[end]] += 1
    mentions = memory.entities.mentions(entities)
    by_fact = sums / np.maximum(counts, 1) / mentions
    by_name[among(named, entities)] = settings.name_weight
    by_name /= mentions
    has_share = by_fact + by_name > 0
    entities, by_fact, by_name = entities[has_share], by_fact[has_share], by_name[has_share]
    best = np.zeros(0, dtype=np.int64)
    if len(entities):
        best = memory.passages.ids.highest(prior.passages, prior.scores, settings.passage_k)
    by_passage = settings.passage_weight * prior.scores[best] ** settings.passage_power
    total = by_fact.sum() + by_name.sum() + by_passage.sum()
    share = 1 / total if total > 0 else 0.0
    return Reset(
        entities, by_fact * share, by_name * share, prior.passages[best], by_passage * share
    )
