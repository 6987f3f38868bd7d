"""Stored words on one line, harmless to whatever shows them."""

from __future__ import annotations

import unicodedata

__all__ = ["plain"]

# A zero-width (non-)joiner is spelling in some scripts and inside emoji; it moves nothing.
_HARMLESS_FORMAT = "\u200c\u200d\u00ad"


def plain(text: str) -> str:
    """The text on one line, with every character that could steer a terminal made visible.

    White space of any kind becomes one space; control characters, direction overrides, other
    invisible format characters and lone surrogates become U+FFFD.
    """
    return "".join(_visible(char) for char in " ".join(text.split()))


def _visible(char: str) -> str:
    if unicodedata.category(char) in ("Cc", "Cs", "Cf") and char not in _HARMLESS_FORMAT:
        return "\ufffd"
    return char
