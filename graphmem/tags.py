"""Spans of a text between an opening tag and its closing one, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["Span", "enclosed", "is_opening", "without"]

Span = tuple[int, int]


def is_opening(tag: re.Match[str]) -> bool:
    """Whether a tag opens: its first group, the slash, is empty."""
    return not tag[1]


def enclosed(
    pattern: re.Pattern[str], text: str, opens: Callable[[re.Match[str]], bool] = is_opening
) -> list[Span]:
    """Spans from an opening tag to the end of the next closing one, in order, without overlap.

    Args:
        pattern: matches both tags; its first group is the slash of a closing one.
        text: where to look.
        opens: whether an opening tag counts as one. Inside a span none does.
    """
    found: list[Span] = []
    opened: int | None = None
    for tag in pattern.finditer(text):
        if is_opening(tag):
            if opened is None and opens(tag):
                opened = tag.start()
        elif opened is not None:
            found.append((opened, tag.end()))
            opened = None
    return found


def without(text: str, spans: Iterable[Span]) -> str:
    """The text without spans that are in order and do not overlap."""
    kept: list[str] = []
    start = 0
    for opened, closed in spans:
        kept.append(text[start:opened])
        start = closed
    return "".join([*kept, text[start:]])
