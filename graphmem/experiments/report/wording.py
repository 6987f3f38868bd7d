"""Names and numbers as reports write them."""

from __future__ import annotations

import re

from graphmem.experiments.bootstrap import ZERO, Difference, Interval

__all__ = ["data_name", "interval", "left_out", "percent", "points", "shift", "signed"]

_SEVERAL = re.compile(r"\b(questions|passages|turns|triples)\b")


def data_name(file: str) -> str:
    """A data set's name without the endings of its files."""
    names = (one.removesuffix(".gz") for one in file.split(" + "))
    return " + ".join(one.removesuffix(".jsonl").removesuffix(".json") for one in names)


def left_out(number: int, what: str) -> str:
    """How many things were left out: ``"1 question without evidence"``.

    Args:
        number: how many.
        what: what they are, as of several; in a mixed set after the name of the file.
    """
    file, _, what = what.rpartition(": ")
    if number == 1:
        what = _SEVERAL.sub(lambda found: found[0][:-1], what, count=1)
        what = what.replace(" that do ", " that does ").replace(" that are ", " that is ")
    return f"{number:,} {what}" + (f" of {data_name(file)}" if file else "")


def percent(share: float) -> str:
    """A share from 0 to 1 as percent."""
    return f"{100 * share:.1f}"


def interval(one: Interval) -> str:
    """A mean and its bounds, in percent."""
    return f"{percent(one.mean)} [{percent(one.low)}, {percent(one.high)}]"


def points(one: Difference) -> str:
    """A difference and its bounds, in points with their sign; ``=`` where no question differs."""
    if _is_none(one):
        return "="
    return f"{signed(one.mean)} [{signed(one.low)}, {signed(one.high)}]"


def shift(one: Difference) -> str:
    """A difference, its bounds, and the share of resamples above zero; ``=`` as in ``points``."""
    return "=" if _is_none(one) else f"{points(one)} {100 * one.share_above:.0f} %"


def _is_none(one: Difference) -> bool:
    # Bounds of zero around a mean of zero: no resample differs, so no question does.
    return max(map(abs, (one.mean, one.low, one.high))) < ZERO


def signed(share: float) -> str:
    """A share from -1 to 1 in points, with its sign; nothing is below zero and rounded to it."""
    return f"{round(100 * share, 1) + 0.0:+.1f}"
