"""The graph as networkx knows graphs, to be drawn and measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphmem.errors import MissingDependency
from graphmem.types import Fact

if TYPE_CHECKING:
    import networkx

__all__ = ["graph_of"]


def graph_of(facts: Iterable[Fact]) -> networkx.MultiDiGraph[str]:
    """Entities as vertices, by id, and facts as edges from subject to object, keyed by fact id.

    A vertex has its ``name``; an edge has ``predicate``, ``polarity``, ``valid_from``,
    ``valid_to``, ``recorded_at``, ``status`` and the ids of the ``passages`` that state it. An
    entity that is spelled in several ways has the least spelling.

    Raises:
        MissingDependency: networkx is not installed.
    """
    graph = _empty()
    for one in sorted(facts, key=lambda fact: fact.id):
        for id_, name in ((one.subject_id, one.subject), (one.object_id, one.object)):
            known = graph.nodes.get(id_, {}).get("name", name)
            graph.add_node(id_, name=min(known, name))
        graph.add_edge(
            one.subject_id,
            one.object_id,
            key=one.id,
            predicate=one.predicate,
            polarity=one.polarity,
            valid_from=one.valid_from,
            valid_to=one.valid_to,
            recorded_at=one.recorded_at,
            status=one.status,
            passages=one.passages,
        )
    return graph


def _empty() -> networkx.MultiDiGraph[str]:
    try:
        import networkx  # takes a while, and only who looks at the graph needs it
    except ImportError as error:
        raise MissingDependency(
            "a graph needs networkx: python -m pip install 'graphmem[explore]'"
        ) from error
    return networkx.MultiDiGraph()
