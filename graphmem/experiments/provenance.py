"""What figures rest on: the machine, the libraries, and the source that answers."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import graphmem
from graphmem.experiments.systems import SYSTEMS, place_of

__all__ = ["code_of", "machine"]

# The experiments' own modules on which an answer depends; the others make data, which has a digest
# of its own, or show rows.
_ANSWERING = ("systems/", "triples/", "dataset.py", "measuring.py", "metrics.py", "reading.py")
_NOT_ASKED = ("cli/", "block/", "demo")
# Where libraries lie: what is installed there is told by its version, and does not belong to the
# folder of one's own that may hold it (an environment inside a project).
_INSTALLED = {
    Path(sysconfig.get_path(kind)).resolve()
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
}


def machine() -> dict[str, Any]:
    """Processor, interpreter and libraries, as JSON-able values."""
    libraries = ("numpy", "scipy", "faiss-cpu", "igraph", "SQLAlchemy", "llama-index-core")
    return {
        "cpu": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "graphmem": graphmem.__version__,
        **{library: version(library) for library in libraries},
    }


def code_of(name: str, system: type) -> str:
    """Digest of the source that a system's figures depend on.

    That is graphmem's, without what only shows or makes data. For a system of one's own it is also
    the module that its name names, the one of its class, and what is imported by now out of their
    folders and packages; of one without a file (typed into a notebook) no two digests are equal.

    Args:
        name: as in ``open_system``.
        system: the class of what was opened by that name.
    """
    digest = hashlib.sha256(_graphmems())
    named = "" if name in SYSTEMS else place_of(name)[0]
    own = [one for one in dict.fromkeys((named, system.__module__)) if one and not _is_ours(one)]
    for module in (*own, *_beside(own)):
        digest.update(f"\n{module}\n".encode())
        # What was typed into a notebook may be another thing next time.
        text = _text(module)
        digest.update(uuid4().bytes if text is None else text)
    return digest.hexdigest()[:16]


@cache
def _graphmems() -> bytes:
    """Digest of graphmem's own source."""
    from graphmem import extractors

    digest = hashlib.sha256(graphmem.__version__.encode())
    for package in (graphmem, extractors):
        for folder in package.__path__:
            for path in sorted(Path(folder).rglob("*.py")):
                if _matters(path.relative_to(folder).as_posix()):
                    digest.update(path.read_bytes())
    return digest.digest()


def _beside(own: Sequence[str]) -> list[str]:
    """Other modules imported by now: of the same packages, or lying under the modules' folders."""
    if not own:
        return []
    packages = {name.partition(".")[0] for name in own}
    folders = {file.parent for file in map(_file, own) if file is not None}
    found = []
    for name in sorted(set(sys.modules) - set(own)):
        file = None if _is_ours(name) else _file(name)
        if file is None or not file.is_file():
            continue
        around = set(file.parents)
        if name.partition(".")[0] in packages or (around & folders and not around & _INSTALLED):
            found.append(name)
    return found


def _file(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


def _text(module: str) -> bytes | None:
    """What stands in a module's file; None where it has none."""
    file = _file(module)
    return file.read_bytes() if file is not None and file.is_file() else None


def _is_ours(module: str) -> bool:
    return f"{module}.".startswith("graphmem.")


def _matters(name: str) -> bool:
    if name.startswith("experiments/"):
        return name.removeprefix("experiments/").startswith(_ANSWERING)
    return not name.startswith(_NOT_ASKED)
