"""What a memory looks like inside: the one module here that must know.

The graph of a scope, as recall walks it, is nobody's business but recall's; to time another walk on
the same graph it has to be taken out.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphmem.index.graph import KnowledgeGraph
from graphmem.memory import GraphMemory

__all__ = ["graph_of"]


def graph_of(memory: GraphMemory) -> tuple[KnowledgeGraph, Mapping[str, int]]:
    """The graph of a memory's own scope, which was recalled before, and its entities' vertices."""
    snapshot = memory._indexes[memory.scope].index.snapshot()
    return snapshot.graph, snapshot.entity_place
