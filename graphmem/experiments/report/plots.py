"""Pictures of a run: recall against k, recall against time, and what each part contributes.

Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart; markers
and dashes say the same once more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem.errors import InvalidInput, MissingDependency
from graphmem.experiments.report.comparison import ALL, Comparison, Entry, compare, entries
from graphmem.experiments.report.wording import data_name
from graphmem.experiments.rows import Row
from graphmem.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["by_k", "by_size", "by_time", "draw", "must_be_drawable", "parts", "save"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))
_MOST_LINES = 16
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_PANEL = (4.0, 3.3)
_LEAST_WIDTH = 5.6
_MOST_LETTERS = 30
_ACROSS = 3
_PARTS_ACROSS = 4
_FEW_DECADES = 2.5
_LEAST_MS = 0.01
_DPI = 160
# Of a percentage, with room for markers at either end.
_SHARES = (-3, 103)


def must_be_drawable(out: str | Path | None) -> None:
    """Check before long work that its pictures can be drawn and have a place.

    Raises:
        InvalidInput: there is no folder for them.
        MissingDependency: matplotlib is not installed.
    """
    if out is None:
        raise InvalidInput("plots are written into the folder of the results: name it with out=")
    _figure_class()


def draw(out: Path, rows: Sequence[Row]) -> list[Path]:
    """Write PNG files into a folder; ``parts`` only where parts of recall were switched off.

    Returns:
        The files written.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    pictures: dict[str, Figure] = {}
    if _whole(rows):
        pictures["recall-by-k"] = by_k(rows)
        pictures["recall-by-time"] = by_time(rows)
    ablations = parts(rows)
    for number, picture in enumerate(ablations.values(), 1):
        pictures["parts" if len(ablations) == 1 else f"parts-{number}"] = picture
    files = []
    for name, figure in pictures.items():
        files.append(out / f"{name}.png")
        save(files[-1], figure)
    return files


def save(path: Path, figure: Figure) -> None:
    """Write a picture as a PNG file."""
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=_DPI)


def by_k(rows: Sequence[Row]) -> Figure:
    """Recall against the number of records, a panel for each data set.

    Raises:
        InvalidInput: there is nothing to draw.
        MissingDependency: matplotlib is not installed.
    """
    return _by_k(_drawable(rows))


def by_time(rows: Sequence[Row]) -> Figure:
    """Recall at 5 against what a recall takes, a panel for each data set.

    Raises:
        InvalidInput: there is nothing to draw.
        MissingDependency: matplotlib is not installed.
    """
    return _by_time(_drawable(rows))


def parts(rows: Sequence[Row]) -> dict[str, Figure]:
    """What each part that was switched off contributes, by the configuration that lost it.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    found = [entry for entry in entries(rows) if entry.outcomes]
    return {config: _parts(config, compared) for config, compared in _ablations(found).items()}


def by_size(lines: Mapping[str, Sequence[tuple[int, float]]]) -> Figure:
    """Milliseconds against passages of a memory, both on logarithmic axes.

    Args:
        lines: (passages, milliseconds) of each thing that costs time; eight at most.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    figure, (panel,) = _panels(["cost against size"])
    handles: dict[str, Any] = {}
    for (name, points), colour, marker, dashes in zip(
        lines.items(), _COLOURS, _MARKERS, _DASHES, strict=False
    ):
        (handles[name],) = panel.plot(
            [passages for passages, _ in points],
            [max(spent, _LEAST_MS) for _, spent in points],
            color=colour,
            marker=marker,
            linestyle=dashes,
            markersize=5,
            linewidth=1.8,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda value, place: f"{value:,g}")
    panel.minorticks_off()
    figure.supxlabel("passages", fontsize=10)
    figure.supylabel("ms, median", fontsize=10)
    _legend(figure, handles, 2)
    return figure


def _whole(rows: Sequence[Row]) -> list[Entry]:
    """All but ablations, where a question was answered."""
    return [one for one in entries(rows) if one.outcomes and not one.setup.variant.part]


