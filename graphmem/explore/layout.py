"""Where the boxes of a picture stand: spread by their links, then moved until none overlap.

A label of an arrow is a box of its own between the two that it connects, so that labels and
vertices keep clear of each other by the same rule. All is in the units of the room; nothing here
is random: equal boxes in equal order stand at equal places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import igraph

__all__ = ["Room", "curve", "is_crowded", "overlapping", "route", "settle", "spread"]

Places: TypeAlias = NDArray[np.float64]

# Rounds in which labels are also drawn to the middle of their arrow, and rounds at most for what
# is left to be moved apart; pictures of 40 vertices need about 150 of these.
_DRAWN_ROUNDS = 240
_ROUNDS = 900
_PATIENCE, _LEAST_GAP = 400, 0.2
_PULL = 0.15
_SHY = 0.9
# What is this much wider than high is laid out as a line.
_FLAT = 0.1
_FULL = 0.45
_SHARES = np.linspace(0.06, 0.94, 15)
# Bends that are tried where an arrow would pass under a box: to either side, and along the arrow.
_BENDS = [side * step for step in range(0, 280, 20) for side in (1.0, -1.0)][1:]
_ALONG = (0.0, -0.12, 0.12)
# What passing under a label counts beside a vertex, and what a bend counts a pixel.
_LABEL, _BEND = 0.3, 0.001
_POINTS = np.linspace(0, 1, 97)[:, None]
_GOLDEN = math.pi * (3 - math.sqrt(5))


@dataclass(frozen=True, slots=True)
class Room:
    """The rectangle that boxes may take, and the gap that they keep."""

    left: float
    bottom: float
    right: float
    top: float
    gap: float = 12.0


def spread(sizes: Places, links: Sequence[tuple[int, int]], room: Room) -> Places:
    """Centres of boxes by what is linked: by Kamada and Kawai, stretched to fill the room.

    What is not connected gets a part of the room of its own, by how many boxes it has.

    Args:
        sizes: width and height of each box, shape (boxes, 2).
        links: pairs of boxes.
        room: where they may be.
    """
    import igraph  # only who draws needs it

    graph = igraph.Graph(len(sizes), links)
    groups = sorted(map(sorted, graph.connected_components()), key=lambda one: (-len(one), one))
    places = np.zeros_like(sizes, dtype=np.float64)
    for members, part in _parts(groups, room):
        drawn = _drawn(graph.induced_subgraph(members))
        low, high = _limits(sizes[members], part)
        places[members] = low + drawn * (high - low)
    return places


def _drawn(graph: igraph.Graph) -> Places:
    """Places of a connected graph, each axis from 0 to 1."""
    count = graph.vcount()
    start = [[math.cos(n * _GOLDEN) * n**0.5, math.sin(n * _GOLDEN) * n**0.5] for n in range(count)]
    found = graph.layout_kamada_kawai(seed=start, maxiter=50 * count)
    raw = np.asarray(found.coords, dtype=np.float64).reshape(count, 2)
    raw = raw @ _turn(raw)
    least = raw.min(axis=0)
    extent = raw.max(axis=0) - least
    is_flat = extent <= max(_FLAT * extent.max(), 1e-6)
    drawn: Places = np.where(is_flat, 0.5, (raw - least) / np.maximum(extent, 1e-6))
    return drawn


def _turn(raw: Places) -> Places:
    """The rotation that lays the longest extent along the first axis."""
    _, axes = np.linalg.eigh(np.cov(raw.T)) if len(raw) > 1 else (None, np.eye(2)[:, ::-1])
    main = axes[:, -1] * (1 if axes[0, -1] >= 0 else -1)
    turned: Places = np.array([main, [-main[1], main[0]]]).T
    return turned


def _parts(groups: Sequence[list[int]], room: Room) -> Iterator[tuple[list[int], Room]]:
    """A part of the room for each group, cut along the longer side."""
    if len(groups) <= 1:
        yield from ((group, room) for group in groups)
        return
    counts = np.cumsum([len(group) for group in groups])
    share = counts / counts[-1]
    cut = int(np.abs(share[:-1] - 0.5).argmin()) + 1
    at = float(share[cut - 1])
    if room.right - room.left >= room.top - room.bottom:
        middle = room.left + at * (room.right - room.left)
        first, second = replace(room, right=middle), replace(room, left=middle)
    else:
        middle = room.top - at * (room.top - room.bottom)
        first, second = replace(room, bottom=middle), replace(room, top=middle)
    yield from _parts(groups[:cut], first)
    yield from _parts(groups[cut:], second)


def settle(
    places: Places,
    sizes: Places,
    room: Room,
    *,
    arrows: Sequence[tuple[int, int, int]] = (),
    fixed: Sequence[bool] | None = None,
) -> Places:
    """Move boxes until none overlap, all are in the room, and few stand on others' arrows.

    Args:
        places: centres, shape (boxes, 2).
        sizes: width and height of each.
        room: where they may be.
        arrows: (one, label, other): a label is drawn to the middle of the two; ``label`` is ``one``
            where the arrow has none.
        fixed: those that stay where they are.

    Returns:
        Centres. Where there is no room for all some still overlap: see ``overlapping``.
    """
    free = ~np.asarray(fixed if fixed is not None else [False] * len(places), dtype=bool)
    ends = np.asarray(arrows, dtype=np.intp).reshape(-1, 3)
    ties = ends[(ends[:, 0] != ends[:, 1]) & (ends[:, 0] != ends[:, 2])]
    low, high = _limits(sizes, room)
    now = places.astype(np.float64).copy()
    for number in range(_DRAWN_ROUNDS + _ROUNDS):
        # Where it is too narrow for all, the gap gives way.
        gap = room.gap * min(max(1 - (number - _DRAWN_ROUNDS) / _PATIENCE, _LEAST_GAP), 1)
        moves = _apart(now, sizes + gap, free)
        if number < _DRAWN_ROUNDS:
            strength = 1 - number / _DRAWN_ROUNDS
            middle = (now[ties[:, 0]] + now[ties[:, 2]]) / 2
            moves[ties[:, 1]] += _PULL * strength * (middle - now[ties[:, 1]])
            if number % 3 == 0:  # it costs the most, and boxes move little in one round
                moves += _SHY * strength * _off_arrows(now, sizes + room.gap, ends)
        elif not moves.any():
            break
        now[free] = np.clip(now + moves, low, high)[free]
    return now


def route(
    places: Places, sizes: Places, room: Room, arrows: Sequence[tuple[int, int, int]]
) -> tuple[Places, Places]:
    """Lead arrows around the boxes of others: under one they would seem to come from it.

    Each arrow in turn, twice, is bent to where it passes under fewest, as little as that takes; its
    label goes with it where no other box is.

    Args:
        places: centres, as ``settle`` has moved them.
        sizes: width and height of each box.
        room: where boxes may be.
        arrows: as for ``settle``.

    Returns:
        Centres of the boxes, and the point that each arrow leads through, shape (arrows, 2).
    """
    now = places.copy()
    ends = np.asarray(arrows, dtype=np.intp).reshape(-1, 3)
    has_label = ends[:, 0] != ends[:, 1]
    # An arrow under the label of another is cut by it, and does not seem to come from it.
    weights = np.ones(len(places))
    weights[ends[has_label, 1]] = _LABEL
    via: Places = (now[ends[:, 0]] + now[ends[:, 2]]) / 2
    for number in [*range(len(ends))] * 2:
        one, label, other = ends[number].tolist()
        if label != one:
            via[number] = now[label]
        if other != one:
            via[number] = _detour(via[number], (one, label, other), now, sizes, room, weights)
        if label != one:
            now[label] = via[number]
    return now, via


def _detour(
    via: Places,
    ends: tuple[int, int, int],
    places: Places,
    sizes: Places,
    room: Room,
    weights: Places,
) -> Places:
    """The point for an arrow to lead through so that it passes under the least weight of boxes."""
    one, label, other = ends
    source, target = places[one], places[other]
    heavy = weights.copy()
    heavy[[one, label, other]] = 0.0

    def cost(at: Places, bend: float) -> float:
        line = curve(source, target, at)
        is_under = (np.abs(line[:, None] - places) < sizes / 2).all(axis=2).any(axis=0)
        return float(heavy @ is_under) + _BEND * abs(bend)

    best = cost(via, 0.0)
    if best < _LABEL:
        return via
    reach = target - source
    normal = np.array([-reach[1], reach[0]]) / max(float(np.hypot(*reach)), 1e-9)
    for bend in _BENDS:
        for along in _ALONG:
            at = (source + target) / 2 + bend * normal + along * reach
            if label == one and along:
                continue
            if label != one and not _has_room(at, label, places, sizes, room):
                continue
            spent = cost(at, bend)
            if spent < best - 1e-9:
                best, via = spent, at
    return via


def _has_room(at: Places, box: int, places: Places, sizes: Places, room: Room) -> bool:
    """Whether a box may stand there: in the room, and on no other."""
    low, high = _limits(sizes[box], room)
    is_inside = (low <= at).all() and (at <= high).all()
    is_over = (np.abs(places - at) < (sizes + sizes[box]) / 2 + 2).all(axis=1)
    is_over[box] = False
    return bool(is_inside and not is_over.any())


def curve(source: Places, target: Places, via: Places, share: Places = _POINTS) -> Places:
    """Points of a line from centre to centre, bent so that it leads through a point midway.

    Args:
        source: where it starts.
        target: where it ends.
        via: where it is in its middle.
        share: which points, from 0 to 1 of the way.
    """
    bend = 2 * via - (source + target) / 2
    found: Places = (1 - share) ** 2 * source + 2 * share * (1 - share) * bend + share**2 * target
    return found


def _off_arrows(places: Places, sizes: Places, ends: NDArray[np.intp]) -> Places:
    """A step for each box away from the arrows that pass below it and are none of its own."""
    if not len(ends):
        return np.zeros_like(places)
    one, via, other = (places[ends[:, column]] for column in range(3))
    via = np.where((ends[:, :1] == ends[:, 1:2]), (one + other) / 2, via)
    points = curve(one, other, via, _SHARES[:, None, None])
    apart = places[:, None, None] - points[None]
    depth = sizes[:, None, None] / 2 - np.abs(apart)
    is_own = (ends[None] == np.arange(len(places))[:, None, None]).any(axis=2)
    is_over = (depth > 0).all(axis=3) & ~is_own[:, None, :]
    is_across = depth[..., 0] < depth[..., 1]
    step = np.stack([depth[..., 0] * is_across, depth[..., 1] * ~is_across], axis=3)
    moves = (np.where(apart < 0, -1.0, 1.0) * step * is_over[..., None]).sum(axis=(1, 2))
    found: Places = moves / np.maximum(is_over.sum(axis=(1, 2)), 1)[:, None]
    return found


def is_crowded(sizes: Places, room: Room) -> bool:
    """Whether boxes with their gaps take so much of the room that they are not worth a try."""
    needed = float(np.prod(sizes + room.gap, axis=1).sum())
    return needed > _FULL * (room.right - room.left) * (room.top - room.bottom)


def overlapping(places: Places, sizes: Places) -> list[tuple[int, int]]:
    """Pairs of boxes that overlap."""
    depth = _depth(places, sizes)
    pairs = np.argwhere(np.triu((depth > 1e-6).all(axis=2), 1))
    return [(int(one), int(other)) for one, other in pairs]


def _limits(sizes: Places, room: Room) -> tuple[Places, Places]:
    """The least and the greatest centre of each box."""
    low = np.array([room.left, room.bottom]) + sizes / 2
    high = np.array([room.right, room.top]) - sizes / 2
    return low, np.maximum(low, high)


def _depth(places: Places, sizes: Places) -> Places:
    """How far each two boxes reach into each other, along both axes; negative is a distance."""
    apart = np.abs(places[:, None] - places[None])
    depth: Places = (sizes[:, None] + sizes[None]) / 2 - apart
    depth[np.arange(len(places)), np.arange(len(places))] = -1
    return depth


def _apart(places: Places, sizes: Places, free: NDArray[np.bool_]) -> Places:
    """A step for each box away from all that it overlaps, along the axis of the lesser depth."""
    depth = _depth(places, sizes)
    is_over: NDArray[np.bool_] = np.all(depth > 0.01, axis=2)
    if not is_over.any():
        return np.zeros_like(places)
    sides = np.sign(places[:, None] - places[None])
    order = np.sign(np.arange(len(places))[:, None] - np.arange(len(places))[None])
    sides = np.where(sides == 0, order[:, :, None], sides)
    is_across = depth[:, :, 0] < depth[:, :, 1]
    step = np.stack([depth[:, :, 0] * is_across, depth[:, :, 1] * ~is_across], axis=2)
    share = np.where(free[None, :], 0.5, 1.0)[:, :, None]
    moves: Places = (sides * step * share * is_over[:, :, None]).sum(axis=1)
    count = np.sqrt(np.maximum(np.sum(is_over, axis=1), 1))
    moves = moves / count.reshape(-1, 1) + np.sign(moves) * 0.05
    return moves * free[:, None]
