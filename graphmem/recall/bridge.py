"""The bridge: from a passage that answers a part of the question to one that answers the rest.

The walk finds what is near; it does not know what the question still lacks. For each of the best
passages so far (first hops p) and each passage r that shares a telling name with it,

    bridge(r) = max over p of  score(p) · link(p, r) · residual(p, r)

where the link says how telling the shared name is, and the residual how much of what the question
asks and p does not tell stands in r, by words and by vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.index.index import Index
from graphmem.index.lists import Floats, Ints, among, contenders, each_once_with_places, highest
from graphmem.recall.question import Question
from graphmem.recall.sight import Sight, Windows
from graphmem.settings import RecallSettings

__all__ = ["Bridge", "Links", "bridge", "likely", "links", "telling"]

# What a passage's sense is taken to add before it was looked at; .3 and .6 choose no better.
_UNSEEN_SENSE = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Linked pairs of passages; three arrays of a length.

    Attributes:
        hops, passages: p and r, by p as hops were given, then r.
        weights: score of p times strength of the link.
    """

    hops: Ints
    passages: Ints
    weights: Floats

    def only(self, places: Ints) -> Links:
        """Some of them."""
        return Links(self.hops[places], self.passages[places], self.weights[places])


@dataclass(frozen=True, slots=True, eq=False)
class Bridge:
    """What the bridge found; n passages in sight, m linked pairs that were looked at closely.

    Attributes:
        scores: (n,) of each passage, from 0; 0 where no pair leads to it.
        linked: the pairs.
        words, sense: (m,) what the second of a pair adds of what the first lacks.
    """

    scores: Floats
    linked: Links
    words: Floats
    sense: Floats

    def best(self, passage: int) -> int:
        """The place of the pair that gave a passage its score, the first of equals; -1: none."""
        found = (self.linked.passages == passage).nonzero()[0]
        worth = self.linked.weights[found] * (self.words[found] + self.sense[found])
        return int(found[worth.argmax()]) if len(found) and worth.max() > 0 else -1


def links(memory: Index, first_hops: Ints, scores: Floats, about_bonus: float) -> Links:
    """The passages that share a telling name with first hops.

    Args:
        memory: the index.
        first_hops: distinct passages.
        scores: of each, how good it is so far, from 0; what scores 0 is linked to nothing.
        about_bonus: added to the link when one of the two is about an entity that the other names.
    """
    places, entities, _ = memory.named.gather(first_hops)
    rarity = memory.rarity(entities)
    is_telling = rarity > 0
    places, entities, rarity = places[is_telling], entities[is_telling], rarity[is_telling]
    near, via, strength = _with_synonyms(memory, places, entities, rarity)
    to, passages, _ = memory.holders.gather(via)
    about = _about_pairs(memory, first_hops, places, entities)
    # A table with a row for each hop: sorting the pairs takes several times as long.
    others, columns = memory.passages.numbering.number(
        np.concatenate([passages, about[1]]), len(memory.passages)
    )
    table = np.zeros((len(first_hops), len(others)))
    at = near[to] * len(others) + columns[: len(passages)]
    np.maximum.at(table.reshape(-1), at, strength[to])
    is_about = np.zeros(table.shape, dtype=np.bool_)
    is_about[about[0], columns[len(passages) :]] = True
    table += about_bonus * (is_about & (table > 0))
    table[first_hops[:, None] == others] = 0.0
    table *= scores[:, None]
    order = others.argsort()
    # End to end: numpy finds what is not 0 in a table of numbers several times more slowly.
    weights = table.take(order, axis=1).reshape(-1)
    at = (weights != 0).nonzero()[0]
    places = at // max(1, len(others))
    columns = order[at - places * len(others)]
    return Links(first_hops[places], others[columns], weights[at])


def likely(question: Question, seen: Sight, linked: Links, count: int) -> Links:
    """The ``count`` pairs that promise most before the other passage was looked at, and ties.

    A first hop that is not in sight either is taken to tell nothing.
    """
    if len(linked.hops) <= count:
        return linked
    hops = seen.places(linked.hops)
    adds = question.counts.take(linked.passages, axis=0) > 0
    adds &= ~(seen.present.take(hops, axis=1, mode="wrap") & (hops >= 0)).T
    words = np.einsum("rt,t->r", adds, question.idf) / max(float(question.idf.sum()), 1e-9)
    return linked.only(contenders(linked.weights * (words + _UNSEEN_SENSE), count))


