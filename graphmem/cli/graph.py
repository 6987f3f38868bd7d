"""The command that shows the graph: in figures, as a file, as a picture. It needs no model."""

from __future__ import annotations

import argparse
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from graphmem.cli.opening import add_json, add_store, opened, scope_of
from graphmem.cli.parsing import add_command, add_moments, positive
from graphmem.cli.values import print_json
from graphmem.display import wording
from graphmem.display.plain import plain
from graphmem.display.terminal import open_console, say
from graphmem.errors import InvalidInput
from graphmem.files import must_take_file, replace_file

if TYPE_CHECKING:
    from rich.console import Console

    from graphmem.explore import Centrality, Graph

__all__ = ["add_graph"]

_FILES = (".graphml", ".json")
_PICTURES = (".png", ".svg")
_SHOWN = 8
_MEMBERS = 4
_MEASURES: tuple[Centrality, ...] = ("degree", "pagerank", "betweenness")
# Entities times facts: seconds. Of 30,000 and 80,000, betweenness would take minutes.
_MOST_BETWEEN = 50_000_000


def add_graph(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "graph",
        _graph,
        "measure the graph of a store, keep it in a file or draw it",
        "graphmem graph --uri sqlite:///demo.db --scope Nell",
        "",
        "# a picture of what is around a name, and a file for other tools",
        "graphmem graph --uri demo.db --scope Nell --entity 'Aunt Vera' --out vera.png",
        "graphmem graph --uri demo.db --scope Nell --out nell.graphml",
    )
    add_store(parser)
    parser.add_argument("--entity", metavar="NAME", help="only what is around this one")
    parser.add_argument("--session", metavar="ID", help="only what was said in this conversation")
    parser.add_argument(
        "--hops", type=positive, metavar="N", help="with --entity: so many facts away (1)"
    )
    parser.add_argument(
        "--every", action="store_true", help="facts that are not believed any more, or yet, as well"
    )
    add_moments(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="write it: .graphml, .json, or a picture: .png, .svg"
    )
    add_json(parser)


def _graph(options: argparse.Namespace) -> int:
    from graphmem.looking import Looking

    if options.hops is not None and options.entity is None:
        raise InvalidInput("--hops is for --entity")
    out = None if options.out is None else _must_take(Path(options.out))
    scope = scope_of(options)
    with closing(opened(options)) as store:
        graph = Looking(store, scope).graph(
            entity=options.entity,
            session=options.session,
            hops=options.hops or 1,
            every=options.every,
            as_of=options.as_of,
            known_at=options.known_at,
        )
    if out is not None:
        _write(graph, out, options)
    if options.json:
        print_json({"scope": str(scope), **_figures(graph)})
    elif out is not None:
        say(open_console(), f"wrote {plain(str(out))}: {_counted(_counts(graph))}")
    elif len(graph):
        _show(open_console(), _figures(graph))
    else:
        say(open_console(), "the graph is empty: nothing was remembered, or read yet", style="dim")
    return 0 if len(graph) else 1


def _must_take(path: Path) -> Path:
    if path.suffix.lower() not in _FILES + _PICTURES:
        raise InvalidInput(
            f"--out ends in {', '.join(_FILES + _PICTURES)}, not in {path.suffix or 'nothing'!r}"
        )
    must_take_file(path)
    return path


def _write(graph: Graph, path: Path, options: argparse.Namespace) -> None:
    from graphmem import explore

    if path.suffix.lower() in _FILES:
        explore.write(graph, path)
        return
    title = options.entity or options.session or options.scope
    marked = () if options.entity is None else (options.entity,)
    picture = BytesIO()
    figure = explore.draw(graph, title=title, highlight=marked)
    figure.savefig(picture, format=path.suffix.lower().removeprefix("."))
    replace_file(path, picture.getvalue())


def _counts(graph: Graph) -> dict[str, Any]:
    from graphmem import explore

    return {
        "vertices": {kind: len(explore.vertices_of(graph, kind)) for kind in ("entity", "passage")},
        "edges": {kind: len(explore.edges_of(graph, kind)) for kind in ("fact", "mention", "next")},
    }


def _figures(graph: Graph) -> dict[str, Any]:
    """What is counted and measured, in the form of ``--json``; None is too much to measure."""
    from graphmem import explore

    def name(id_: str) -> str:
        return str(graph.nodes[id_]["name"])

    counts = _counts(graph)
    is_large = counts["vertices"]["entity"] * counts["edges"]["fact"] > _MOST_BETWEEN
    measured: dict[str, dict[str, float | None]] = {
        measure: dict(explore.centrality(graph, measure))
        for measure in _MEASURES
        if measure != "betweenness" or not is_large
    }
    ranks = measured["pagerank"]
    measured.setdefault("betweenness", dict.fromkeys(ranks))
    places = {id_: place for place, id_ in enumerate(ranks)}
    groups = [sorted(members, key=places.__getitem__) for members in explore.communities(graph)]
    return {
        **counts,
        "communities": [list(map(name, members)) for members in groups],
        "central": [
            {"id": id_, "name": name(id_)} | {one: measured[one][id_] for one in _MEASURES}
            for id_ in ranks
        ],
    }


def _counted(figures: dict[str, Any]) -> str:
    vertices, edges = figures["vertices"], figures["edges"]
    return (
        f"{vertices['entity']:,} entities, {vertices['passage']:,} passages, "
        f"{edges['fact']:,} facts, {edges['mention']:,} mentions"
    )


def _show(console: Console, figures: dict[str, Any]) -> None:
    say(console, _counted(figures), style="bold")
    groups = [members for members in figures["communities"] if len(members) > 1]
    if groups:
        console.print()
        title = f"communities: {len(groups)} of more than one entity, the largest first"
        say(console, title, style="dim")
        for members in groups[:_SHOWN]:
            names = wording.listed(list(map(plain, members)), _MEMBERS)
            _line(console, f"{len(members):>5}  ", names)
    if figures["central"]:
        console.print()
        say(console, "facts  rank   between  most central entities", style="dim")
        for one in figures["central"][:_SHOWN]:
            between = "-" if one["betweenness"] is None else f"{one['betweenness']:.3f}"
            head = f"{one['degree']:5.0f}  {one['pagerank']:.3f}  {between:>7}  "
            _line(console, head, plain(one["name"]))


def _line(console: Console, head: str, words: str) -> None:
    """One line, cut where the terminal ends."""
    text = Text.assemble((head, "dim"), (words, "cyan"))
    text.truncate(console.width, overflow="ellipsis")
    console.print(text, soft_wrap=True)