def _drawable(rows: Sequence[Row]) -> list[Entry]:
    found = _whole(rows)
    if not found:
        raise InvalidInput("there is nothing to draw: no row has a question with an answer")
    return found


def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency(
            "plots need matplotlib: python -m pip install 'graphmem[explore]' "
            "(or leave the plots out)"
        ) from error
    return Figure


def _panels(
    names: Sequence[str], size: tuple[float, float] = _PANEL, most: int = _ACROSS
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each name, all with the same axes, and room for a legend."""
    down = math.ceil(len(names) / most)
    across = math.ceil(len(names) / down)
    figure = _figure_class()(
        figsize=(max(size[0] * across + 0.6, _LEAST_WIDTH), size[1] * down + 0.9)
    )
    figure.set_layout_engine("constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    axes = list(grid.ravel())
    for place in range(len(names), len(axes)):
        axes[place].remove()
        axes[place - across].tick_params(labelbottom=True)
    for panel, name in zip(axes, names, strict=False):
        panel.set_title(_title(name), fontsize=11)
        panel.grid(visible=True, color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes[: len(names)]


def _title(data: str) -> str:
    name = "all together" if data == ALL else data_name(data)
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"


def _legend(figure: Figure, handles: dict[str, Any], columns: int) -> None:
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        fontsize=9,
    )


def _sets(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    sets: dict[str, list[Entry]] = {}
    for entry in found:
        sets.setdefault(entry.setup.data, []).append(entry)
    return sets


def _looks(found: Sequence[Entry]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each configuration, no two alike.

    When all colours are used, they come again with other markers and dashes. A picture takes
    ``_MOST_LINES``: the configurations after those are not drawn.
    """
    looks = {}
    configs = dict.fromkeys(entry.setup.config for entry in found)
    for number, config in enumerate(list(configs)[:_MOST_LINES]):
        colour, round_ = number % len(_COLOURS), number // len(_COLOURS)
        shape = (colour + round_) % len(_MARKERS)
        looks[config] = {
            "color": _COLOURS[colour],
            "marker": _MARKERS[shape],
            "linestyle": _DASHES[shape],
        }
    return looks


def _by_k(found: Sequence[Entry]) -> Figure:
    sets, looks = _sets(found), _looks(found)
    figure, panels = _panels(list(sets))
    handles: dict[str, Any] = {}
    for panel, group in zip(panels, sets.values(), strict=True):
        deepest = max(entry.setup.depth for entry in group)
        for entry in group:
            look = looks.get(entry.setup.config)
            if look is None:
                continue
            cuts = list(range(1, entry.setup.depth + 1))
            (line,) = panel.plot(
                cuts,
                [100 * entry.recall(cut) for cut in cuts],
                **look,
                markevery=[cut - 1 for cut in _TICKS if cut <= entry.setup.depth],
                markersize=5,
                linewidth=1.8,
            )
            handles.setdefault(entry.setup.config, line)
        ticks = [cut for cut in _TICKS if cut <= deepest]
        panel.set_xscale("log")
        panel.set_xticks(ticks, [str(cut) for cut in ticks])
        panel.minorticks_off()
        panel.set_ylim(*_SHARES)
    figure.supxlabel("k (records)", fontsize=10)
    figure.supylabel("recall@k (% of gold records)", fontsize=10)
    _legend(figure, handles, _columns(handles, len(panels)))
    return figure


def _by_time(found: Sequence[Entry]) -> Figure:
    sets, looks = _sets(found), _looks(found)
    figure, panels = _panels(list(sets))
    handles: dict[str, Any] = {}
    for panel, group in zip(panels, sets.values(), strict=True):
        for entry in group:
            look = looks.get(entry.setup.config)
            if look is None or entry.times is None:
                continue
            middle, high = (max(value, _LEAST_MS) for value in entry.times)
            recall = entry.intervals()["recall@5"]
            drawn = panel.errorbar(
                [middle],
                [100 * recall.mean],
                xerr=[[0.0], [high - middle]],
                yerr=[[100 * (recall.mean - recall.low)], [100 * (recall.high - recall.mean)]],
                color=look["color"],
                marker=look["marker"],
                markersize=8,
                elinewidth=1.2,
                capsize=3,
                linestyle="none",
            )
            handles.setdefault(entry.setup.config, drawn.lines[0])
        panel.set_xscale("log")
        panel.set_ylim(*_SHARES)
    _label_times(panels[0])
    figure.supxlabel("ms a recall, without embedding: median to 95th percentile", fontsize=10)
    figure.supylabel("recall@5 (%), 95 % interval", fontsize=10)
    _legend(figure, handles, _columns(handles, len(panels)))
    return figure


def _label_times(panel: Axes) -> None:
    """Ticks at 1, 2 and 5 of each decade, or at 1 alone where there are many decades."""
    from matplotlib.ticker import LogLocator

    panel.margins(x=0.15)
    low, high = panel.get_xlim()
    is_narrow = math.log10(high / low) <= _FEW_DECADES
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_narrow else (1,)))
    panel.xaxis.set_major_formatter(lambda value, place: f"{value:g}")
    panel.minorticks_off()