def bridge(
    memory: Index,
    question: Question,
    seen: Sight,
    linked: Links,
    settings: RecallSettings,
) -> Bridge:
    """The bridge score of every passage in sight, and the pairs that lead to them.

    Args:
        memory: the index.
        question: what is asked.
        seen: first hops and what they are linked to among others.
        linked: the pairs.
        settings: ``bridge_k`` pairs at most are looked at closely.
    """
    result = np.zeros(len(seen.passages))
    if not len(linked.hops):
        return Bridge(result, linked, result[:0], result[:0])
    places, hops = seen.places(linked.passages), seen.places(linked.hops)
    words = _missing_terms(question, seen, hops, places)
    weight = linked.weights
    # What is left of a cosine is hardly ever more than the cosine.
    promise = weight * (words + np.maximum(0.0, seen.cosines[places]))
    kept = np.sort(highest(promise, settings.bridge_k))
    kept = kept[promise[kept] > 0]
    near, words = linked.only(kept), words[kept]
    sense = _missing_sense(memory, seen, near, settings)
    np.maximum.at(result, places[kept], near.weights * (words + sense))
    return Bridge(result, near, words, sense)


def telling(memory: Index, hop: int, passage: int) -> list[tuple[int, int]]:
    """The telling names by which two passages are linked, the most telling first.

    Returns:
        (an entity that the first names, the same or one called alike that the second names), ties
        by id.
    """
    entities = memory.named.row(hop)
    rarity = memory.rarity(entities)
    entities, rarity = entities[rarity > 0], rarity[rarity > 0]
    near, via, strength = _with_synonyms(memory, np.arange(len(entities)), entities, rarity)
    kept = among(memory.named.row(passage), via)
    near, via, strength = entities[near[kept]], via[kept], strength[kept]
    ranks = memory.entities.ids.ranks
    order = np.lexsort((ranks(via), ranks(near), -strength))
    return list(zip(near[order].tolist(), via[order].tolist(), strict=True))


def _with_synonyms(
    memory: Index, places: Ints, entities: Ints, rarity: Floats
) -> tuple[Ints, Ints, Floats]:
    """Each hop's telling entities and their synonyms: (place, entity, strength of the link)."""
    of, near, cosines = memory.entities.synonyms.gather(entities)
    strength = cosines * np.minimum(rarity[of], memory.rarity(near))
    linked = strength > 0
    return (
        np.concatenate([places, places[of][linked]]),
        np.concatenate([entities, near[linked]]),
        np.concatenate([rarity, strength[linked]]),
    )


def _about_pairs(
    memory: Index, first_hops: Ints, places: Ints, entities: Ints
) -> tuple[Ints, Ints]:
    """(place of a hop, passage) of pairs where one is about an entity that the other names."""
    about_places, topics, _ = memory.topics.gather(first_hops)
    telling = memory.rarity(topics) > 0
    about_places, topics = about_places[telling], topics[telling]
    of, naming, _ = memory.holders.gather(topics)
    by, subjects, _ = memory.subjects.gather(entities)
    return np.concatenate([about_places[of], places[by]]), np.concatenate([naming, subjects])


def _missing_terms(question: Question, seen: Sight, hops: Ints, places: Ints) -> Floats:
    """Share of the question's terms, by idf, that r has and p lacks."""
    total = float(question.idf.sum())
    if total <= 0:
        return np.zeros(len(hops))
    adds = seen.present.take(places, axis=1) & ~seen.present.take(hops, axis=1)
    return np.asarray(np.einsum("t,tr->r", question.idf, adds) / total, dtype=np.float64)


def _missing_sense(memory: Index, seen: Sight, linked: Links, settings: RecallSettings) -> Floats:
    """Cosine of r with what is left of the question's vector without its part along p's."""
    if not memory.senses["passage"].dims or not len(linked.hops):
        return np.zeros(len(linked.hops))
    distinct, places = each_once_with_places(np.concatenate([linked.hops, linked.passages]))
    hops, passages = places.reshape(2, -1)
    vectors = _windowed(memory, distinct, settings)
    shared = np.einsum("pd,pd->p", vectors.take(hops, axis=0), vectors.take(passages, axis=0))
    cosines = seen.cosines[seen.places(distinct)]
    rest: Floats = np.maximum(0.0, cosines[passages] - cosines[hops] * shared)
    return rest


def _windowed(memory: Index, passages: Ints, settings: RecallSettings) -> NDArray[np.float32]:
    """The passages' vectors with their neighbours', of unit length."""
    windows = Windows.of(memory, passages, settings)
    vectors = memory.senses["passage"].take(np.append(windows.members, -1))
    total = windows.summed(vectors)
    lengths = memory.window_length(passages).astype(np.float32)
    total /= np.where(lengths > 0, lengths, np.float32(1))[:, None]
    return total
