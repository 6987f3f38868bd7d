from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.lexical import Postings, spread
from graphmem.words import terms, words


def postings_of(texts, threads=None, window=None):
    numbers = np.arange(len(texts)) if threads is None else np.array(threads)
    return Postings.of([terms(words(text)) for text in texts], numbers, window or {0: 1.0})


def bm25_share(texts, question, k1=1.2, b=0.75):
    """The same by the book, one passage and one term at a time."""
    documents = [terms(words(text)) for text in texts]
    mean = sum(sum(d.values()) for d in documents) / len(documents)
    weights = {}
    for term in terms(words(question)):
        df = sum(term in d for d in documents)
        weights[term] = np.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
    shares = []
    for document in documents:
        norm = k1 * (1 - b + b * sum(document.values()) / mean)
        parts = [w * document[t] / (document[t] + norm) for t, w in weights.items()]
        shares.append(sum(parts) / sum(weights.values()))
    return shares


TEXTS = ["the cat sat on a mat", "cats and dogs, cats and dogs", "a bird flew", "mats for birds"]


def test_cover_is_bm25_over_its_greatest_value():
    found = postings_of(TEXTS).cover(terms(words("cat on a mat")), k1=1.2, b=0.75)
    assert found.share == pytest.approx(bm25_share(TEXTS, "cat on a mat"))
    assert found.share.argmax() == 0
    assert (found.share <= 1).all()


def test_unknown_words_stay_in_the_divisor():
    postings = postings_of(TEXTS)
    known = postings.cover(["cat"], k1=1.2, b=0.75).share
    half_known = postings.cover(["cat", "zebra"], k1=1.2, b=0.75).share
    assert 0 < half_known[0] < known[0]


def test_no_question_and_no_passages_cover_nothing():
    assert postings_of(TEXTS).cover([], k1=1.2, b=0.75).share.tolist() == [0, 0, 0, 0]
    assert postings_of([]).cover(["cat"], k1=1.2, b=0.75).share.tolist() == []


def test_neighbours_count_within_their_thread_only():
    texts = ["apples", "pears", "plums", "apples"]
    window = {-1: 0.5, 0: 1.0}
    found = postings_of(texts, [0, 0, 1, 1], window).cover(["appl"], k1=1.2, b=0.75)
    assert found.present[0].tolist() == [True, True, False, True]
    assert found.share[0] > found.share[1] > 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 10)), max_size=12),
    st.dictionaries(st.integers(-4, 4), st.floats(0.1, 1), max_size=5),
)
def test_spread_adds_weighted_neighbours(rows, window):
    rows = sorted(rows, key=lambda row: row[0])
    threads = np.array([thread for thread, _ in rows], dtype=np.int64)
    values = np.array([value for _, value in rows], dtype=float)
    expected = []
    for i in range(len(rows)):
        total = values[i] * window.get(0, 1.0)
        for offset, weight in window.items():
            j = i + offset
            if offset and 0 <= j < len(rows) and threads[i] == threads[j]:
                total += weight * values[j]
        expected.append(total)
    assert spread(values, threads, window) == pytest.approx(np.array(expected))
