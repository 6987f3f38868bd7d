"""Files for people and other programs: checked before the work, and whole or as they were."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from graphmem.errors import GraphMemError, InvalidInput, NotFound

__all__ = ["must_take_file", "must_take_folder", "replace_file", "replacing", "write_json"]

_SPACE = re.compile(r"\n *")
_PLAIN_LIST = re.compile(r"\[\n([^\[\]{}]*)\n *\]")


def must_take_file(path: str | Path | None) -> None:
    """Check before long work that a file can be written in the end; None asks for none.

    Raises:
        NotFound: its folder does not exist.
        InvalidInput: a folder has its name, or its folder may not be written to, or no file can
            be called so.
    """
    if path is None:
        return
    with _telling(path):
        _must_have_place(Path(path))
        if Path(path).is_dir():
            raise InvalidInput(f"{str(path)!r} is a folder: name a file in it")


def must_take_folder(path: str | Path | None) -> None:
    """Check before long work that a folder is there or can be made; None asks for none.

    Raises:
        NotFound: the folder around it does not exist.
        InvalidInput: a file has its name, or it may not be written to, or no folder can be called
            so.
    """
    if path is None:
        return
    with _telling(path):
        if Path(path).is_dir():
            _must_be_writable(Path(path))
            return
        _must_have_place(Path(path))
        if Path(path).exists():
            raise InvalidInput(f"{str(path)!r} is a file: name a folder")


@contextmanager
def _telling(path: str | Path) -> Iterator[None]:
    """What the system says of a path that it refuses, as our own error."""
    try:
        yield
    except GraphMemError:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{str(path)!r:.200} cannot be written ({why}): name another") from error


def _must_have_place(path: Path) -> None:
    around = path.resolve().parent
    if not around.is_dir():
        raise NotFound(f"there is no folder {str(path.parent)!r} to write to: make it first")
    _must_be_writable(around)


def _must_be_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"the folder {str(folder)!r} may not be written to: name another one")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` when the block ends without a fault."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole, in place of an older one, which stays where that fails.

    Raises:
        NotFound: its folder does not exist.
        InvalidInput: it cannot be written.
    """
    must_take_file(path)
    with _telling(path), replacing(path) as file:
        file.write(content)


def write_json(path: str | Path, content: Any) -> None:
    """Write JSON for people and programs, UTF-8, indented; a list of plain values is one line."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    # A line break in a value is escaped: these are all between values.
    text = _PLAIN_LIST.sub(lambda found: f"[{_SPACE.sub(' ', found[1]).strip()}]", text)
    with replacing(Path(path)) as file:
        file.write(f"{text}\n".encode())
