"""Pictures of graphs: vertices as boxes, facts as arrows that say their predicate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from graphmem.arguments import text, whole_number
from graphmem.display import wording
from graphmem.errors import NotFound
from graphmem.explore.canvas import Arrow, Box, Canvas, wrapped
from graphmem.explore.graph import (
    Edge,
    Graph,
    check_graph,
    connected,
    edges_of,
    entity_of,
    graph_of,
    vertices_of,
)
from graphmem.explore.layout import is_crowded, overlapping, settle, spread
from graphmem.explore.measures import centrality
from graphmem.types import Diff

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST", "draw", "draw_diff"]

MOST = 40
"""How many vertices a picture shows at most: with their labels, more would be hard to read."""

_MOST_LINES = 3
_SIZES = ((8, (8.0, 5.4)), (18, (10.0, 6.8)))
_LARGEST = (12.0, 8.0)
_FEWER = 0.85


def draw(
    graph: Graph, *, title: str = "", highlight: Collection[str] = (), most: int = MOST
) -> Figure:
    """A picture of a graph: 12 by 8 inches at most, no label on another.

    Entities are round boxes, speakers among them filled; passages are square ones. An arrow leads
    from a fact's subject to its object; what is denied, no longer so or not believed has another
    colour and other dashes. Of a graph with more than ``most`` vertices, or more than fit, the most
    central entities are drawn, of the largest connected part first, and below the title stands what
    is left out. Of another time, what held then is drawn as a fact, whatever replaced it since.

    Args:
        graph: what ``memory.graph`` gives.
        title: at the top.
        highlight: names or ids of vertices to mark; they are drawn before others.
        most: how many vertices at most.

    Returns:
        A figure of its own, outside pyplot: ``figure.savefig("graph.png")``. Notebooks show it.

    Raises:
        InvalidInput: no graph, a title that is no string, or ``most`` is below 1.
        MissingDependency: matplotlib is not installed.
        NotFound: nothing in the graph is named as something to mark.
    """
    check_graph(graph)
    whole_number("most", most, 1)
    title = text("title", title) or ""
    marked = [_vertex(graph, name) for name in highlight]
    stock = _Stock.of(graph)
    while True:
        sketch = _sketch(graph, _chosen(stock, marked, most), marked)
        note = _note(stock, sketch, graph.graph)
        canvas = Canvas(*_size(len(sketch.boxes)), wrapped(title, 90), note)
        sizes = canvas.sizes(sketch.boxes)
        if most == 1 or not is_crowded(sizes, canvas.room):
            places = spread(sizes, sketch.links, canvas.room)
            places = settle(places, sizes, canvas.room, arrows=[one.ends for one in sketch.arrows])
            if most == 1 or not overlapping(places, sizes):
                return canvas.paint(sketch.boxes, places, sketch.arrows)
        most = max(int(most * _FEWER), 1)


def draw_diff(diff: Diff, *, title: str = "", most: int = MOST) -> Figure:
    """A picture of what changed: what is believed newly, no longer, and otherwise.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    changed = [after for _, after in diff.changed]
    graph = graph_of([*diff.added, *diff.ended, *changed])
    for name, facts in (("changed", changed), ("ended", diff.ended), ("added", diff.added)):
        for one in facts:
            graph.edges[one.subject_id, one.object_id, one.id]["change"] = name
    return draw(graph, title=title, most=most)


@dataclass(frozen=True, slots=True)
class _Stock:
    """What there is to draw, gone through once however often a picture is tried.

    Attributes:
        passages: sorted by id.
        entities: the most central first.
        facts: those of the largest connected part first, between the most central entities.
    """

    passages: list[str]
    entities: list[str]
    facts: list[Edge]

    @classmethod
    def of(cls, graph: Graph) -> _Stock:
        """All of a graph."""
        ranks = centrality(graph)
        sizes = connected(graph)
        facts = [edge for edge, _ in edges_of(graph, "fact")]
        facts.sort(
            key=lambda edge: (-sizes[edge[0]], *sorted((-ranks[edge[0]], -ranks[edge[1]]))[::-1])
        )
        return cls(vertices_of(graph, "passage"), [*ranks], facts)


