"""The sheet that pictures are drawn on: boxes with words, arrows, a title and a legend.

Figures are made without pyplot: nothing is shown, kept or set for the whole process. Stored words
are drawn as they stand, never read as formulas, and characters that no font has become ``□``.

Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart; shapes
and dashes say the same once more.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphmem.display.plain import shortened
from graphmem.errors import MissingDependency
from graphmem.explore.layout import Room, curve, route

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Arrow", "Box", "Canvas", "wrapped"]

Places: TypeAlias = NDArray[np.float64]

_DPI = 100
_FAMILY = "DejaVu Sans"
_NO_GLYPH = "□"
_MARGIN = 22
_HEAD = 78
# How wide a letter of the note is at most, on average.
_NOTE_LETTER = 8.0
_FOOT = 50
_INK, _QUIET = "#222222", "#6b6b6b"
_MARK = "#D55E00"


@dataclass(frozen=True, slots=True)
class _BoxLook:
    fill: str
    line: str = "none"
    ink: str = _INK
    size: float = 8.5
    is_bold: bool = False
    corner: float = 0.0
    pad: tuple[float, float] = (3.0, 1.5)
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class _ArrowLook:
    colour: str
    width: float = 1.0
    dashes: Any = "-"
    has_head: bool = True
    meaning: str = ""


BOXES: Mapping[str, _BoxLook] = {
    "question": _BoxLook("#222222", ink="#ffffff", size=9, is_bold=True, pad=(9, 7),
                         meaning="question"),
    "statement": _BoxLook("#e6f4ee", "#009E73", size=8, corner=3, pad=(6, 4), meaning="fact"),
    "speaker": _BoxLook("#0072B2", ink="#ffffff", size=9.5, is_bold=True, corner=9, pad=(9, 5),
                        meaning="speaker"),
    "entity": _BoxLook("#e3f0f8", "#0072B2", corner=8, pad=(7, 4), meaning="entity"),
    "passage": _BoxLook("#fff6dd", "#E69F00", size=7.5, pad=(6, 4), meaning="passage"),
    "fact": _BoxLook("#ffffff", ink="#444444", size=7.5),
    "denied": _BoxLook("#ffffff", ink="#b34700", size=7.5),
    "ended": _BoxLook("#ffffff", ink="#8a8a8a", size=7.5),
    "withheld": _BoxLook("#ffffff", ink="#a3557f", size=7.5),
    "added": _BoxLook("#ffffff", ink="#00704f", size=7.5, is_bold=True),
    "changed": _BoxLook("#ffffff", ink="#005a8c", size=7.5, is_bold=True),
}  # fmt: skip
ARROWS: Mapping[str, _ArrowLook] = {
    "fact": _ArrowLook("#666666", meaning="fact"),
    "denied": _ArrowLook("#D55E00", dashes=(0, (6, 2, 1, 2)), meaning="denied"),
    "ended": _ArrowLook("#999999", dashes=(0, (4, 3)), meaning="no longer so"),
    "withheld": _ArrowLook("#CC79A7", dashes=(0, (1, 2)), meaning="not believed"),
    "added": _ArrowLook("#009E73", 2.0, meaning="new"),
    "changed": _ArrowLook("#0072B2", 1.6, (0, (9, 2)), meaning="told otherwise"),
    "step": _ArrowLook("#666666", meaning="step, with its weight"),
    "mention": _ArrowLook("#E69F00", 0.8, (0, (1, 1.5)), has_head=False, meaning="mentions"),
    "next": _ArrowLook("#c9a227", 0.9, meaning="next passage"),
}


@dataclass(frozen=True, slots=True)
class Box:
    """Words in a box: what it says and how it looks; a marked one has a thick frame."""

    text: str
    look: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by their numbers, maybe through a third that is its label."""

    source: int
    target: int
    look: str
    label: int | None = None

    @property
    def ends(self) -> tuple[int, int, int]:
        """Where it starts, leads through and ends; it leads through its start without a label."""
        return self.source, self.source if self.label is None else self.label, self.target


