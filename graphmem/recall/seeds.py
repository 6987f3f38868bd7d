"""Where the walk begins: facts that fit the question, names in it, and passages a little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmem.index.lists import Floats, Ints, highest
from graphmem.index.snapshot import Snapshot
from graphmem.recall.prior import Prior, scaled
from graphmem.settings import RecallSettings

__all__ = [
    "Reset",
    "Seeds",
    "fact_scores",
    "find_seeds",
    "reset",
    "seed_facts",
    "withheld",
]


@dataclass(frozen=True, slots=True, eq=False)
class Reset:
    """A reset distribution and what it is made of.

    Attributes:
        weights: shape (entities + passages,), not negative, summing to one, or all zero.
        by_fact, by_name: shape (entities,): each entity's share from seed facts, and from its name
            in the question.
    """

    weights: Floats
    by_fact: Floats
    by_name: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Where a walk begins, and why.

    Attributes:
        facts: positions of the seed facts, best first.
        fact_scores: (F,) how well each fact fits the question, 0 to 1.
        named: positions of the entities that the question names.
        reset: what follows from them; all zero where nothing fits.
    """

    facts: Ints
    fact_scores: Floats
    named: Ints
    reset: Reset


def find_seeds(memory: Snapshot, prior: Prior, settings: RecallSettings) -> Seeds:
    """The seeds of a question."""
    scores = fact_scores(memory, prior.fact_cosines, prior.scores, settings.fact_prior)
    facts = seed_facts(
        memory, scores, settings.seed_k, most=settings.seed_most, near=settings.seed_near
    )
    start = reset(
        memory,
        facts,
        scores,
        prior.named,
        prior.scores,
        name_weight=settings.name_weight,
        passage_weight=settings.passage_weight,
        passage_power=settings.passage_power,
        passages=settings.passage_k,
    )
    return Seeds(facts, scores, prior.named, start)


def fact_scores(memory: Snapshot, cosines: Floats, prior: Floats, prior_weight: float) -> Floats:
    """How well each fact fits the question, 0 to 1, shape (facts,).

    A fact looks right far more often when its passage does too, so the passage's score counts
    ``prior_weight`` times as much as its own cosine (both as shares of the highest).
    """
    of_passage = memory.fact_passages.maxima(prior)
    return scaled(scaled(cosines) + prior_weight * of_passage)


def seed_facts(
    memory: Snapshot, scores: Floats, seed_k: int, *, most: int = 0, near: float = 1.0
) -> Ints:
    """The live facts that fit best, with a score above 0, best first, ties by id.

    The ``seed_k`` best, and up to ``most`` in all of those that score at least ``near`` times the
    best: where many fit alike the answer may be a list.
    """
    live = np.where(memory.is_live, scores, 0.0)
    best = highest(live, max(seed_k, most))
    best = best[live[best] > 0]
    if not len(best):
        return best
    is_near = live[best] >= near * live[best[0]]
    return best[: max(seed_k, min(most, int(is_near.sum())))]


def withheld(memory: Snapshot, scores: Floats, facts: Ints) -> dict[str, int]:
    """How many facts that are not live fit as well as the last seed or better, by reason."""
    floor = float(scores[facts].min()) if len(facts) else 0.0
    counts: dict[str, int] = {}
    for position in np.nonzero(~memory.is_live & (scores >= floor) & (scores > 0))[0].tolist():
        fact = memory.facts[position]
        reason = "superseded" if fact.retired_at is not None else fact.status
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items()))


def reset(
    memory: Snapshot,
    facts: Ints,
    scores: Floats,
    entities: Ints,
    prior: Floats,
    *,
    name_weight: float,
    passage_weight: float,
    passage_power: float,
    passages: int,
) -> Reset:
    """The reset distribution of a question, from its seed facts and the entities it names.

    An entity gets the mean score of its seed facts, and ``name_weight`` when the question names
    it, both over the number of passages that mention it: what is everywhere tells little. The best
    ``passages`` passages get ``passage_weight * prior ** passage_power``: little, so that they do
    not drown the seeds as the store grows, but enough where no fact fits.
    """
    size = len(memory.entities)
    ends = memory.ends[facts].ravel()
    counts = np.bincount(ends, minlength=size)
    sums = np.bincount(ends, weights=np.repeat(scores[facts], 2), minlength=size)
    by_fact = sums / np.maximum(counts, 1) / memory.mentions
    by_name = np.zeros(size)
    by_name[entities] = name_weight / memory.mentions[entities]
    by_fact[memory.is_hub] = by_name[memory.is_hub] = 0.0
    by_passage = np.zeros(len(prior))
    if by_fact.any() or by_name.any():
        best = highest(prior, passages)
        by_passage[best] = passage_weight * prior[best] ** passage_power
    total = by_fact.sum() + by_name.sum() + by_passage.sum()
    if total <= 0:
        return Reset(np.zeros(size + len(prior)), by_fact, by_name)
    weights = np.concatenate([by_fact + by_name, by_passage]) / total
    return Reset(weights, by_fact / total, by_name / total)
