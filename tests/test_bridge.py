from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.recall.bridge import Links, bridge, likely, links
from graphmem.recall.question import ask
from graphmem.recall.sight import look
from graphmem.settings import RecallSettings
from graphmem.testing import HashEmbedder
from graphmem.words import terms, words
from worlds import Memory, Said, World, facts_of

SAID = [
    Said("film", "Salt Road was made by Iva Kos", [("Salt Road", "made by", "Iva Kos")]),
    Said("kos", "Iva Kos did grow up in Motovun", [("Iva Kos", "grew up in", "Motovun")]),
    Said("town", "Motovun has a school and a bakery", [("Motovun", "has", "bakery")]),
    Said("choir", "Iva Kos sang", [("Iva Kos", "sang", "songs")], title="Iva Kos"),
    Said("rain", "it rained where little will grow"),
    Said("road", "the Salt Road is long", [("the Salt Road", "is", "long")], session="s"),
    Said("bread", "a bakery sells bread", [("bakery", "sells", "bread")], session="s"),
]
TOPICS = {
    "film": {"Salt Road", "Iva Kos"},
    "kos": {"Iva Kos", "Motovun"},
    "town": {"Motovun", "bakery"},
    "choir": {"Iva Kos"},
    "road": {"the Salt Road", "long"},
    "bread": {"bakery", "bread"},
}
EMBEDDER = HashEmbedder()
SETTINGS = RecallSettings(window=((-1, 0.5), (0, 1.0), (1, 0.25)))
WORLD = World(SAID, EMBEDDER)
MEMORY = Memory(SETTINGS)
MEMORY.update(WORLD.changes())
PLACE = {one.id: place for place, one in enumerate(SAID)}
SIZE = len(PLACE)
QUESTIONS = (
    "Where did the maker of Salt Road grow up?",
    "a school in Motovun",
    "Iva Kos",
    "bread of the long Salt Road",
    "of the",
)


def found_by(question, first_hops, scores, bonus, settings=SETTINGS):
    """(linked pairs, the bridge) with every passage in sight."""
    asked = ask(MEMORY, question, EMBEDDER.embed_query(question))
    seen = look(MEMORY, asked, np.arange(SIZE), settings)
    linked = linked_to(first_hops, scores, bonus)
    return linked, bridge(MEMORY, asked, seen, linked, settings).scores


def linked_to(first_hops, scores, bonus):
    hops = np.array(first_hops, dtype=np.int64)
    return links(MEMORY, hops, scores[hops], bonus)


# --- the formula, pair by pair ------------------------------------------------------------------


def named_by():
    """By passage the names in its facts and its text."""
    names = {end for fact in facts_of(SAID) for end in (fact.subject, fact.object)}
    found = []
    for one in SAID:
        text = f" {' '.join(words(one.passage(0).full_text))} "
        in_text = {name for name in names if f" {' '.join(words(name))} " in text}
        found.append(in_text | {end for triple in one.triples for end in triple[::2]})
    return found


NAMED = named_by()
NAMES = sorted(set().union(*NAMED))


def rarity(name):
    return np.log((SIZE + 1) / sum(name in some for some in NAMED)) / np.log(SIZE + 2)


def alike():
    """By pair of names how strongly they are joined: 1 to itself, the cosine to a synonym."""
    vectors = dict(zip(NAMES, EMBEDDER.embed(NAMES), strict=True))
    cosine = {(a, b): float(vectors[a] @ vectors[b]) for a in NAMES for b in NAMES}
    return {(a, b): 1.0 if a == b else c for (a, b), c in cosine.items() if a == b or c >= 0.8}


ALIKE = alike()


def windows():
    """Unit vectors of the passages with their neighbours, and the terms of these."""
    vectors = EMBEDDER.embed([one.passage(0).full_text for one in SAID])
    documents = [set(terms(words(one.passage(0).full_text))) for one in SAID]
    for one, own in zip(SAID, documents, strict=True):
        own |= {term for triple in one.triples for term in terms(words("\n".join(triple)))}
    rows, texts = [], []
    for place, one in enumerate(SAID):
        seen = [(0, 1.0)]
        if one.session:
            seen += [(o, w) for o, w in SETTINGS.window if o and place + o in (5, 6)]
        row = sum(weight * vectors[place + offset] for offset, weight in seen)
        rows.append(row / np.linalg.norm(row))
        texts.append(set().union(*(documents[place + offset] for offset, _ in seen)))
    return np.array(rows), texts, documents


