from __future__ import annotations

import re
import sys
import time
from contextlib import closing
from dataclasses import replace
from itertools import combinations

import networkx
import numpy as np
import pytest

from experiment_parts import ALL, ANA, CHAT, DOCUMENTS, Noting, said, unheard, written
from graphmem import Extraction, RecallSettings
from graphmem.errors import ExtractionError, InvalidInput
from graphmem.experiments import PARTS, DataSet, Question
from graphmem.experiments.systems import SYSTEMS, Parts, Retunable, System, open_system
from graphmem.experiments.systems.llama import FactBlock, VectorBlock
from graphmem.experiments.systems.plain import InContext
from graphmem.experiments.triples import source
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.types import Usage

OWN = "experiment_parts:Backwards"
NAMES = [*SYSTEMS, OWN]
RANKING = [name for name in NAMES if name not in ("no_memory", "fact_block")]
READING = [name for name in SYSTEMS if SYSTEMS[name].uses_triples]


def opened(name, **parts):
    return closing(open_system(name, Parts(HashEmbedder(), llm=Noting(), **parts)))


# --- one suite for every system -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_it_ranks_records_of_the_scope_once_each_and_alike_each_time(name):
    with opened(name) as system:
        assert isinstance(system, System)
        for data in (CHAT, DOCUMENTS):
            system.ingest(data, unheard)
            scope_of = {record.id: record.scope for record in data.records}
            for question in data.questions:
                answer = system.ask(question, 10)
                assert answer.milliseconds >= 0
                assert len(set(answer.ranking)) == len(answer.ranking)
                assert {scope_of[key] for key in answer.ranking} <= {question.scope}
                assert system.ask(question, 10).ranking == answer.ranking
                if name in RANKING:
                    assert set(question.gold) <= set(answer.ranking)
                    assert len(system.ask(question, 1).ranking) == 1
                else:
                    assert answer.ranking == ()


