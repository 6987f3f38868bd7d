from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.recall.prior import Prior, scaled
from graphmem.recall.seeds import Fits, find_seeds, fit, seed_facts
from graphmem.recall.sight import Sight
from graphmem.settings import RecallSettings
from worlds import Said, World, entity_id, facts_of

SAID = [
    Said("p0", "Maja lives in Oslo", [("Maja", "lives in", "Oslo"), ("Maja", "has", "Rex")]),
    Said("p1", "Oslo is in Norway", [("Oslo", "is in", "Norway")]),
    Said("p2", "Oslo is cold", [("Oslo", "is", "cold")], status="candidate"),
    Said("p3", "Zoe saw rain", [("Zoe", "saw", "rain")], speaker="Zoe", session="s"),
]
MEMORY = World(SAID).index()
FACTS = facts_of(SAID)
ENTITIES = sorted({end for fact in FACTS for end in (fact.subject, fact.object)})
FACT = {fact.text: int(MEMORY.facts.ids.get(fact.id)) for fact in FACTS}
SIZE = len(SAID)
LIVE = MEMORY.facts.is_live(np.arange(len(FACT)))
SETTINGS = RecallSettings(
    fact_prior=0.0, seed_most=0, passage_weight=0.2, passage_power=2.0, passage_k=2
)
SHARE = st.floats(0, 1)
SCORES = st.lists(SHARE, min_size=len(FACT), max_size=len(FACT)).map(np.array)
PRIOR = st.lists(SHARE, min_size=SIZE, max_size=SIZE).map(np.array)
NOTHING = np.zeros(0)
NOBODY = np.zeros(0, dtype=np.int64)


def entity(name):
    return int(MEMORY.entities.ids.get(entity_id(name)))


def scores_of(**by_text):
    scores = np.zeros(len(FACT))
    for text, score in by_text.items():
        scores[FACT[text.replace("_", " ")]] = score
    return scores


def prior_of(cosines, scores):
    """What a question might find: a cosine for each fact, h for each passage."""
    best = np.zeros(len(FACT))
    for fact in FACTS:
        stating = [place for place, one in enumerate(SAID) if one.id in fact.passages]
        best[FACT[fact.text]] = max(scores[place] for place in stating)
    zeros = np.zeros(SIZE)
    seen = Sight(np.arange(SIZE), np.zeros((0, SIZE), dtype=np.bool_), zeros, zeros, zeros, scores)
    return Prior(seen, scores, zeros, np.arange(len(FACT)), cosines, best, 1.0)


def seeds_of(prior, names, settings):
    return find_seeds(MEMORY, prior, fit(prior, LIVE, settings.fact_prior), names, settings)


def named(*names):
    return np.array(sorted(entity(name) for name in names), dtype=np.int64)


def shares(start):
    """(by fact, by name) of each entity in a reset, by name, and the share of each passage."""
    names = {entity(name): name for name in ENTITIES}
    found = {
        names[one]: (by_fact, by_name)
        for one, by_fact, by_name in zip(
            start.entities.tolist(), start.by_fact.tolist(), start.by_name.tolist(), strict=True
        )
    }
    passages = np.zeros(SIZE)
    passages[start.passages] = start.by_passage
    return found, passages


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], []), ([0.0, 0.0], [0, 0]), ([-1.0, -2.0], [0, 0]), ([1.0, 4.0, -1.0], [0.25, 1, 0])],
)
def test_scaled(values, expected):
    assert scaled(np.array(values)).tolist() == expected


def test_a_fact_counts_by_its_passage_too():
    cosines = scores_of(Maja_lives_in_Oslo=0.5, Zoe_saw_rain=0.5)
    found = fit(prior_of(cosines, np.array([1.0, 0, 0, 0])), LIVE, 1.5).scores
    assert found[FACT["Maja lives in Oslo"]] == 1.0
    assert found[FACT["Zoe saw rain"]] == pytest.approx(1 / 2.5)


@given(
    st.lists(SHARE | st.sampled_from([0.0, 0.5]), max_size=8),
    st.integers(0, 6),
    st.integers(0, 6),
    st.floats(0, 1),
    st.randoms(use_true_random=False),
)
def test_seed_facts_are_the_best_and_those_nearly_as_good(values, seed_k, most, near, rng):
    ranks = list(range(len(values)))
    rng.shuffle(ranks)
    scores = np.array(values)
    found = seed_facts(scores, np.array(ranks), seed_k, most=most, near=near).tolist()
    best = sorted(
        (f for f in range(len(values)) if values[f] > 0), key=lambda f: (-values[f], ranks[f])
    )
    nearly = [f for f in best if values[f] >= near * values[best[0]]]
    assert found == best[: max(seed_k, min(most, len(nearly)))]


@given(SCORES, PRIOR)
def test_only_live_facts_seed(cosines, scores):
    prior = prior_of(cosines, scores)
    found = seeds_of(prior, NOBODY, replace(SETTINGS, seed_k=9))
    assert FACT["Oslo is cold"] not in found.facts
    live = [f for text, f in FACT.items() if text != "Oslo is cold" and scaled(cosines)[f] > 0]
    assert sorted(found.facts.tolist()) == sorted(live)
    assert found.scores == pytest.approx(scaled(cosines)[found.facts])
    fits = fit(prior, LIVE, 0.0)
    assert fits.score(np.arange(len(FACT))) == pytest.approx(scaled(cosines))


