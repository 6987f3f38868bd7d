from __future__ import annotations

import threading

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.errors import EmbeddingError, StoreCorrupt
from graphmem.index.search import Coding, VectorSearch
from graphmem.index.vectors import VectorRows


def normed(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def world(count, dims=96, spread=1.0, mean=0.0, seed=0):
    """Vectors in loose clusters that fill a few directions, as texts do, and queries near some."""
    random = np.random.default_rng(seed)
    directions = random.normal(size=(-(-dims // 6), dims))
    topics = random.normal(size=(max(1, count // 40), len(directions)))
    places = topics[random.integers(0, len(topics), count)]
    places += random.normal(size=places.shape)
    rows = places @ directions + random.normal(size=(count, dims))
    queries = rows[random.integers(0, count, 40)]
    queries = queries + random.normal(size=(40, len(directions))) @ directions
    scale = spread ** random.uniform(0, 0.5, dims)
    common = normed(random.normal(size=dims)) * mean
    rows, queries = normed(rows * scale), normed(queries * scale)
    return normed(rows + common), normed(queries + common)


def filled(vectors, dtype=np.int16):
    table, search = VectorRows(dtype), VectorSearch()
    table.append(vectors)
    search.add(vectors)
    return table, search


def recall(search, table, vectors, queries, count=50, is_live=None):
    """Share of the true best, those that tie with the last of them included, that are found."""
    exact = queries.astype(np.float64) @ vectors.T.astype(np.float64)
    if is_live is not None:
        exact[:, ~is_live] = -2
    shares = []
    for query, scores in zip(queries, exact, strict=True):
        rows, _ = search.search(query, count, table, is_live)
        least = np.sort(scores)[-count]
        shares.append((scores[rows] >= least - 1e-4).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("count", [1, 40, 201, 5000])
def test_finds_what_an_exact_search_finds(count):
    vectors, queries = world(count)
    table, search = filled(vectors)
    assert len(search) == count
    for query in queries[:10]:
        rows, cosines = search.search(query, 5, table)
        scores = vectors @ query
        assert cosines == pytest.approx(np.sort(scores)[::-1][:5], abs=5e-5)
        assert cosines == pytest.approx(scores[rows], abs=5e-5)
    assert recall(search, table, vectors, queries, min(count, 50)) >= 0.995


@pytest.mark.parametrize("dims", [1, 2, 3, 5, 31, 100, 127, 1024, 3072])
def test_any_size_of_vectors_can_be_searched(dims):
    vectors, queries = world(1500, dims)
    table, search = filled(vectors)
    assert recall(search, table, vectors, queries[:20], 20) >= (0.99 if dims > 30 else 0.9)
    places, rows, _ = search.near(vectors[:20], 0.999, table)
    assert set(zip(range(20), range(20), strict=True)) <= set(
        zip(places.tolist(), rows.tolist(), strict=True)
    )


def test_the_best_come_first_and_ties_by_row():
    vectors, queries = world(600)
    vectors[300:] = vectors[299::-1]
    table, search = filled(vectors)
    rows, cosines = search.search(queries[0], 40, table)
    assert np.array_equal(np.lexsort((rows, -cosines)), np.arange(40))
    assert (rows[0::2] + rows[1::2]).tolist() == [599] * 20
    assert (cosines[0::2] == cosines[1::2]).all()


def test_an_empty_search_finds_nothing():
    table, search = VectorRows(), VectorSearch()
    query = np.ones(4, dtype=np.float32)
    assert [found.tolist() for found in search.search(query, 5, table)] == [[], []]
    assert [found.tolist() for found in search.near(query[None], 0.8, table)] == [[], [], []]
    assert not search.wants_repack(table)
    table, search = filled(world(3, 4)[0])
    assert [found.tolist() for found in search.search(query, 0, table)] == [[], []]
    assert len(search.search(query, 5, table)[0]) == 3


def test_a_query_that_does_not_fit_is_refused():
    table, search = filled(world(300, 16)[0])
    for wrong in (np.ones(17), np.full(16, np.nan)):
        with pytest.raises(EmbeddingError):
            search.search(wrong, 5, table)
        with pytest.raises(EmbeddingError):
            search.near(wrong[None], 0.8, table)
    assert len(search.search(np.ones(16), 5, table)[0]) == 5


@pytest.mark.parametrize("count", [50, 3000])
def test_rows_without_a_vector_are_not_found(count):
    vectors, queries = world(count)
    vectors[::3] = 0
    table, search = filled(vectors)
    rows, cosines = search.search(queries[0], count, table)
    assert len(rows) == np.count_nonzero(vectors.any(axis=1))
    assert not (rows % 3 == 0).any()
    assert np.isfinite(cosines).all()
    assert recall(search, table, vectors, queries, 10) >= 0.99


def test_tombstones_that_crowd_around_a_query_do_not_hide_the_rest():
    vectors, queries = world(6000, 384)
    is_live = np.ones(len(vectors), dtype=np.bool_)
    for query in queries[:10]:
        is_live[np.argsort(-(vectors @ query))[:250]] = False
    masked, search = filled(vectors)
    assert recall(search, masked, vectors, queries[:10], 50, is_live) >= 0.95
    assert recall(search, masked, vectors, queries[:10], 5, is_live) == 1
    dropped, search = filled(vectors)
    dropped.drop(np.flatnonzero(~is_live))
    vectors[~is_live] = 0
    assert recall(search, dropped, vectors, queries[:10], 50) >= 0.95


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.5])
def test_of_few_that_are_wanted_all_are_found(share):
    vectors, queries = world(4000)
    table, search = filled(vectors)
    is_live = np.random.default_rng(1).random(4000) < share
    rows, _ = search.search(queries[0], 60, table, is_live)
    assert is_live[rows].all()
    assert len(rows) == min(60, np.count_nonzero(is_live))
    if len(rows) == 60:
        assert recall(search, table, vectors, queries, 50, is_live) >= 0.99


def test_dimensions_that_are_not_alike_cost_nothing():
    vectors, queries = world(6000, spread=100.0)
    variances = vectors.var(axis=0)
    assert variances.max() / variances.min() > 50
    table, search = filled(vectors)
    assert recall(search, table, vectors, queries) >= 0.99
    assert not search.wants_repack(table)


@pytest.mark.parametrize("mean", [1.0, 2.0])
def test_a_common_mean_is_noticed_and_cured(mean):
    vectors, queries = world(6000, mean=mean)
    table, search = filled(vectors)
    before = recall(search, table, vectors, queries)
    assert search.wants_repack(table)
    cured = VectorSearch.built(table)
    assert not cured.wants_repack(table)
    assert cured.coding.reach > 1.5
    assert recall(cured, table, vectors, queries) >= 0.99 > before


def test_the_coding_is_checked_at_256_vectors_and_tenfold():
    plain, _ = world(3000)
    shifted, _ = world(3000, mean=2.0)
    table, search = filled(shifted[:255])
    assert not search.wants_repack(table)
    table.append(shifted[255:256])
    search.add(shifted[255:256])
    assert search.wants_repack(table)
    table, search = filled(plain[:256])
    assert not search.wants_repack(table)
    for start, wanted in ((0, False), (2304, True)):
        more = shifted[start : start + 2300 if not wanted else start + 10]
        table.append(more)
        search.add(more)
        assert search.wants_repack(table) == wanted


def test_repacking_drops_the_dead_and_keeps_row_numbers():
    vectors, queries = world(5000)
    table, search = filled(vectors[:4000])
    dead = np.random.default_rng(1).permutation(4000)[:2000]
    table.drop(dead)
    assert search.wants_repack(table)
    packed = VectorSearch.built(table)
    assert packed.nbytes < search.nbytes
    table.append(vectors[4000:4600])
    packed.catch_up(table)
    table.append(vectors[4600:])
    packed.add(vectors[4600:])
    assert (len(packed), packed.wants_repack(table)) == (5000, False)
    vectors[dead] = 0
    assert recall(packed, table, vectors, queries) >= 0.99
    again = VectorSearch.built(table)
    for query in queries[:5]:
        for found, expected in zip(
            packed.search(query, 5, table), again.search(query, 5, table), strict=True
        ):
            assert np.array_equal(found, expected)


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 60), st.lists(st.integers(0, 400), max_size=30), st.booleans()),
        max_size=8,
    )
)
def test_any_history_finds_the_nearest(steps):
    vectors, queries = world(600, 24)
    table, search = VectorRows(), VectorSearch()
    expected = np.zeros((0, 24), dtype=np.float32)
    for added, dropped, is_repacked in steps:
        new = vectors[len(expected) : len(expected) + added]
        table.append(new)
        search.add(new)
        expected = np.concatenate((expected, new))
        rows = np.array([row for row in dropped if row < len(expected)], dtype=np.int64)
        table.drop(rows)
        expected[rows] = 0
        if is_repacked:
            search = VectorSearch.built(table)
    live = np.flatnonzero(expected.any(axis=1))
    for query in queries[:3]:
        rows, cosines = search.search(query, 10, table)
        assert set(rows.tolist()) <= set(live.tolist())
        best = np.sort(expected[live] @ query)[::-1][:10]
        assert cosines == pytest.approx(best, abs=5e-5)


@pytest.mark.parametrize(
    ("count", "mean", "threshold"), [(300, 0.0, 0.8), (3000, 0.0, 0.8), (3000, 2.0, 0.9)]
)
def test_near_finds_all_pairs_from_a_threshold_up(count, mean, threshold):
    random = np.random.default_rng(5)
    base, _ = world(count // 4, mean=mean)
    vectors = normed(np.repeat(base, 4, axis=0) + random.normal(size=(count, 96)) * 0.03)
    table, _ = filled(vectors)
    table.drop(np.array([3, 7]))
    search = VectorSearch.built(table)
    places, rows, cosines = search.near(vectors, threshold, table)
    exact = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    exact[:, [3, 7]] = 0
    assert len(places) > 2 * count
    found = np.zeros_like(exact)
    found[places, rows] = cosines
    assert np.allclose(found[places, rows], exact[places, rows], rtol=0, atol=5e-5)
    assert not ((exact > threshold + 1e-4) & (found == 0)).any()
    assert (cosines >= threshold).all()
    assert np.array_equal(np.lexsort((rows, places)), np.arange(len(rows)))
    kept = np.setdiff1d(np.arange(count), [3, 7])
    square = found[np.ix_(kept, kept)]
    assert np.array_equal(square, square.T)


def test_near_asks_for_more_until_all_are_found():
    base, _ = world(3000)
    crowd = normed(base[:1] + np.random.default_rng(2).normal(size=(900, 96)) * 0.02)
    table, search = filled(np.concatenate((base, crowd)))
    places, rows, _ = search.near(base[:2], 0.8, table)
    assert np.array_equal(rows[places == 0][-900:], np.arange(3000, 3900))
    assert 1 in rows[places == 1]


@pytest.mark.parametrize("dropped", [0, 700])
def test_what_is_saved_is_what_is_loaded(dropped):
    vectors, queries = world(3000, mean=2.0)
    table, search = filled(vectors[:2900])
    table.drop(np.arange(dropped))
    for one in (search, VectorSearch.built(table), VectorSearch()):
        loaded = VectorSearch.of({key: value.copy() for key, value in one.arrays().items()})
        assert len(loaded) == len(one)
        loaded.catch_up(table)
        one.catch_up(table)
        for query in queries[:5]:
            found = loaded.search(query, 30, table)
            expected = one.search(query, 30, table)
            assert np.array_equal(found[0], expected[0])
            assert len(found[0]) == 30


def test_codes_that_do_not_fit_are_refused():
    search = filled(world(300, 16)[0])[1]
    arrays = search.arrays()
    assert len(VectorSearch.of(arrays)) == 300
    other = filled(world(300, 32)[0])[1].arrays()
    fewer = filled(world(299, 16)[0])[1].arrays()
    flat = {"codes": faiss.serialize_index(faiss.IndexFlatIP(16))}
    for wrong in (
        {"codes": other["codes"]},
        {"codes": fewer["codes"]},
        {"codes": np.zeros(100, dtype=np.uint8)},
        {"codes": arrays["codes"][:40]},
        flat,
    ):
        with pytest.raises(StoreCorrupt, match="codes"):
            VectorSearch.of(arrays | wrong)


def test_turning_keeps_products():
    vectors, queries = world(50, 33)
    coding = Coding.plain(33)
    assert coding.turned(vectors) @ coding.turned(queries).T == pytest.approx(
        vectors @ queries.T, abs=1e-5
    )


def test_searching_while_another_thread_adds():
    vectors, queries = world(6000)
    table, search = filled(vectors[:500])

    def add():
        for start in range(500, 6000, 100):
            table.append(vectors[start : start + 100])
            search.add(vectors[start : start + 100])

    thread = threading.Thread(target=add)
    thread.start()
    while thread.is_alive():
        rows, cosines = search.search(queries[0], 20, table)
        assert cosines == pytest.approx(vectors[rows] @ queries[0], abs=5e-5)
    thread.join()
    assert recall(search, table, vectors, queries, 20) >= 0.99


def test_faiss_keeps_its_threads_for_others():
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        table, search = filled(world(2000, 32)[0])
        search.search(np.ones(32), 5, table)
        assert faiss.omp_get_max_threads() == 2
    finally:
        faiss.omp_set_num_threads(before)
