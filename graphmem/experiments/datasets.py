"""Sets of passages and questions with known answers, read from files.

The normal form is JSON, gzipped or not::

    {"name": …, "passages": [{"id", "text", "title"?, "triples": [[s, p, o], …],
                              "scope"?, "session"?, "session_time"?, "speaker"?}, …],
     "queries": [{"id", "text", "gold": [passage ids], "scope"?, "type"?, "hops"?, "stale"?}, …]}

``text`` starts with the title's line where there is a title. Passages with a speaker are messages
of a chat, in order; a question of a chat searches its own scope. A question without gold has no
answer in the memory.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from graphmem.errors import InvalidInput, NotFound
from graphmem.times import moment
from graphmem.types import Message, Role, Scope, Triple

__all__ = ["DataSet", "Question", "Record", "load_dataset"]

T = TypeVar("T")

# Where a file names no scope, everything is one memory.
_ONE_SCOPE = Scope("everything")


@dataclass(frozen=True, slots=True)
class Record:
    """A passage of a data set: what is said, where, and the triples recorded for it."""

    id: str
    scope: Scope
    session: str | None
    message: Message
    triples: tuple[Triple, ...]

    @property
    def full_text(self) -> str:
        """Title line and text, as ``Passage.full_text``."""
        message = self.message
        return f"{message.title}\n{message.text}" if message.title else message.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the records that answer it.

    Attributes:
        id: its id in the file.
        scope: the memory that it asks.
        text: as a person would ask it.
        gold: ids of the records that are needed; empty where the memory cannot answer.
        stale: ids of records that were true once: they should not come before the gold ones.
        kind: the file's ``type``, or its ``hops``, or ``""``.
    """

    id: str
    scope: Scope
    text: str
    gold: tuple[str, ...]
    stale: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Records and questions of one file; ``name`` is the file's name."""

    name: str
    records: tuple[Record, ...]
    questions: tuple[Question, ...]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All scopes with records, sorted."""
        return tuple(sorted({record.scope for record in self.records}))


def load_dataset(path: str | Path) -> DataSet:
    """Read a file in the normal form.

    A speaker called "assistant", in any case, is the assistant; all others are people.

    Raises:
        NotFound: there is no such file.
        InvalidInput: it is not in the normal form; the message names file, record and field.
    """
    path = Path(path)
    content = _Fields(path.name, "the file", _parse(path))
    records = tuple(
        _record(_Fields(path.name, f"passages[{number}]", one))
        for number, one in enumerate(content.get("passages", _list))
    )
    scopes: dict[str, Scope] = {}
    for number, record in enumerate(records):
        if record.id in scopes:
            where = f"{path.name}: passages[{number}] ({record.id})"
            raise InvalidInput(f"{where}: id: another passage has it too")
        scopes[record.id] = record.scope
    questions = tuple(
        _question(_Fields(path.name, f"queries[{number}]", one), scopes)
        for number, one in enumerate(content.get("queries", _list))
    )
    return DataSet(path.name, records, questions)


def _parse(path: Path) -> Any:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"no such data file: {path}") from error
    except OSError as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}") from error
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return json.loads(data.decode("utf-8"))
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path.name} is a damaged gzip file: {error}") from error
    except ValueError as error:
        raise InvalidInput(f"{path.name} is no JSON: {error}") from error


def _record(fields: _Fields) -> Record:
    title = fields.get("title", _text, "")
    text = fields.get("text", _text)
    speaker = fields.get("speaker", _text, "")
    message = Message(
        text=text.removeprefix(f"{title}\n") if title else text,
        role=_role(speaker),
        speaker=speaker or None,
        said_at=fields.get("session_time", _time, None),
        title=title or None,
    )
    return Record(
        id=fields.get("id", _text),
        scope=fields.get("scope", Scope, _ONE_SCOPE),
        session=fields.get("session", _label, None) if speaker else None,
        message=message,
        triples=tuple(fields.get("triples", _triples, ())),
    )


def _role(speaker: str) -> Role:
    if not speaker:
        return "document"
    return "assistant" if speaker.casefold() == "assistant" else "user"


def _question(fields: _Fields, scopes: Mapping[str, Scope]) -> Question:
    scope = fields.get("scope", Scope, _ONE_SCOPE)
    gold = tuple(fields.get("gold", _texts))
    for key in gold:
        if scopes.get(key) != scope:
            raise fields.wrong("gold", f"{key!r} is no passage of scope {str(scope)!r}")
    hops = fields.get("hops", _label, "")
    return Question(
        id=fields.get("id", _text),
        scope=scope,
        text=fields.get("text", _text),
        gold=gold,
        stale=tuple(fields.get("stale", _texts, ())),
        kind=fields.get("type", _text, f"{hops} hops" if hops else ""),
    )


_REQUIRED: Any = object()


class _Fields:
    """The fields of one JSON object, read with errors that say where they are."""

    def __init__(self, file: str, place: str, value: Any) -> None:
        self._file = file
        self._place = place
        if not isinstance(value, dict):
            raise InvalidInput(f"{file}: {place} must be an object, not {_kind(value)}")
        self._value = value

    def get(self, name: str, read: Callable[[Any], T], default: Any = _REQUIRED) -> T:
        """The field's value; ``default`` where it is missing or null."""
        value = self._value.get(name)
        if value is None:
            if default is _REQUIRED:
                raise self.wrong(name, "it is missing")
            return default  # type: ignore[no-any-return]
        try:
            return read(value)
        except ValueError as error:
            raise self.wrong(name, str(error)) from error

    def wrong(self, name: str, why: str) -> InvalidInput:
        """The error that says which file, record and field is wrong, and why."""
        named = f" ({self._value['id']})" if isinstance(self._value.get("id"), str) else ""
        return InvalidInput(f"{self._file}: {self._place}{named}: {name}: {why}")


def _kind(value: Any) -> str:
    return type(value).__name__


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list, not {_kind(value)}")  # noqa: TRY004 - read by _Fields
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a text, not {value!r}")
    return value


def _label(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"must be a text or a whole number, not {value!r}")  # noqa: TRY004
    return str(value)


def _texts(value: Any) -> list[str]:
    return [_text(item) for item in _list(value)]


def _time(value: Any) -> datetime:
    try:
        time = moment(_text(value))
    except ValueError as error:
        raise ValueError(f"must be a time in ISO 8601, not {value!r}") from error
    if time.tzinfo is None:
        raise ValueError(f"{value!r} lacks a time zone, such as +00:00")
    return time


def _triples(value: Any) -> list[Triple]:
    for number, item in enumerate(_list(value)):
        is_three = isinstance(item, list) and len(item) == 3
        if not is_three or not all(isinstance(part, str) for part in item):
            raise ValueError(f"item {number} must be three texts, not {item!r}")
    return [Triple(*item) for item in value]
