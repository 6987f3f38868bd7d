"""Long-term memory for LlamaIndex agents that thinks in a knowledge graph.

``GraphMemoryBlock`` plugs into a LlamaIndex ``Memory``; ``GraphMemory`` is the same engine without
a framework. The values they take and return are in ``graphmem.types``, what they raise in
``graphmem.errors``, doubles for tests in ``graphmem.testing``, readers of triples in
``graphmem.extractors``, measures, files and pictures of the graph in ``graphmem.explore``, tables
for notebooks in ``graphmem.tables``.
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

from graphmem.errors import GraphMemError
from graphmem.explanation import Explanation
from graphmem.types import (
    Embedder,
    Extraction,
    Extractor,
    Fact,
    Message,
    Passage,
    RankedPassage,
    Recall,
    Receipt,
    Scope,
    Source,
    Triple,
)

if _TYPE_CHECKING:
    from graphmem.block import GraphMemoryBlock
    from graphmem.memory import GraphMemory
    from graphmem.settings import RecallSettings

__all__ = [
    "Embedder",
    "Explanation",
    "Extraction",
    "Extractor",
    "Fact",
    "GraphMemError",
    "GraphMemory",
    "GraphMemoryBlock",
    "Message",
    "Passage",
    "RankedPassage",
    "Recall",
    "RecallSettings",
    "Receipt",
    "Scope",
    "Source",
    "Triple",
]
__version__ = "0.1.0"

# The folder extractors/ lies beside this one in a checkout and is installed as graphmem.extractors.
# Run from a checkout's root, Python finds this folder first, installed or not: show it the other.
_root = _Path(__file__).parent.parent
if (_root / "pyproject.toml").is_file() and (_root / "extractors" / "__init__.py").is_file():
    __path__.append(str(_root))

# Imported on first use: the block brings LlamaIndex, the engine FAISS and SQLAlchemy.
_LAZY = {
    "GraphMemory": "graphmem.memory",
    "GraphMemoryBlock": "graphmem.block",
    "RecallSettings": "graphmem.settings",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(_import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
