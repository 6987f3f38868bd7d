"""Where a store is: the address forms that users write, as one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from graphmem.errors import InvalidInput

__all__ = ["Location"]

_MEMORY = ":memory:"


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or this process's memory (``path`` is ``None``).

    Attributes:
        path: absolute path of the database file.
    """

    path: Path | None

    @classmethod
    def of(cls, uri: str | Path) -> Location:
        """Read ``sqlite:///memory.db``, a plain path, or ``sqlite://`` and ``:memory:``.

        Drivers of other database layers are ignored (``sqlite+aiosqlite:///memory.db`` is the same
        file), so that an application can use one address for all.

        Raises:
            InvalidInput: an address that names no SQLite file.
        """
        if not isinstance(uri, (str, Path)):
            raise InvalidInput(f"a store's uri is a string or a Path, not {type(uri).__name__}")
        text = str(uri)
        if not text or text == "." or "\x00" in text:
            raise InvalidInput("a store's uri is empty: name a file, e.g. sqlite:///memory.db")
        if text == _MEMORY:
            return cls(None)
        name = _database(text) if "://" in text or text.startswith("sqlite:") else text
        try:
            return cls(None if name == _MEMORY else Path(name).expanduser().resolve())
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidInput(f"no file can be called {text!r:.200}: name another") from error

    @property
    def uri(self) -> str:
        """The address in one form; equal for equal locations."""
        return "sqlite://" if self.path is None else f"sqlite:///{self.path}"


def _database(text: str) -> str:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise InvalidInput(f"not a store's uri: {text!r}; use sqlite:///memory.db") from error
    if url.get_backend_name() != "sqlite":
        raise InvalidInput(
            f"stores are SQLite files, not {url.get_backend_name()}: use sqlite:///memory.db"
        )
    if url.query or url.host:
        raise InvalidInput(f"a store's uri is sqlite:/// and a path, without options: {text!r}")
    return url.database or _MEMORY
