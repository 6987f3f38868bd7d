"""How good a ranking is, against the records that a question needs.

An ``Outcome`` keeps what a question's figures depend on, in a few whole numbers: the ranks of its
gold records, the best rank of an outdated one, and how many gold records fit into a token budget.
Every figure is computed from outcomes, again at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmem.experiments.dataset import Question
from graphmem.words import words

__all__ = [
    "CUTS",
    "FIGURES",
    "Outcome",
    "all_found",
    "figures",
    "grouped",
    "judge",
    "mean_figures",
    "ndcg",
    "percentiles",
    "recall_at",
    "reciprocal_rank",
    "stale_first",
    "within_budget",
]

CUTS = (2, 5, 10)
"""The ranks at which recall, all-gold and nDCG are taken."""

FIGURES = (
    *(f"recall@{cut}" for cut in CUTS),
    *(f"all@{cut}" for cut in CUTS),
    *(f"ndcg@{cut}" for cut in CUTS),
    "mrr",
    "within_budget",
)
"""Names of the figures that every question with gold has, in the order of ``figures``."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        id: the question's.
        ranks: of each gold record, from 1; 0 where it was not ranked. Never empty.
        within: how many gold records are among those that fit into the token budget.
        stale: the best rank of an outdated record; 0 where none was ranked; None where the question
            has none.
        kind, hops: the question's.
        told: 1 if the answer's words stand in the text that a system gives in place of records,
            else 0; None where it ranks records, or the question has no answer in words.
    """

    id: str
    ranks: tuple[int, ...]
    within: int
    stale: int | None = None
    kind: str = ""
    hops: int | None = None
    told: int | None = None


def judge(
    question: Question,
    ranking: Sequence[str],
    tokens: Callable[[str], int],
    budget: int,
    *,
    text: str = "",
) -> Outcome:
    """The outcome of a ranking (record ids, best first).

    The budget is filled in the ranking's order with whole records; one that does not fit any more
    is left out, and the next is tried.

    Args:
        question: has gold records.
        ranking: as deep as it was asked for.
        tokens: how many tokens a record's text has, by its id.
        budget: how many tokens there are.
        text: what a system that ranks nothing gives in place of records.

    Raises:
        ValueError: the question has no gold: such a question has no recall.
    """
    gold = dict.fromkeys(question.gold)
    if not gold:
        raise ValueError("a question without gold records has no recall: leave it out")
    place = {key: rank for rank, key in reversed(list(enumerate(ranking, 1)))}
    held = _fitting(ranking, tokens, budget)
    outdated = [place[key] for key in question.stale if key in place]
    return Outcome(
        id=question.id,
        ranks=tuple(place.get(key, 0) for key in gold),
        within=sum(key in held for key in gold),
        stale=min(outdated, default=0) if question.stale else None,
        kind=question.kind,
        hops=question.hops,
        told=_told(text, question.answer),
    )


def _told(text: str, answer: str) -> int | None:
    if not text or not answer:
        return None
    # Whole words: no "art" in "party".
    inner, outer = (f" {' '.join(words(part))} " for part in (answer, text))
    return int(inner in outer)


def _fitting(ranking: Sequence[str], tokens: Callable[[str], int], budget: int) -> set[str]:
    held: set[str] = set()
    for key in ranking:
        size = tokens(key)
        if size <= budget:
            held.add(key)
            budget -= size
    return held


def recall_at(outcome: Outcome, cut: int) -> float:
    """The share of the gold records among the first ``cut``."""
    return sum(0 < rank <= cut for rank in outcome.ranks) / len(outcome.ranks)


def all_found(outcome: Outcome, cut: int) -> float:
    """1 if all gold records are among the first ``cut``, else 0."""
    return float(all(0 < rank <= cut for rank in outcome.ranks))


def reciprocal_rank(outcome: Outcome) -> float:
    """1 / rank of the first gold record, as deep as was asked; 0 where none was ranked."""
    ranked = [rank for rank in outcome.ranks if rank]
    return 1 / min(ranked) if ranked else 0.0


def ndcg(outcome: Outcome, cut: int) -> float:
    """Normalised discounted cumulative gain at ``cut``, a gold record being worth 1, others 0.

    Gains are divided by log2(1 + rank), and their sum by what the best ranking would have (K.
    Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20, 2002,
    with the discount that is usual today).
    """
    gain = sum(1 / math.log2(1 + rank) for rank in outcome.ranks if 0 < rank <= cut)
    best = sum(1 / math.log2(1 + rank) for rank in range(1, min(len(outcome.ranks), cut) + 1))
    return gain / best


def within_budget(outcome: Outcome) -> float:
    """The share of the gold records among those that fit into the token budget."""
    return outcome.within / len(outcome.ranks)


def figures(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    """Shape (outcomes, ``FIGURES``): shares from 0 to 1, higher is better."""
    table = np.zeros((len(outcomes), len(FIGURES)))
    for row, one in zip(table, outcomes, strict=True):
        row[:] = (
            *(recall_at(one, cut) for cut in CUTS),
            *(all_found(one, cut) for cut in CUTS),
            *(ndcg(one, cut) for cut in CUTS),
            reciprocal_rank(one),
            within_budget(one),
        )
    return table


def mean_figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The mean of each figure, by name; empty for no outcomes."""
    if not outcomes:
        return {}
    return dict(zip(FIGURES, figures(outcomes).mean(axis=0).tolist(), strict=True))


def stale_first(outcomes: Iterable[Outcome]) -> list[float]:
    """For each update question: 1 if an outdated record stands above every gold one, else 0.

    Update questions know outdated records and are of a kind named after updates, or of none.
    """
    return [
        float(bool(one.stale) and one.stale < min((r for r in one.ranks if r), default=math.inf))
        for one in outcomes
        if one.stale is not None and ("update" in one.kind or not one.kind)
    ]


def grouped(
    outcomes: Iterable[Outcome], by: Callable[[Outcome], Key]
) -> dict[Key, tuple[Outcome, ...]]:
    """Outcomes by kind, by hops or by whatever ``by`` returns, in order of first appearance."""
    groups: dict[Key, list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(by(one), []).append(one)
    return {key: tuple(group) for key, group in groups.items()}


def percentiles(times: Sequence[float]) -> tuple[float, float]:
    """The 50th and the 95th percentile, rounded to a thousandth; of at least one time."""
    middle, high = np.percentile(np.asarray(times), [50, 95]).tolist()
    return round(middle, 3), round(high, 3)
