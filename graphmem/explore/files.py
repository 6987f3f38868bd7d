r"""Graphs in files: GraphML for other tools, JSON for programs; both are read back as they were.

A graph is what ``graph_of`` makes, maybe with more attributes: ``None``, truth values, numbers,
strings, times and tuples of these. Ids and keys are strings.

GraphML has no ``None``, no times and no lists, and XML cannot hold some characters at all. What is
written there is what other tools can use: times as ISO 8601, tuples as JSON, ``None`` left out, and
characters that XML lacks as ``\uXXXX``. Which attributes were so is said in one more, ``graphmem``,
by which ``read`` restores them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from graphmem.errors import InvalidInput, NotFound
from graphmem.explore.graph import Graph, check_graph, empty
from graphmem.files import replace_file

__all__ = ["read", "write"]

_HOW = "graphmem"
# What networkx puts beside a graph's own attributes.
_OF_NETWORKX = ("node_default", "edge_default")
_FORMAT = {"graphmem": "graph", "version": 1}
_PLAIN = (bool, int, float, str)
# What comes of reading a file that was written by others, or changed.
_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
# A carriage return is read back as a line feed.
_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})|\\(\\)")


def write(graph: Graph, path: str | Path) -> Path:
    """Write a graph into a file of the format that the suffix names; an older one is replaced.

    Args:
        graph: what ``memory.graph`` gives.
        path: ends in ``.graphml`` or ``.json``.

    Returns:
        The path.

    Raises:
        InvalidInput: no graph, no path, another suffix, an attribute or id that no file can hold,
            or a path that cannot be written to.
        NotFound: there is no folder of that name.
    """
    check_graph(graph)
    place = _place(path)
    replace_file(place, _format(place)[0](graph))
    return place


def read(path: str | Path) -> Graph:
    """Read a graph that ``write`` wrote: equal in vertices, edges, keys and attributes.

    Raises:
        InvalidInput: no path, another suffix, or no such file content.
        NotFound: there is no such file, or none that can be read.
    """
    place = _place(path)
    reader = _format(place)[1]
    try:
        content = place.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError):
            raise NotFound(f"there is no file {str(path)!r:.200}") from error
        why = getattr(error, "strerror", None) or error
        raise NotFound(f"{str(path)!r:.200} cannot be read ({why}): name another file") from error
    return reader(content, str(path))


def _place(path: object) -> Path:
    if not isinstance(path, (str, Path)):
        raise InvalidInput(f"a path is a string or a Path, not {type(path).__name__}")
    return Path(path)


def _format(path: Path) -> tuple[Callable[[Graph], bytes], Callable[[bytes, str], Graph]]:
    formats = {".graphml": (_to_graphml, _from_graphml), ".json": (_to_json, _from_json)}
    try:
        return formats[path.suffix.lower()]
    except KeyError:
        raise InvalidInput(
            f"a graph is kept in a file that ends in .graphml or .json, not {path.name!r:.80}"
        ) from None


# -- JSON ----------------------------------------------------------------------------------------


def _to_json(graph: Graph) -> bytes:
    _check_ids(graph)
    content = {
        **_FORMAT,
        "graph": _as_json(graph.graph),
        "vertices": [{"id": id_, **_as_json(data, "id")} for id_, data in graph.nodes(data=True)],
        "edges": [
            {
                "source": one,
                "target": other,
                "key": key,
                **_as_json(data, "source", "target", "key"),
            }
            for one, other, key, data in graph.edges(keys=True, data=True)
        ],
    }
    return json.dumps(content, ensure_ascii=True, indent=1).encode()


def _from_json(content: bytes, name: str) -> Graph:
    try:
        found = json.loads(content)
        if not isinstance(found, dict) or {key: found.get(key) for key in _FORMAT} != _FORMAT:
            raise InvalidInput(f"{name!r} is not a graph that graphmem wrote")
        graph = empty()
        graph.graph.update(_from(found.get("graph", {})))
        for item in found["vertices"]:
            id_ = item.pop("id")
            graph.add_node(id_, **_from(item))
        for item in found["edges"]:
            ends = item.pop("source"), item.pop("target"), item.pop("key")
            graph.add_edge(*ends, **_from(item))
    except _NOT_OURS as error:
        raise InvalidInput(
            f"{name!r} is not a graph that graphmem wrote: {error!r:.200}"
        ) from error
    return graph


def _as_json(data: Mapping[str, Any], *taken: str) -> dict[str, Any]:
    for name in taken:
        if name in data:
            raise InvalidInput(f"an attribute {name!r} cannot be written: name it otherwise")
    return {name: _tagged(name, value) for name, value in data.items()}


def _tagged(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, tuple):
        return {"tuple": [_tagged(name, one) for one in value]}
    if value is None or isinstance(value, _PLAIN):
        return value
    raise InvalidInput(
        f"the attribute {name!r:.80} is a {type(value).__name__}: a file of a graph holds None, "
        "truth values, numbers, strings, times and tuples of these"
    )


def _from(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _untagged(value) for name, value in data.items()}


def _untagged(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "time":
        return datetime.fromisoformat(content)
    return tuple(_untagged(one) for one in content)


# -- GraphML -------------------------------------------------------------------------------------


def _to_graphml(graph: Graph) -> bytes:
    from io import BytesIO

    import networkx

    _check_ids(graph, is_xml=True)
    plain = empty()
    plain.graph.update(_as_xml(graph.graph))
    for id_, data in graph.nodes(data=True):
        plain.add_node(id_, **_as_xml(data))
    for one, other, key, data in graph.edges(keys=True, data=True):
        plain.add_edge(one, other, key=key, **_as_xml(data))
    out = BytesIO()
    networkx.write_graphml_xml(plain, out)
    return out.getvalue()


def _from_graphml(content: bytes, name: str) -> Graph:
    from io import BytesIO
    from xml.etree.ElementTree import ParseError

    import networkx

    graph = empty()

    try:
        found = networkx.read_graphml(BytesIO(content), force_multigraph=True)
        of_graph = {name: found.graph[name] for name in found.graph if name not in _OF_NETWORKX}
        graph.graph.update(_from_xml(of_graph))
        for id_, data in found.nodes(data=True):
            graph.add_node(id_, **_from_xml(data))
        for one, other, key, data in found.edges(keys=True, data=True):
            data.pop("id", None)
            graph.add_edge(one, other, key=key, **_from_xml(data))
    except (ParseError, networkx.NetworkXError, *_NOT_OURS) as error:
        raise InvalidInput(
            f"{name!r} is not a graph that graphmem wrote: {error!r:.200}"
        ) from error
    return graph


def _as_xml(data: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as GraphML has them, and in one more how those are to be read that it lacks."""
    shown: dict[str, Any] = {}
    how: dict[str, list[str]] = {}
    for name, value in data.items():
        if name in (_HOW, "id") or _NOT_IN_XML.search(name):
            raise InvalidInput(f"an attribute {name!r:.80} cannot be written: name it otherwise")
        kind, text = _spelled(name, value)
        if kind:
            how.setdefault(kind, []).append(name)
        if text is not None:
            shown[name] = text
    return {**shown, _HOW: json.dumps(how, sort_keys=True)} if how else shown


