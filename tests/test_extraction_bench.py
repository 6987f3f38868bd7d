from __future__ import annotations

import gzip
import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench_parts import bench
from experiment_parts import CHAT, DOCUMENTS, unheard
from graphmem import Extraction, GraphMemory, Triple
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments.extraction import bench_extraction, says_the_same
from graphmem.experiments.reading import passage_ids, read, sessions
from graphmem.testing import HashEmbedder, ScriptedExtractor

LINES = [
    ("Ana", "Maja moved to Oslo and loves fish", [["Maja", "moved to", "Oslo"],
                                                  ["Maja", "loves", "fish"]]),
    ("Bo", "she sings", [["Maja", "sings in", "the choir of Oslo"]]),
    ("Ana", "hm", []),
]  # fmt: skip
CHAT_FILE = {
    "passages": [
        {"id": f"m{number}", "scope": "ana", "session": "s", "speaker": speaker, "text": text,
         "session_time": "2025-03-01T20:00:00+00:00", "triples": triples}
        for number, (speaker, text, triples) in enumerate(LINES)
    ],
    "queries": [],
}  # fmt: skip
DOCUMENTS_FILE = {
    "passages": [
        {"id": f"d{number}", "title": f"Town {number}", "text": f"Town {number}\nIt has a mill.",
         "triples": [[f"Town {number}", "has", "mill"]]}
        for number in range(30)
    ],
    "queries": [],
}  # fmt: skip


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.json.gz"
    path.write_bytes(gzip.compress(json.dumps(CHAT_FILE).encode()))
    return path


@pytest.fixture
def documents(tmp_path):
    path = tmp_path / "documents.json"
    path.write_text(json.dumps(DOCUMENTS_FILE))
    return path


def quiet():
    return Console(file=io.StringIO(), width=160)


def one_said(passage):
    """One right triple, one crosswise, one wrong, one twice."""
    if "moved" in passage.text:
        return [("Maja", "went to", "Oslo town"), ("Oslo", "has", "Maja"), ("Ana", "eats", "fish"),
                ("Ana", "eats", "fish")]  # fmt: skip
    if "sings" in passage.text:
        assert [one.text for one in passage.before] == [LINES[0][1]]
        return [("Maja", "sings", "Oslo choir")]
    return []


def test_shares_are_counted_by_passage(chat):
    model = ScriptedExtractor(one_said)
    (result,) = bench_extraction([chat], ["model"], model=model, console=quiet())
    assert result["data"] == "chat.json.gz"
    assert (result["extractor"], result["name"]) == ("model", "scripted/1")
    assert (result["passages"], result["failed"]) == (3, 0)
    assert (result["reference"], result["found"]) == (3, 2)
    assert (result["extracted"], result["right"]) == (4, 3)
    assert (result["found_share"], result["right_share"]) == (2 / 3, 3 / 4)
    assert result["usage"]["calls"] == len(model.batches) == 1


def test_recorded_is_perfect_and_none_finds_nothing(chat, documents, tmp_path):
    out, console = tmp_path / "out.json", quiet()
    results = bench_extraction(
        [chat, documents], ["recorded", "none", "cooccurrence"], json_path=out, console=console
    )
    shares = {
        (one["data"], one["extractor"]): (one["found_share"], one["right_share"]) for one in results
    }
    assert shares["chat.json.gz", "recorded"] == (1.0, 1.0)
    assert shares["documents.json", "recorded"] == (1.0, 1.0)
    assert shares["documents.json", "none"] == (0.0, None)
    assert 0 < shares["chat.json.gz", "cooccurrence"][0] < 1
    written = json.loads(out.read_text())
    assert written["results"] == results
    assert written["machine"]["python"]
    shown = console.file.getvalue()
    assert "100.0" in shown
    assert "documents " in shown


def test_the_table_fits_a_narrow_terminal(chat):
    console = Console(file=io.StringIO(), width=80)
    dumb = ScriptedExtractor(lambda passage: Extraction(passage.id, error="no"))
    found = bench_extraction([chat], ["recorded", "model"], model=dumb, console=console)
    lines = console.file.getvalue().splitlines()
    heads = ["data", "extractor", "found %", "right %", "passages", "s"]
    assert [re.split(r" {2,}", line.strip()) for line in lines if "data" in line] == [heads]
    assert any(re.match(r" *chat +recorded +100\.0 +100\.0 +3 +\d", line) for line in lines)
    assert any(re.match(r" *chat +model +0\.0 +– +3 \(3 failed\)", line) for line in lines)
    assert [one["failed"] for one in found] == [0, 3]


def test_documents_are_sampled_and_conversations_are_not(chat, documents):
    for sample, count in ((10, 10), (30, 30), (0, 30), (99, 30)):
        results = bench_extraction([documents, chat], ["recorded"], sample=sample, console=quiet())
        assert [one["passages"] for one in results] == [count, 3]
    drawn = []
    for seed in (0, 0, 1):
        model = ScriptedExtractor()
        bench_extraction([documents], ["model"], sample=5, seed=seed, model=model, console=quiet())
        drawn.append(sorted(one.title for batch in model.batches for one in batch))
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_is_read_of_a_smaller_set_is_what_a_memory_reads_of_it(tmp_path):
    """One cache serves both commands: the second asks the model nothing."""
    model = ScriptedExtractor(lambda passage: [(passage.speaker, "says", passage.text)])
    options = {"records": 3, "model": model, "cache": tmp_path / "cache"}
    (read,) = bench_extraction([CHAT], ["model"], console=quiet(), **options)
    assert (read["passages"], len(model.batches)) == (4, 2)
    (recalled,) = bench([CHAT], ["graphmem"], triples=["model"], **options)
    assert recalled["records"] == 3
    assert recalled["questions"] == 3
    assert recalled["routes"]
    assert len(model.batches) == 2


