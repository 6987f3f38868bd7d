"""The graph for networkx."""

from __future__ import annotations

import builtins
from datetime import datetime, timezone

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import MissingDependency
from graphmem.explore import graph_of
from graphmem.facts import entity_id, fact_id
from graphmem.types import Fact

NAMES = ("Bob", "Oslo", "Eve", "oslo")


def fact(subject: str, predicate: str, object_: str, polarity: bool = True, **more) -> Fact:
    return Fact(
        fact_id(subject, predicate, object_, polarity),
        entity_id(subject),
        entity_id(object_),
        subject,
        predicate,
        object_,
        polarity,
        **more,
    )


def test_entities_are_vertices_and_facts_are_edges_from_subject_to_object():
    since = datetime(2025, 1, 1, tzinfo=timezone.utc)
    lives = fact("Bob", "lives in", "Oslo", recorded_at=since, passages=("p-1",), valid_from="2024")
    likes = fact("Bob", "likes", "Oslo", False)
    graph = graph_of([lives, likes])
    assert isinstance(graph, networkx.MultiDiGraph)
    ends = entity_id("Bob"), entity_id("Oslo")
    assert {graph.nodes[id_]["name"] for id_ in graph} == {"Bob", "Oslo"}
    assert {(a, b, key) for a, b, key in graph.edges(keys=True)} == {
        (*ends, lives.id),
        (*ends, likes.id),
    }
    assert graph.edges[(*ends, lives.id)] == {
        "predicate": "lives in",
        "polarity": True,
        "valid_from": "2024",
        "valid_to": None,
        "recorded_at": since,
        "status": "asserted",
        "passages": ("p-1",),
    }
    assert graph.edges[(*ends, likes.id)]["polarity"] is False


def test_no_facts_are_an_empty_graph():
    assert len(graph_of([])) == 0


FACTS = st.lists(
    st.builds(fact, st.sampled_from(NAMES), st.sampled_from(["a", "b"]), st.sampled_from(NAMES))
)


@given(FACTS, st.randoms())
def test_the_order_of_the_facts_does_not_matter(facts, rng):
    shuffled = list(facts)
    rng.shuffle(shuffled)
    one, other = graph_of(facts), graph_of(shuffled)
    assert list(one.nodes(data="name")) == list(other.nodes(data="name"))
    assert one.number_of_edges() == len({each.id for each in facts})
    assert {*one} == {end for each in facts for end in (each.subject_id, each.object_id)}


def test_without_networkx_the_error_names_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "networkx":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependency, match=r"graphmem\[explore\]"):
        graph_of([])