@pytest.mark.parametrize("name", NAMES)
def test_it_tells_how_far_it_is(name):
    with opened(name) as system:
        told = []
        system.ingest(CHAT, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_second_set_takes_the_place_of_the_first(name):
    with opened(name) as system:
        system.ingest(CHAT, unheard)
        system.ingest(DOCUMENTS, unheard)
        gone = system.ask(CHAT.questions[0], 10)
        here = system.ask(DOCUMENTS.questions[0], 10)
    assert (gone.ranking, gone.text) == ((), "")
    assert here.ranking or here.text or name == "no_memory"


@pytest.mark.parametrize("name", NAMES)
def test_questions_cost_no_model_call(name):
    with opened(name) as system:
        assert system.usage == Usage()
        system.ingest(CHAT, unheard)
        spent = system.usage
        for question in CHAT.questions:
            system.ask(question, 10)
        assert system.usage == spent
        assert (spent.calls > 0) is (name == "fact_block")


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_closed_twice(name):
    with opened(name) as system:
        system.ingest(DOCUMENTS, unheard)
        system.close()


@pytest.mark.parametrize("name", READING)
def test_it_pays_for_the_extractor_while_it_has_it(name):
    extractor = ScriptedExtractor()
    extractor.extract([])
    with opened(name, triples=lambda data: extractor) as system:
        for count, data in enumerate((CHAT, DOCUMENTS), 1):
            before = extractor.usage
            system.ingest(data, unheard)
            spent = extractor.usage - before
            assert spent.calls > 0
            assert system.usage.calls == extractor.usage.calls - 1, count


@pytest.mark.parametrize("name", READING)
def test_the_source_of_triples_makes_the_route(name):
    routes = {}
    for triples in ("recorded", "cooccurrence", "none"):
        with opened(name, triples=source(triples)) as system:
            system.ingest(CHAT, unheard)
            answer = system.ask(CHAT.questions[0], 10)
            routes[triples] = answer.route
            assert answer.stages["total"] > 0
    assert routes == {"recorded": "graph", "cooccurrence": "graph", "none": "dense"}


@pytest.mark.parametrize("name", READING)
def test_what_cannot_be_read_ends_the_ingestion(name):
    refuse = ScriptedExtractor(
        lambda passage: Extraction(passage.id, error="no such key", is_retryable=False)
    )
    reader = opened(name, triples=lambda data: refuse)
    with reader as system, pytest.raises(ExtractionError, match="no such key"):
        system.ingest(DOCUMENTS, unheard)


@pytest.mark.parametrize("name", READING)
def test_records_of_the_same_words_rank_together(name):
    with opened(name) as system:
        system.ingest(DOCUMENTS, unheard)
        assert set(system.ask(DOCUMENTS.questions[0], 10).ranking) == {"d0", "d1", "d2"}


def test_other_constants_need_no_second_reading():
    extractor = ScriptedExtractor(lambda passage: [("Maja", "moved to", "Oslo")])
    with opened("graphmem", triples=lambda data: extractor) as system:
        assert isinstance(system, Retunable)
        system.ingest(CHAT, unheard)
        calls = extractor.usage
        assert system.ask(CHAT.questions[0], 10).route == "graph"
        system.retune(RecallSettings(least_covered=1.0, **PARTS["seeds"]))
        assert system.ask(CHAT.questions[0], 10).route == "dense"
        system.retune(None)
        assert system.ask(CHAT.questions[0], 10).route == "graph"
        assert extractor.usage == calls


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid", "ppr", "graphmem"])
def test_who_speaks_is_known(name):
    records = [said(who, ANA, "1", who, "I sold the boat") for who in ("Ana", "Bea", "Tomo")]
    # Asked in the form in which it is told: the double's words are cut at white space.
    question = Question("q", ANA, "Tomo: sold what?", ("Tomo",))
    with opened(name) as system:
        system.ingest(DataSet("boats", tuple(records), (question,)), unheard)
        assert system.ask(question, 10).ranking[0] == "Tomo"


# --- plain --------------------------------------------------------------------------------------


def test_the_window_ends_before_the_first_record_that_does_not_fit():
    records = [
        said("old", ANA, "1", "Ana", "short"),
        said("long", ANA, "2", "Ana", "a very long story " * 9),
        said("new", ANA, "3", "Ana", "also short"),
        said("late", ANA, "2", "Ana", "told on the second"),
    ]
    data = DataSet("chat", tuple(records), (Question("q", ANA, "What?", ("old",)),))
    rankings = {}
    for tokens in (1, 8, 30, 400):
        system = InContext(tokens)
        system.ingest(data, unheard)
        rankings[tokens] = system.ask(data.questions[0], 10).ranking
    assert rankings == {
        1: (),
        8: ("new", "late"),
        30: ("new", "late"),
        400: ("new", "late", "long", "old"),
    }


def test_documents_are_as_new_as_they_are_late():
    with opened("in_context") as system:
        system.ingest(DOCUMENTS, unheard)
        assert system.ask(DOCUMENTS.questions[0], 2).ranking == ("d2", "d1")


# --- LlamaIndex's blocks ------------------------------------------------------------------------


def ranking_of(system, data, question=0):
    with closing(system):
        system.ingest(data, unheard)
        return system.ask(data.questions[question], 10).ranking


def test_a_vector_block_gives_back_whole_flushes():
    data = replace(CHAT, questions=(Question("q", ANA, "Maja moved", ("a0",)),))
    # The assistant's words come with the turn that they answer, whatever they say.
    by_turn = ranking_of(VectorBlock(HashEmbedder(dims=512)), data)
    assert by_turn[:2] == ("a0", "a1")
    assert set(by_turn[2:]) == {"a2", "a3"}
    # A flush ends with its session, however much it could hold.
    by_session = ranking_of(VectorBlock(HashEmbedder(), flush_tokens=1000), data)
    assert {by_session[:2], by_session[2:]} == {("a0", "a1"), ("a2", "a3")}


def test_a_vector_block_ranks_by_the_questions_vector():
    data = DataSet(
        "notes",
        tuple(written(f"n{n}", f"Note {n}", f"word{n} again word{n}") for n in range(30)),
        tuple(Question(f"q{n}", ALL, f"word{n}", (f"n{n}",)) for n in range(30)),
    )
    with closing(VectorBlock(HashEmbedder(dims=512))) as system:
        system.ingest(data, unheard)
        first = [system.ask(question, 3).ranking for question in data.questions]
    assert [ranking[0] for ranking in first] == [f"n{n}" for n in range(30)]
    assert {len(ranking) for ranking in first} == {3}


@pytest.mark.parametrize("name", ["vector_block", "fact_block"])
async def test_blocks_run_where_a_loop_runs(name):
    with opened(name) as system:
        system.ingest(CHAT, unheard)
        answer = system.ask(CHAT.questions[0], 10)
    assert answer.ranking or answer.text


def test_the_vector_blocks_time_is_without_the_questions_embedding():
    class Slow(HashEmbedder):
        def embed_query(self, text):
            time.sleep(0.2)
            return super().embed_query(text)

    with closing(VectorBlock(Slow())) as system:
        system.ingest(CHAT, unheard)
        assert 0 < system.ask(CHAT.questions[0], 10).milliseconds < 150


def test_a_fact_block_tells_all_its_facts_and_what_they_cost():
    llm = Noting()
    with closing(FactBlock(llm)) as system:
        system.ingest(CHAT, unheard)
        answer = system.ask(CHAT.questions[1], 10)
        assert answer.ranking == ()
        assert answer.text == "\n".join(
            f"<fact>{one.message.speaker}: {one.message.text}</fact>"
            for one in CHAT.records
            if one.scope == ANA
        )
        # A call for each flush: two sessions of Ana's, one of Bo's.
        assert system.usage.calls == len(llm.asked) == 3
        assert system.usage.prompt_tokens > 300
        assert system.usage.completion_tokens > 10
    with closing(FactBlock(llm, flush_tokens=1)) as system:
        system.ingest(CHAT, unheard)
        assert system.usage.calls == 4


def test_a_fact_block_needs_a_model():
    with pytest.raises(InvalidInput, match="llm="):
        open_system("fact_block", Parts(HashEmbedder()))


def test_a_fact_block_whose_model_is_down():
    llm = Noting()
    llm.is_down = True
    with closing(FactBlock(llm)) as system, pytest.raises(ExtractionError, match="nobody answers"):
        system.ingest(CHAT, unheard)


# --- Personalized PageRank ----------------------------------------------------------------------

RIVERS = DataSet(
    "rivers",
    (
        written("r0", "Ljubno", "A town.", ("Ljubno", "lies on", "the Savinja!")),
        written("r1", "The Savinja", "A river.", ("The  Savinja", "flows to", "Sava"),
                ("the savinja", "flows to", "Sava")),
        written("r2", "Sava", "Long.", ("Sava", "ends in", "Belgrade"), ("Sava", "is", "long")),
        written("r3", "Weather", "It rains.", ("rain", "falls on", "Ljubno"), ("!!", "is", "x")),
        written("r4", "Nothing", "Nothing at all about the river that passes Ljubno."),
    ),
    (Question("q", ALL, "Where ends the river that Ljubno lies on?", ("r0", "r1", "r2")),),
)  # fmt: skip


def plain(text):
    return re.sub("[^a-z0-9 ]", " ", text.lower()).strip()


def scaled(values):
    return (values - values.min()) / np.ptp(values)


def walked(data, embedder):
    """The published graph on networkx, its distinct facts, and who mentions what."""
    graph = networkx.Graph()
    mentions = {}
    facts = []

    def link(one, other, weight):
        known = graph[one][other]["weight"] if graph.has_edge(one, other) else 0
        graph.add_edge(one, other, weight=known + weight)

    for record in data.records:
        graph.add_node(record.id)
        for one in record.triples:
            fact = (plain(one.subject), plain(one.predicate), plain(one.object))
            if fact[0] and fact[2]:
                facts.append(fact)
                link(fact[0], fact[2], 2)
                for end in fact[::2]:
                    mentions.setdefault(end, set()).add(record.id)
    for end, ids in mentions.items():
        for key in ids:
            link(key, end, 1)
    vectors = {end: embedder.embed([end])[0] for end in mentions}
    for one, other in combinations(sorted(vectors), 2):
        cosine = float(vectors[one] @ vectors[other])
        if cosine >= 0.8:
            graph.add_edge(one, other, weight=2 * cosine)
    return graph, sorted(set(facts)), mentions


def published(data, embedder, question):
    """The ranking of the published method, once more."""
    graph, facts, mentions = walked(data, embedder)
    asked = embedder.embed_query(question.text)
    by_fact = scaled(embedder.embed([str(fact) for fact in facts]) @ asked)
    seeds = {}
    for place in np.argsort(-by_fact, kind="stable")[:5]:
        for end in facts[place][::2]:
            seeds.setdefault(end, []).append(by_fact[place] / len(mentions[end]))
    best = sorted(seeds, key=lambda end: -np.mean(seeds[end]))[:5]
    reset = {end: float(np.mean(seeds[end])) for end in best}
    texts = [record.full_text for record in data.records]
    by_passage = scaled(embedder.embed(texts) @ asked)
    reset |= {r.id: 0.05 * float(s) for r, s in zip(data.records, by_passage, strict=True)}
    rank = networkx.pagerank(graph, 0.5, personalization=reset, tol=1e-12, max_iter=500)
    return sorted((record.id for record in data.records), key=lambda key: -rank[key])


def test_ppr_is_the_published_method():
    question = RIVERS.questions[0]
    for dims in (16, 64, 256):
        embedder = HashEmbedder(dims=dims)
        with closing(open_system("ppr", Parts(embedder))) as system:
            system.ingest(RIVERS, unheard)
            answer = system.ask(question, 10)
        assert list(answer.ranking) == published(RIVERS, embedder, question)
        assert answer.route == "graph"


def test_ppr_reaches_what_shares_no_word_with_the_question():
    asked = Question("q", ALL, "Ljubno lies on what, and where does that end?", ("r0", "r2"))
    first = {}
    for name in ("ppr", "dense"):
        with opened(name) as system:
            system.ingest(RIVERS, unheard)
            first[name] = system.ask(asked, 10).ranking.index("r1")
    assert first["ppr"] < first["dense"]


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [OWN, "experiment_parts.Backwards", "experiment_parts:Inside.Own"])
def test_a_system_of_ones_own_by_dotted_name(name):
    parts = Parts(HashEmbedder(), seed=3)
    system = open_system(name, parts)
    assert type(system).__name__ == "Backwards"
    assert system.parts is parts


