from __future__ import annotations

import json
import re

import pytest

from bench_parts import bench, quiet, write_chat, write_documents
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import bench_replay, variants_of
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