def _spelled(name: str, value: Any) -> tuple[str, Any]:
    """How an attribute is to be read, ``""`` as it stands, and what stands for it."""
    if value is None:
        return "none", None
    if isinstance(value, datetime):
        return "time", value.isoformat()
    if isinstance(value, tuple):
        return "tuple", json.dumps(_tagged(name, value))
    if value == "" and isinstance(value, str):
        return "empty", None
    if isinstance(value, str) and _NOT_IN_XML.search(value):
        return "escaped", _NOT_IN_XML.sub(_escape, value.replace("\\", "\\\\"))
    return "", _tagged(name, value)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else "\\"


def _from_xml(data: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(data)
    readers: dict[str, Callable[[Any], Any]] = {
        "none": lambda value: None,
        "empty": lambda value: "",
        "time": datetime.fromisoformat,
        "tuple": lambda value: _untagged(json.loads(value)),
        "escaped": lambda value: _ESCAPED.sub(_unescape, value),
    }
    for kind, names in json.loads(shown.pop(_HOW, "{}")).items():
        for name in names:
            shown[name] = readers[kind](shown.get(name))
    return shown


def _check_ids(graph: Graph, *, is_xml: bool = False) -> None:
    ids = [*graph.nodes, *(key for *_, key in graph.edges(keys=True))]
    for id_ in ids:
        if not isinstance(id_, str) or not id_:
            raise InvalidInput(f"ids of vertices and keys of edges are strings, not {id_!r:.80}")
        if is_xml and (_NOT_IN_XML.search(id_) or id_ != id_.strip()):
            raise InvalidInput(f"XML cannot hold the id {id_!r:.80}: write a .json file")
