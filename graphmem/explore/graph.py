"""The graph as networkx knows graphs: entities and passages, facts, mentions and neighbours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from graphmem.errors import InvalidInput, MissingDependency, NotFound
from graphmem.facts import entity_id
from graphmem.identity import normal_form
from graphmem.threads import in_order
from graphmem.types import Fact, Passage

if TYPE_CHECKING:
    import networkx

__all__ = [
    "Edge",
    "Graph",
    "check_graph",
    "connected",
    "edges_of",
    "empty",
    "entity_of",
    "graph_of",
    "vertices_of",
]

Graph: TypeAlias = "networkx.MultiDiGraph[str]"

Edge = tuple[str, str, str]
"""From, to, and key: what ``graph.edges[edge]`` takes."""

_NEAR = 3


def graph_of(facts: Iterable[Fact], passages: Iterable[Passage] = ()) -> Graph:
    """Entities and passages as vertices, by id; what is between them as edges, by key.

    Every vertex and edge has a ``kind``:

    - ``entity``: its ``name`` (of several spellings the least) and ``is_speaker``: whether one of
      the passages was said by it.
    - ``passage``: ``text``, ``title``, ``speaker``, ``role``, ``session``, ``said_at``,
      ``message_id``, ``thread``, ``ordinal`` and ``part``.
    - ``fact``, from subject to object, its key the id of the fact: ``predicate``, ``polarity``,
      ``valid_from``, ``valid_to``, ``recorded_at``, ``retired_at``, ``status``, ``replaced_by`` and
      the ids of the ``passages`` that state it.
    - ``mention``, from a passage to an entity: the ids of the ``facts`` that it states of it.
    - ``next``, from a passage to the one after it in its conversation or document; of the passages
      that are here.

    Args:
        facts: in any order: the graph is the same.
        passages: in any order. Facts may be stated by others that are not among them.

    Raises:
        MissingDependency: networkx is not installed.
    """
    graph = empty()
    said = {one.id: one for one in passages}
    known = sorted({one.id: one for one in facts}.values(), key=lambda fact: fact.id)
    _add_entities(graph, known, {entity_id(one.speaker) for one in said.values() if one.speaker})
    for one in in_order(said.values()):
        graph.add_node(one.id, **_passage(one))
    for fact in known:
        graph.add_edge(fact.subject_id, fact.object_id, key=fact.id, **_fact(fact))
    for (passage, entity), ids in sorted(_mentions(known, said).items()):
        key = f"mention {passage} {entity}"
        graph.add_edge(passage, entity, key=key, kind="mention", facts=tuple(sorted(ids)))
    for one, other in pairwise(in_order(said.values())):
        if one.thread == other.thread:
            graph.add_edge(one.id, other.id, key=f"next {one.id} {other.id}", kind="next")
    return graph


def vertices_of(graph: Graph, kind: str) -> list[str]:
    """Ids of the vertices of a kind, sorted.

    Raises:
        InvalidInput: no graph.
    """
    check_graph(graph)
    return sorted(id_ for id_, found in graph.nodes(data="kind") if found == kind)


def edges_of(graph: Graph, kind: str) -> list[tuple[Edge, dict[str, Any]]]:
    """The edges of a kind with what is known of them, sorted by key.

    Raises:
        InvalidInput: no graph.
    """
    check_graph(graph)
    found = (
        ((source, target, key), data)
        for source, target, key, data in graph.edges(keys=True, data=True)
        if data.get("kind") == kind
    )
    return sorted(found, key=lambda edge: (edge[0][2], edge[0]))


def entity_of(graph: Graph, entity: str) -> str:
    """The id of an entity of the graph, named in any spelling or by its id.

    Raises:
        InvalidInput: no string, or no graph.
        NotFound: the graph has none; the message tells names that are written alike.
    """
    check_graph(graph)
    if not isinstance(entity, str):
        raise InvalidInput(f"an entity is a name or an id, not {type(entity).__name__}")
    for id_ in (entity, entity_id(entity)):
        if graph.nodes.get(id_, {}).get("kind") == "entity":
            return id_
    names = {normal_form(graph.nodes[id_]["name"]): id_ for id_ in vertices_of(graph, "entity")}
    near = difflib.get_close_matches(normal_form(entity), sorted(names), _NEAR)
    shown = ", ".join(repr(graph.nodes[names[form]]["name"])[:80] for form in near)
    hint = f"did you mean {shown}?" if near else "the facts have the names there are"
    raise NotFound(f"no fact in this graph is about {entity!r:.80}: {hint}")


def empty() -> Graph:
    """A graph without vertices.

    Raises:
        MissingDependency: networkx is not installed.
    """
    return _kind()()


def connected(graph: Graph) -> dict[str, int]:
    """With how many entities each end of a fact is connected by facts, itself included."""
    import networkx  # whoever has a graph has it

    joined = networkx.Graph((one, other) for (one, other, _), _ in edges_of(graph, "fact"))
    parts = networkx.connected_components(joined)
    return {id_: len(part) for part in parts for id_ in sorted(part)}


def check_graph(graph: object) -> None:
    """Check that what is to be looked at is a graph.

    Raises:
        InvalidInput: it is something else, or has other edges.
        MissingDependency: networkx is not installed.
    """
    if not isinstance(graph, _kind()):
        raise InvalidInput(
            f"a graph is what memory.graph() gives, a MultiDiGraph, not {type(graph).__name__}"
        )


def _kind() -> type[Graph]:
    try:
        import networkx  # takes a while, and only who looks at the graph needs it
    except ImportError as error:
        raise MissingDependency(
            "a graph needs networkx: python -m pip install 'graphmem[explore]'"
        ) from error
    kind: type[Graph] = networkx.MultiDiGraph
    return kind


def _add_entities(graph: Graph, facts: Iterable[Fact], speakers: set[str]) -> None:
    names: dict[str, str] = {}
    for one in facts:
        for id_, name in ((one.subject_id, one.subject), (one.object_id, one.object)):
            names[id_] = min(names.get(id_, name), name)
    for id_, name in sorted(names.items()):
        graph.add_node(id_, kind="entity", name=name, is_speaker=id_ in speakers)


def _passage(one: Passage) -> dict[str, Any]:
    names = ("text", "title", "speaker", "role", "session", "said_at", "message_id", "thread")
    order = {"ordinal": one.ordinal, "part": one.part}
    return {"kind": "passage"} | {name: getattr(one, name) for name in names} | order


def _fact(one: Fact) -> dict[str, Any]:
    names = ("predicate", "polarity", "valid_from", "valid_to", "recorded_at", "retired_at")
    rest = {"status": one.status, "replaced_by": one.replaced_by, "passages": one.passages}
    return {"kind": "fact"} | {name: getattr(one, name) for name in names} | rest


def _mentions(facts: Iterable[Fact], passages: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    known = set(passages)
    found: dict[tuple[str, str], set[str]] = {}
    for fact in facts:
        for passage in known.intersection(fact.passages):
            for entity in _ends(fact):
                found.setdefault((passage, entity), set()).add(fact.id)
    return found


def _ends(fact: Fact) -> Iterator[str]:
    yield fact.subject_id
    if fact.object_id != fact.subject_id:
        yield fact.object_id