def _columns(handles: dict[str, Any], panels: int) -> int:
    """As many columns of the legend as fit above the panels."""
    longest = max(map(len, handles), default=1)
    return max(1, min(len(handles), int(42 * min(panels, _ACROSS) / (longest + 6))))


def _ablations(found: Sequence[Entry]) -> dict[str, list[Comparison]]:
    """What the loss of each part changes, by the configuration that lost it."""
    part_of = {
        entry.setup.config: entry.setup.variant.part for entry in found if entry.setup.variant.part
    }
    groups: dict[str, list[Comparison]] = {}
    for one in compare(found):
        if one.config in part_of:
            groups.setdefault(one.against, []).append(
                Comparison(one.data, part_of[one.config], one.against, one.figures)
            )
    return groups


def _parts(config: str, compared: Sequence[Comparison]) -> Figure:
    """Bars to the right: what is lost without a part; to the left: what is won."""
    sets = list(dict.fromkeys(one.data for one in compared))
    judged_on = ALL if ALL in sets else sets[0]
    gains = {
        one.config: [-one.figures[name].mean for name in ("recall@5", "mrr")]
        for one in compared
        if one.data == judged_on
    }
    parts = sorted(gains, key=lambda part: (gains[part], part))
    figure, panels = _panels(sets, (3.2, 0.34 * len(parts) + 1.0), _PARTS_ACROSS)
    handles: dict[str, Any] = {}
    for panel, data in zip(panels, sets, strict=True):
        by_part = {one.config: one for one in compared if one.data == data}
        for shift, figure_name, label, colour in (
            (0.19, "recall@5", "recall@5", _COLOURS[0]),
            (-0.19, "mrr", "MRR", _COLOURS[5]),
        ):
            known = [part for part in parts if part in by_part]
            apart = [by_part[part].figures[figure_name] for part in known]
            handles[label] = panel.barh(
                [parts.index(part) + shift for part in known],
                [-100 * one.mean for one in apart],
                height=0.36,
                color=colour,
                xerr=[
                    [100 * (one.high - one.mean) for one in apart],
                    [100 * (one.mean - one.low) for one in apart],
                ],
                error_kw={"elinewidth": 0.9, "capsize": 2, "ecolor": "#444444"},
            )
        panel.axvline(0, color="black", linewidth=0.9)
        panel.set_yticks(range(len(parts)), [part.replace("_", " ") for part in parts], fontsize=9)
        panel.grid(visible=False, axis="y")
        panel.set_ylim(-0.6, len(parts) - 0.4)
    low, high = panels[0].get_xlim()
    panels[0].set_xlim(min(low, -1), max(high, 1))
    panels[0].locator_params(axis="x", nbins=5, prune="both")  # clear of the neighbour's
    figure.supxlabel("points lost without it, 95 % interval (paired bootstrap)", fontsize=10)
    figure.suptitle(f"What each part of {config} contributes", fontsize=12)
    # The smallest bars are at the bottom.
    panels[0].legend(handles.values(), handles, loc="lower right", frameon=False, fontsize=9)
    return figure
