"""The graph for networkx: whole and in part, measured, and copied into LlamaIndex's own."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from datetime import datetime, timezone

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.graph_stores import SimplePropertyGraphStore

from builders import open_memory
from explore_parts import NOON, fact, passage, talk
from graphmem import Message, explore
from graphmem.errors import InvalidInput, MissingDependency, NotFound
from graphmem.explore import graph_of
from graphmem.facts import entity_id
from graphmem.store import reading

BOB, EVE, OSLO, ZOE, TEA = map(entity_id, ("Bob", "Eve", "Oslo", "Zoe", "tea"))
NAMES = ("Bob", "Oslo", "Eve", "oslo", "Zoe", "tea")


# -- vertices and edges --------------------------------------------------------------------------


def test_entities_are_vertices_and_facts_are_edges_from_subject_to_object():
    since = datetime(2025, 1, 1, tzinfo=timezone.utc)
    lives = fact("Bob", "lives in", "Oslo", recorded_at=since, passages=("p-1",), valid_from="2024")
    likes = fact("Bob", "likes", "Oslo", False)
    graph = graph_of([lives, likes])
    assert isinstance(graph, networkx.MultiDiGraph)
    assert dict(graph.nodes(data=True)) == {
        BOB: {"kind": "entity", "name": "Bob", "is_speaker": False},
        OSLO: {"kind": "entity", "name": "Oslo", "is_speaker": False},
    }
    assert {(a, b, key) for a, b, key in graph.edges(keys=True)} == {
        (BOB, OSLO, lives.id),
        (BOB, OSLO, likes.id),
    }
    assert graph.edges[BOB, OSLO, lives.id] == {
        "kind": "fact",
        "predicate": "lives in",
        "polarity": True,
        "valid_from": "2024",
        "valid_to": None,
        "recorded_at": since,
        "retired_at": None,
        "status": "asserted",
        "replaced_by": None,
        "passages": ("p-1",),
    }
    assert graph.edges[BOB, OSLO, likes.id]["polarity"] is False


def test_passages_are_vertices_that_mention_entities_and_follow_each_other():
    graph = talk()
    assert explore.vertices_of(graph, "passage") == ["p-1", "p-2", "p-3"]
    assert graph.nodes["p-1"] == {
        "kind": "passage",
        "text": "I live in Oslo.",
        "title": "",
        "speaker": "Bob",
        "role": "user",
        "session": "s",
        "said_at": NOON,
        "message_id": "m-1",
        "thread": "s",
        "ordinal": 1,
        "part": 0,
    }
    mentions = {edge[:2]: data["facts"] for edge, data in explore.edges_of(graph, "mention")}
    assert set(mentions) == {
        ("p-1", BOB),
        ("p-1", OSLO),
        ("p-2", BOB),
        ("p-2", EVE),
        ("p-2", OSLO),
        ("p-3", ZOE),
        ("p-3", TEA),
    }
    assert len(mentions["p-2", EVE]) == 2
    assert [edge[:2] for edge, _ in explore.edges_of(graph, "next")] == [("p-1", "p-2")]
    speakers = {id_ for id_, is_one in graph.nodes(data="is_speaker") if is_one}
    assert speakers == {BOB, EVE}
    keys = [key for *_, key in graph.edges(keys=True)]
    assert len(keys) == len(set(keys))


def test_no_facts_are_an_empty_graph():
    assert len(graph_of([])) == 0


def test_a_fact_about_itself_is_a_loop_and_one_mention():
    graph = graph_of([fact("Bob", "is", "bob", passages=("p-1",))], [passage(1)])
    assert [edge[:2] for edge, _ in explore.edges_of(graph, "fact")] == [(BOB, BOB)]
    assert [edge[:2] for edge, _ in explore.edges_of(graph, "mention")] == [("p-1", BOB)]


FACTS = st.lists(
    st.builds(
        fact,
        st.sampled_from(NAMES),
        st.sampled_from(["a", "b"]),
        st.sampled_from(NAMES),
        passages=st.sampled_from([("p-1",), ("p-1", "p-2"), ("p-3",)]),
    ),
    unique_by=lambda one: (one.id, one.subject, one.object),
)


@given(FACTS, st.randoms())
def test_the_order_of_the_rows_does_not_matter(facts, rng):
    facts = list({one.id: one for one in facts}.values())
    said = [passage(number) for number in (1, 2, 3)]
    one = graph_of(facts, said)
    rng.shuffle(facts)
    rng.shuffle(said)
    other = graph_of(facts, said)
    assert list(one.nodes(data=True)) == list(other.nodes(data=True))
    assert list(one.edges(keys=True, data=True)) == list(other.edges(keys=True, data=True))
    assert len(explore.edges_of(one, "fact")) == len(facts)
    for measure in ("pagerank", "betweenness", "closeness", "degree"):
        assert list(explore.centrality(one, measure).items()) == list(
            explore.centrality(other, measure).items()
        )
    assert explore.communities(one) == explore.communities(other)


def test_without_networkx_the_error_names_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "networkx":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependency, match=r"graphmem\[explore\]"):
        graph_of([])


# -- parts ---------------------------------------------------------------------------------------


def named(graph):
    return {graph.nodes[id_]["name"] for id_ in explore.vertices_of(graph, "entity")}


def test_around_an_entity_by_name_spelling_or_id():
    graph = talk()
    near = explore.around(graph, " OSLO ")
    assert named(near) == {"Oslo", "Bob", "Eve"}
    assert explore.vertices_of(near, "passage") == ["p-1", "p-2"]
    assert len(explore.edges_of(near, "fact")) == 3
    assert networkx.utils.graphs_equal(near, explore.around(graph, OSLO))
    alone = explore.around(graph, "Oslo", hops=0)
    assert (named(alone), explore.vertices_of(alone, "passage")) == ({"Oslo"}, [])


def test_hops_count_facts_in_either_direction():
    chain = graph_of([fact("a1", "to", "b1"), fact("c1", "to", "b1"), fact("c1", "to", "d1")])
    assert [named(explore.around(chain, "a1", hops)) for hops in range(4)] == [
        {"a1"},
        {"a1", "b1"},
        {"a1", "b1", "c1"},
        {"a1", "b1", "c1", "d1"},
    ]


def test_hops_without_end_end_where_the_facts_do():
    far = explore.around(talk(), "Bob", hops=2**62)
    assert named(far) == {"Bob", "Eve", "Oslo"}
    assert set(far) == set(explore.around(talk(), "Bob", hops=3))


def test_an_unknown_name_is_told_with_names_that_are_written_alike():
    with pytest.raises(NotFound, match=r"about 'Olso': did you mean 'Oslo'\?"):
        explore.around(talk(), "Olso")
    with pytest.raises(NotFound, match="the facts have the names"):
        explore.around(talk(), "Wolfgang")
    with pytest.raises(NotFound):
        explore.around(talk(), "p-1")
    with pytest.raises(InvalidInput, match="int"):
        explore.around(talk(), 3)


def test_a_session_has_its_passages_and_what_they_state():
    told = explore.of_session(talk(), "t")
    assert named(told) == {"Zoe", "tea"}
    assert explore.vertices_of(told, "passage") == ["p-3"]
    assert len(explore.edges_of(explore.of_session(talk(), "s"), "fact")) == 3
    with pytest.raises(NotFound, match="there are: 's', 't'"):
        explore.of_session(talk(), "u")


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "m.db", scope="Maja") as memory:
        for text, session in (("Maja moved to Oslo.", "a"), ("Rui moved to Porto.", "b")):
            memory.remember([Message(text, said_at=NOON)], session=session)
        memory.remember("Tomo moved to Ghent.", scope="Tomo")
        assert memory.drain(60) == 0
        yield memory


def test_a_memory_gives_the_whole_graph_or_a_part(memory):
    whole = memory.graph()
    assert named(whole) == {"Maja", "Oslo", "Rui", "Porto"}
    assert len(explore.vertices_of(whole, "passage")) == 2
    assert explore.vertices_of(memory.graph(passages=False), "passage") == []
    assert named(memory.graph(entity="rui")) == {"Rui", "Porto"}
    assert named(memory.graph(session="a")) == {"Maja", "Oslo"}
    found = memory.recall("Where did Rui move?", top_k=1)
    part = memory.graph(recall=found)
    assert named(part) >= {"Rui", "Porto"}
    assert explore.vertices_of(part, "passage") == [found[0].passage.id]
    assert {key for _, _, key in part.edges(keys=True)} <= {
        key for _, _, key in whole.edges(keys=True)
    }


def test_the_graph_of_one_scope_holds_nothing_of_another(memory):
    assert named(memory.graph("Tomo")) == {"Tomo", "Ghent"}
    with pytest.raises(NotFound) as caught:
        memory.graph(entity="Tomo")
    assert "Ghent" not in str(caught.value)
    assert "'Tomo'?" not in str(caught.value)
    found = memory.recall("Where did Tomo move?", scope="Tomo")
    assert named(memory.graph(recall=found)) == {"Tomo", "Ghent"}
    with pytest.raises(InvalidInput, match="asked Tomo"):
        memory.graph("Maja", recall=found)


def test_what_is_no_longer_believed_is_there_when_asked_for(memory):
    (moved,) = [one for one in memory.facts() if one.subject == "Rui"]
    memory.reject(moved.id, actor="Maja")
    assert named(memory.graph()) == {"Maja", "Oslo"}
    every = memory.graph(every=True)
    assert every.edges[moved.subject_id, moved.object_id, moved.id]["status"] == "rejected"


def test_passages_that_were_not_known_then_are_not_in_the_graph_of_then(memory):
    first, second = (entry.at for entry in memory.log(kind="passage") if entry.action == "add")
    assert first < second
    then = memory.graph(known_at=first)
    assert len(explore.vertices_of(then, "passage")) == 1
    assert named(then) == set()


def test_a_graph_is_of_one_state_whoever_forgets_meanwhile(memory, monkeypatch):
    read = reading.facts

    def then_forget(*arguments, **options):
        found = read(*arguments, **options)
        monkeypatch.undo()
        memory.forget(session="b", preview=False)
        return found

    monkeypatch.setattr(reading, "facts", then_forget)
    graph = memory.graph()
    passages = set(explore.vertices_of(graph, "passage"))
    assert named(graph) == {"Maja", "Oslo", "Rui", "Porto"}
    for _, data in explore.edges_of(graph, "fact"):
        assert passages.issuperset(data["passages"])
    assert named(memory.graph()) == {"Maja", "Oslo"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entity": "Rui", "session": "a"}, "one of"),
        ({"hops": -1, "entity": "Rui"}, "hops"),
        ({"recall": "Rui"}, "recall"),
        ({"session": 3}, "session"),
    ],
)
def test_what_makes_no_sense_is_refused(memory, options, message):
    with pytest.raises(InvalidInput, match=message):
        memory.graph(**options)


# -- measures ------------------------------------------------------------------------------------


def two_groups():
    """Two triangles, joined by one fact."""
    pairs = [("a1", "a2"), ("a2", "a3"), ("a1", "a3"), ("b1", "b2"), ("b2", "b3"), ("b1", "b3")]
    return graph_of([fact(*ends[:1], "knows", *ends[1:]) for ends in [*pairs, ("a1", "b1")]])


def test_communities_are_what_hangs_together():
    graph = two_groups()
    found = [{graph.nodes[id_]["name"] for id_ in one} for one in explore.communities(graph)]
    assert sorted(found, key=min) == [{"a1", "a2", "a3"}, {"b1", "b2", "b3"}]
    assert explore.communities(graph_of([])) == []
    sizes = [len(one) for one in explore.communities(talk())]
    assert sizes == [3, 2]


def test_centralities_agree_with_networkx():
    graph = two_groups()
    plain = networkx.Graph(graph)
    others = {
        "betweenness": networkx.betweenness_centrality(plain),
        "closeness": {id_: v / 5 for id_, v in networkx.harmonic_centrality(plain).items()},
        "degree": dict(plain.degree()),
        "pagerank": networkx.pagerank(plain, weight=None, tol=1e-12),
    }
    for measure, other in others.items():
        mine = explore.centrality(graph, measure)
        assert mine == pytest.approx(other, abs=1e-8), measure
        best = [graph.nodes[id_]["name"] for id_ in mine][:2]
        assert sorted(best) == ["a1", "b1"], measure
    with pytest.raises(InvalidInput, match="pagerank, betweenness"):
        explore.centrality(graph, "beauty")
    assert explore.centrality(graph_of([])) == {}


def test_more_passages_weigh_more():
    graph = graph_of(
        [
            fact("Hub", "knows", "often", passages=("p-1", "p-2", "p-3")),
            fact("Hub", "knows", "once", passages=("p-1",)),
        ]
    )
    found = explore.centrality(graph)
    assert found[entity_id("often")] > found[entity_id("once")]


def test_the_shortest_paths_have_the_facts_on_the_way():
    graph = talk()
    (way,) = explore.shortest_paths(graph, "bob", "Eve")
    assert (way.entities, len(way)) == ((BOB, EVE), 1)
    assert str(way) == "Eve → not: likes → Bob"
    direct, around = explore.shortest_paths(graph, BOB, "Eve", k=5)
    assert direct == way
    assert around.entities == (BOB, OSLO, EVE)
    assert all(graph.edges[edge]["kind"] == "fact" for step in around.steps for edge in step)
    assert explore.shortest_paths(graph, "Bob", "Zoe") == []
    assert str(*explore.shortest_paths(graph, "Bob", "Bob")) == "Bob"
    wild = graph_of([fact("Bob", "is\n\x1b[31m", "tall")])
    assert str(*explore.shortest_paths(wild, "Bob", "tall")) == "Bob → is \ufffd[31m → tall"
    with pytest.raises(NotFound, match="did you mean 'Zoe'"):
        explore.shortest_paths(graph, "Bob", "Zoee")
    with pytest.raises(InvalidInput, match="k must be"):
        explore.shortest_paths(graph, "Bob", "Eve", k=0)


def test_of_equally_short_paths_the_better_stated_comes_first():
    weak = [
        fact("a1", "to", "weak", passages=("p-1",)),
        fact("weak", "to", "z1", passages=("p-1",)),
    ]
    twice = ("p-1", "p-2")
    strong = [fact("a1", "to", "firm", passages=twice), fact("firm", "to", "z1", passages=twice)]
    graph = graph_of(weak + strong)
    ways = explore.shortest_paths(graph, "a1", "z1", k=2)
    assert [graph.nodes[way.entities[1]]["name"] for way in ways] == ["firm", "weak"]


MEASURE = """
from explore_parts import fact
from graphmem.explore import *
pairs = [(a, b) for a in range(24) for b in range(a) if (a * b + a) % 7 == 1]
graph = graph_of({fact(f"n{a}", "knows", f"n{b}", passages=(f"p-{a}",)) for a, b in pairs})
print([sorted(one) for one in communities(graph)])
print([list(centrality(graph, m).items()) for m in ("pagerank", "betweenness", "closeness")])
print(shortest_paths(graph, "n1", "n23", k=3))
print([(one.get_text(), one.get_position()) for one in draw(graph).axes[0].texts])
near, apart = around(graph, "n3"), without_passages(graph)
print([*near], [*near.edges(keys=True)], [*apart], [*apart.edges(keys=True)])
import matplotlib.pyplot
print("figures of pyplot:", matplotlib.pyplot.get_fignums())
"""


def test_measures_and_pictures_are_the_same_in_every_process():
    outputs = set()
    for seed in ("1", "2"):
        paths = os.pathsep.join(filter(None, sys.path))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", MEASURE],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": paths},
        )
        outputs.add(done.stdout)
    (output,) = outputs
    assert output.count("e-") > 24
    assert output.endswith("figures of pyplot: []\n")


@pytest.mark.parametrize(
    "look",
    [
        lambda graph: explore.draw(graph),
        lambda graph: explore.write(graph, "graph.json"),
        lambda graph: explore.around(graph, "Bob"),
        lambda graph: explore.shortest_paths(graph, "Bob", "Eve"),
        lambda graph: explore.communities(graph),
        lambda graph: explore.to_property_graph(graph, SimplePropertyGraphStore()),
        lambda graph: explore.without_passages(graph),
    ],
)
@pytest.mark.parametrize("graph", [None, [], networkx.DiGraph()])
def test_what_is_no_graph_is_refused(look, graph):
    with pytest.raises(InvalidInput, match=r"memory.graph\(\) gives"):
        look(graph)


def test_what_is_no_explanation_no_path_and_no_title_is_refused():
    with pytest.raises(InvalidInput, match=r"memory.explain\(\) gives"):
        explore.draw_explanation(talk())
    with pytest.raises(InvalidInput, match="a path is"):
        explore.write(talk(), 5)
    with pytest.raises(InvalidInput, match="a path is"):
        explore.read(None)
    with pytest.raises(InvalidInput, match="title must be"):
        explore.draw(talk(), title=5)


# -- LlamaIndex ----------------------------------------------------------------------------------


def content(store):
    nodes = sorted((node.id, str(sorted(node.properties))) for node in store.get())
    return nodes, sorted((a.id, str(rel), b.id) for a, rel, b in store.graph.get_triplets())


def test_a_property_graph_store_gets_all_of_it_once(tmp_path):
    store = SimplePropertyGraphStore()
    counts = explore.to_property_graph(talk(), store)
    assert counts == {"entity": 5, "passage": 3, "fact": 4, "mention": 7, "next": 1}
    triplets = store.get_triplets(entity_names=["Oslo"])
    said = {(a.id, rel.label, b.id) for a, rel, b in triplets}
    assert said == {
        ("Bob", "lives in", "Oslo"),
        ("Eve", "lives in", "Oslo"),
        ("p-1", "MENTIONS", "Oslo"),
        ("p-2", "MENTIONS", "Oslo"),
    }
    ((_, denied, _),) = store.get_triplets(relation_names=["not likes"])
    assert denied.properties["polarity"] is False
    assert denied.properties["triplet_source_id"] == "p-2"
    (first,) = store.get_llama_nodes(["p-1"])
    assert (first.text, first.metadata["said_at"]) == ("I live in Oslo.", NOON.isoformat())
    before = content(store)
    assert explore.to_property_graph(talk(), store) == counts
    assert content(store) == before
    store.persist(str(tmp_path / "graph.json"))
    again = SimplePropertyGraphStore.from_persist_path(str(tmp_path / "graph.json"))
    assert content(again) == before


def test_entities_of_one_name_stay_two():
    store = SimplePropertyGraphStore()
    graph = graph_of([fact('Bob "the" Fox', "knows", "Eve"), fact("Bob  the  Fox", "knows", "Zoe")])
    counts = explore.to_property_graph(graph, store)
    assert counts["entity"] == len(store.get()) == 4