def by_hand(question, first_hops, scores, bonus):
    best = np.zeros(SIZE)
    rows, texts, documents = windows()
    cosines = rows @ EMBEDDER.embed_query(question)
    idf = {}
    for term in terms(words(question)):
        held = sum(term in one for one in documents)
        idf[term] = np.log1p((SIZE - held + 0.5) / (held + 0.5))
    for p in first_hops:
        for r in range(SIZE):
            joined = [
                ALIKE[one, other] * min(rarity(one), rarity(other))
                for one in NAMED[p]
                for other in NAMED[r]
                if (one, other) in ALIKE
            ]
            if r == p or max(joined, default=0) <= 0:
                continue
            about_p, about_r = (TOPICS.get(SAID[place].id, set()) for place in (p, r))
            link = max(joined) + bonus * bool(about_p & NAMED[r] or about_r & NAMED[p])
            adds = sum(value for term, value in idf.items() if term in texts[r] - texts[p])
            missing = adds / sum(idf.values()) if idf else 0.0
            missing += max(0.0, cosines[r] - cosines[p] * float(rows[p] @ rows[r]))
            best[r] = max(best[r], scores[p] * link * missing)
    return best


SCORES = st.lists(st.floats(0, 1), min_size=SIZE, max_size=SIZE).map(np.array)
HOPS = st.lists(st.integers(0, SIZE - 1), unique=True)


def test_the_world_has_synonyms_and_neighbours():
    assert len(ALIKE) > len(NAMES)
    assert {"the Salt Road", "Salt Road"} <= NAMED[PLACE["road"]]


@given(st.sampled_from(QUESTIONS), SCORES, HOPS, st.floats(0, 1))
def test_bridge_is_the_formula(question, scores, hops, bonus):
    _, found = found_by(question, hops, scores, bonus)
    assert found == pytest.approx(by_hand(question, hops, scores, bonus), abs=1e-3)


@given(st.sampled_from(QUESTIONS), SCORES, HOPS, st.integers(0, 8))
def test_of_many_pairs_the_most_promising_are_looked_at(question, scores, hops, count):
    linked, every = found_by(question, hops, scores, 0.5)
    _, some = found_by(question, hops, scores, 0.5, replace(SETTINGS, bridge_k=count))
    assert (some <= every).all()
    assert np.count_nonzero(some) <= count
    if count >= len(linked.hops):
        assert some.tolist() == every.tolist()


@given(st.sampled_from(QUESTIONS), SCORES, HOPS, st.integers(1, 8))
def test_before_a_look_those_pairs_stay_that_add_most_words_by_the_strongest_links(
    question, scores, hops, count
):
    asked = ask(MEMORY, question, EMBEDDER.embed_query(question))
    seen = look(MEMORY, asked, np.arange(SIZE), SETTINGS)
    linked = linked_to(hops, scores, 0.5)
    kept = likely(asked, seen, linked, count)
    idf, own = asked.idf, asked.counts[:SIZE].T > 0
    total = max(float(idf.sum()), 1e-9)
    promise = []
    for hop, other, weight in zip(linked.hops, linked.passages, linked.weights, strict=True):
        adds = sum(
            value
            for value, has, known in zip(idf, own[:, other], seen.present[:, hop], strict=True)
            if has and not known
        )
        promise.append(weight * (adds / total + 0.15))
    floor = sorted(promise, reverse=True)[min(count, len(promise)) - 1] if promise else 0.0
    stays = set(zip(kept.hops.tolist(), kept.passages.tolist(), strict=True))
    for hop, other, value in zip(linked.hops, linked.passages, promise, strict=True):
        if value > floor * (1 + 1e-9):
            assert (hop, other) in stays
        if value < floor * (1 - 1e-9):
            assert (hop, other) not in stays
    assert len(stays) >= min(count, len(promise))


