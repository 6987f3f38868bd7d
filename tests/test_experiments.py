from __future__ import annotations

import gzip
import io
import json
from contextlib import closing

import numpy as np
import pytest
from rich.console import Console

from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import bench_recall, load_dataset, mean_scores, score
from graphmem.experiments.cache import CachedEmbedder
from graphmem.experiments.systems import SYSTEMS, open_system
from graphmem.testing import HashEmbedder
from graphmem.types import Scope

CHAT = {
    "name": "two small chats",
    "passages": [
        {
            "id": f"{scope}{number}",
            "scope": scope,
            "session": number // 2,
            "session_time": f"2025-03-0{1 + number // 2}T20:00:00+00:00",
            "speaker": speaker,
            "text": text,
            "triples": triples,
        }
        for scope, lines in {
            "ana": [
                ("Ana", "Maja moved to Oslo", [["Maja", "moved to", "Oslo"]]),
                ("Assistant", "Maja loves fish, I guess", [["Maja", "loves", "fish"]]),
                ("Ana", "Oslo has a tram called Nora", [["Oslo", "has", "Nora"]]),
                ("Ana", "it rained", []),
            ],
            "bo": [("Bo", "Maja moved to Ghent", [["Maja", "moved to", "Ghent"]])],
        }.items()
        for number, (speaker, text, triples) in enumerate(lines)
    ],
    "queries": [
        {"id": "q1", "scope": "ana", "text": "Where did Maja move?", "type": "single",
         "gold": ["ana0"]},
        {"id": "q2", "scope": "ana", "text": "What tram is where Maja moved to?", "type": "hop",
         "gold": ["ana0", "ana2"], "stale": ["ana3"]},
        {"id": "q3", "scope": "bo", "text": "Where did Maja move?", "type": "single",
         "gold": ["bo0"]},
        {"id": "q4", "scope": "bo", "text": "Who is Zoe?", "type": "abstain", "gold": []},
    ],
}  # fmt: skip
DOCUMENTS = {
    "passages": [
        {"id": "d1", "title": "Lisbon", "text": "Lisbon\nIt lies on the Tagus.",
         "triples": [["Lisbon", "lies on", "Tagus"]]},
        {"id": "d2", "title": "Tagus", "text": "Tagus\nIt rises in Spain.",
         "triples": [["Tagus", "rises in", "Spain"]]},
        {"id": "d3", "title": "Lisbon", "text": "Lisbon\nIt lies on the Tagus.", "triples": []},
    ],
    "queries": [
        {"id": "q", "text": "Where does the river of Lisbon rise?", "gold": ["d1", "d2"], "hops": 2}
    ],
}  # fmt: skip


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


@pytest.fixture
def documents(tmp_path):
    path = tmp_path / "documents.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DOCUMENTS).encode()))
    return path


def test_a_chat_keeps_scopes_sessions_speakers_and_times(chat):
    data = load_dataset(chat)
    assert data.name == "chat.json"
    assert data.scopes == (Scope("ana"), Scope("bo"))
    first, guess = data.records[:2]
    assert (first.session, first.message.speaker, first.message.role) == ("0", "Ana", "user")
    assert first.message.said_at.isoformat() == "2025-03-01T20:00:00+00:00"
    assert guess.message.role == "assistant"
    assert first.triples[0].object == "Oslo"
    assert [question.kind for question in data.questions[:2]] == ["single", "hop"]
    assert data.questions[1].stale == ("ana3",)


def test_documents_lose_the_title_line_of_their_text(documents):
    record = load_dataset(documents).records[0]
    assert (record.message.title, record.message.text) == ("Lisbon", "It lies on the Tagus.")
    assert record.message.role == "document"
    assert record.session is None
    assert load_dataset(documents).questions[0].kind == "2 hops"


def broken(change):
    content = json.loads(json.dumps(CHAT))
    change(content)
    return content


WRONG = [
    (lambda c: c.pop("passages"), "the file", "passages"),
    (lambda c: c.update(queries={}), "the file", "queries"),
    (lambda c: c["passages"].insert(1, 7), "passages[1]", "an object"),
    (lambda c: c["passages"][2].pop("text"), "passages[2] (ana2)", "text"),
    (lambda c: c["passages"][2].update(text=3), "passages[2] (ana2)", "text"),
    (lambda c: c["passages"][2].update(id="ana0"), "passages[2] (ana0)", "id"),
    (lambda c: c["passages"][0].update(session_time="noon"), "passages[0] (ana0)", "ISO 8601"),
    (lambda c: c["passages"][0].update(session_time="2025-03-01T20:00"), "(ana0)", "time zone"),
    (lambda c: c["passages"][0].update(triples=[["a", "b"]]), "(ana0)", "triples"),
    (lambda c: c["passages"][0].update(session=1.5), "(ana0)", "session"),
    (lambda c: c["passages"][0].update(scope="a\u0000b"), "(ana0)", "scope"),
    (lambda c: c["queries"][1].update(gold=["bo0"]), "queries[1] (q2)", "gold"),
    (lambda c: c["queries"][1].update(gold="ana0"), "queries[1] (q2)", "gold"),
    (lambda c: c["queries"][0].pop("id"), "queries[0]", "id"),
]