@dataclass(slots=True)
class _Sketch:
    """What is to be drawn, before it has a place."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    shown: dict[str, int] = field(default_factory=dict)

    @property
    def links(self) -> list[tuple[int, int]]:
        """What stands near what."""
        pairs = {pair for arrow in self.arrows for pair in pairwise(arrow.ends)}
        return sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})


def _chosen(stock: _Stock, marked: Iterable[str], most: int) -> list[str]:
    """The vertices to draw: those marked, few passages, and entities of the most central facts."""
    chosen = dict.fromkeys(marked)
    if 3 * len(stock.passages) <= most:  # a passage takes the room of two entities
        chosen |= dict.fromkeys(stock.passages)
        most -= len(stock.passages)
    # An entity is drawn with what it is connected to, the ends of central facts before others.
    for edge in stock.facts:
        if len(chosen) >= most:
            break
        if len(chosen.keys() | {*edge[:2]}) <= most:
            chosen |= dict.fromkeys(edge[:2])
    chosen |= dict.fromkeys(stock.entities)
    return [*chosen][: max(most, 1)]


def _sketch(graph: Graph, vertices: Sequence[str], marked: Collection[str]) -> _Sketch:
    sketch = _Sketch()
    drawn: Graph = graph.subgraph(vertices)
    for id_ in vertices:
        sketch.shown[id_] = len(sketch.boxes)
        sketch.boxes.append(_box(graph.nodes[id_], is_marked=id_ in marked))
    said: dict[tuple[int, int, str], dict[str, None]] = {}
    is_past = "as_of" in graph.graph
    for (source, target, _), data in edges_of(drawn, "fact"):
        ends = sketch.shown[source], sketch.shown[target]
        said.setdefault((*ends, _look(data, is_past=is_past)), {})[_label(data)] = None
    for (one, other, look), predicates in said.items():
        sketch.boxes.append(Box(_stacked(sorted(predicates)), look))
        sketch.arrows.append(Arrow(one, other, look, len(sketch.boxes) - 1))
    for kind in ("mention", "next"):
        for (source, target, _), _ in edges_of(drawn, kind):
            sketch.arrows.append(Arrow(sketch.shown[source], sketch.shown[target], kind))
    return sketch


def _box(data: dict[str, Any], *, is_marked: bool) -> Box:
    if data["kind"] == "entity":
        look = "speaker" if data.get("is_speaker") else "entity"
        return Box(wrapped(data["name"], 22, 2), look, is_marked)
    who = wrapped(data["speaker"] or data["title"] or data["role"], 16)
    head = " · ".join(filter(None, (who, wording.day(data.get("said_at")))))
    return Box(f"{head}\n{wrapped(data['text'], 30, 2)}", "passage", is_marked)


def _look(data: dict[str, Any], *, is_past: bool) -> str:
    """How a fact is drawn; of the past, what held is drawn so, whatever became of it since."""
    if data.get("change"):
        return str(data["change"])
    if data["status"] not in ("asserted", "verified"):
        return "withheld"
    if data["retired_at"] is not None and not is_past:
        return "ended"
    return "fact" if data["polarity"] else "denied"


def _label(data: dict[str, Any]) -> str:
    return wrapped(wording.predicate(data["predicate"], data["polarity"]), 22)


def _stacked(lines: list[str]) -> str:
    if len(lines) <= _MOST_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[: _MOST_LINES - 1], f"+ {len(lines) - _MOST_LINES + 1} more"])


def _size(boxes: int) -> tuple[float, float]:
    return next((size for most, size in _SIZES if boxes <= most), _LARGEST)


def _note(stock: _Stock, sketch: _Sketch, of: dict[str, Any]) -> str:
    """What the picture shows, of which time, and what it leaves out."""
    times = [
        f"{name} {str(of[key])[:10]}"
        for key, name in (("as_of", "as of"), ("known_at", "known at"))
        if key in of
    ]
    counts = []
    for name, ids in (("entities", stock.entities), ("passages", stock.passages)):
        counts.append((name, len(ids), sum(id_ in sketch.shown for id_ in ids)))
    inside = sum(one in sketch.shown and other in sketch.shown for one, other, _ in stock.facts)
    counts.append(("facts", len(stock.facts), inside))
    shown = ", ".join(f"{drawn:,} {name}" for name, _, drawn in counts if drawn)
    left = ", ".join(f"{all_ - drawn:,} {name}" for name, all_, drawn in counts if all_ > drawn)
    left = f"left out: {left}" if left else ""
    return "  ·  ".join(filter(None, (*times, shown or "nothing to draw", left)))


def _vertex(graph: Graph, name: str) -> str:
    if name in graph:
        return name
    try:
        return entity_of(graph, name)
    except NotFound as error:
        raise NotFound(f"cannot mark {name!r:.80}: {error}") from error
