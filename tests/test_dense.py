from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import EmbeddingError
from graphmem.index.dense import DenseIndex, NearPairs, VectorTable


def unit_rows(count, dims=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_scores_equal_brute_force():
    rows, query = unit_rows(50), unit_rows(1, seed=1)[0]
    index = DenseIndex(rows)
    assert len(index) == 50
    assert index.scores(query) == pytest.approx(rows @ query, abs=1e-6)
    places = np.array([7, 0, 49])
    assert index.rows(places) == pytest.approx(rows[places])


def test_subset_scores_of_several_queries_skip_none():
    rows, queries = unit_rows(6), unit_rows(2, seed=2)
    wanted = np.array([[0, 5, -1], [3, -1, -1]])
    found = DenseIndex(rows).subset_scores(queries, wanted)
    assert found[0, :2] == pytest.approx(rows[[0, 5]] @ queries[0], abs=1e-6)
    assert found[1, 0] == pytest.approx(rows[3] @ queries[1], abs=1e-6)
    assert found[wanted < 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(0, 0), (0, 8), (4, 0), (4, 8)])
def test_without_vectors_nothing_is_near(shape):
    index = DenseIndex(np.zeros(shape, dtype=np.float32))
    query = np.ones(8, dtype=np.float32)
    assert not index.has_vectors
    assert index.scores(query).tolist() == [0.0] * shape[0]


def test_table_put_replace_drop_take():
    rows = unit_rows(4)
    table = VectorTable()
    assert table.put(["a", "b"], rows[:2]) == ["a", "b"]
    assert table.put(["a", "b"], rows[[0, 2]]) == ["b"]
    table.drop(["a", "unknown"])
    assert "a" not in table
    assert len(table) == 1
    taken = table.take(["b", "a", "never"])
    assert taken[0] == pytest.approx(rows[2])
    assert not taken[1:].any()
    taken[0] = 0
    assert table.take(["b"])[0] == pytest.approx(rows[2])


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9), st.booleans()), max_size=60)
)
def test_table_is_a_dictionary_of_rows(steps):
    rows = unit_rows(10, dims=4)
    table, model = VectorTable(), {}
    for key, row, is_put in steps:
        if is_put:
            table.put([key], rows[row : row + 1])
            model[key] = rows[row]
        else:
            table.drop([key])
            model.pop(key, None)
    assert sorted(table.ids) == sorted(model)
    for key in "abcdef":
        expected = model.get(key, np.zeros(table.dims, dtype=np.float32))
        assert table.take([key])[0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("ids", "rows"),
    [
        (["b"], np.ones((1, 3), dtype=np.float32)),
        (["b"], np.full((1, 4), np.nan, dtype=np.float32)),
        (["b", "c"], np.ones((1, 4), dtype=np.float32)),
        (["b"], np.ones(4, dtype=np.float32)),
    ],
)
def test_vectors_that_do_not_fit_are_refused(ids, rows):
    table = VectorTable()
    table.put(["a"], np.ones((1, 4), dtype=np.float32))
    with pytest.raises(EmbeddingError):
        table.put(ids, rows)
    assert table.ids == ["a"]


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.data())
def test_near_pairs_do_not_depend_on_order(keys, data):
    rows = dict(zip("abcdefgh", unit_rows(8, dims=2), strict=True))
    cut = data.draw(st.integers(0, len(keys)))
    table, near = VectorTable(), NearPairs(0.8)
    for part in (keys[:cut], keys[cut:]):
        if part:
            near.update(table.put(part, np.stack([rows[key] for key in part])), table)
    gone = data.draw(st.sets(st.sampled_from("abcdefgh")))
    table.drop(gone)
    near.drop(gone)
    left = [key for key in keys if key not in gone]
    for key in "abcdefgh":
        expected = {
            other: float(rows[key] @ rows[other])
            for other in left
            if key in left and other != key and rows[key] @ rows[other] >= 0.8
        }
        found = dict(near.of(key, 100))
        assert found == pytest.approx(expected, abs=1e-6)
        assert [one for one, _ in near.of(key, 1)] == sorted(found, key=lambda k: (-found[k], k))[
            :1
        ]
