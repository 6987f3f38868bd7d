"""Stored words on one line, harmless to whatever shows them."""

from __future__ import annotations

import unicodedata

__all__ = ["plain", "shortened"]

# A zero-width (non-)joiner is spelling in some scripts and inside emoji; it moves nothing.
_HARMLESS_FORMAT = "\u200c\u200d\u00ad"
# White space may shrink, but nobody needs all of a book to show its first lines.
_SLACK = 10


def plain(text: str) -> str:
    """The text on one line, with every character that could steer a terminal made visible.

    White space of any kind becomes one space; control characters, direction overrides, other
    invisible format characters and lone surrogates become U+FFFD.
    """
    return "".join(_visible(char) for char in " ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """As ``plain``; of what is longer than ``width`` characters the first, and ``…``."""
    head = text[: _SLACK * width]
    shown = plain(head)
    is_all = len(shown) <= width and len(head) == len(text)
    return shown if is_all else f"{shown[: width - 1]}…"


def _visible(char: str) -> str:
    if unicodedata.category(char) in ("Cc", "Cs", "Cf") and char not in _HARMLESS_FORMAT:
        return "\ufffd"
    return char
