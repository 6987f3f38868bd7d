"""How good a ranking is, against the passages that a question needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["CUTS", "Score", "mean_scores", "percentiles", "score"]

CUTS = (2, 5, 10)
"""The ranks at which recall is taken."""


@dataclass(frozen=True, slots=True)
class Score:
    """One ranking's figures, each from 0 to 1, higher is better, but for ``stale_first``.

    Attributes:
        recall: share of the gold passages among the first k, by k.
        all_found: whether all gold passages are among the first k, by k.
        reciprocal_rank: 1 / rank of the first gold passage; 0 where none was ranked.
        stale_first: whether an outdated passage stands above every gold one; None where the
            question has none.
    """

    recall: Mapping[int, float]
    all_found: Mapping[int, float]
    reciprocal_rank: float
    stale_first: float | None = None


def score(ranking: Sequence[str], gold: Sequence[str], stale: Sequence[str] = ()) -> Score:
    """Figures of a ranking (ids, best first, at least ten where there are so many).

    Raises:
        ValueError: no gold passages: such a question has no recall.
    """
    needed = set(gold)
    if not needed:
        raise ValueError("a question without gold passages has no recall: leave it out")
    share = {cut: len(needed.intersection(ranking[:cut])) / len(needed) for cut in CUTS}
    first = _first(ranking, needed)
    outdated = _first(ranking, set(stale))
    return Score(
        recall=share,
        all_found={cut: float(value == 1) for cut, value in share.items()},
        reciprocal_rank=1 / first if first else 0.0,
        stale_first=float(bool(outdated) and (not first or outdated < first)) if stale else None,
    )


def _first(ranking: Sequence[str], wanted: set[str]) -> int:
    """Rank, from 1, of the first of these; 0 where there is none."""
    return next((rank for rank, key in enumerate(ranking, 1) if key in wanted), 0)


def mean_scores(scores: Sequence[Score]) -> dict[str, float]:
    """Means over questions, by the names used in reports; empty for none."""
    if not scores:
        return {}
    count = len(scores)
    means = {f"recall@{cut}": sum(one.recall[cut] for one in scores) / count for cut in CUTS}
    means["all@5"] = sum(one.all_found[5] for one in scores) / count
    means["all@10"] = sum(one.all_found[10] for one in scores) / count
    means["mrr"] = sum(one.reciprocal_rank for one in scores) / count
    return means


def percentiles(times: Sequence[float]) -> tuple[float, float]:
    """The 50th and the 95th percentile, rounded to a thousandth; of at least one time."""
    middle, high = np.percentile(np.asarray(times), [50, 95]).tolist()
    return round(middle, 3), round(high, 3)