def test_a_module_of_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "lying_around.py").write_text("from experiment_parts import Backwards as Found\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [path for path in sys.path if path])
    assert type(open_system("lying_around:Found", Parts(HashEmbedder()))).__name__ == "Backwards"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("magic", "choose among no_memory, in_context, bm25, dense, hybrid, vector_block"),
        ("", "choose among"),
        ("nowhere.to_be:Found", "no module 'nowhere'"),
        ("graphmem.nowhere.Found", "no module 'graphmem.nowhere'"),
        ("experiment_parts:Missing", "has no 'Missing'"),
        ("experiment_parts:Backwards.Missing", "has no 'Backwards.Missing'"),
        ("experiment_parts:ANA", "is a Scope"),
        ("experiment_parts:forgetful", "lacks usage, ingest, ask, close"),
        ("experiment_parts:broken", "RuntimeError: no disk"),
        ("experiment_parts:unwilling", "TypeError"),
        ("experiment_parts:choosy", "^choosy needs a model"),
        (":Found", "choose among"),
    ],
)
def test_a_wrong_name_is_told(name, told):
    with pytest.raises(InvalidInput, match=told):
        open_system(name, Parts(HashEmbedder()))


@pytest.mark.parametrize(
    ("content", "told"),
    [("import a_module_that_is_not_there", "a_module_that_is_not_there"), ("1 +", "SyntaxError"),
     ("raise OSError('no such disk')", "no such disk")],
)  # fmt: skip
def test_a_module_that_fails_is_told(tmp_path, monkeypatch, content, told):
    (tmp_path / "failing_module.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "failing_module", raising=False)
    with pytest.raises(InvalidInput, match=told) as error:
        open_system("failing_module:Found", Parts(HashEmbedder()))
    assert "no module 'failing_module'" not in str(error.value)
