from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.lexicon import Lexicon, word_keys
from graphmem.recall.question import ask
from graphmem.recall.sight import look
from graphmem.settings import RecallSettings
from graphmem.words import terms, words
from worlds import Memory, Said, World

ALONE = ((0, 1.0),)


def share(texts, question, threads=None, window=ALONE):
    """What of the question each text covers, and which terms stand in its window."""
    said = [
        Said(f"p{place:02}", text, session="" if threads is None else f"s{threads[place]}")
        for place, text in enumerate(texts)
    ]
    settings = RecallSettings(window=window)
    memory = Memory(settings)
    memory.update(World(said, None).changes())
    seen = look(memory, ask(memory, question, None), np.arange(len(texts)), settings)
    return seen.share, seen.present


def bm25_share(texts, question, threads=None, window=ALONE, k1=1.2, b=0.75):
    """The same by the book, one passage and one term at a time."""
    documents = [terms(words(text)) for text in texts]
    threads = list(range(len(texts))) if threads is None else threads

    def around(place):
        """Weight and document of each of the window."""
        thread = [other for other in range(len(texts)) if threads[other] == threads[place]]
        for offset, weight in window:
            at = thread.index(place) + offset
            if 0 <= at < len(thread):
                yield weight, documents[thread[at]]

    lengths = [sum(w * sum(d.values()) for w, d in around(p)) for p in range(len(texts))]
    mean = sum(lengths) / len(lengths)
    weights = {}
    for term in terms(words(question)):
        df = sum(term in d for d in documents)
        weights[term] = np.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
    shares = []
    for place, length in enumerate(lengths):
        norm = k1 * (1 - b + b * length / mean) if mean else 1.0
        times = {term: sum(w * d[term] for w, d in around(place)) for term in weights}
        covered = sum(weights[term] * n / (n + norm) for term, n in times.items())
        shares.append(covered / sum(weights.values()) if weights else 0.0)
    return shares


TEXTS = ["the cat sat on a mat", "cats and dogs, cats and dogs", "a bird flew", "mats for birds"]


def test_the_share_is_bm25_over_its_greatest_value():
    found, _ = share(TEXTS, "cat on a mat")
    assert found == pytest.approx(bm25_share(TEXTS, "cat on a mat"))
    assert found.argmax() == 0
    assert (found <= 1).all()


def test_unknown_words_stay_in_the_divisor():
    known, _ = share(TEXTS, "cat")
    half_known, _ = share(TEXTS, "cat zebra")
    assert 0 < half_known[0] < known[0]


def test_no_question_and_no_passages_cover_nothing():
    assert share(TEXTS, "")[0].tolist() == [0, 0, 0, 0]
    assert share([], "cat")[0].tolist() == []
    assert share(["!", "?"], "cat")[0].tolist() == [0, 0]


def test_neighbours_count_within_their_thread_only():
    texts = ["apples", "pears", "plums", "apples"]
    found, present = share(texts, "apples", [0, 0, 1, 1], ((-1, 0.5), (0, 1.0)))
    assert present[0].tolist() == [True, True, False, True]
    assert found[0] > found[1] > 0


WORD = st.sampled_from("cat dog the mat bird".split())


@given(
    st.lists(st.tuples(st.lists(WORD, max_size=5), st.integers(0, 2)), min_size=1, max_size=8),
    st.lists(WORD, max_size=3),
    st.dictionaries(st.integers(-3, 3), st.floats(0.1, 1), max_size=4),
)
def test_neighbours_count_by_their_weight(rows, question, window):
    texts, threads = [" ".join(one) for one, _ in rows], [thread for _, thread in rows]
    weights = tuple(sorted((window | {0: 1.0}).items()))
    found, _ = share(texts, " ".join(question), threads, weights)
    expected = bm25_share(texts, " ".join(question), threads, weights)
    assert found == pytest.approx(np.array(expected))


# --- what is kept -------------------------------------------------------------------------------


