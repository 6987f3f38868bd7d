from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.experiments.systems.flat import BM25, FlatVectors, near_pairs


def unit_rows(count, dims=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_vectors_score_as_brute_force():
    rows, query = unit_rows(50), unit_rows(1, seed=1)[0]
    assert FlatVectors(rows).scores(query) == pytest.approx(rows @ query, abs=1e-6)


@pytest.mark.parametrize("shape", [(0, 0), (0, 8), (4, 0), (4, 8)])
def test_without_vectors_nothing_is_near(shape):
    query = np.ones(8, dtype=np.float32)
    found = FlatVectors(np.zeros(shape, dtype=np.float32)).scores(query)
    assert found.tolist() == [0.0] * shape[0]


@given(st.integers(0, 40), st.sampled_from([-1.0, 0.0, 0.7, 0.999]), st.booleans())
def test_near_pairs_are_all_there_are_nearest_first(count, threshold, repeats):
    rows = unit_rows(count, dims=3)
    if repeats:
        rows = rows[np.arange(count) // 3]
    found = list(near_pairs(rows, threshold))
    assert [row for row, _, _ in found] == list(range(count))
    for row, others, cosines in found:
        exact = (rows.astype(np.float64) * rows[row].astype(np.float64)).sum(axis=1)
        near = [other for other in range(count) if other != row and exact[other] >= threshold]
        assert others.tolist() == sorted(near, key=lambda other: (-exact[other], other))
        assert cosines == pytest.approx(exact[others], abs=1e-12)


def test_bm25_is_the_formula():
    documents = [{"cat": 2, "mat": 1}, {"dog": 3}, {}, {"cat": 1}]
    lengths, mean = [3, 3, 0, 1], 7 / 4
    idf = {"cat": np.log(1 + 2.5 / 2.5), "dog": np.log(1 + 3.5 / 1.5)}
    expected = [
        sum(
            idf[term] * one[term] / (one[term] + 1.2 * (0.25 + 0.75 * length / mean))
            for term in idf
            if term in one
        )
        for one, length in zip(documents, lengths, strict=True)
    ]
    assert BM25(documents).scores(["cat", "dog", "zebra", "cat"]) == pytest.approx(expected)


@pytest.mark.parametrize("documents", [[], [{}, {}]])
def test_bm25_of_nothing(documents):
    assert BM25(documents).scores(["cat"]).tolist() == [0.0] * len(documents)
