from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.recall.bridge import bridge
from graphmem.testing import HashEmbedder
from graphmem.words import terms, words
from worlds import Said, World

SAID = [
    Said("film", "Salt Road was made by Iva Kos", [("Salt Road", "made by", "Iva Kos")]),
    Said("kos", "Iva Kos did grow up in Motovun", [("Iva Kos", "grew up in", "Motovun")]),
    Said("town", "Motovun has a school and a bakery", [("Motovun", "has", "bakery")]),
    Said("choir", "Iva Kos sang", [("Iva Kos", "sang", "songs")], title="Iva Kos"),
    Said("rain", "it rained where little will grow"),
]
EMBEDDER = HashEmbedder()
MEMORY = World(SAID, EMBEDDER).index().snapshot()
PLACE = {passage.id: place for place, passage in enumerate(MEMORY.passages)}
SIZE = len(PLACE)


def evidence(question):
    coverage = MEMORY.postings.cover(terms(words(question)), k1=1.2, b=0.75)
    return coverage, MEMORY.meanings.scores(EMBEDDER.embed_query(question))


def by_hand(first_hops, scores, coverage, cosines, bonus):
    """The formula, pair by pair."""
    best = np.zeros(SIZE)
    rows = MEMORY.meanings.rows(np.arange(SIZE))
    near = {}
    for e in range(len(MEMORY.entities)):
        near[e] = {e: 1.0}
        span = slice(MEMORY.synonyms.starts[e], MEMORY.synonyms.starts[e + 1])
        cosine = MEMORY.synonym_cosines[span].tolist()
        near[e] |= dict(zip(MEMORY.synonyms[e].tolist(), cosine, strict=True))
    for p in first_hops:
        named_p, about_p = set(MEMORY.names[p].tolist()), set(MEMORY.about[p].tolist())
        for r in range(SIZE):
            named_r, about_r = set(MEMORY.names[r].tolist()), set(MEMORY.about[r].tolist())
            links = [
                near[e][o] * min(MEMORY.rarity[e], MEMORY.rarity[o])
                for e in named_p
                for o in named_r
                if o in near[e]
            ]
            if r == p or max(links, default=0) <= 0:
                continue
            link = max(links) + bonus * bool(about_p & named_r or about_r & named_p)
            adds = coverage.present[:, r] & ~coverage.present[:, p]
            missing = coverage.idf @ adds / coverage.idf.sum() if coverage.idf.sum() else 0.0
            missing += max(0.0, cosines[r] - cosines[p] * float(rows[p] @ rows[r]))
            best[r] = max(best[r], scores[p] * link * missing)
    return best


@given(
    st.sampled_from(
        ["Where did the maker of Salt Road grow up?", "a school in Motovun", "Iva Kos", "of the"]
    ),
    st.lists(st.floats(0, 1), min_size=SIZE, max_size=SIZE),
    st.lists(st.integers(0, SIZE - 1), unique=True),
    st.floats(0, 1),
)
def test_bridge_is_the_formula(question, scores, first_hops, bonus):
    hops, values = np.array(first_hops, dtype=np.int64), np.array(scores)
    coverage, cosines = evidence(question)
    found = bridge(MEMORY, hops, values, coverage, cosines, about_bonus=bonus)
    assert found == pytest.approx(by_hand(first_hops, values, coverage, cosines, bonus), abs=1e-6)


def test_it_leads_to_what_the_first_passage_leaves_open():
    coverage, cosines = evidence("Where did the maker of Salt Road grow up?")
    hops = np.array([PLACE["film"]])
    found = bridge(MEMORY, hops, np.ones(SIZE), coverage, cosines, about_bonus=0.5)
    assert found.argmax() == PLACE["kos"]
    assert found[PLACE["film"]] == 0
    assert found[PLACE["rain"]] == 0, "it answers the rest, but shares no name"
    assert coverage.present[:, PLACE["rain"]].any()
