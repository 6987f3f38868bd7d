"""Graphs in files: what was written is read back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import networkx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from networkx.utils import graphs_equal

from explore_parts import talk
from graphmem import explore
from graphmem.errors import InvalidInput, NotFound

SUFFIXES = ["graphml", "json"]
HOSTILE = "a\x00b\x1b[31m\r\n\ud800 \\u0041 \ufffe<&>\"' \U0001f600\x85\u2028"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_graph_is_read_back_as_it_was(tmp_path, suffix):
    graph = talk()
    path = explore.write(graph, tmp_path / f"graph.{suffix}")
    again = explore.read(str(path))
    assert type(again) is networkx.MultiDiGraph
    assert graphs_equal(again, graph)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    again.nodes["p-1"]["text"] = "changed"
    assert not graphs_equal(again, graph)


TIMES = st.datetimes(
    datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(timezone(timedelta(hours=5)))
)
TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=8), st.sampled_from([HOSTILE, "", " ", "\r"])
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
    TEXTS,
    TIMES,
)
VALUES = st.one_of(PLAIN, st.tuples(PLAIN, PLAIN), st.just(()))
ATTRIBUTES = st.dictionaries(st.sampled_from(["kind", "name", "said_at", "x y"]), VALUES)
IDS = st.sampled_from(["e-1", "e-2", "p-1", "京都"])


@st.composite
def graphs(draw):
    graph = networkx.MultiDiGraph()
    for id_ in draw(st.lists(IDS, unique=True)):
        graph.add_node(id_, **draw(ATTRIBUTES))
    if len(graph):
        ends = st.sampled_from(sorted(graph))
        for one, other, key in draw(st.lists(st.tuples(ends, ends, IDS), max_size=5)):
            graph.add_edge(one, other, key, **draw(ATTRIBUTES))
    return graph


def typed(value):
    """Equal values of other types are not equal here."""
    if isinstance(value, tuple):
        return tuple(map(typed, value))
    return type(value), value, value.utcoffset() if isinstance(value, datetime) else None


def rows(graph):
    vertices = {id_: {k: typed(v) for k, v in data.items()} for id_, data in graph.nodes(data=True)}
    edges = {
        (one, other, key): {k: typed(v) for k, v in data.items()}
        for one, other, key, data in graph.edges(keys=True, data=True)
    }
    return vertices, edges


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(graph=graphs())
def test_any_graph_is_read_back_as_it_was(tmp_path, suffix, graph):
    path = explore.write(graph, tmp_path / f"graph.{suffix}")
    assert rows(explore.read(path)) == rows(graph)


def test_other_tools_see_plain_values(tmp_path):
    path = explore.write(talk(), tmp_path / "graph.graphml")
    seen = networkx.read_graphml(path)
    assert seen.nodes["p-1"]["said_at"] == "2025-03-01T12:00:00+00:00"
    assert {data["predicate"] for *_, data in seen.edges(data=True) if data["kind"] == "fact"} == {
        "lives in",
        "likes",
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_no_file_holds_is_refused(tmp_path, suffix):
    graph = talk()
    path = tmp_path / f"graph.{suffix}"
    graph.nodes["p-1"]["metadata"] = {"a": 1}
    with pytest.raises(InvalidInput, match="'metadata' is a dict"):
        explore.write(graph, path)
    graph = talk()
    graph.add_edge("p-1", "p-2")
    with pytest.raises(InvalidInput, match="strings, not 1"):
        explore.write(graph, path)
    graph = talk()
    graph.nodes["p-1"]["id"] = "x"
    with pytest.raises(InvalidInput, match="'id' cannot be written"):
        explore.write(graph, path)
    assert not path.exists()


def test_an_id_that_xml_cannot_hold_goes_into_json(tmp_path):
    graph = networkx.MultiDiGraph()
    graph.add_node(HOSTILE, kind="entity")
    with pytest.raises(InvalidInput, match=r"\.json"):
        explore.write(graph, tmp_path / "a.graphml")
    assert set(explore.read(explore.write(graph, tmp_path / "a.json"))) == {HOSTILE}


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"<a/>", b"\xff\x00", b'{"a": 1}'])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_files_are_told_from_graphs(tmp_path, suffix, content):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="not a graph"):
        explore.read(path)


DEEP = (
    b'{"graphmem": "graph", "version": 1, "edges": [], "vertices": [{"id": "a", "x": '
    + b"[" * 99_999
    + b"]" * 99_999
    + b"}]}"
)
TAGGED = b"""<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="graphmem" attr.type="string"/>
<graph edgedefault="directed"><node id="a"><data key="d0">%s</data></node></graph></graphml>"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", DEEP),
        ("a.graphml", TAGGED % b"[]"),
        ("a.graphml", TAGGED % b'{"time": ["x"]}'),
        ("a.graphml", TAGGED % b'{"escaped": ["x"]}'),
    ],
)
def test_changed_files_are_told_from_graphs(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match="not a graph"):
        explore.read(tmp_path / name)
    (tmp_path / "b.graphml").write_bytes(TAGGED % b'{"none": ["x"]}')
    assert explore.read(tmp_path / "b.graphml").nodes["a"] == {"x": None}


@pytest.mark.parametrize("name", ["n" * 300, "n" * 248, "a\0b", "a\ud800"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_name_that_no_file_can_have_is_an_error_of_ours(tmp_path, name, suffix):
    path = tmp_path / f"{name}.{suffix}"
    with pytest.raises(InvalidInput, match="cannot be written"):
        explore.write(talk(), path)
    assert not any(tmp_path.iterdir())
    with pytest.raises(NotFound, match=r"name another file|no file"):
        explore.read(path)


def test_suffix_file_and_folder_must_be_right(tmp_path):
    for name in ("a.gexf", "a"):
        with pytest.raises(InvalidInput, match=r"\.graphml or \.json"):
            explore.write(talk(), tmp_path / name)
        with pytest.raises(InvalidInput, match=r"\.graphml or \.json"):
            explore.read(tmp_path / name)
    with pytest.raises(NotFound, match="no file"):
        explore.read(tmp_path / "a.json")
    with pytest.raises(NotFound, match="no folder"):
        explore.write(talk(), tmp_path / "none" / "a.json")
    (tmp_path / "b.json").mkdir()
    with pytest.raises(InvalidInput, match="is a folder"):
        explore.write(talk(), tmp_path / "b.json")
