"""Walks over real memories: small ones whole, large ones around the seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NAMES, PLACES, open_memory, story
from graphmem.index.graph import entity_vertices
from graphmem.recall import walk as module
from graphmem.recall.exact import Exact
from graphmem.recall.seeds import Reset
from graphmem.recall.walk import walk
from graphmem.settings import RecallSettings
from graphmem.types import Changes
from worlds import Memory, Said, World, ask, entity_id, facts_of

SETTINGS = RecallSettings()
# Certain of all that a small memory holds, by either route.
CERTAIN = replace(SETTINGS, settle_k=50, most_work=10**6)
WHOLE, AROUND = replace(CERTAIN, walk_all=10**9), replace(CERTAIN, walk_all=0)
NOBODY = np.zeros(0, dtype=np.int64)
NOTHING = np.zeros(0)


def said(count: int = 40) -> list[Said]:
    """Who lives where, in documents and in talk in which one speaker is a hub."""
    rows = []
    for number in range(count):
        name, place = NAMES[number % len(NAMES)], PLACES[number * number % len(PLACES)]
        triples = [(name, "lives in", place), (place, "is near", f"hill {number % 7}")]
        if number % 4 == 0:
            triples.append(("Ana", "likes", place))
        speaker = "Ana" if number % 2 else ""
        session = f"s{number // 10}" if speaker else ""
        text = f"note {number}: {name} lives in {place}"
        rows.append(Said(f"p{number:02}", text, triples, speaker=speaker, session=session))
    return rows


TOLD = said()


def start_at(index: Memory, names: list[str]) -> Reset:
    found = index.entities.ids.find([entity_id(name) for name in names])
    entities = np.unique(found[found >= 0])
    shares = np.full(len(entities), 1 / max(1, len(entities)))
    return Reset(entities, shares, np.zeros(len(entities)), NOBODY, NOTHING)


def ranks(index: Memory, settings: RecallSettings, names: list[str]) -> dict[str, float]:
    """Of the passages that a walk from entities comes to."""
    reached = walk(index, start_at(index, names), settings)
    ids = index.passages.ids.texts(reached.passages)
    return dict(zip(ids, reached.ranks.tolist(), strict=True))


def exact(index: Memory, names: list[str]) -> dict[str, float]:
    """The same by igraph."""
    graph = index.graph
    solver, reset = Exact(len(graph), *graph.every_edge()), np.zeros(len(graph))
    reset[entity_vertices(start_at(index, names).entities)] = 1
    found = solver.rank(reset, damping=SETTINGS.damping)[1::2]
    top = float(found.max(initial=0)) or 1.0
    here = index.passages.ids.find(sorted(index.rows.passages))
    return {index.passages.ids.texts(np.array([at]))[0]: found[at] / top for at in here.tolist()}


def same(found: dict[str, float], expected: dict[str, float], tie: float = 1e-7) -> bool:
    """Equal but for ties; who is not named has rank 0."""
    return found.keys() <= expected.keys() and all(
        abs(found.get(key, 0.0) - rank) < tie for key, rank in expected.items()
    )


MEMORY = World(TOLD).index()
NAMED = st.lists(st.sampled_from([*NAMES, *PLACES, "hill 3", "Ana"]), min_size=1, max_size=3)


@given(NAMED)
def test_both_routes_rank_a_memory_as_igraph_does(names):
    expected = exact(MEMORY, names)
    assert same(ranks(MEMORY, WHOLE, names), expected)
    around = ranks(MEMORY, AROUND, names)
    assert same(around, expected, tie=0.05)
    best = sorted(expected, key=lambda key: -expected[key])[:10]
    found = sorted(around, key=lambda key: -around[key])[: len(best)]
    assert [expected[key] for key in found] == pytest.approx(
        [expected[key] for key in best][: len(found)], abs=1e-7
    )


@pytest.fixture
def routes(monkeypatch):
    """The routes that walks took, in order."""
    taken = []
    for name in ("push", "power"):
        original = getattr(module, name)

        def noted(*arguments, name=name, original=original, **options):
            taken.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, noted)
    return taken


def test_the_size_of_the_graph_decides(routes):
    index = World(TOLD).index()
    entries = 2 * len(index.graph.every_edge()[0])
    for at_most in (0, entries - 1, entries, entries + 1, SETTINGS.walk_all):
        ranks(index, replace(SETTINGS, walk_all=at_most), ["Maja"])
    assert routes == ["push", "push", "power", "power", "power"]
    # Folding moves edges about and changes none.
    index.fold()
    for at_most in (entries - 1, entries):
        ranks(index, replace(SETTINGS, walk_all=at_most), ["Maja"])
    assert routes[5:] == ["push", "power"]


def changed(before: list[Said], after: list[Said]) -> Changes:
    """What a store reports when passages come and go."""
    old, new = {one.id for one in before}, {one.id for one in after}
    passages = [one.passage(TOLD.index(one)) for one in after if one.id not in old]
    known, now = facts_of(before), facts_of(after)
    facts = [one for one in now if one not in known]
    gone = (old - new) | ({one.id for one in known} - {one.id for one in now})
    vectors = World([]).vectors(passages, facts)
    return Changes(1, tuple(passages), tuple(facts), vectors, frozenset(gone))


@given(st.lists(st.sets(st.integers(0, len(TOLD) - 1)), min_size=2, max_size=4), NAMED)
def test_a_walk_after_a_change_is_that_of_a_memory_that_was_so_always(states, names):
    """What was kept of the graph before is gone: passages come, are forgotten, hubs turn."""
    index, before = Memory(), []
    for state in states:
        after = [TOLD[number] for number in sorted(state)]
        index.update(changed(before, after))
        expected = exact(World(after).index(), names)
        assert same(ranks(index, WHOLE, names), expected)
        assert same(ranks(index, AROUND, names), expected, tie=0.05)
        before = after


def test_who_becomes_a_hub_leaves_the_walk():
    """Nell speaks for the first time, and of nothing; but her edges lead nowhere from then on."""
    told = [
        Said("a", "Nell met Rui", [("Nell", "met", "Rui")]),
        Said("b", "Nell owns a boat", [("Nell", "owns", "boat")]),
        Said("c", "Rui is tall", [("Rui", "is", "tall")], speaker="Ines", session="s"),
        Said("d", "well", speaker="Nell", session="s"),
    ]
    index = Memory()
    index.update(replace(World(told[:3]).changes(), is_whole=False))
    assert ranks(index, WHOLE, ["boat"]).keys() == {"a", "b", "c"}
    index.update(replace(World(told).changes(), is_whole=False))
    assert ranks(index, WHOLE, ["boat"]).keys() == {"b"}
    assert same(ranks(index, WHOLE, ["boat"]), exact(World(told).index(), ["boat"]))


@pytest.mark.parametrize("settings", [WHOLE, AROUND], ids=["whole", "around"])
def test_a_passage_without_facts_that_came_since_is_a_place_to_start(settings):
    index = World(TOLD[:3]).index()
    ranks(index, settings, ["Maja"])
    quiet = [replace(one, triples=()) for one in TOLD[3:30]]
    index.update(replace(World(TOLD[:3] + quiet).changes(), is_whole=False))
    last = index.passages.ids.find(["p29"])
    reached = walk(index, Reset(NOBODY, NOTHING, NOTHING, last, np.ones(1)), settings)
    assert reached.passages.tolist() == last.tolist()
    assert reached.ranks.tolist() == [1.0]


def test_a_write_makes_no_matrix(monkeypatch):
    made = []
    original = module.Graph.transition.fget
    monkeypatch.setattr(
        module.Graph, "transition", property(lambda self: made.append(1) or original(self))
    )
    index = World(TOLD).index()
    index.update(changed(TOLD, TOLD[5:]))
    index.fold()
    index.arrays()
    assert made == []
    assert ask(index, "Where does Maja live?").route == "graph"
    assert made != []


QUESTIONS = [f"Where did {name} move to?" for name in NAMES] + [f"Who knows {PLACES[0]}?"]


def test_a_recall_finds_the_same_on_either_side_of_the_switch(tmp_path: Path):
    found = []
    for number, settings in enumerate((AROUND, WHOLE)):
        with open_memory(tmp_path / f"{number}.db", settings=settings) as memory:
            for session, message in story(120):
                memory.remember([message], session=session)
            assert memory.drain() == 0
            first = [memory.recall(question, top_k=10) for question in QUESTIONS]
            gone = first[0].passages[0].passage
            memory.forget(passage=gone.id)
            found.append(first + [memory.recall(question, top_k=10) for question in QUESTIONS])
    for around, whole in zip(*found, strict=True):
        assert around.route == whole.route == "graph"
        assert [one.passage.id for one in around] == [one.passage.id for one in whole]
        assert [one.score for one in around] == pytest.approx(
            [one.score for one in whole], abs=0.02
        )
        assert [[fact.id for fact in one.facts] for one in around] == [
            [fact.id for fact in one.facts] for one in whole
        ]
    assert len({one.passages[0].passage.id for one in found[0]}) > 3