@given(HOPS, st.floats(0, 1))
def test_pairs_are_linked_once_by_hop_then_passage(hops, bonus):
    linked = linked_to(hops, np.ones(SIZE), bonus)
    pairs = list(zip(linked.hops.tolist(), linked.passages.tolist(), strict=True))
    assert pairs == sorted(set(pairs), key=lambda pair: (hops.index(pair[0]), pair[1]))
    assert all(hop != passage for hop, passage in pairs)
    assert (linked.weights > 0).all()


def test_a_first_hop_that_was_not_looked_at_is_taken_to_tell_nothing():
    asked = ask(MEMORY, QUESTIONS[0], EMBEDDER.embed_query(QUESTIONS[0]))
    film = PLACE["film"]
    linked = linked_to([film], np.ones(SIZE), 0.5)
    every = np.arange(SIZE)
    kept = {
        name: likely(asked, look(MEMORY, asked, seen, SETTINGS), linked, 1).passages.tolist()
        for name, seen in (("looked at", every), ("not", every[every != film]))
    }
    assert kept["looked at"] == [PLACE["kos"]]
    assert len(kept["not"]) == 1


def test_it_leads_to_what_the_first_passage_leaves_open():
    linked, found = found_by(QUESTIONS[0], [PLACE["film"]], np.ones(SIZE), 0.5)
    assert found.argmax() == PLACE["kos"]
    assert found[PLACE["film"]] == 0
    assert found[PLACE["rain"]] == 0, "it answers the rest, but shares no name"
    question = ask(MEMORY, QUESTIONS[0], None)
    seen = look(MEMORY, question, np.arange(SIZE), SETTINGS)
    assert seen.present[:, PLACE["rain"]].any()
    assert PLACE["road"] in linked.passages


def test_nothing_is_linked_to_nothing():
    linked, found = found_by("Iva Kos", [], np.ones(SIZE), 0.5)
    assert isinstance(linked, Links)
    assert len(linked.hops) == 0
    assert found.tolist() == [0.0] * SIZE


def test_first_hops_that_score_nothing_are_linked_to_nothing():
    hops = [PLACE["film"], PLACE["kos"], PLACE["road"]]
    scores = np.ones(SIZE)
    every = linked_to(hops, scores, 0.5)
    assert set(every.hops.tolist()) == set(hops)
    scores[PLACE["kos"]] = 0.0
    some = linked_to(hops, scores, 0.5)
    kept = every.hops != PLACE["kos"]
    assert some.hops.tolist() == every.hops[kept].tolist()
    assert some.passages.tolist() == every.passages[kept].tolist()
    assert some.weights.tolist() == every.weights[kept].tolist()
    assert PLACE["kos"] in some.passages, "others lead to it"
    assert len(linked_to(hops, np.zeros(SIZE), 0.5).hops) == 0


def test_hops_that_score_nothing_do_not_flood_the_likely_pairs():
    """All their pairs would tie at 0, and a tie stays."""
    asked = ask(MEMORY, QUESTIONS[0], EMBEDDER.embed_query(QUESTIONS[0]))
    seen = look(MEMORY, asked, np.arange(SIZE), SETTINGS)
    scores = np.zeros(SIZE)
    scores[PLACE["film"]] = 1.0
    linked = linked_to(list(range(SIZE)), scores, 0.5)
    assert set(linked.hops.tolist()) == {PLACE["film"]}
    for count in range(1, len(linked.hops) + 1):
        kept = likely(asked, seen, linked, count)
        assert count <= len(kept.hops) <= len(linked.hops)
        assert set(kept.hops.tolist()) == {PLACE["film"]}


@given(st.sampled_from(QUESTIONS), SCORES, HOPS, st.integers(0, 40))
def test_of_fewer_pairs_than_are_wanted_all_stay_as_they_are(question, scores, hops, count):
    asked = ask(MEMORY, question, EMBEDDER.embed_query(question))
    seen = look(MEMORY, asked, np.arange(SIZE), SETTINGS)
    linked = linked_to(hops, scores, 0.5)
    kept = likely(asked, seen, linked, count)
    if len(linked.hops) <= count:
        assert kept is linked
    else:
        assert count <= len(kept.hops) <= len(linked.hops)
    pairs = list(zip(linked.hops, linked.passages, linked.weights, strict=True))
    stays = list(zip(kept.hops, kept.passages, kept.weights, strict=True))
    assert stays == [one for one in pairs if one in stays], "in the same order"
