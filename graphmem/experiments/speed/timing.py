"""How times become figures, and when there are enough of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from graphmem.experiments.metrics import percentiles

__all__ = ["Figures", "by_stage", "figures", "milliseconds", "within"]

T = TypeVar("T")
Figures = dict[str, float]


def figures(times: Sequence[float]) -> Figures:
    """``p50`` and ``p95`` of at least one time, in its unit."""
    return dict(zip(("p50", "p95"), percentiles(times), strict=True))


def by_stage(timings: Sequence[Mapping[str, float]]) -> dict[str, Figures]:
    """``figures`` of each stage, in the order in which they come; one that did not run took 0."""
    stages = dict.fromkeys(stage for one in timings for stage in one)
    return {stage: figures([one.get(stage, 0.0) for one in timings]) for stage in stages}


def milliseconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def within(seconds: float, items: Iterable[T], *, least: int = 3) -> Iterator[T]:
    """Items until the time is over, but so many at least: what is slow is measured less often."""
    end = time.monotonic() + seconds
    for number, item in enumerate(items):
        if number >= least and time.monotonic() >= end:
            return
        yield item