def test_another_time_may_seed_with_other_facts():
    """What is live is the caller's to say."""
    prior = prior_of(scores_of(Oslo_is_cold=1.0, Zoe_saw_rain=0.5), np.ones(SIZE))
    texts = list(FACT)
    then = np.array([text == "Oslo is cold" for text in sorted(texts, key=FACT.__getitem__)])
    found = find_seeds(MEMORY, prior, fit(prior, then, 0.0), NOBODY, SETTINGS)
    assert found.facts.tolist() == [FACT["Oslo is cold"]]


def test_what_was_not_looked_at_fits_nothing():
    few = Fits(np.array([1, 3]), np.array([0.5, 0.25]), np.array([True, True]))
    assert few.score(np.array([0, 1, 3, 4, 1])).tolist() == [0, 0.5, 0.25, 0, 0.5]
    none = Fits(NOBODY, NOTHING, NOTHING > 0)
    assert none.score(np.array([0, 1])).tolist() == [0, 0]


def test_only_facts_that_fit_as_well_as_the_last_seed_count_as_withheld():
    scores = scores_of(Maja_lives_in_Oslo=1.0, Oslo_is_in_Norway=0.5, Oslo_is_cold=0.7)
    fits = Fits(np.arange(len(FACT)), scores, LIVE)
    assert fits.withheld(MEMORY, 0.5) == {"candidate": 1}
    assert fits.withheld(MEMORY, 0.8) == {}


MENTIONS = {"Maja": 1, "Oslo": 3, "Rex": 1, "Norway": 1, "cold": 1, "Zoe": 1, "rain": 1}


@given(SCORES, PRIOR, st.sets(st.sampled_from(["Maja", "Norway", "cold", "Oslo", "Zoe"])))
def test_the_reset_is_the_formula(cosines, scores, names):
    prior = prior_of(cosines, scores)
    found = seeds_of(prior, named(*names), SETTINGS)
    known = fit(prior, LIVE, SETTINGS.fact_prior)
    fits = dict(zip(FACT, known.score(np.array(list(FACT.values()))).tolist(), strict=True))
    seeding = [fact for fact in FACTS if FACT[fact.text] in found.facts]
    by_fact, by_name = {}, {}
    for name in set(ENTITIES) - {"Zoe"}:
        near = [fits[one.text] for one in seeding if name in (one.subject, one.object)]
        if near:
            by_fact[name] = np.mean(near) / MENTIONS[name]
        if name in names:
            by_name[name] = 0.3 / MENTIONS[name]
    best = sorted(range(SIZE), key=lambda place: (-scores[place], SAID[place].id))[:2]
    by_passage = np.zeros(SIZE)
    if by_fact or by_name:
        by_passage[best] = 0.2 * scores[best] ** 2
    total = sum(by_fact.values()) + sum(by_name.values()) + by_passage.sum()
    entities, passages = shares(found.reset)
    assert set(entities) == by_fact.keys() | by_name.keys()
    for name, (fact_share, name_share) in entities.items():
        assert fact_share == pytest.approx(by_fact.get(name, 0.0) / total)
        assert name_share == pytest.approx(by_name.get(name, 0.0) / total)
    assert passages == pytest.approx(by_passage / total if total else by_passage)


@given(SCORES, PRIOR, st.sets(st.sampled_from(["Maja", "Norway", "cold"])))
def test_the_reset_is_a_distribution_or_empty(cosines, scores, names):
    found = seeds_of(prior_of(cosines, scores), named(*names), SETTINGS)
    weights, vertices = found.reset.weights, found.reset.vertices
    assert (weights >= 0).all()
    # A hub alone is nothing to start from.
    starts = names or set(found.facts.tolist()) - {FACT["Zoe saw rain"]} or len(found.facts)
    assert weights.sum() == pytest.approx(1 if starts else 0)
    assert len(set(vertices.tolist())) == len(vertices) == len(weights)
    assert vertices.max(initial=0) < len(MEMORY.graph)


def test_what_weighs_nothing_starts_no_walk():
    silent = replace(SETTINGS, name_weight=0.0, seed_k=0)
    prior = prior_of(scores_of(Maja_has_Rex=1.0), np.ones(SIZE))
    assert len(seeds_of(prior, named("Maja"), silent).reset.vertices) == 0
    by_fact = seeds_of(prior, named("Norway"), replace(silent, seed_k=1))
    assert set(shares(by_fact.reset)[0]) == {"Maja", "Rex"}


def test_what_many_passages_mention_tells_little():
    scores = scores_of(Maja_lives_in_Oslo=1.0)
    found = seeds_of(prior_of(scores, np.zeros(SIZE)), NOBODY, SETTINGS)
    entities, _ = shares(found.reset)
    assert entities["Maja"][0] == pytest.approx(3 * entities["Oslo"][0])


def test_only_the_best_passages_share_and_hubs_never():
    prior = prior_of(scores_of(Zoe_saw_rain=1.0), np.array([1.0, 0.5, 0.4, 0.0]))
    entities, passages = shares(seeds_of(prior, named("Zoe"), SETTINGS).reset)
    assert passages[0] == pytest.approx(4 * passages[1])
    assert passages[2] == 0
    assert MEMORY.is_hub(named("Zoe")).all()
    assert "Zoe" not in entities
    assert entities["rain"][0] > 0
