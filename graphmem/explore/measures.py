"""Measures of a graph: which entities belong together, which stand at its centre, what is between.

All are taken over entities and facts; passages do not count as vertices. A fact connects its ends
in both directions, and a connection weighs as many distinct passages as state it. The results
depend on ids alone, neither on the order of rows nor on the process.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from graphmem.arguments import whole_number
from graphmem.display import wording
from graphmem.errors import InvalidInput
from graphmem.explore.graph import Edge, Graph, edges_of, entity_of, vertices_of

if TYPE_CHECKING:
    import igraph

__all__ = ["Centrality", "Way", "centrality", "communities", "shortest_paths"]

Centrality = Literal["pagerank", "betweenness", "closeness", "degree"]

# Sums in another order differ in the last bits; what is equal but for those is a tie.
_DIGITS = 12
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Way:
    """A path between two entities.

    Attributes:
        entities: ids of the entities on it, both ends among them.
        steps: between each of them and the next, the facts that connect them, as
            ``graph.edges`` takes them; a fact may point either way.
        text: the facts as words, a line for each.
    """

    entities: tuple[str, ...]
    steps: tuple[tuple[Edge, ...], ...]
    text: str

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return self.text


def communities(graph: Graph) -> list[frozenset[str]]:
    """Entities that belong together: Leiden's method on modularity, from a fixed start.

    Returns:
        Ids, every entity in exactly one set; the largest set first, ties by the least id.
    """
    ids, simple = _simple(graph)
    if not ids:
        return []
    with _from_a_fixed_start():
        found = simple.community_leiden(
            objective_function="modularity", weights="weight", n_iterations=-1
        )
    sets = (frozenset(ids[place] for place in members) for members in found)
    return sorted(sets, key=lambda members: (-len(members), min(members)))


def centrality(graph: Graph, measure: Centrality = "pagerank") -> dict[str, float]:
    """How central each entity is, the most central first, ties by id.

    Args:
        graph: what ``graph_of`` makes.
        measure: ``pagerank`` (shares that sum to 1, by weight, damping 0.85), ``betweenness`` (the
            share of the shortest paths between others that lead through it, 0 to 1), ``closeness``
            (the mean of 1 / steps to each other entity, 0 where there is no path: 0 to 1) or
            ``degree`` (how many facts it is an end of).

    Raises:
        InvalidInput: no such measure.
    """
    if measure not in get_args(Centrality):
        raise InvalidInput(
            f"unknown measure {measure!r:.80}: use {', '.join(get_args(Centrality))}"
        )
    ids, simple = _simple(graph)
    if not ids:
        return {}
    values = _degrees(graph, ids) if measure == "degree" else _values(simple, measure)
    rounded = {id_: round(value, _DIGITS) for id_, value in zip(ids, values, strict=True)}
    return dict(sorted(rounded.items(), key=lambda item: (-item[1], item[0])))


def shortest_paths(graph: Graph, source: str, target: str, k: int = 1) -> list[Way]:
    """The shortest paths from one entity to another, over facts in either direction.

    Fewer steps are shorter; of as many, those are that more passages state.

    Args:
        graph: what ``graph_of`` makes.
        source: a name in any spelling, or an id.
        target: the same.
        k: at most so many, none through the same entity twice.

    Returns:
        The shortest first; none where nothing connects the two.

    Raises:
        InvalidInput: ``k`` is below 1.
        NotFound: the graph has no such entity; the message tells names that are written alike.
    """
    ends = entity_of(graph, source), entity_of(graph, target)
    whole_number("k", k, 1)
    if ends[0] == ends[1]:
        return [_way(graph, ends[:1])]
    ids, simple = _simple(graph)
    places = {id_: place for place, id_ in enumerate(ids)}
    if simple.distances(places[ends[0]], places[ends[1]])[0][0] == float("inf"):
        return []
    # All that weights may add to a path is less than one more step.
    costs = [1 + 1 / ((1 + weight) * (1 + len(ids))) for weight in simple.es["weight"]]
    found = simple.get_k_shortest_paths(
        places[ends[0]], places[ends[1]], k=k, mode="all", weights=costs, output="vpath"
    )
    return [_way(graph, tuple(ids[place] for place in path)) for path in found]


def _simple(graph: Graph) -> tuple[list[str], igraph.Graph]:
    """Entities in the order of ids, and between two of them one edge without direction."""
    import igraph  # only who measures needs it

    ids = vertices_of(graph, "entity")
    places = {id_: place for place, id_ in enumerate(ids)}
    stating: dict[tuple[int, int], set[str]] = {}
    for (one, other, key), data in edges_of(graph, "fact"):
        pair = (min(places[one], places[other]), max(places[one], places[other]))
        if one != other:
            stating.setdefault(pair, set()).update(data["passages"] or (key,))
    pairs = sorted(stating)
    weights = [len(stating[pair]) for pair in pairs]
    return ids, igraph.Graph(len(ids), pairs, edge_attrs={"weight": weights})


@contextmanager
def _from_a_fixed_start() -> Iterator[None]:
    """The engine has one source of randomness for all; what it was is Python's own."""
    import igraph

    with _ONE_AT_A_TIME:
        igraph.set_random_number_generator(random.Random(0))
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


def _degrees(graph: Graph, ids: list[str]) -> list[float]:
    counts = dict.fromkeys(ids, 0)
    for (one, other, _), _ in edges_of(graph, "fact"):
        for end in {one, other}:
            counts[end] += 1
    return [float(counts[id_]) for id_ in ids]


def _values(simple: igraph.Graph, measure: Centrality) -> list[float]:
    count = simple.vcount()
    if measure == "pagerank":
        shares: list[float] = simple.pagerank(
            directed=False, damping=0.85, weights="weight", implementation="prpack"
        )
        return shares
    if measure == "closeness":
        near: list[Any] = simple.harmonic_centrality(normalized=True)
        return [float(value) if count > 1 else 0.0 for value in near]
    pairs = max((count - 1) * (count - 2) / 2, 1)
    return [value / pairs for value in simple.betweenness(directed=False)]


def _way(graph: Graph, ids: tuple[str, ...]) -> Way:
    steps = tuple(_between(graph, *pair) for pair in pairwise(ids))
    lines = [_words(graph, edge) for step in steps for edge in step]
    return Way(ids, steps, "\n".join(lines) or str(graph.nodes[ids[0]]["name"]))


def _between(graph: Graph, one: str, other: str) -> tuple[Edge, ...]:
    found = [
        (source, target, key)
        for source, target in ((one, other), (other, one))
        for key, data in graph.get_edge_data(source, target, default={}).items()
        if data["kind"] == "fact"
    ]
    return tuple(sorted(found, key=lambda edge: edge[2]))


def _words(graph: Graph, edge: Edge) -> str:
    data = graph.edges[edge]
    subject, object_ = (graph.nodes[end]["name"] for end in edge[:2])
    return wording.arrows(subject, wording.predicate(data["predicate"], data["polarity"]), object_)
