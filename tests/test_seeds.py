from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.recall.prior import scaled
from graphmem.recall.seeds import fact_scores, reset, seed_facts, withheld
from worlds import Said, World, entity_id

SAID = [
    Said("p0", "Maja lives in Oslo", [("Maja", "lives in", "Oslo"), ("Maja", "has", "Rex")]),
    Said("p1", "Oslo is in Norway", [("Oslo", "is in", "Norway")]),
    Said("p2", "Oslo is cold", [("Oslo", "is", "cold")], status="candidate"),
    Said("p3", "Zoe saw rain", [("Zoe", "saw", "rain")], speaker="Zoe", session="s"),
]
MEMORY = World(SAID).index().snapshot()
FACT = {fact.text: place for place, fact in enumerate(MEMORY.facts)}
PASSAGE = {passage.id: place for place, passage in enumerate(MEMORY.passages)}
OPTIONS = {"name_weight": 0.3, "passage_weight": 0.2, "passage_power": 2.0, "passages": 2}
SCORES = st.lists(st.floats(0, 1), min_size=len(FACT), max_size=len(FACT)).map(np.array)
PRIOR = st.lists(st.floats(0, 1), min_size=len(PASSAGE), max_size=len(PASSAGE)).map(np.array)


def entity(name):
    return MEMORY.entity_place[entity_id(name)]


def scores_of(**by_text):
    scores = np.zeros(len(FACT))
    for text, score in by_text.items():
        scores[FACT[text.replace("_", " ")]] = score
    return scores


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], []), ([0.0, 0.0], [0, 0]), ([-1.0, -2.0], [0, 0]), ([1.0, 4.0, -1.0], [0.25, 1, 0])],
)
def test_scaled(values, expected):
    assert scaled(np.array(values)).tolist() == expected


def test_a_fact_counts_by_its_passage_too():
    cosines = scores_of(Maja_lives_in_Oslo=0.5, Zoe_saw_rain=0.5)
    prior = np.zeros(len(PASSAGE))
    prior[PASSAGE["p0"]] = 1.0
    found = fact_scores(MEMORY, cosines, prior, 1.5)
    assert found[FACT["Maja lives in Oslo"]] == 1.0
    assert found[FACT["Zoe saw rain"]] == pytest.approx(1 / 2.5)


@given(SCORES, st.integers(0, 6), st.integers(0, 6), st.floats(0, 1))
def test_seed_facts_are_the_best_live_ones_and_those_nearly_as_good(scores, seed_k, most, near):
    found = seed_facts(MEMORY, scores, seed_k, most=most, near=near).tolist()
    live = [f for f in range(len(FACT)) if MEMORY.is_live[f] and scores[f] > 0]
    best = sorted(live, key=lambda f: (-scores[f], f))
    nearly = [f for f in best if scores[f] >= near * scores[best[0]]]
    assert found == best[: max(seed_k, min(most, len(nearly)))]


def test_only_facts_that_fit_as_well_as_the_last_seed_count_as_withheld():
    scores = scores_of(Maja_lives_in_Oslo=1.0, Oslo_is_in_Norway=0.5, Oslo_is_cold=0.7)
    assert withheld(MEMORY, scores, seed_facts(MEMORY, scores, 2)) == {"candidate": 1}
    assert withheld(MEMORY, scores, seed_facts(MEMORY, scores, 1)) == {}


@given(SCORES, PRIOR, st.sets(st.sampled_from(["Maja", "Norway", "cold"])))
def test_the_reset_is_a_distribution_or_empty(scores, prior, names):
    named = np.array(sorted(entity(name) for name in names), dtype=np.int64)
    seeds = seed_facts(MEMORY, scores, 3)
    found = reset(MEMORY, seeds, scores, named, prior, **OPTIONS)
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1 if len(seeds) or names else 0)
    shares = found.by_fact + found.by_name
    assert found.weights[: len(MEMORY.entities)] == pytest.approx(shares)


def test_what_many_passages_mention_tells_little():
    scores = scores_of(Maja_lives_in_Oslo=1.0)
    seeds = seed_facts(MEMORY, scores, 1)
    nobody = np.zeros(0, dtype=np.int64)
    found = reset(MEMORY, seeds, scores, nobody, np.zeros(len(PASSAGE)), **OPTIONS)
    assert found.by_fact[entity("Maja")] == pytest.approx(3 * found.by_fact[entity("Oslo")])


def test_only_the_best_passages_share_and_hubs_never():
    prior = np.zeros(len(PASSAGE))
    prior[[PASSAGE["p0"], PASSAGE["p1"], PASSAGE["p2"]]] = [1.0, 0.5, 0.4]
    scores = scores_of(Zoe_saw_rain=1.0)
    zoe = np.array([entity("Zoe")])
    found = reset(MEMORY, seed_facts(MEMORY, scores, 1), scores, zoe, prior, **OPTIONS)
    shares = found.weights[len(MEMORY.entities) :]
    assert shares[PASSAGE["p0"]] == pytest.approx(4 * shares[PASSAGE["p1"]])
    assert shares[PASSAGE["p2"]] == 0
    assert MEMORY.is_hub[entity("Zoe")]
    assert found.by_fact[entity("Zoe")] == found.by_name[entity("Zoe")] == 0
    assert found.by_fact[entity("rain")] > 0
