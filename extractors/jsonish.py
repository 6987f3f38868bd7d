"""JSON as language models write it: found in a text, forgiven, never evaluated.

Well-formed JSON is read by the standard library; everything else by a small reader of our own that
forgives what models do: fences and prose around, single quotes, Python's ``None``/``True`` and
tuples, bare words, trailing or missing commas, comments, ``NaN``, broken escapes, quotes inside
strings, and above all an end that is missing.

Numbers are kept as the digits that stand in the text (``3.10`` is not ``3.1``); ``NaN`` and
infinities are ``None``. What was cut off is marked: see ``CutDict`` and ``CutList``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from graphmem.identity import clean_text

__all__ = ["CutDict", "CutList", "Found", "find"]

Value: TypeAlias = Any  # dict, list, str, bool or None

# Deeper than any reply that means something, shallower than the interpreter's own limit.
_MAX_DEPTH = 24
# A text may be read this many times over before we stop looking for JSON in it: keeps a hostile
# reply ("[[[[…") linear.
_MAX_PASSES = 8


class CutDict(dict[str, Value]):
    """An object whose end is missing: its complete members, and a cut container as the last."""


class CutList(list[Value]):
    """A list whose end is missing: its complete items, and a cut container as the last."""


@dataclass(frozen=True, slots=True)
class Found:
    """The objects and lists of a text, in order.

    Attributes:
        values: outermost objects and lists.
        is_cut: the last one has no end.
        is_damaged: something that began like an object or list could not be read.
    """

    values: tuple[Value, ...] = ()
    is_cut: bool = False
    is_damaged: bool = False


def find(text: str) -> Found:
    """The objects and lists that stand in a text, whatever stands around them. Never raises."""
    values: list[Value] = []
    is_cut = is_damaged = False
    is_strict = True
    budget = _MAX_PASSES * len(text) + 1000
    position = 0
    while (opening := _OPENING.search(text, position)) and budget > 0:
        start = opening.start()
        try:
            value, position = _read(text, start, is_strict)
        except _Unreadable as error:
            # Prose may hold a brace; what follows may still be good.
            is_damaged = is_damaged or error.looked_like_json
            budget -= error.position - start + 1
            position = start + 1
            is_strict = False  # its failures cost as much as what they have passed
            continue
        budget -= position - start
        if not isinstance(value, CutDict | CutList):
            values.append(value)
        elif _JSON_LIKE.match(text, start):  # not a bracket in prose
            values.append(value)
            is_cut = True
    return Found(tuple(values), is_cut, is_damaged)


_OPENING = re.compile(r"[\[{]")
_JSON_LIKE = re.compile(r"[\[{]\s*(?:[\[{(\"'“]|\Z)")
_DECODER = json.JSONDecoder(
    parse_float=str, parse_int=str, parse_constant=lambda _: None, strict=False
)


def _read(text: str, start: int, is_strict: bool) -> tuple[Value, int]:
    if is_strict:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        else:
            return _cleaned(value), end
    reader = _Reader(text, start)
    return reader.value(0), reader.position


def _cleaned(value: Value) -> Value:
    """Without lone surrogates, which ``json`` lets through."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item) for key, item in value.items()}
    return value


class _Unreadable(Exception):
    """A signal between the functions of this module: this is no value."""

    def __init__(self, position: int, looked_like_json: bool) -> None:
        self.position = position
        self.looked_like_json = looked_like_json


class _Cut(Exception):
    """The text ended within a string, number or word."""


