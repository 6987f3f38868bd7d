"""Into a property graph store of LlamaIndex, of any kind."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from graphmem.explore.graph import Graph, edges_of, vertices_of

if TYPE_CHECKING:
    from llama_index.core.graph_stores.types import PropertyGraphStore
    from llama_index.core.schema import TextNode

__all__ = ["to_property_graph"]

MENTIONS = "MENTIONS"
NEXT = "NEXT"


def to_property_graph(graph: Graph, store: PropertyGraphStore) -> dict[str, int]:
    """Copy a graph into a store of LlamaIndex's; once more changes nothing.

    Entities become ``EntityNode``, passages ``ChunkNode`` (``store.get_llama_nodes`` gives them
    back as text nodes) and facts relations named by their predicate, a denial ``not …``. A relation
    ``MENTIONS`` leads from a passage to an entity, and ``NEXT`` to the passage after it. The
    property ``triplet_source_id`` of a fact is the first passage that states it, as LlamaIndex has
    it for what it extracts. Lists and times are JSON values; what is ``None`` is left out.

    LlamaIndex identifies an entity by its name: of two with one name, the second bears its id.

    Args:
        graph: what ``memory.graph`` gives.
        store: an open store. Nothing in it is deleted.

    Returns:
        How many of each kind were handed over: ``entity``, ``passage``, ``fact``, ``mention`` and
        ``next``.
    """
    from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, EntityNode, Relation

    nodes: dict[str, EntityNode] = {}
    taken: set[str] = set()
    for id_ in vertices_of(graph, "entity"):
        data = graph.nodes[id_]
        node = EntityNode(name=data["name"])
        if node.id in taken:
            node = EntityNode(name=f"{data['name']} ({id_})")
        node.properties = {"graphmem_id": id_, **_properties(data, "name")}
        taken.add(node.id)
        nodes[id_] = node
    passages = vertices_of(graph, "passage")
    ends = {id_: node.id for id_, node in nodes.items()} | {id_: id_ for id_ in passages}
    relations = []
    for kind in ("fact", "mention", "next"):
        for (source, target, key), data in edges_of(graph, kind):
            properties = {"graphmem_id": key, **_properties(data)}
            if data.get("passages"):
                properties[TRIPLET_SOURCE_KEY] = data["passages"][0]
            relations.append(
                Relation(
                    label=_label(data),
                    source_id=ends[source],
                    target_id=ends[target],
                    properties=properties,
                )
            )
    store.upsert_llama_nodes([_text_node(id_, graph.nodes[id_]) for id_ in passages])
    store.upsert_nodes(list(nodes.values()))
    store.upsert_relations(relations)
    counts = {kind: len(edges_of(graph, kind)) for kind in ("fact", "mention", "next")}
    return {"entity": len(nodes), "passage": len(passages), **counts}


def _text_node(id_: str, data: dict[str, Any]) -> TextNode:
    from llama_index.core.schema import TextNode

    return TextNode(id_=id_, text=data["text"], metadata=_properties(data, "text"))


def _label(data: dict[str, Any]) -> str:
    if data["kind"] != "fact":
        return MENTIONS if data["kind"] == "mention" else NEXT
    predicate: str = data["predicate"]
    return predicate if data["polarity"] else f"not {predicate}"


def _properties(data: dict[str, Any], *but: str) -> dict[str, Any]:
    return {
        name: _as_json(value)
        for name, value in data.items()
        if value is not None and name not in ("kind", *but)
    }


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return [_as_json(one) for one in value] if isinstance(value, tuple) else value
