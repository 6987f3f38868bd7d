"""What figures rest on: the machine, the libraries, and the source that answers."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import graphmem

__all__ = ["code_of", "machine"]

# The experiments' own modules on which an answer depends; the others make data, which has a digest
# of its own, or show rows.
_ANSWERING = ("systems/", "triples/", "dataset.py", "measuring.py", "metrics.py", "reading.py")
_NOT_ASKED = ("cli/", "block/", "demo")


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


@cache
def code_of(system: type) -> str:
    """Digest of the source that a system's figures depend on.

    That is graphmem's, without what only shows or makes data, and the file of a system of one's
    own.
    """
    from graphmem import extractors

    digest = hashlib.sha256(graphmem.__version__.encode())
    for package in (graphmem, extractors):
        for folder in package.__path__:
            for path in sorted(Path(folder).rglob("*.py")):
                if _matters(path.relative_to(folder).as_posix()):
                    digest.update(path.read_bytes())
    if not system.__module__.startswith("graphmem."):
        file = getattr(sys.modules.get(system.__module__), "__file__", None)
        # What was typed into a notebook may be another thing next time.
        digest.update(Path(file).read_bytes() if file else uuid4().bytes)
    return digest.hexdigest()[:16]


def _matters(name: str) -> bool:
    if name.startswith("experiments/"):
        return name.removeprefix("experiments/").startswith(_ANSWERING)
    return not name.startswith(_NOT_ASKED)
