"""Later above earlier: what was said last about a thing stands above what it replaced."""

from __future__ import annotations

import numpy as np

from graphmem.index.index import Index
from graphmem.index.lists import Ints, each_once, is_first
from graphmem.index.lists import among as is_among
from graphmem.recall.seeds import Seeds

__all__ = ["lift_later"]


def lift_later(
    memory: Index,
    ranking: Ints,
    seeds: Seeds,
    *,
    among: int,
    alike: float,
    as_good: float,
) -> Ints:
    """The ranking with later passages moved just above the earlier ones that they bring up to date.

    For each of the ``among`` best passages and its best fact f, a fact g of a later session that
    shares an end with f, is alike in sense (cosine at least ``alike``) and fits the question nearly
    as well (``as_good`` times the score of f) lifts its passage. Nothing leaves the ranking.

    Args:
        memory: the index.
        ranking: passages, best first.
        seeds: how well facts fit the question.
        among: how many of the best passages may be brought up to date.
        alike: least cosine of the two facts.
        as_good: least score of the later fact, as a share of the earlier one's.
    """
    earlier, later = _pairs(memory, ranking[:among], seeds, alike, as_good)
    if not len(earlier):
        return ranking
    order = ranking.tolist()
    for below, above in zip(earlier.tolist(), later.tolist(), strict=True):
        if above in order[: order.index(below)]:
            continue
        if above in order:
            order.remove(above)
        order.insert(order.index(below), above)
    return np.array(order, dtype=np.int64)


def _pairs(
    memory: Index, passages: Ints, seeds: Seeds, alike: float, as_good: float
) -> tuple[Ints, Ints]:
    """(earlier passage, the later one that brings it up to date), at most one for each passage."""
    days, threads = memory.passages.days, memory.passages.threads
    dated, facts = _best_facts(memory, passages[np.isfinite(days(passages))], seeds)
    if not len(facts):
        return facts, facts
    least = as_good * seeds.score(facts)
    good = (seeds.scores >= least.min()).nonzero()[0]
    good = good[~memory.facts.is_retired(seeds.known[good])]
    ends, known = memory.facts.ends(facts), memory.facts.ends(seeds.known[good])
    touches = is_among(each_once(ends.ravel()), known.ravel()).reshape(known.shape).any(axis=1)
    good, known = good[touches], known[touches]
    others = seeds.known[good]
    shares = (ends[:, None, :, None] == known[None, :, None, :]).any(axis=(2, 3))
    place, at = np.nonzero(shares & (seeds.scores[good] >= least[:, None]))
    others = others[at]
    of, stating, _ = memory.facts.stating.gather(others)
    place, others = place[of], others[of]
    # A fact that is withheld lifts a person's words, but not an assistant's guess.
    is_trusted = memory.facts.is_live(others) | memory.passages.flag("person", stating)
    is_later = (
        is_trusted
        & (days(stating) > days(dated[place]))
        & (threads.of(stating) != threads.of(dated[place]))
    )
    place, others, stating = place[is_later], others[is_later], stating[is_later]
    if not len(place):
        return place, place
    senses = memory.senses["fact"]
    wanted, of_other = np.unique(others, return_inverse=True)
    cosine = senses.cosines(wanted, senses.take(facts))[place, of_other]
    is_alike = cosine >= alike
    place, others, stating = place[is_alike], others[is_alike], stating[is_alike]
    ranks = memory.passages.ids.ranks(stating)
    order = np.lexsort((ranks, -days(stating), -seeds.score(others), place))
    chosen = order[is_first(place[order])]
    return dated[place[chosen]], stating[chosen]


def _best_facts(memory: Index, passages: Ints, seeds: Seeds) -> tuple[Ints, Ints]:
    """(passage, its fact that fits best, ties by id) for each passage with a fact that fits."""
    places, facts, _ = memory.facts.stated.gather(passages)
    scores = seeds.score(facts)
    fits = scores > 0
    places, facts, scores = places[fits], facts[fits], scores[fits]
    order = np.lexsort((memory.facts.ids.ranks(facts), -scores, places))
    best = order[is_first(places[order])]
    return passages[places[best]], facts[best]
