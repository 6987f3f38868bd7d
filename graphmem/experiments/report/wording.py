"""Names and numbers as reports write them."""

from __future__ import annotations

from graphmem.experiments.bootstrap import Difference, Interval

__all__ = ["data_name", "interval", "percent", "points", "shift"]


def data_name(file: str) -> str:
    """A data set's name without the endings of its files."""
    names = (one.removesuffix(".gz") for one in file.split(" + "))
    return " + ".join(one.removesuffix(".jsonl").removesuffix(".json") for one in names)


def percent(share: float) -> str:
    """A share from 0 to 1 as percent."""
    return f"{100 * share:.1f}"


def interval(one: Interval) -> str:
    """A mean and its bounds, in percent."""
    return f"{percent(one.mean)} [{percent(one.low)}, {percent(one.high)}]"


def points(one: Difference) -> str:
    """A difference and its bounds, in points with their sign."""
    return f"{_signed(one.mean)} [{_signed(one.low)}, {_signed(one.high)}]"


def shift(one: Difference) -> str:
    """A difference, its bounds, and the share of resamples above zero."""
    return f"{points(one)} {100 * one.share_above:.0f} %"


def _signed(share: float) -> str:
    return f"{100 * share + 0.0:+.1f}"
