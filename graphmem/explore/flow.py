"""A picture of an explanation: from the question through facts and entities to the passage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphmem.arguments import whole_number
from graphmem.display import wording
from graphmem.display.plain import shortened
from graphmem.errors import InvalidInput
from graphmem.explanation import Explanation, Path, Place, Step
from graphmem.explore.canvas import Arrow, Box, Canvas, wrapped
from graphmem.explore.layout import Room, overlapping, settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_explanation"]

_ALONE = "answers"
_LOOKS = {"question": "question", "fact": "statement", "entity": "entity", "passage": "passage"}
_WIDTH = 12.0
_LEAST_HEIGHT, _MOST_HEIGHT, _ROW = 5.8, 8.0, 1.4
# How much deeper than the lowest box: the arrow is to pass below it near its ends, too.
_SAG = 1.35
_REASON = 200
_DIRECT = 2  # columns: nothing stands between
# Letters in a line where there are few columns, and where there are many.
_WIDE, _NARROW, _MANY = 30, 20, 5


def draw_explanation(explanation: Explanation, *, most: int = 4) -> Figure:
    """A picture of how a question led to a passage, or of why it did not: 12 by 8 inches at most.

    Columns lead from the question on the left to the passage on the right; each arrow says what the
    step is and its weight, each fact the words that it was read from. Below the question stands
    what became of the passage, and what its score is made of.

    Args:
        explanation: what ``memory.explain`` gives.
        most: how many of its paths at most, the first before others; fewer where they do not fit.

    Raises:
        InvalidInput: no explanation, or ``most`` is below 1.
        MissingDependency: matplotlib is not installed.
    """
    if not isinstance(explanation, Explanation):
        raise InvalidInput(
            f"an explanation is what memory.explain() gives, not {type(explanation).__name__}"
        )
    whole_number("most", most, 1)
    while True:
        flow = _flow(explanation, explanation.paths[:most])
        rows = max(flow.columns.count(column) for column in flow.columns if column >= 0)
        height = min(max(_ROW * rows + 1.5, _LEAST_HEIGHT), _MOST_HEIGHT)
        title = wrapped(explanation.query, 84)
        canvas = Canvas(_WIDTH, height, title, _note(explanation, most))
        sizes = canvas.sizes(flow.boxes)
        places = _in_columns(flow, sizes, canvas.room)
        # What is found by itself passes below all that the graph knows.
        fixed = [
            column >= 0 or box.text.startswith(_ALONE)
            for box, column in zip(flow.boxes, flow.columns, strict=True)
        ]
        ends = [arrow.ends for arrow in flow.arrows]
        places = settle(places, sizes, canvas.room, arrows=ends, fixed=fixed)
        if most == 1 or not overlapping(places, sizes):
            return canvas.paint(flow.boxes, places, flow.arrows)
        most = max(min(most, len(explanation.paths)) - 1, 1)


@dataclass(slots=True)
class _Flow:
    """What is drawn: boxes with their column, -1 for labels, and arrows."""

    boxes: list[Box] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)


def _flow(explanation: Explanation, paths: Sequence[Path]) -> _Flow:
    columns = _columns(explanation, paths)
    width = _WIDE if len(set(columns.values())) < _MANY else _NARROW
    quotes = {step.target: step for path in paths for step in path.steps if step.quotes}
    flow = _Flow()
    for place, column in columns.items():
        is_asked = place.kind == "passage" and place.id == explanation.passage_id
        flow.boxes.append(
            Box(_words(place, width, quotes.get(place)), _LOOKS[place.kind], is_asked)
        )
        flow.columns.append(column)
    numbers = {place: number for number, place in enumerate(columns)}
    for step in dict.fromkeys(step for path in paths for step in path.steps):
        flow.boxes.append(Box(_label(step), "fact"))
        flow.columns.append(-1)
        ends = numbers[step.source], numbers[step.target]
        flow.arrows.append(Arrow(*ends, "step", len(flow.boxes) - 1))
    return flow


def _columns(explanation: Explanation, paths: Iterable[Path]) -> dict[Place, int]:
    """The column of each place: after all that lead to it."""
    found = {Place("question", "", explanation.query): 0}
    steps = [step for path in paths for step in path.steps]
    for _ in range(len(steps) + 1):
        for step in steps:
            before = found.setdefault(step.source, 0)
            known = found.get(step.target, 0)
            if step.source != step.target and known < len(steps) + 1:
                found[step.target] = max(known, before + 1)
    if explanation.passage is not None:
        asked = next((one for one in found if one.id == explanation.passage_id), None)
        asked = asked or Place("passage", explanation.passage_id, explanation.passage.text)
        found[asked] = max(found.values()) + (asked not in found)
    ranks = {column: rank for rank, column in enumerate(sorted(set(found.values())))}
    return {place: ranks[column] for place, column in found.items()}


def _words(place: Place, width: int, step: Step | None) -> str:
    lines = {"question": 5, "fact": 3, "entity": 2, "passage": 5}[place.kind]
    said = wrapped(place.text, width if place.kind != "entity" else 18, lines)
    if place.kind != "fact" or step is None:
        return said
    quote = step.quotes[0]
    by = ", ".join(filter(None, (wrapped(quote.speaker, 14), wording.day(quote.said_at))))
    who = f"\n{by}" if quote.speaker else ""
    return f"{said}\n“{wrapped(quote.text, width, 2)}”{who}"


def _label(step: Step) -> str:
    said: str = step.kind
    if step.kind == "fact" and step.facts:
        fact = step.facts[0]
        said = wrapped(wording.predicate(fact.predicate, fact.polarity), 16)
    return f"{said}\n{step.weight:.2g}"


def _note(explanation: Explanation, most: int) -> str:
    score = wording.total(explanation.score, explanation.parts)
    rank = "" if explanation.rank is None else f"number {explanation.rank}"
    left = len(explanation.paths) - most
    rest = wording.counted("more path", left, " left out") if left > 0 else ""
    outcome: str = explanation.outcome
    if not explanation.is_recalled:
        outcome, rank = f"{outcome}: {shortened(explanation.reason, _REASON)}", ""
    said = (outcome, rank, score, rest)
    return "  ·  ".join(part for part in said if part)


def _in_columns(flow: _Flow, sizes: NDArray[np.float64], room: Room) -> NDArray[np.float64]:
    """Columns with equal gaps, each spread over the height; labels in the middle of their arrow."""
    columns = np.array(flow.columns)
    count = max(flow.columns) + 1
    widths = [sizes[columns == column, 0].max(initial=0.0) for column in range(count)]
    free = max(room.right - room.left - sum(widths), 0.0)
    places = np.zeros_like(sizes)
    left = room.left + (free / 2 if count == 1 else 0.0)
    for column, width in enumerate(widths):
        members = np.flatnonzero(columns == column)
        heights = sizes[members, 1]
        gap = (room.top - room.bottom - heights.sum()) / (len(members) + 1)
        tops = room.top - gap - np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]])
        places[members] = np.stack(
            [np.full(len(members), left + width / 2), tops - heights / 2], axis=1
        )
        left += width + free / max(count - 1, 1)
    lowest = (places - sizes / 2)[columns >= 0, 1].min() - room.gap
    for one, label, other in (arrow.ends for arrow in flow.arrows):
        places[label] = (places[one] + places[other]) / 2
        if flow.boxes[label].text.startswith(_ALONE) and count > _DIRECT:
            depth = _SAG * (places[label, 1] - lowest) + sizes[label, 1]
            places[label, 1] = max(places[label, 1] - depth, room.bottom + sizes[label, 1] / 2)
    return places
