"""Results on disk: a file is whole or as it was."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from graphmem import __version__
from graphmem.errors import NotFound

__all__ = ["machine", "must_have_folder", "replacing", "write_json"]

_SPACE = re.compile(r"\n *")
_PLAIN_LIST = re.compile(r"\[\n([^\[\]{}]*)\n *\]")


def machine() -> dict[str, Any]:
    """What figures were measured on."""
    libraries = ("numpy", "scipy", "faiss-cpu", "igraph", "SQLAlchemy", "llama-index-core")
    return {
        "cpu": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "graphmem": __version__,
        **{library: version(library) for library in libraries},
    }


def must_have_folder(path: str | Path | None) -> None:
    """Check before long work that its results can be written.

    Raises:
        NotFound: the folder does not exist.
    """
    if path is not None and not Path(path).resolve().parent.is_dir():
        raise NotFound(f"there is no folder {str(Path(path).parent)!r} to write to: make it first")


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


def write_json(path: str | Path, content: Any) -> None:
    """Write JSON for people and programs, UTF-8, indented; a list of plain values is one line."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    # A line break in a value is escaped: these are all between values.
    text = _PLAIN_LIST.sub(lambda found: f"[{_SPACE.sub(' ', found[1]).strip()}]", text)
    with replacing(Path(path)) as file:
        file.write(f"{text}\n".encode())
