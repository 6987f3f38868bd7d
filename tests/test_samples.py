from __future__ import annotations

import pytest

from bench_parts import quiet
from graphmem import GraphMemory
from graphmem.errors import InvalidInput
from graphmem.experiments import SAMPLES, bench_recall, load_sample, recorded
from graphmem.testing import HashEmbedder


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_questions_of_one_two_and_three_hops(name):
    data = load_sample(name)
    assert data.name == name
    assert {question.hops for question in data.questions} == {1, 2, 3}
    for question in data.questions:
        assert len(question.gold) == question.hops
        assert question.answer


@pytest.mark.parametrize("name", SAMPLES)
def test_every_triple_of_a_sample_is_believed(name):
    data = load_sample(name)
    (scope,) = data.scopes
    triples = {triple for record in data.records for triple in record.triples}
    with GraphMemory.open(
        "sqlite://", scope=scope, extractor=recorded(data), embed_model=HashEmbedder()
    ) as memory:
        for record in data.records:
            memory.remember(record.message, session=record.session)
        assert memory.drain() == 0
        facts = memory.facts()
    assert {(fact.subject, fact.predicate, fact.object) for fact in facts if fact.is_live} == {
        (triple.subject, triple.predicate, triple.object) for triple in triples
    }


def test_the_chat_knows_what_is_outdated():
    (question,) = (one for one in load_sample("chat").questions if one.stale)
    assert question.kind == "update"


def test_the_documents_show_what_the_graph_is_for():
    results = bench_recall([load_sample("documents")], ["graphmem", "hybrid"], console=quiet())
    found = {one["system"]: one["by_hops"]["3"]["recall@5"] for one in results}
    assert found["graphmem"] > found["hybrid"]


def test_an_unknown_sample_is_an_error():
    with pytest.raises(InvalidInput, match="choose among documents, chat"):
        load_sample("photos")