@pytest.mark.parametrize(("change", "place", "field"), WRONG)
def test_a_wrong_file_is_told_by_file_record_and_field(tmp_path, change, place, field):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(broken(change)))
    with pytest.raises(InvalidInput) as error:
        load_dataset(path)
    for word in ("wrong.json", place, field):
        assert word in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\x1f\x8b broken", b"\xff\xfe", b"[]", b"null"])
def test_a_file_that_is_no_json_object(tmp_path, content):
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"wrong\.json"):
        load_dataset(path)


def test_no_file(tmp_path):
    with pytest.raises(NotFound, match="never"):
        load_dataset(tmp_path / "never.json")


def test_score_of_a_ranking():
    found = score(["x", "a", "s", "b"], ["a", "b", "c"], ["s"])
    assert found.recall == {2: 1 / 3, 5: 2 / 3, 10: 2 / 3}
    assert found.all_found == {2: 0, 5: 0, 10: 0}
    assert found.reciprocal_rank == 1 / 2
    assert found.stale_first == 0
    assert score(["s", "a"], ["a"], ["s"]).stale_first == 1
    assert score(["s"], ["a"], ["s"]).stale_first == 1
    assert score(["a"], ["a"]).stale_first is None
    assert score([], ["a"]).reciprocal_rank == 0
    with pytest.raises(ValueError, match="gold"):
        score(["a"], [])


def test_mean_scores_are_means():
    scores = [score(["a"], ["a"]), score(["x", "a"], ["a", "b"])]
    means = mean_scores(scores)
    assert means == {
        "recall@2": 0.75,
        "recall@5": 0.75,
        "recall@10": 0.75,
        "all@5": 0.5,
        "all@10": 0.5,
        "mrr": 0.75,
    }
    assert mean_scores([]) == {}


def quiet():
    return Console(file=io.StringIO(), width=200)


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_system_ranks_each_record_once_within_its_scope(name, chat, documents):
    with closing(open_system(name, HashEmbedder())) as system:
        for path in (chat, documents):
            data = load_dataset(path)
            progress = []
            system.ingest(data, lambda done, total, to=progress: to.append((done, total)))
            assert progress[-1][0] == progress[-1][1] > 0
            scope_of = {record.id: record.scope for record in data.records}
            for question in data.questions:
                answer = system.ask(question, 10)
                assert answer.milliseconds > 0
                assert len(set(answer.ranking)) == len(answer.ranking)
                assert {scope_of[key] for key in answer.ranking} <= {question.scope}
                assert set(question.gold) <= set(answer.ranking)


def test_records_of_the_same_words_share_their_passage(documents):
    data = load_dataset(documents)
    with closing(open_system("graphmem", HashEmbedder())) as system:
        system.ingest(data, lambda done, total: None)
        ranking = system.ask(data.questions[0], 10).ranking
    assert set(ranking) == {"d1", "d2", "d3"}


def test_an_unknown_system_is_told_with_the_known_ones():
    with pytest.raises(InvalidInput, match="graphmem, dense, bm25, hybrid"):
        open_system("magic", HashEmbedder())


def test_bench_writes_and_returns_the_figures(chat, documents, tmp_path):
    out, console = tmp_path / "out.json", quiet()
    results = bench_recall(
        [chat, documents],
        ["graphmem", "bm25"],
        json_path=out,
        embed_model=HashEmbedder(),
        console=console,
    )
    written = json.loads(out.read_text())
    assert written["results"] == results
    assert written["machine"]["python"]
    assert [(one["system"], one["data"]) for one in results] == [
        ("graphmem", "chat.json"),
        ("graphmem", "documents.json.gz"),
        ("bm25", "chat.json"),
        ("bm25", "documents.json.gz"),
    ]
    first = results[0]
    assert first["questions"] == 3
    assert first["recall@5"] == first["mrr"] == 1.0
    assert first["routes"] == {"graph": 3}
    assert set(first["by_kind"]) == {"hop", "single"}
    assert 0 < first["p50_ms"] <= first["p95_ms"]
    assert "documents " in console.file.getvalue()


def test_a_wrong_name_stops_the_bench_before_it_starts(chat, tmp_path):
    embedder, out = HashEmbedder(), tmp_path / "out.json"
    with pytest.raises(InvalidInput, match="magic"):
        bench_recall([chat], ["dense", "magic"], json_path=out, embed_model=embedder)
    assert embedder.calls == 0
    assert not out.exists()


def test_vectors_are_embedded_once_and_kept(tmp_path):
    embedder = HashEmbedder()
    first = CachedEmbedder(embedder, tmp_path / "new")
    rows = first.embed(["a b", "c", "a b"])
    assert embedder.calls == 2
    assert first.name == embedder.name
    first.save()
    again = CachedEmbedder(embedder, tmp_path / "new")
    assert np.array_equal(again.embed(["c", "a b"]), rows[[1, 0]])
    assert np.array_equal(again.embed_query("c"), rows[1])
    assert embedder.calls == 2
    assert again.embed([]).shape == (0, 64)
    again.embed_query("new")
    assert embedder.calls == 3
