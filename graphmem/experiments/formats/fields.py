"""Reading the fields of a file with errors that say which file, record and field is wrong."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Container, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import Record
from graphmem.identity import clean_text
from graphmem.times import moment
from graphmem.types import Scope, Triple

__all__ = [
    "Fields",
    "answer",
    "flag",
    "is_triple",
    "label",
    "labels",
    "labels_of",
    "objects",
    "shown",
    "some_list",
    "text",
    "texts",
    "time",
    "triples",
    "whole",
    "wording",
]

T = TypeVar("T")

_REQUIRED: Any = object()

# Fields that name a record, so that an error can.
_NAMES = ("id", "_id", "question_id", "sample_id", "dia_id", "idx", "title", "question")

# What an error shows of a value: it may be megabytes.
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxdict = _short.maxlevel = 3


class Fields:
    """The fields of one JSON object.

    Args:
        file: the file's name.
        place: where in the file the object stands (``passages[3]``).
        value: what stands there.

    Raises:
        InvalidInput: it is no object.
    """

    def __init__(self, file: str, place: str, value: Any) -> None:
        self._file = file
        self._place = place
        if not isinstance(value, dict):
            raise InvalidInput(f"{file}: {place} must be an object, not {_kind(value)}")
        self._value = value

    def __contains__(self, name: str) -> bool:
        return self._value.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def get(self, name: str, read: Callable[[Any], T], default: Any = _REQUIRED) -> T:
        """The field's value; ``default`` where it is missing or null.

        Args:
            name: the field.
            read: turns what stands there into a value; its ValueError says what is wrong.
            default: a missing field is an error where there is none.
        """
        value = self._value.get(name)
        if value is None:
            if default is _REQUIRED:
                raise self.wrong(name, "it is missing")
            return default  # type: ignore[no-any-return]
        try:
            return read(value)
        except ValueError as error:
            raise self.wrong(name, str(error)) from error

    def each(self, name: str, default: Any = _REQUIRED) -> Iterator[Fields]:
        """The objects of a list, each with its own place (``qa[7]``)."""
        return self.objects(name, self.get(name, some_list, default))

    def objects(self, place: str, values: list[Any]) -> Iterator[Fields]:
        """The objects of a list that stands at ``place`` inside this object."""
        return objects(self._file, f"{self._inner}{place}", values)

    def within(self, name: str) -> Fields:
        """The fields of an object inside this one."""
        return Fields(self._file, f"{self._inner}{name}", self.get(name, _anything))

    def new(self, name: str, known: Container[str], default: Any = _REQUIRED) -> str:
        """The id in a field, which may be no known one."""
        value = self.get(name, label, default)
        if value in known:
            raise self.wrong(name, "another one has it too")
        return value

    def wrong(self, name: str, why: str) -> InvalidInput:
        """The error that says which file, record and field is wrong, and why."""
        return InvalidInput(f"{self._file}: {self._named}: {name}: {why}")

    @property
    def _named(self) -> str:
        values = (self._value.get(name) for name in _NAMES)
        name = next((str(one) for one in values if one and isinstance(one, str | int)), "")
        return f"{self._place} ({_cut(clean_text(name))})" if name.strip() else self._place

    @property
    def _inner(self) -> str:
        """What the places inside it start with."""
        return "" if self._place == "the file" else f"{self._named}: "


def objects(file: str, place: str, values: list[Any]) -> Iterator[Fields]:
    """The objects of a list that stands at ``place``, each with its own place."""
    return (Fields(file, f"{place}[{number}]", value) for number, value in enumerate(values))


def shown(value: Any) -> str:
    """A value as an error shows it: short."""
    return _short.repr(value)


def _cut(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= _short.maxstring else f"{name[: _short.maxstring - 1]}…"


def _kind(value: Any) -> str:
    return type(value).__name__


# What `Fields.get` reads with. Wrong types are ValueErrors: `get` says where they are.


def some_list(value: Any) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise ValueError(f"must be a list, not {_kind(value)}")  # noqa: TRY004
    return value


def _anything(value: Any) -> Any:
    return value


def wording(value: Any) -> str:
    """A text, maybe empty."""
    if not isinstance(value, str):
        raise ValueError(f"must be a text, not {shown(value)}")  # noqa: TRY004
    return clean_text(value)


def text(value: Any) -> str:
    """A text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a text, not {shown(value)}")
    return clean_text(value)


def label(value: Any) -> str:
    """A text, or a whole number as a text: both are used as ids."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a text or a whole number, not {shown(value)}")  # noqa: TRY004
    return str(value)


def whole(value: Any) -> int:
    """A whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"must be a whole number from 0, not {shown(value)}")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {shown(value)}")  # noqa: TRY004
    return value


def answer(value: Any) -> str:
    """An answer in words; several, or a number, are told in words too."""
    if isinstance(value, list):
        return "; ".join(answer(one) for one in value)
    if not isinstance(value, str | int | float):
        raise ValueError(f"must be a text, a number or a list of these, not {shown(value)}")  # noqa: TRY004
    return clean_text(str(value))


def labels(value: Any) -> list[str]:
    """A list of ids."""
    return [label(item) for item in some_list(value)]


def labels_of(value: Any, scope: Scope, records: Mapping[str, Record]) -> tuple[str, ...]:
    """A list of ids of records of one scope, each once."""
    ids = labels(value)
    for key in ids:
        if key not in records or records[key].scope != scope:
            raise ValueError(f"{shown(key)} is no passage of scope {str(scope)!r}")
    return tuple(dict.fromkeys(ids))


def texts(value: Any) -> list[str]:
    """A list of texts."""
    return [text(item) for item in some_list(value)]


def time(value: Any) -> datetime:
    """A time in ISO 8601 with its zone."""
    try:
        found = moment(text(value))
    except ValueError as error:
        raise ValueError(f"must be a time in ISO 8601, not {shown(value)}") from error
    if found.tzinfo is None:
        raise ValueError(f"{shown(value)} lacks a time zone, such as +00:00")
    return found


def triples(value: Any) -> list[Triple]:
    """A list of triples, each three texts."""
    for number, item in enumerate(some_list(value)):
        if not is_triple(item):
            raise ValueError(f"item {number} must be three texts, not {shown(item)}")
    return [
        Triple(clean_text(subject), clean_text(predicate), clean_text(object_))
        for subject, predicate, object_ in value
    ]


def is_triple(value: Any) -> bool:
    """Whether a value is three texts."""
    return (
        isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)
    )
