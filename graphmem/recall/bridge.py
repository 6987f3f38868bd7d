"""The bridge: from a passage that answers a part of the question to one that answers the rest.

The walk finds what is near; it does not know what the question still lacks. For each of the best
passages so far (first hops p) and each passage r that shares a telling name with it,

    bridge(r) = max over p of  score(p) · link(p, r) · residual(p, r)

where the link says how telling the shared name is, and the residual how much of what the question
asks and p does not tell stands in r, by words and by vectors.
"""

from __future__ import annotations

import numpy as np

from graphmem.index.lexical import Coverage
from graphmem.index.lists import Floats, Ints, Lists
from graphmem.index.snapshot import Snapshot

__all__ = ["bridge"]


def bridge(
    memory: Snapshot,
    first_hops: Ints,
    scores: Floats,
    coverage: Coverage,
    cosines: Floats,
    *,
    about_bonus: float,
) -> Floats:
    """The bridge score of every passage, shape (passages,), from 0; 0 where none leads to it.

    Args:
        memory: the snapshot.
        first_hops: distinct passages to start from.
        scores: (passages,) how well each passage answers so far.
        coverage: the question's terms against the passages.
        cosines: (passages,) of the question and each passage.
        about_bonus: added to the link when one of the two is about an entity that the other names.
    """
    result = np.zeros(len(scores))
    places, passages, link = _links(memory, first_hops, about_bonus)
    if not len(places):
        return result
    hops = first_hops[places]
    missing = _missing_terms(coverage, hops, passages)
    missing += _missing_sense(memory, first_hops, places, passages, cosines)
    np.maximum.at(result, passages, scores[hops] * link * missing)
    return result


def _links(memory: Snapshot, first_hops: Ints, about_bonus: float) -> tuple[Ints, Ints, Floats]:
    """(place of p in first_hops, r, link) for each linked pair, by place, then r."""
    size = len(memory.passages)
    places, entities = memory.names.gather(first_hops)
    near, via, strength = _with_synonyms(memory, places, entities)
    to, passages = memory.holders.gather(via)
    keys = near[to] * size + passages
    keys, link = _largest(keys, strength[to])
    bonus = np.isin(keys, _about_pairs(memory, first_hops, places, entities))
    link = link + about_bonus * bonus
    places, passages = np.divmod(keys, size)
    is_other = passages != first_hops[places]
    return places[is_other], passages[is_other], link[is_other]


def _with_synonyms(memory: Snapshot, places: Ints, entities: Ints) -> tuple[Ints, Ints, Floats]:
    """Each hop's telling entities and their synonyms: (place, entity, strength of the link)."""
    rarity = memory.rarity
    telling = rarity[entities] > 0
    places, entities = places[telling], entities[telling]
    of, near = memory.synonyms.gather(entities)
    cosines = _aligned(memory.synonyms, memory.synonym_cosines, entities)
    strength = cosines * np.minimum(rarity[entities[of]], rarity[near])
    linked = strength > 0
    return (
        np.concatenate([places, places[of][linked]]),
        np.concatenate([entities, near[linked]]),
        np.concatenate([rarity[entities], strength[linked]]),
    )


def _aligned(lists: Lists, values: Floats, indices: Ints) -> Floats:
    """Values aligned with the items of ``lists``, gathered as ``lists.gather`` gathers these."""
    _, places = Lists(lists.starts, np.arange(len(lists.items))).gather(indices)
    return values[places]


def _about_pairs(memory: Snapshot, first_hops: Ints, places: Ints, entities: Ints) -> Ints:
    """Keys of pairs where one passage is about an entity that the other names."""
    size = len(memory.passages)
    about_places, topics = memory.about.gather(first_hops)
    topic_is_telling = memory.rarity[topics] > 0
    about_places, topics = about_places[topic_is_telling], topics[topic_is_telling]
    of, naming = memory.holders.gather(topics)
    telling = memory.rarity[entities] > 0
    by, subjects = memory.subjects.gather(entities[telling])
    return np.concatenate([about_places[of] * size + naming, places[telling][by] * size + subjects])


def _largest(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Distinct keys, ascending, each with its largest value."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.nonzero(np.r_[True, keys[1:] != keys[:-1]])[0] if len(keys) else keys
    return keys[starts], np.maximum.reduceat(values, starts) if len(starts) else values


def _missing_terms(coverage: Coverage, hops: Ints, passages: Ints) -> Floats:
    """Share of the question's terms, by idf, that r has and p lacks."""
    total = float(coverage.idf.sum())
    if total <= 0:
        return np.zeros(len(hops))
    adds = coverage.present[:, passages] & ~coverage.present[:, hops]
    return np.asarray(np.einsum("t,tr->r", coverage.idf, adds) / total, dtype=np.float64)


def _missing_sense(
    memory: Snapshot, first_hops: Ints, places: Ints, passages: Ints, cosines: Floats
) -> Floats:
    """Cosine of r with what is left of the question's vector without its part along p's."""
    counts = np.bincount(places, minlength=len(first_hops))
    table = np.full((len(first_hops), int(counts.max())), -1, dtype=np.int64)
    column = np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
    table[places, column] = passages
    among = memory.meanings.subset_scores(memory.meanings.rows(first_hops), table)
    rest = cosines[passages] - cosines[first_hops][places] * among[places, column]
    return np.maximum(0.0, rest)
