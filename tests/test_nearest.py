"""``bench vectors``: our index of vectors beside others."""

from __future__ import annotations

import json
import zlib

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem import cli
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import DataSet, Question, Record, bench_vectors
from graphmem.experiments.nearest import recall_of
from graphmem.types import Message, Scope, Triple

ANA = Scope("ana")


class Scattered:
    """Each text in a direction of its own."""

    name = "scattered"

    def embed(self, texts):
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text):
        row = np.random.default_rng(zlib.crc32(text.encode())).normal(size=64)
        return (row / np.linalg.norm(row)).astype(np.float32)


def about(count):
    """Documents of a fact each: four texts a document, one of them shared."""
    records = tuple(
        Record(
            f"d{n}",
            ANA,
            None,
            Message(f"Ana knows person {n}.", role="document", title=f"Page {n}"),
            triples=(Triple("Ana", "knows", f"person {n}"),),
        )
        for n in range(count)
    )
    questions = tuple(Question(f"q{n}", ANA, f"Who is person {n}?", (f"d{n}",)) for n in range(20))
    return DataSet("people", records, questions)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    out = tmp_path_factory.mktemp("vectors") / "vectors.json"
    threads = faiss.omp_get_max_threads()
    result = bench_vectors([about(500)], embed_model=Scattered(), json_path=out)
    assert faiss.omp_get_max_threads() == threads
    assert json.loads(out.read_text()) == result
    return result


def test_each_size_has_each_index(found):
    sizes = sorted({one["vectors"] for one in found["results"]})
    assert sizes[0] == 1000
    assert 1050 < sizes[1] <= 1101  # 500 documents, facts and people, and Ana; 400 are added
    names = ["graphmem", "numpy", "Flat", "SQfp16", "SQ8", "PQfs + 500"]
    assert [one["index"] for one in found["results"]] == 2 * names
    assert found["queries"] == 20


def test_what_is_exact_finds_all_and_takes_four_bytes_a_number(found):
    for one in found["results"]:
        if one["index"] in ("numpy", "Flat"):
            assert (one["recall_5"], one["recall_50"]) == (1.0, 1.0)
            assert 0 <= one["bytes_per_vector"] - 4 * found["dims"] < 1
        assert one["ms"]["p50"] <= one["ms"]["p95"]
        assert (one["recall_50_dropped"] is None) == (one["index"] not in ("graphmem", "numpy"))


def test_ours_finds_nearly_all_before_and_after_some_are_dropped(found):
    ours = [one for one in found["results"] if one["index"] == "graphmem"]
    assert all(one["recall_50"] > 0.97 for one in ours)
    assert all(one["recall_50_dropped"] > 0.97 for one in ours)


def test_recall_counts_what_is_found():
    products = np.array([0.9, 0.1, 0.8, 0.7])
    assert recall_of(np.array([0, 2]), products, 2) == 1.0
    assert recall_of(np.array([2, 1]), products, 2) == 0.5
    assert recall_of(np.array([0, 0]), products, 2) == 0.5
    assert recall_of(np.array([], dtype=np.int64), products, 2) == 0.0


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(1, 4), st.randoms())
def test_of_equals_any_will_do(values, count, random):
    products = np.array(values, dtype=np.float64)
    numbers = list(range(len(values)))
    random.shuffle(numbers)
    best = sorted(numbers, key=lambda number: -values[number])
    assert recall_of(np.array(best), products, count) == 1.0


def test_wrong_input(tmp_path):
    with pytest.raises(NotFound):
        bench_vectors([tmp_path / "nothing.json"], embed_model=Scattered())
    with pytest.raises(InvalidInput, match="too few"):
        bench_vectors([about(20)], embed_model=Scattered())


def test_command_line(tmp_path, capsys):
    assert cli.main(["bench", "vectors", "--data", str(tmp_path / "nothing.json")]) == 2
    assert "nothing.json" in capsys.readouterr().err