@dataclass(eq=False, slots=True)
class Canvas:
    """A figure with room for boxes. Its units are pixels at 100 dpi, from the lower left.

    Args:
        width, height: inches.
        title: at the top.
        note: below it, in small letters.

    Raises:
        MissingDependency: matplotlib is not installed.
    """

    width: float
    height: float
    title: str = ""
    note: str = ""
    figure: Figure = field(init=False)
    _axes: Any = field(init=False)
    _renderer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.figure = _figure(self.width, self.height)
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, self.width * _DPI), ylim=(0, self.height * _DPI))
        self._axes.axis("off")
        self._renderer = self.figure.canvas.get_renderer()  # type: ignore[attr-defined]

    @property
    def room(self) -> Room:
        """Where boxes may stand: between title and legend."""
        right, top = self.width * _DPI - _MARGIN, self.height * _DPI
        return Room(_MARGIN, _FOOT, right, top - _HEAD)

    def sizes(self, boxes: Sequence[Box]) -> Places:
        """Width and height of each box, as the words in it need."""
        found = np.zeros((len(boxes), 2))
        for number, box in enumerate(boxes):
            words = self._words(box, (0, 0))
            extent = words.get_window_extent(self._renderer)
            words.remove()
            pad = np.array(BOXES[box.look].pad)
            found[number] = np.array([extent.width, extent.height]) + 2 * pad
        return found

    def paint(self, boxes: Sequence[Box], places: Places, arrows: Iterable[Arrow]) -> Figure:
        """Draw all of it: arrows below boxes, and what the looks mean."""
        from matplotlib.patches import FancyBboxPatch

        sizes = self.sizes(boxes)
        drawn = list(arrows)
        places, via = route(places, sizes, self.room, [arrow.ends for arrow in drawn])
        for arrow, middle in zip(drawn, via, strict=True):
            self._arrow(arrow, places, sizes, middle)
        for box, place, size in zip(boxes, places, sizes, strict=True):
            look = BOXES[box.look]
            is_label = look.line == "none" and not look.meaning
            frame = FancyBboxPatch(
                tuple(place - size / 2),
                width=size[0],
                height=size[1],
                boxstyle=f"round,pad=0,rounding_size={look.corner}"
                if look.corner
                else "square,pad=0",
                facecolor=look.fill,
                edgecolor=_MARK if box.is_marked else look.line,
                linewidth=2.2 if box.is_marked else 1.0,
                zorder=2 if is_label else 3,
            )
            self._axes.add_patch(frame)
            self._words(box, place)
        self._write()
        self._explain(boxes, drawn)
        return self.figure

    def _words(self, box: Box, place: Any) -> Any:
        look = BOXES[box.look]
        return self._axes.text(
            *place,
            _drawable(box.text),
            ha="center",
            va="center",
            color=look.ink,
            fontsize=look.size,
            fontweight="bold" if look.is_bold else "normal",
            fontfamily=_families(box.text),
            linespacing=1.25,
            zorder=4,
            gid=box.look,
            parse_math=False,
            usetex=False,
        )

    def _arrow(self, arrow: Arrow, places: Places, sizes: Places, via: Places) -> None:
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        look = ARROWS[arrow.look]
        if arrow.source != arrow.target:
            line = curve(places[arrow.source], places[arrow.target], via)
            line = _outside(line, places[arrow.source], sizes[arrow.source])
            line = _outside(line, places[arrow.target], sizes[arrow.target] + 3)
        else:
            line = _loop(places[arrow.source], via)
            line = _outside(line, places[arrow.target], sizes[arrow.target] + 2)
        if len(line) < 2:
            return
        self._axes.add_patch(
            FancyArrowPatch(
                path=Path(line),
                arrowstyle="-|>,head_length=5,head_width=2.4" if look.has_head else "-",
                mutation_scale=1.0,
                facecolor=look.colour,
                edgecolor=look.colour,
                linewidth=look.width,
                linestyle=look.dashes,
                capstyle="butt",
                joinstyle="round",
                fill=look.has_head,
                zorder=1,
            )
        )

    def _write(self) -> None:
        """Title and note; a title that is too long for the sheet is cut, a note has two lines."""
        high, wide = self.height * _DPI, self.width * _DPI - 2 * _MARGIN
        title = self._line(self.title, high - 18, 14, _INK, "bold")
        length = len(self.title)
        while length and title.get_window_extent(self._renderer).width > wide:
            length -= 1
            title.set_text(_drawable(f"{self.title[:length].rstrip()}…"))
        note = textwrap.fill(self.note, int(wide / _NOTE_LETTER))
        self._line(note, high - 43, 9, _QUIET, "normal")

    def _line(self, text: str, y: float, size: float, ink: str, weight: str) -> Any:
        return self._axes.text(
            _MARGIN,
            y,
            _drawable(text),
            ha="left",
            va="top",
            fontsize=size,
            color=ink,
            fontweight=weight,
            fontfamily=_families(text),
            gid="title",
            parse_math=False,
            usetex=False,
        )

    def _explain(self, boxes: Sequence[Box], arrows: Sequence[Arrow]) -> None:
        """What shapes and lines mean, of those that are drawn."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        used = {box.look for box in boxes}
        handles: list[Any] = [
            Patch(facecolor=look.fill, edgecolor=look.line, label=look.meaning)
            for name, look in BOXES.items()
            if name in used and look.meaning
        ]
        used = {arrow.look for arrow in arrows}
        handles += [
            Line2D([], [], color=look.colour, linewidth=look.width + 0.4, linestyle=look.dashes,
                   label=look.meaning)
            for name, look in ARROWS.items()
            if name in used and look.meaning
        ]  # fmt: skip
        if handles:
            self.figure.legend(
                handles=handles,
                loc="lower left",
                bbox_to_anchor=(0.008, 0.004),
                ncols=len(handles),
                frameon=False,
                prop={"family": _FAMILY, "size": 8},
                labelcolor=_QUIET,
                handlelength=2.2,
                columnspacing=1.8,
            )


def wrapped(text: str, width: int, lines: int = 1) -> str:
    """Stored text for a picture: on so many lines of about so many letters, then ``…``."""
    # What is cut here is more than fits, so that a book costs no more than its first lines.
    head = shortened(text, (width + 1) * lines + 1)
    found = textwrap.wrap(head, width, break_on_hyphens=False) or [""]
    if len(found) <= lines:
        return "\n".join(found)
    last = found[lines - 1]
    last = last if len(last) < width else last[: width - 1].rstrip()
    return "\n".join([*found[: lines - 1], f"{last}…"])


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency(
            "pictures need matplotlib: python -m pip install 'graphmem[explore]'"
        ) from error
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor="#ffffff")
    FigureCanvasAgg(figure)
    return figure


def _loop(centre: Places, via: Places) -> Places:
    """Points of a drop from a centre around a label and back."""
    share = np.linspace(0, 1, 97)[:, None]
    out = via - centre
    side = np.array([-out[1], out[0]]) * 0.5
    one, other = centre + out * 4 / 3 + side, centre + out * 4 / 3 - side
    drop: Places = (
        ((1 - share) ** 3 + share**3) * centre
        + 3 * share * (1 - share) ** 2 * one
        + 3 * share**2 * (1 - share) * other
    )
    return drop


def _outside(line: Places, place: Places, size: Places) -> Places:
    is_inside = (np.abs(line - place) <= size / 2).all(axis=1)
    return line[~is_inside]


# -- fonts ---------------------------------------------------------------------------------------


def _drawable(text: str) -> str:
    """The text with a sign for what no font has."""
    return "".join(char if char == "\n" or _family(char) else _NO_GLYPH for char in text)


def _families(text: str) -> list[str]:
    found = dict.fromkeys(filter(None, (_family(char) for char in text)))
    return list(dict.fromkeys([_FAMILY, *found]))


@cache
def _family(char: str) -> str | None:
    """A font that has the character; the usual one before others, those by name."""
    return next((name for name, path in _fonts() if ord(char) in _letters(path)), None)


@cache
def _fonts() -> list[tuple[str, str]]:
    from matplotlib.font_manager import fontManager

    known = sorted({(font.name, font.fname) for font in fontManager.ttflist})
    usual = [font for font in known if font[0] == _FAMILY]
    others = [font for font in known if font[0] != _FAMILY and "Last Resort" not in font[0]]
    return usual + others


@cache
def _letters(path: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (RuntimeError, OSError):  # a file that is listed and cannot be read
        return frozenset()
