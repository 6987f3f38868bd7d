"""``bench explain``: explanations of what is recalled are looked up in the store."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from graphmem import GraphMemory, cli
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import bench_explain, load_sample
from graphmem.experiments.checking import Stored, faults
from graphmem.testing import HashEmbedder, ScriptedExtractor

TOLD = "Aunt Vera lives in Tavistock."
OTHER = "Tavistock has a canal with trout."
SCRIPT = {
    TOLD: [("Aunt Vera", "lives in", "Tavistock")],
    OTHER: [("Tavistock", "has", "canal")],
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """An explanation with a walk, and what is stored."""
    path = tmp_path_factory.mktemp("explain") / "memory.db"
    with GraphMemory.open(
        path, scope="ana", embed_model=HashEmbedder(), extractor=ScriptedExtractor(SCRIPT)
    ) as memory:
        memory.remember(list(SCRIPT), session="s1")
        assert memory.drain(30) == 0
        recall = memory.recall("Where does Aunt Vera live?", top_k=2)
        return memory.explain(recall, 1), Stored.of(memory)


def with_step(found, place, **changes):
    """The explanation with one step of its first path changed."""
    first, *others = found.paths
    steps = list(first.steps)
    steps[place] = replace(steps[place], **changes)
    return replace(found, paths=(replace(first, steps=tuple(steps)), *others))


def place_of(found, kind):
    return [step.kind for step in found.paths[0].steps].index(kind)


def test_what_is_told_holds(said):
    found, stored = said
    assert {"fits", "end", "mention"} <= {step.kind for step in found.steps}
    assert faults(found, stored) == []


def test_a_score_that_is_not_its_parts(said):
    found, stored = said
    assert "the parts add up" in faults(replace(found, score=found.score + 1e-9), stored)[0]


def test_no_path(said):
    found, stored = said
    assert faults(replace(found, paths=()), stored) == ["no path leads to it"]


def test_a_path_that_is_broken(said):
    found, stored = said
    first, *others = found.paths
    cut = replace(found, paths=(replace(first, steps=first.steps[1:]), *others))
    assert any("begins at" in one for one in faults(cut, stored))
    cut = replace(found, paths=(replace(first, steps=first.steps[:-1]), *others))
    assert any("ends at" in one for one in faults(cut, stored))
    cut = replace(found, paths=(replace(first, steps=(first.steps[0], *first.steps[2:])), *others))
    assert any("goes on at" in one for one in faults(cut, stored))


@pytest.mark.parametrize("kind", ["facts", "passages", "entities"])
def test_something_that_is_not_stored(said, kind):
    found, stored = said
    told = faults(found, replace(stored, **{kind: {}}))
    assert any(f"there is no {kind[:-1].replace('entitie', 'entity')} " in one for one in told)


def test_a_fact_of_other_ends(said):
    found, stored = said
    place = place_of(found, "mention")
    step = found.paths[0].steps[place]
    (other,) = (one for one in stored.facts.values() if one not in step.facts)
    assert any(
        "is not of its ends" in one
        for one in faults(with_step(found, place, facts=(replace(other, passages=()),)), stored)
    )
    assert any(
        "no fact mentions it" in one for one in faults(with_step(found, place, facts=()), stored)
    )


def test_a_fact_that_is_not_believed(said):
    found, stored = said
    place = place_of(found, "fits")
    doubted = tuple(replace(one, status="disputed") for one in found.paths[0].steps[place].facts)
    told = faults(with_step(found, place, facts=doubted), stored)
    assert any("is not believed" in one for one in told)


def test_words_that_nobody_said(said):
    found, stored = said
    place = place_of(found, "mention")
    quote = found.paths[0].steps[place].quotes[0]
    for changes, what in (
        ((replace(quote, text="Aunt Vera lives in Rome."),), "does not say so"),
        ((replace(quote, message_id="m-0"),), "is not of message"),
        ((), "no words are behind it"),
    ):
        assert any(what in one for one in faults(with_step(found, place, quotes=changes), stored))


def test_data_sets_are_explained(tmp_path):
    out = tmp_path / "explain.json"
    data = load_sample("documents")
    found = bench_explain([data], top_k=3, sample=4, embed_model=HashEmbedder(), json_path=out)
    (result,) = found["results"]
    assert (result["data"], result["questions"], result["passages"]) == (data.name, 4, 12)
    assert result["faults"] == []
    assert result["paths"]["walk"] >= 4
    assert sum(result["steps"].values()) > sum(result["paths"].values()) >= 12
    assert 0 < result["walk_told"]["p50"] <= 1
    assert json.loads(out.read_text()) == found


def test_without_triples_nothing_walks(tmp_path):
    data = load_sample("documents")
    bare = replace(data, records=tuple(replace(one, triples=()) for one in data.records))
    (result,) = bench_explain([bare], sample=2, embed_model=HashEmbedder())["results"]
    assert result["paths"]["walk"] == 0
    assert result["walk_told"] == {"p50": None, "p95": None}


def test_wrong_input(tmp_path):
    with pytest.raises(NotFound):
        bench_explain([tmp_path / "nothing.json"], embed_model=HashEmbedder())
    for options in ({"top_k": 0}, {"triples": "magic"}, {"sample": -1}):
        with pytest.raises(InvalidInput):
            bench_explain([load_sample("documents")], embed_model=HashEmbedder(), **options)


def test_command_line(tmp_path, capsys):
    data = load_sample("documents")
    file = tmp_path / "data.json"
    file.write_text(
        json.dumps(
            {
                "passages": [{"id": one.id, "text": one.message.text} for one in data.records],
                "queries": [
                    {"id": one.id, "text": one.text, "gold": list(one.gold)} for one in data.asked
                ],
            }
        )
    )
    out = tmp_path / "out.json"
    command = ["bench", "explain", "--data", str(file), "--sample", "2", "--json", str(out)]
    assert cli.main([*command, "--triples", "cooccurrence"]) == 0
    assert "looked up in the store" in capsys.readouterr().out
    assert json.loads(out.read_text())["triples"] == "cooccurrence"