@dataclass
class Model:
    """A lexicon and the same in dictionaries."""

    lexicon: Lexicon = field(default_factory=Lexicon)
    texts: list[list[str] | None] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)
    stated: dict[int, set[int]] = field(default_factory=dict)
    unheard: list[str] = field(default_factory=list)

    def read(self, text):
        self.read_all([text])

    def read_all(self, texts):
        new = list(range(len(self.texts), len(self.texts) + len(texts)))
        self.lexicon.add_passages([word_keys(one) for one in texts], [terms(one) for one in texts])
        self.stated |= {at: set() for at in new}
        self.texts += texts
        self._retell(new)

    def learn(self, *texts):
        self.lexicon.add_facts([terms(text) for text in texts])
        self.facts += texts

    def tell(self, number, facts):
        if self.here:
            passage = self.here[number % len(self.here)]
            self.stated[passage] = {one for one in facts if one < len(self.facts)}
            self._retell([passage])

    def forget(self, number):
        if self.here:
            passage = self.here[number % len(self.here)]
            self.stated[passage] = set()
            self._retell([passage])
            self.lexicon.drop_passages(np.array([passage]))
            self.texts[passage] = None

    def fold(self):
        self.lexicon.fold()

    @property
    def here(self):
        return [at for at, text in enumerate(self.texts) if text is not None]

    def _retell(self, passages):
        pairs = [(p, f) for p, one in enumerate(passages) for f in sorted(self.stated[one])]
        places, facts = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        unheard = self.lexicon.terms(self.unheard)
        unheard = unheard[unheard >= 0]
        self.lexicon.retell(np.array(passages, dtype=np.int64), places, facts, unheard)

    def terms(self, passage):
        """What counts for a passage: its own terms, and once each those that its facts add."""
        own = terms(self.texts[passage])
        added = {term for fact in self.stated[passage] for term in terms(self.facts[fact])}
        return Counter({**dict.fromkeys(added, 1), **own})


SENTENCE = st.lists(WORD, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), SENTENCE),
        st.tuples(st.just("read_all"), st.lists(SENTENCE, max_size=3)),
        st.tuples(st.just("learn"), SENTENCE, SENTENCE),
        st.tuples(st.just("tell"), st.integers(0, 9), st.sets(st.integers(0, 4), max_size=3)),
        st.tuples(st.just("forget"), st.integers(0, 9)),
        st.just(("fold",)),
    ),
    max_size=25,
)


@given(STEPS, st.sampled_from([[], ["cat"], ["cat", "mat", "unknown"]]))
def test_terms_are_those_of_texts_and_their_facts(steps, unheard):
    model = Model(unheard=unheard)
    for name, *arguments in steps:
        getattr(model, name)(*arguments)
    lexicon, expected = model.lexicon, {at: model.terms(at) for at in model.here}
    wanted = ["cat", "unknown", "dog", "the", "mat", "bird"]
    places = lexicon.terms(wanted)
    assert places[1] == places[3] == -1
    holders = [
        (number, at, one[term])
        for number, term in enumerate(wanted)
        for at, one in expected.items()
        if one[term]
    ]
    assert list(zip(*(part.tolist() for part in lexicon.holders(places)), strict=True)) == holders
    spread = [sum(number == one for one, _, _ in holders) for number in range(len(wanted))]
    assert lexicon.spread(places).tolist() == spread
    lengths = [
        sum(n for term, n in expected[at].items() if term not in unheard) if at in expected else 0
        for at in range(len(model.texts))
    ]
    assert lexicon.lengths.tolist() == lengths


NAME = st.lists(WORD, min_size=1, max_size=3).filter(terms)


@given(
    st.lists(SENTENCE, max_size=6),
    st.lists(NAME, max_size=3),
    st.sets(st.integers(0, 5)),
    st.booleans(),
)
def test_words_that_follow_each_other_are_the_substring_test(texts, names, gone, is_folded):
    model = Model()
    model.read_all(texts)
    for number in sorted(gone & set(range(len(texts))), reverse=True):
        model.forget(number)
    if is_folded:
        model.fold()
    which, passages = model.lexicon.with_words(names)
    found = list(zip(which.tolist(), passages.tolist(), strict=True))
    joined = {at: f" {' '.join(model.texts[at])} " for at in model.here}
    assert sorted(found) == [
        (number, at)
        for number, name in enumerate(names)
        for at, text in joined.items()
        if f" {' '.join(name)} " in text
    ]


def test_whether_a_text_is_worded_as_before():
    model = Model()
    model.read(["cat", "mat"])
    model.read([])
    assert model.lexicon.is_worded(0, word_keys(["cat", "mat"]))
    assert not model.lexicon.is_worded(0, word_keys(["mat", "cat"]))
    assert not model.lexicon.is_worded(0, word_keys(["cat"]))
    assert model.lexicon.is_worded(1, word_keys([]))
