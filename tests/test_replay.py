from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bench_parts import CHAT, bench, quiet, write_chat, write_documents
from experiment_parts import Backwards
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import bench_replay, variants_of
from graphmem.experiments.replay import _moved
from graphmem.testing import HashEmbedder


@pytest.fixture
def chat(tmp_path):
    return write_chat(tmp_path)


@pytest.fixture
def documents(tmp_path):
    return write_documents(tmp_path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The text of a result file on the two sets: three rows of graphmem, one of bm25, on each."""
    folder = tmp_path_factory.mktemp("measured")
    data = [write_chat(folder), write_documents(folder)]
    bench(
        data,
        ["graphmem", "bm25"],
        variants=variants_of(ablated=["bridge", "window"]),
        json_path=folder / "out.json",
    )
    return (folder / "out.json").read_text()


@pytest.fixture
def committed(measured, chat, documents, tmp_path):
    path = tmp_path / "committed.json"
    path.write_text(measured)
    return path


def replayed(path, data, **options):
    console = quiet()
    options.setdefault("embed_model", HashEmbedder())
    drifts = bench_replay(path, data, console=console, **options)
    return drifts, console.file.getvalue()


def test_what_holds_is_said_to_hold(committed, chat, documents):
    drifts, shown = replayed(committed, [chat, documents])
    assert drifts == []
    assert "8 of 8 rows hold within 1.00 points" in shown


def test_what_has_moved_is_shown(committed, chat):
    content = json.loads(committed.read_text())
    right = content["results"][0]["recall@5"]
    content["results"][0]["recall@5"] = right - 0.02
    content["results"][1]["mrr"] -= 0.004
    content["results"][3]["questions"] += 1
    committed.write_text(json.dumps(content))
    drifts, shown = replayed(committed, [chat.parent])
    assert [(one.figure, one.config) for one in drifts] == [
        ("recall@5", "graphmem"),
        ("questions", "bm25"),
    ]
    assert re.search(r"chat +graphmem +recall@5 +98\.0 +100\.0 +\+2\.0", shown)
    drifts, _ = replayed(committed, [chat.parent], tolerance=0.001)
    assert len(drifts) == 3


@pytest.mark.parametrize("figure", ["stale_first", "mrr"])
def test_a_figure_missing_on_one_side_has_moved(committed, chat, figure):
    content = json.loads(committed.read_text())
    assert content["results"][0].pop(figure) is not None
    assert "answer_in_text" not in content["results"][0]
    content["results"][0]["answer_in_text"] = 0.0
    committed.write_text(json.dumps(content))
    drifts, _ = replayed(committed, [chat.parent])
    assert [(one.figure, one.committed is None, one.now is None) for one in drifts] == [
        (figure, True, False),
        ("answer_in_text", False, True),
    ]


def test_what_updates_and_texts_say_is_judged(committed, chat, documents, tmp_path):
    content = json.loads(committed.read_text())
    content["results"][0]["stale_first"] += 0.5
    committed.write_text(json.dumps(content))
    assert [one.figure for one in replayed(committed, [chat.parent])[0]] == ["stale_first"]
    path = tmp_path / "telling.json"
    (one,) = bench([documents], ["test_replay:Telling"], json_path=path)
    assert one["answer_in_text"] == 1
    assert replayed(path, [documents])[0] == []
    path.write_text(path.read_text().replace('"answer_in_text": 1.0', '"answer_in_text": 0.5'))
    assert [one.figure for one in replayed(path, [documents])[0]] == ["answer_in_text"]


class Telling(Backwards):
    """Says every answer there is."""

    def ask(self, question, top_k):
        return replace(super().ask(question, top_k), text=f"It is {question.answer}.")


def test_other_data_or_another_embedder_is_a_drift(committed, chat):
    content = json.loads(committed.read_text())
    content["results"] = content["results"][:1]
    committed.write_text(json.dumps(content))
    chat.write_text(json.dumps(CHAT).replace("it rained", "it poured"))
    drifts, shown = replayed(committed, [chat], embed_model=HashEmbedder(name="other"))
    names = {one.figure: (one.committed, one.now) for one in drifts}
    assert set(names) >= {"content", "embedder"}
    assert names["content"][0] == content["results"][0]["content"] != names["content"][1]
    assert names["embedder"] == (HashEmbedder().name, "other")
    assert names["content"][0] in shown


def test_a_measured_figure_that_is_no_number_has_moved():
    setup = SimpleNamespace(data="d", config="c")
    same = {"content": "x", "embedder": "e", "questions": 1}
    moved = _moved(setup, {**same, "mrr": 0.5}, {**same, "mrr": math.nan}, 1.0)
    assert [one.figure for one in moved] == ["mrr"]
    assert _moved(setup, {**same, "mrr": 0.5}, {**same, "mrr": 0.4}, 1.0) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("depth", None),
        ("budget", "much"),
        ("recall@5", "all of it"),
        ("mrr", math.nan),
        ("stale_first", math.inf),
        ("changes", [1]),
        ("changes", {"no_such_setting": 1}),
        ("changes", {"window": [1]}),
        ("changes", {"seed_k": "x"}),
        ("system", None),
        ("seed", True),
        ("files", "chat.json"),
        ("format", 3),
        ("questions", 1.5),
    ],
)
def test_a_field_of_a_wrong_type_is_told_with_its_row(committed, chat, field, value):
    content = json.loads(committed.read_text())
    content["results"][2][field] = value
    committed.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=rf"results\[2\].*: {field}: "):
        replayed(committed, [chat.parent])


def test_a_row_of_the_defaults_is_measured_with_those_of_today(committed, chat):
    """Else a default that was changed would never be noticed."""
    content = json.loads(committed.read_text())
    content["results"][0]["settings"]["seed_k"] = 99
    committed.write_text(json.dumps(content))
    assert replayed(committed, [chat.parent])[0] == []


def test_a_format_that_was_named_is_named_again(chat, tmp_path):
    path = tmp_path / "out.json"
    (one,) = bench([chat], ["bm25"], format="normal", json_path=path)
    assert one["format"] == "normal"
    assert replayed(path, [chat])[0] == []
    path.write_text(path.read_text().replace('"format": "normal"', '"format": "locomo"'))
    with pytest.raises(InvalidInput, match="sample_id"):
        replayed(path, [chat])


def test_rows_that_need_a_model_are_left_out_aloud(committed, chat):
    content = json.loads(committed.read_text())
    content["results"][0] |= {"triples": "model", "model": "openai/x/1"}
    committed.write_text(json.dumps(content))
    drifts, shown = replayed(committed, [chat.parent])
    assert drifts == []
    assert "7 of 7 rows hold" in shown
    assert "openai/x/1" in shown
    content["results"] = content["results"][:1]
    committed.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match="asked a model"):
        replayed(committed, [chat])


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (None, NotFound, "no such result file"),
        ("{", InvalidInput, "no result file"),
        ("[]", InvalidInput, "no result file"),
        ('{"results": []}', InvalidInput, "lists no results"),
        ('{"results": [{"data": "x.json"}]}', InvalidInput, r"results\[0\] lacks questions, files"),
        ('{"results": [3]}', InvalidInput, r"results\[0\]"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_told(tmp_path, chat, content, error, says):
    path = tmp_path / "some.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(error, match=says):
        replayed(path, [chat])


def test_a_replay_needs_the_data(committed, chat, documents):
    documents.unlink()
    with pytest.raises(NotFound, match=r"documents\.json\.gz.*--data"):
        replayed(committed, [chat])
