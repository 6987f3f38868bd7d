"""Where the walk begins: facts that fit the question, names in it, and passages a little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.lists import Ints, highest
from graphmem.snapshot import Snapshot

__all__ = ["Reset", "fact_scores", "reset", "scaled", "seed_facts", "withheld"]

Floats = NDArray[np.float64]


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


def scaled(values: Floats) -> Floats:
    """The values as shares of the highest, 0 to 1; what is below zero is 0.

    Unlike a stretch from lowest to highest it does not depend on the worst of the memory, and a
    memory of one passage keeps its score; measured, the two tie.
    """
    highest_value = float(values.max(initial=0.0))
    clipped = np.maximum(values, 0.0)
    return clipped / highest_value if highest_value > 0 else clipped


def fact_scores(snapshot: Snapshot, cosines: Floats, prior: Floats, prior_weight: float) -> Floats:
    """How well each fact fits the question, 0 to 1, shape (facts,).

    A fact looks right far more often when its passage does too, so the passage's score counts
    ``prior_weight`` times as much as its own cosine (both as shares of the highest).
    """
    of_passage = snapshot.fact_passages.reduce(np.maximum, prior, 0.0)
    return scaled(scaled(cosines) + prior_weight * of_passage)


def seed_facts(snapshot: Snapshot, scores: Floats, seed_k: int) -> Ints:
    """The ``seed_k`` best live facts with a score above 0, best first, ties by id."""
    best = highest(np.where(snapshot.is_live, scores, 0.0), seed_k)
    return best[scores[best] * snapshot.is_live[best] > 0]


def withheld(snapshot: Snapshot, scores: Floats, seeds: Ints) -> dict[str, int]:
    """How many facts that are not live fit as well as the last seed or better, by reason."""
    floor = float(scores[seeds].min()) if len(seeds) else 0.0
    counts: dict[str, int] = {}
    for position in np.nonzero(~snapshot.is_live & (scores >= floor) & (scores > 0))[0].tolist():
        fact = snapshot.facts[position]
        reason = "superseded" if fact.retired_at is not None else fact.status
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items()))


def reset(
    snapshot: Snapshot,
    seeds: Ints,
    scores: Floats,
    named: Ints,
    prior: Floats,
    *,
    name_weight: float,
    passage_weight: float,
    passage_power: float,
    passages: int,
) -> Reset:
    """The reset distribution of a question.

    An entity gets the mean score of its seed facts, and ``name_weight`` when the question names
    it, both over the number of passages that mention it: what is everywhere tells little. The best
    ``passages`` passages get ``passage_weight * prior ** passage_power``: little, so that they do
    not drown the seeds as the store grows, but enough where no fact fits.
    """
    size = len(snapshot.entities)
    ends = snapshot.ends[seeds].ravel()
    counts = np.bincount(ends, minlength=size)
    sums = np.bincount(ends, weights=np.repeat(scores[seeds], 2), minlength=size)
    by_fact = sums / np.maximum(counts, 1) / snapshot.mentions
    by_name = np.zeros(size)
    by_name[named] = name_weight / snapshot.mentions[named]
    by_fact[snapshot.is_hub] = by_name[snapshot.is_hub] = 0.0
    by_passage = np.zeros(len(prior))
    if by_fact.any() or by_name.any():
        best = highest(prior, passages)
        by_passage[best] = passage_weight * prior[best] ** passage_power
    total = by_fact.sum() + by_name.sum() + by_passage.sum()
    if total <= 0:
        return Reset(np.zeros(size + len(prior)), by_fact, by_name)
    weights = np.concatenate([by_fact + by_name, by_passage]) / total
    return Reset(weights, by_fact / total, by_name / total)
