"""What a data file holds: JSON, or JSON lines, gzipped or not."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmem.errors import InvalidInput, NotFound

__all__ = ["Source", "read_json"]

_SPACE = re.compile(r"[ \t\r\n]*")
_LOOKED_AT = 10  # records whose fields tell a format


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set is and what stands there.

    Attributes:
        path: a file or a folder.
        content: the file's JSON value; a list where the file has several; ``None`` for a folder.
    """

    path: Path
    content: Any

    @property
    def name(self) -> str:
        """The file's or the folder's name, as errors give it."""
        return self.path.name or str(self.path)

    @property
    def rows(self) -> list[Any]:
        """The values of a list, or the one value that is no list."""
        return self.content if isinstance(self.content, list) else [self.content]

    def has(self, name: str) -> bool:
        """Whether one of the first records has that field."""
        return any(isinstance(row, dict) and name in row for row in self.rows[:_LOOKED_AT])


def read_json(path: Path) -> Any:
    """The JSON value of a file; a list of them where there are several (JSON lines).

    Raises:
        NotFound: there is no such file.
        InvalidInput: it is no JSON in UTF-8, or is damaged.
    """
    text = _text(path)
    try:
        values = _values(text)
    except ValueError as error:
        raise InvalidInput(f"{path.name} is no JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput(f"{path.name} is no data set: its lists are nested too deep") from error
    return values[0] if len(values) == 1 else values


def _text(path: Path) -> str:
    # In a function of its own: the bytes are gone before the text is parsed.
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"no such data file: {path}") from error
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}") from error
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path.name} is a damaged gzip file: {error}") from error
    except ValueError as error:
        raise InvalidInput(f"{path.name} is no JSON: {error}") from error


def _values(text: str) -> list[Any]:
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = _after_space(text, 0)
    while place < len(text) or not values:
        value, end = decoder.raw_decode(text, place)
        values.append(value)
        place = _after_space(text, end)
    return values


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
