"""What a memory looks like inside: the one module here that must know.

The graph of a scope, as recall walks it, is nobody's business but recall's; to time another walk on
the same graph it has to be taken out. And an index is brought up to date in the background.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from graphmem.index.graph import entity_vertices
from graphmem.index.lists import Ints
from graphmem.indexes import Indexes
from graphmem.memory import GraphMemory
from graphmem.recall.exact import Exact

__all__ = ["WholeGraph", "indexing_timed", "whole_graph_of"]


@dataclass(frozen=True, slots=True, eq=False)
class WholeGraph:
    """The graph of a scope.

    Attributes:
        size: number of vertices.
        solver: igraph's, for the same graph.
        memory: whose it is.
    """

    size: int
    solver: Exact
    memory: GraphMemory

    def vertices(self, entity_ids: Sequence[str]) -> Ints:
        """Vertices of entities, -1 for those that are none."""
        index = self.memory._indexes.current(self.memory.scope)
        found = index.entities.ids.find(entity_ids)
        vertices: Ints = entity_vertices(found)
        vertices[found < 0] = -1
        return vertices


def whole_graph_of(memory: GraphMemory) -> WholeGraph:
    """The graph of a memory's own scope."""
    index = memory._indexes.current(memory.scope)
    with index.lock:
        size = len(index.graph)
        return WholeGraph(size, Exact(size, *index.graph.every_edge()), memory)


@contextmanager
def indexing_timed() -> Iterator[list[float]]:
    """Collects what bringing an index up to date takes each time, in whichever thread.

    Milliseconds of the thread's processor time: waiting for a turn is nobody's work.
    """
    spent: list[float] = []
    lock = threading.Lock()
    original = Indexes.catch_up

    def timed(self: Indexes, *arguments: object) -> None:
        start = time.thread_time()
        original(self, *arguments)  # type: ignore[arg-type]
        with lock:
            spent.append((time.thread_time() - start) * 1e3)

    Indexes.catch_up = timed  # type: ignore[method-assign,assignment]
    try:
        yield spent
    finally:
        Indexes.catch_up = original  # type: ignore[method-assign]
