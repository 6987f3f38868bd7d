"""Parts of a graph: around an entity, what a recall touched, what a session tells."""

from __future__ import annotations

from collections.abc import Iterable

from graphmem.display import wording
from graphmem.errors import NotFound
from graphmem.explore.graph import Edge, Graph, edges_of, empty, entity_of, vertices_of
from graphmem.types import Recall

__all__ = ["around", "of_recall", "of_session", "without_passages"]

_SESSIONS_SHOWN = 5


def around(graph: Graph, entity: str, hops: int = 1) -> Graph:
    """What is at most so many facts away from an entity, in either direction.

    All facts between the entities found are in it, and the passages that state one of them.

    Args:
        graph: what ``graph_of`` makes.
        entity: a name in any spelling, or an id.
        hops: 0 is the entity alone, with what it says of itself.

    Raises:
        NotFound: the graph has no such entity.
    """
    near = reached = {entity_of(graph, entity)}
    facts = [edge for edge, _ in edges_of(graph, "fact")]
    for _ in range(hops):
        if not reached:
            break
        touched = (edge for edge in facts if edge[0] in reached or edge[1] in reached)
        reached = {end for edge in touched for end in edge[:2]} - near
        near = near | reached
    inner = [edge for edge in facts if edge[0] in near and edge[1] in near]
    return _part(graph, near | _stating(graph, inner), inner)


def of_recall(graph: Graph, recall: Recall) -> Graph:
    """What a recall touched: its seeds, its facts and the facts on the way of its passages.

    Only what is in the graph: facts that are not believed are not, unless it was made with them.
    """
    facts = {hit.fact.id for hit in recall.facts}
    facts |= {fact.id for ranked in recall.passages for fact in ranked.facts}
    edges = [edge for edge, _ in edges_of(graph, "fact") if edge[2] in facts]
    seeds = {seed.entity.id for seed in recall.seeds}
    passages = {ranked.passage.id for ranked in recall.passages}
    ends = {end for edge in edges for end in edge[:2]}
    return _part(graph, (seeds | passages | ends) & set(graph), edges)


def of_session(graph: Graph, session: str) -> Graph:
    """The passages of a conversation, and the facts that they state.

    Raises:
        NotFound: no passage of the graph is of this session; the message tells which there are.
    """
    said = {id_ for id_ in vertices_of(graph, "passage") if graph.nodes[id_]["session"] == session}
    if not said:
        known = sorted(
            {graph.nodes[id_]["session"] for id_ in vertices_of(graph, "passage")} - {""}
        )
        shown = wording.listed([repr(one)[:80] for one in known], _SESSIONS_SHOWN) or "none"
        raise NotFound(f"nothing was said in session {session!r:.80}; there are: {shown}")
    told = [edge for edge, data in edges_of(graph, "fact") if said.intersection(data["passages"])]
    return _part(graph, said.union(*(edge[:2] for edge in told)), told)


def without_passages(graph: Graph) -> Graph:
    """The entities and facts alone."""
    return _among(graph, set(vertices_of(graph, "entity")))


def _stating(graph: Graph, facts: Iterable[Edge]) -> set[str]:
    stated = {passage for edge in facts for passage in graph.edges[edge]["passages"]}
    return stated.intersection(vertices_of(graph, "passage"))


def _part(graph: Graph, vertices: set[str], facts: Iterable[Edge]) -> Graph:
    """These vertices with these facts, and the mentions that the facts give."""
    part = _among(graph, vertices)
    kept = {edge[2] for edge in facts}
    for edge, _ in edges_of(part, "fact"):
        if edge[2] not in kept:
            part.remove_edge(*edge)
    for edge, data in edges_of(part, "mention"):
        told = tuple(id_ for id_ in data["facts"] if id_ in kept)
        if told:
            part.edges[edge]["facts"] = told
        else:
            part.remove_edge(*edge)
    return part


def _among(graph: Graph, vertices: set[str]) -> Graph:
    """These vertices and the edges between them, in the order of the whole in every process."""
    part = empty()
    part.graph.update(graph.graph)
    kept = [id_ for id_ in graph if id_ in vertices]
    part.add_nodes_from((id_, graph.nodes[id_]) for id_ in kept)
    part.add_edges_from(
        edge for edge in graph.edges(kept, keys=True, data=True) if edge[1] in vertices
    )
    return part
