"""How far a figure over questions can be trusted: the bootstrap, over questions.

From B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (Chapman & Hall, 1993): the
percentile interval (chapter 13) of a mean, and of the mean difference of two systems that answered
the same questions, which are drawn together, question by question. Where questions come from
several data sets, each set is resampled in itself, so that every resample has as many questions of
each set as there are (chapter 8, several samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ZERO", "Difference", "Interval", "differences", "intervals", "resampled_means"]

RESAMPLES = 10_000
LEVEL = 0.95
_DRAWN_AT_ONCE = 2_000_000
ZERO = 1e-12
"""Differences below this are none: sums of shares may miss 0 by their last bits."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over questions and the bounds of its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher a second system's mean is than a first one's.

    Attributes:
        mean: the difference of the means, second minus first.
        low, high: bounds of its interval.
        share_above: the share of resamples in which it is above zero, 0 to 1.
        questions: how many both have answered.
    """

    mean: float
    low: float
    high: float
    share_above: float
    questions: int


def resampled_means(
    samples: Sequence[Floats], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> Floats:
    """Means over questions drawn with replacement, within each sample as many as it has.

    Args:
        samples: one array a data set, of shape (questions, figures); not all empty.
        rng: draws; the same state gives the same means.
        resamples: how often to draw.

    Returns:
        Shape (resamples, figures): each the mean over the questions of all samples together.

    Raises:
        ValueError: there is no question.
    """
    total = sum(len(sample) for sample in samples)
    if total == 0:
        raise ValueError("there are no questions to draw from")
    sums = [_resampled_sums(sample, rng, resamples) for sample in samples if len(sample)]
    means: Floats = np.sum(sums, axis=0) / total
    return means


def _resampled_sums(sample: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    count = len(sample)
    most = max(1, _DRAWN_AT_ONCE // count)
    sums = []
    for start in range(0, resamples, most):
        rows = min(most, resamples - start)
        drawn = rng.integers(0, count, size=(rows, count)) + count * np.arange(rows)[:, None]
        how_often = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        sums.append(how_often.astype(np.float64) @ sample)
    return np.concatenate(sums)


def intervals(
    values: ArrayLike,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Interval]:
    """The percentile interval of each column's mean; all columns see the same questions drawn.

    Args:
        values: shape (questions, figures), at least one question.
        rng: draws.
        resamples: how often to draw.
        level: the share of resampled means that an interval holds, 0 to 1.

    Raises:
        ValueError: there is no question.
    """
    table = np.asarray(values, dtype=np.float64)
    low, high = _bounds(resampled_means([table], rng, resamples=resamples), level)
    means = table.mean(axis=0).tolist()
    return [Interval(*one) for one in zip(means, low.tolist(), high.tolist(), strict=True)]


def differences(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Difference]:
    """The paired bootstrap of two systems on the same questions, for each column.

    Args:
        first: for each data set an array of shape (questions, figures).
        second: the same of the other system, its questions in the same order.
        rng: draws.
        resamples: how often to draw.
        level: the share of resampled differences that an interval holds, 0 to 1.

    Raises:
        ValueError: there is no question, or the two have not answered the same number.
    """
    apart = [_minus(b, a) for a, b in zip(first, second, strict=True)]
    resampled = resampled_means(apart, rng, resamples=resamples)
    low, high = _bounds(resampled, level)
    means = np.concatenate(apart).mean(axis=0)
    shares = (resampled > ZERO).mean(axis=0)
    columns = zip(means.tolist(), low.tolist(), high.tolist(), shares.tolist(), strict=True)
    questions = sum(map(len, apart))
    return [Difference(*column, questions) for column in columns]


def _minus(second: ArrayLike, first: ArrayLike) -> Floats:
    left, right = np.asarray(second, dtype=np.float64), np.asarray(first, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError("a paired comparison needs the same questions on both sides")
    return left - right


def _bounds(means: Floats, level: float) -> tuple[Floats, Floats]:
    """The percentile bounds of each column."""
    outside = (1 - level) / 2
    low, high = np.quantile(means, [outside, 1 - outside], axis=0)
    return low, high