_SKIP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|\#[^\n]*)*", re.DOTALL)
_WORD = re.compile(r"[^\s,:;=\[\]{}()\"“”]+(?:[ \t]+[^\s,:;=\[\]{}()\"“”]+)*")
_LITERALS: dict[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": None,
    "infinity": None,
    "-infinity": None,
    "undefined": None,
    "ellipsis": None,
    "...": None,
}
_CLOSERS = {"[": "]", "(": ")"}
_QUOTES = {'"': '"', "'": "'", "“": "”"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
# What may follow a string: a quote before anything else is part of the words.
_AFTER_STRING = re.compile(r"[ \t]*(?:[,:;\]})=\n\r]|//|/\*|#|\Z)")


class _Reader:
    """A forgiving reader of one value; ``position`` is where it stands in the text."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def value(self, depth: int) -> Value:
        char = self._peek()
        if depth > _MAX_DEPTH:
            raise self._unreadable()
        if char == "{":
            return self._object(depth)
        if char in _CLOSERS:
            return self._list(depth, _CLOSERS[char])
        if char in _QUOTES:
            return self._string(_QUOTES[char])
        return self._word()

    def _peek(self) -> str:
        """The next character that counts, or ``""`` at the end."""
        skipped = _SKIP.match(self.text, self.position)
        assert skipped is not None  # the pattern matches nothing as well
        self.position = skipped.end()
        return self.text[self.position : self.position + 1]

    def _unreadable(self) -> _Unreadable:
        return _Unreadable(self.position, looked_like_json=False)

    def _list(self, depth: int, closer: str) -> list[Value]:
        self.position += 1
        items: list[Value] = []
        while (char := self._peek()) != closer:
            if not char:
                return CutList(items)
            if char in "]})":  # our end is missing
                return items
            if char in ",;":
                self.position += 1
                continue
            try:
                item = self.value(depth + 1)
            except _Cut:
                return CutList(items)
            items.append(item)
            if isinstance(item, CutDict | CutList):
                return CutList(items)
            if self._peek() == ":":  # a key: this was an object, not a list
                raise self._unreadable()
        self.position += 1
        return items

    def _object(self, depth: int) -> dict[str, Value]:
        self.position += 1
        members: dict[str, Value] = {}
        while (char := self._peek()) != "}":
            if not char:
                return CutDict(members)
            if char in "])" or (char == "{" and members):  # our end is missing
                return members
            if char in ",;":
                self.position += 1
                continue
            try:
                key = self._key(has_members=bool(members))
                item = self.value(depth + 1)
            except _Cut:
                return CutDict(members)
            members[key] = item
            if isinstance(item, CutDict | CutList):
                return CutDict(members)
        self.position += 1
        return members

    def _key(self, *, has_members: bool) -> str:
        char = self._peek()
        is_quoted = char in _QUOTES
        if char in "[{(:=":
            raise _Unreadable(self.position, has_members)
        key = self._string(_QUOTES[char]) if is_quoted else str(self._word())
        separator = self._peek()
        if not separator:
            raise _Cut
        if separator not in ":=":
            raise _Unreadable(self.position, has_members or is_quoted)
        self.position += 2 if self.text.startswith("=>", self.position) else 1
        if not self._peek():
            raise _Cut
        return key

    def _word(self) -> Value:
        """A number, a literal, or words without quotes."""
        word = _WORD.match(self.text, self.position)
        if word is None:
            raise self._unreadable()
        self.position = word.end()
        if self.position == len(self.text):
            raise _Cut  # more of it may have followed
        text = word.group()
        return _LITERALS.get(text.lower(), clean_text(text))

    def _string(self, closer: str) -> str:
        self.position += 1
        pieces: list[str] = []
        stop = re.compile(rf"[\\{closer}]")
        while found := stop.search(self.text, self.position):
            pieces.append(self.text[self.position : found.start()])
            self.position = found.end()
            if found.group() == "\\":
                pieces.append(self._escape())
            elif _AFTER_STRING.match(self.text, self.position):
                return clean_text("".join(pieces))
            else:
                pieces.append(closer)
        self.position = len(self.text)
        raise _Cut

    def _escape(self) -> str:
        char = self.text[self.position : self.position + 1]
        if char == "u" and (digits := _HEX4.match(self.text, self.position + 1)):
            self.position += 5
            return chr(int(digits.group(), 16))
        if char in _ESCAPES:
            self.position += 1
            return _ESCAPES[char]
        if char in ('"', "'", "\\", "/"):
            self.position += 1
            return char
        return "\\"  # no escape at all: the backslash stays, as do the characters after it