def test_failures_are_counted(documents):
    model = ScriptedExtractor(
        lambda passage: Extraction(passage.id, error="refused") if "7" in passage.title else []
    )
    (result,) = bench_extraction([documents], ["model"], model=model, console=quiet())
    assert (result["failed"], result["extracted"], result["right_share"]) == (3, 0, None)


def test_one_passage_that_crashes_the_extractor_costs_no_other(documents):
    def read_title(passage):
        if passage.title == "Town 7":
            raise ValueError("cannot read this")
        return [(passage.title, "has", "mill")]

    (result,) = bench_extraction(
        [documents], ["model"], model=ScriptedExtractor(read_title), console=quiet()
    )
    assert (result["failed"], result["found"], result["right"]) == (1, 29, 29)


def test_wrong_use_is_told_before_anything_runs(documents, chat, tmp_path):
    model = ScriptedExtractor()
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"passages": [{"id": "p", "text": "t"}], "queries": []}))
    for options, told in (
        ({"extractors": ["magic"]}, "magic"),
        ({"extractors": ["model"], "model": None}, "model="),
        ({"sample": -1}, "sample"),
        ({"records": -1}, "records"),
        ({"data": [chat, bare]}, r"bare\.json records no triples"),
    ):
        given = {"data": [chat], "extractors": ["model"], "model": model, **options}
        with pytest.raises(InvalidInput, match=told):
            bench_extraction(console=quiet(), **given)
    with pytest.raises(NotFound, match="folder"):
        bench_extraction([chat], ["none"], json_path=tmp_path / "no" / "out.json")
    assert model.batches == []


SAME = [
    (("Maja", "moved to", "Oslo"), ("maja", "lives in", "OSLO"), True),
    (("Maja", "moved to", "Oslo"), ("Oslo", "is home of", "Maja"), True),
    (("Maja", "moved to", "Oslo"), ("Maja", "moved to", "Ghent"), False),
    (("Maja", "moved to", "Oslo"), ("Oslo", "has", "Oslo"), False),
    # Dice's coefficient: 2·1 / (1 + 3) is half, 2·1 / (1 + 4) is less.
    (("Maja", "likes", "boats"), ("Maja", "likes", "old wooden boat"), True),
    (("Maja", "likes", "boats"), ("Maja", "likes", "old wooden racing boat"), False),
    (("Maja", "likes", "a boat"), ("Maja", "likes", "the boats"), True),
    (("Maja", "saw", "The Who"), ("Maja", "heard", "the who"), True),
    (("Maja", "saw", "The Who"), ("Maja", "heard", "us"), False),
    (("Maja", "runs", "3.1"), ("Maja", "runs", "3.10"), False),
    (("Maja", "is", ""), ("Maja", "is", ""), False),
]


@pytest.mark.parametrize(("one", "other", "same"), SAME)
def test_what_says_the_same(one, other, same):
    assert says_the_same(Triple(*one), Triple(*other)) is same
    assert says_the_same(Triple(*other), Triple(*one)) is same


NAMES = st.lists(st.sampled_from(["Maja", "Oslo", "old", "the", "boats", "7"]), max_size=4)


@given(*[NAMES] * 4)
def test_saying_the_same_is_mutual_and_knows_no_direction(a, b, c, d):
    one = Triple(" ".join(a), "x", " ".join(b))
    other = Triple(" ".join(c), "y", " ".join(d))
    turned = Triple(other.object, "z", other.subject)
    assert says_the_same(one, other) is says_the_same(other, one)
    assert says_the_same(one, other) is says_the_same(one, turned)
    if a and b:
        assert says_the_same(one, one)


@pytest.mark.parametrize("data", [CHAT, DOCUMENTS])
def test_passages_are_read_as_a_memory_reads_them(data, tmp_path):
    scope = data.scopes[0]
    data = replace(data, records=tuple(one for one in data.records if one.scope == scope) * 3)
    seen = {}
    for way in ("bench", "memory"):
        extractor = ScriptedExtractor()
        if way == "bench":
            found = read(data, extractor, unheard)
            ids = {key for record in data.records for key in passage_ids(record)}
            assert set(found) == {(scope, key) for key in ids}
        else:
            with GraphMemory.open(
                tmp_path / "m.db", embed_model=HashEmbedder(), extractor=extractor, workers=1
            ) as memory:
                for owner, session, records in sessions(data):
                    memory.remember([r.message for r in records], scope=owner, session=session)
                assert memory.drain(30) == 0
        # A memory may read a passage before all that stands before it has come.
        seen[way] = {
            one.id: [near.id for near in one.before] for batch in extractor.batches for one in batch
        }
    assert seen["bench"] == seen["memory"]
