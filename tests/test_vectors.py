from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.errors import EmbeddingError, StoreCorrupt
from graphmem.index.vectors import VectorRows


def unit_rows(count, dims=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def new_path(folder):
    return folder / f"{len(list(folder.iterdir()))}.segment"


@pytest.mark.parametrize(("dtype", "error"), [(np.int16, 5e-5), (np.int8, 1e-2)])
@pytest.mark.parametrize("dims", [1, 7, 384])
def test_products_and_rows_are_those_of_the_vectors(dtype, error, dims):
    vectors, queries = unit_rows(1300, dims), unit_rows(3, dims, seed=1)
    table = VectorRows(dtype)
    assert table.append(vectors[:1000]) == 0
    assert table.append(vectors[1000:]) == 1000
    rows = np.random.default_rng(2).integers(0, 1300, 700)
    assert np.allclose(table.dots(rows, queries), queries @ vectors[rows].T, rtol=0, atol=error)
    assert np.allclose(table.take(rows), vectors[rows], rtol=0, atol=error)
    assert table.dots(rows, queries).dtype == np.float64
    assert (len(table), table.dims, table.dead) == (1300, dims, 0)


def test_a_row_of_none_scores_nothing():
    table = VectorRows()
    table.append(unit_rows(4))
    rows = np.array([-1, 3, -1, 0])
    assert (table.dots(rows, unit_rows(2, seed=1)) != 0).tolist() == [
        [False, True, False, True]
    ] * 2
    assert table.take(rows).any(axis=1).tolist() == [False, True, False, True]
    assert table.has(rows).tolist() == [False, True, False, True]


def test_an_empty_table_scores_nothing():
    table = VectorRows()
    assert table.dims == 0
    assert table.dots(np.array([-1, -1]), unit_rows(1)).tolist() == [[0, 0]]
    assert table.dots(np.zeros(0, dtype=np.int64), unit_rows(2)).shape == (2, 0)
    assert table.has(np.array([-1])).tolist() == [False]
    assert table.take(np.zeros(0, dtype=np.int64)).shape == (0, 0)
    table.drop(np.array([-1]))
    assert table.append(np.zeros((0, 8))) == 0


@pytest.mark.parametrize("dims", [8, 33])
def test_a_product_does_not_depend_on_what_else_is_asked(tmp_path, dims):
    vectors, query = unit_rows(900, dims), unit_rows(1, dims, seed=1)
    vectors[100:] = vectors[np.arange(800) % 100]
    table = VectorRows()
    table.append(vectors[:450])
    table.save_tail(new_path(tmp_path))
    table.append(vectors[450:])
    whole = table.dots(np.arange(900), query)[0]
    assert np.array_equal(whole.reshape(9, 100), np.tile(whole[:100], (9, 1)))
    some = np.random.default_rng(3).permutation(900)[:77]
    assert np.array_equal(table.dots(some, query)[0], whole[some])


@pytest.mark.parametrize("dtype", [np.int16, np.int8])
def test_pairs_are_the_same_from_either_side(dtype):
    vectors = unit_rows(40, 48)
    table = VectorRows(dtype)
    table.append(vectors)
    left, right = (side.ravel() for side in np.indices((40, 40)))
    products = table.pairs(vectors[left], right).reshape(40, 40)
    assert np.array_equal(products, products.T)
    assert np.allclose(products, vectors @ vectors.T, atol=5e-5 if dtype is np.int16 else 1e-2)
    assert table.pairs(vectors[:2], np.array([-1, 1])).tolist() == [0, products[1, 1]]


def test_zeros_and_what_is_nearly_zero_have_no_sense():
    table = VectorRows()
    table.append([[0, 0], [1e-45, 0], [1e-30, -1e-30], [0.6, 0.8]])
    assert table.has(np.arange(4)).tolist() == [False, False, True, True]
    assert table.dead == 2
    assert table.dots(np.arange(4), [[0.6, 0.8]])[0] == pytest.approx([0, 0, 0, 1], abs=1e-4)


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (np.ones(8), "one row for each text"),
        (np.ones((2, 0)), "one row for each text"),
        (np.ones((2, 9)), "one embedding model"),
        (np.full((1, 8), np.nan), "give zeros"),
        (np.full((1, 8), np.inf), "give zeros"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, fix):
    table = VectorRows()
    table.append(unit_rows(2))
    for use in (table.append, lambda rows: table.dots(np.array([0]), rows)):
        with pytest.raises(EmbeddingError, match=fix):
            use(wrong)
    assert len(table) == 2


def test_saving_maps_the_tail_and_keeps_small_files_few(tmp_path):
    vectors = unit_rows(500)
    table = VectorRows()
    sizes = []
    for start in range(0, 500, 10):
        table.append(vectors[start : start + 10])
        assert table.tail_size == 10
        segment = table.save_tail(new_path(tmp_path))
        assert segment is not None
        assert table.tail_size == 0
        sizes.append(len(table.segments))
        assert table.segments[-1] == segment
    assert 2 <= max(sizes) <= 8
    assert table.take(np.arange(500)) == pytest.approx(vectors, abs=2e-5)
    assert table.save_tail(new_path(tmp_path)) is None


def test_what_is_saved_takes_no_memory_but_its_scales(tmp_path):
    table = VectorRows()
    table.append(unit_rows(3000, 64))
    assert table.nbytes >= 3000 * (2 * 64 + 4)
    table.save_tail(new_path(tmp_path))
    assert table.nbytes < 3000 * 4 * 2


def test_dropped_rows_leave_their_bytes_in_files_until_a_repack(tmp_path):
    vectors = unit_rows(100, 16)
    table = VectorRows()
    table.append(vectors[:80])
    first, second = tmp_path / "first", tmp_path / "second"
    tail, mapped = 90, table.take(np.array([7]))[0]
    scale = 2.0 ** np.ceil(np.log2(np.abs(mapped).max() / 32767))
    codes = (mapped / scale).astype("<i2").tobytes()
    table.save_tail(first)
    table.append(vectors[80:])
    table.drop(np.array([tail, 7, 7, -1]))
    assert table.stale.tolist() == [7]
    assert table.dead == 2
    assert not table.take(np.array([7, tail])).any()
    assert codes in first.read_bytes()
    assert not table.wants_repack
    table.drop(np.arange(10, 20))
    assert table.wants_repack
    table.repack(second)
    assert codes not in second.read_bytes()
    assert (len(table.stale), table.dead, table.wants_repack) == (0, 12, False)
    kept = np.setdiff1d(np.arange(100), [7, tail, *range(10, 20)])
    assert table.take(kept) == pytest.approx(vectors[kept], abs=2e-5)
    assert [one.name for one in table.segments] == ["second"]


def test_what_happens_between_writing_and_adopting_is_kept(tmp_path):
    vectors = unit_rows(60, 16)
    table = VectorRows()
    table.append(vectors[:40])
    path = new_path(tmp_path)
    assert table.write(path)
    table.append(vectors[40:])
    table.drop(np.array([3, 50]))
    table.adopt(path)
    assert table.tail_size == 20
    assert table.stale.tolist() == [3]
    kept = np.setdiff1d(np.arange(60), [3, 50])
    assert table.take(kept) == pytest.approx(vectors[kept], abs=2e-5)
    assert not table.take(np.array([3, 50])).any()


def test_reading_while_another_thread_appends_drops_and_saves(tmp_path):
    vectors, query = unit_rows(4000, 16), unit_rows(1, 16, seed=1)
    table = VectorRows()
    table.append(vectors[:100])
    right = vectors @ query[0]

    def change():
        for start in range(100, 4000, 100):
            table.append(vectors[start : start + 100])
            table.drop(np.array([start]))
            table.save_tail(new_path(tmp_path))

    thread = threading.Thread(target=change)
    thread.start()
    while thread.is_alive():
        rows = np.arange(len(table))
        rows = rows[(rows % 100 != 0) | (rows == 0)]
        assert table.dots(rows, query)[0] == pytest.approx(right[rows], abs=5e-5)
    thread.join()
    assert table.dead == 39


@st.composite
def histories(draw):
    steps = st.one_of(
        st.tuples(st.just("append"), st.integers(0, 40)),
        st.tuples(st.just("drop"), st.lists(st.integers(0, 200), max_size=8)),
        st.tuples(st.sampled_from(["save", "repack", "reopen"]), st.none()),
    )
    return draw(st.lists(steps, max_size=25))


@settings(max_examples=60, deadline=None)
@given(history=histories(), dtype=st.sampled_from([np.int16, np.int8]))
def test_any_history_leaves_the_vectors_that_were_not_dropped(tmp_path_factory, history, dtype):
    folder = tmp_path_factory.mktemp("table")
    vectors = unit_rows(1000, 5)
    table, expected = VectorRows(dtype), np.zeros((0, 5), dtype=np.float32)
    for step, value in history:
        if step == "append":
            assert table.append(vectors[len(expected) : len(expected) + value]) == len(expected)
            expected = np.concatenate((expected, vectors[len(expected) : len(expected) + value]))
        elif step == "drop":
            rows = np.array([row for row in value if row < len(expected)], dtype=np.int64)
            table.drop(rows)
            expected[rows] = 0
        elif step == "save":
            table.save_tail(new_path(folder))
        elif step == "repack":
            table.repack(new_path(folder))
        else:
            split = len(table) - table.tail_size
            table = VectorRows.of(dtype, folder, table.segments, table.stale)
            expected = expected[:split]
        assert len(table) == len(expected)
        rows = np.arange(len(expected))
        if len(rows):
            assert table.take(rows) == pytest.approx(expected, abs=1e-2)
            assert table.has(rows).tolist() == expected.any(axis=1).tolist()
        assert table.dead == int((~expected.any(axis=1)).sum())


@pytest.mark.parametrize("cut", [0, 10, 64, 500, -1])
def test_a_torn_file_is_refused(tmp_path, cut):
    table = VectorRows()
    table.append(unit_rows(50))
    table.save_tail(tmp_path / "a.segment")
    segments = table.segments
    assert len(VectorRows.of(np.int16, tmp_path, segments)) == 50
    whole = (tmp_path / "a.segment").read_bytes()
    (tmp_path / "a.segment").write_bytes(whole[:cut])
    with pytest.raises(StoreCorrupt, match=r"a\.segment"):
        VectorRows.of(np.int16, tmp_path, segments)


def test_files_that_do_not_belong_are_refused(tmp_path):
    table = VectorRows()
    for name, count in (("a", 50), ("b", 20)):
        table.append(unit_rows(count))
        table.save_tail(tmp_path / name)
    segments = table.segments
    assert len(VectorRows.of(np.int16, tmp_path, segments)) == 70
    with pytest.raises(StoreCorrupt, match="does not continue"):
        VectorRows.of(np.int16, tmp_path, segments[1:])
    with pytest.raises(StoreCorrupt, match="does not continue"):
        VectorRows.of(np.int8, tmp_path, segments)
    with pytest.raises(StoreCorrupt, match="no file has"):
        VectorRows.of(np.int16, tmp_path, segments, [70])
    with pytest.raises(StoreCorrupt, match="does not continue"):
        VectorRows().adopt(tmp_path / "b")
    (tmp_path / "b").write_bytes(b"x" * 1000)
    with pytest.raises(StoreCorrupt, match="another format"):
        VectorRows.of(np.int16, tmp_path, segments)
    (tmp_path / "b").unlink()
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        VectorRows.of(np.int16, tmp_path, segments)


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    table = VectorRows()
    table.append(unit_rows(5))
    path = tmp_path / "taken"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        table.save_tail(path)
    assert path.read_text() == "mine"
    assert table.tail_size == 5
