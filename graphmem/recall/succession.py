"""Later above earlier: what was said last about a thing stands above what it replaced."""

from __future__ import annotations

import numpy as np

from graphmem.index.lists import Floats, Ints
from graphmem.index.snapshot import Snapshot

__all__ = ["lift_later"]


def lift_later(
    memory: Snapshot,
    ranking: Ints,
    scores: Floats,
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
        memory: the snapshot.
        ranking: passages, best first.
        scores: (facts,) how well each fact fits the question.
        among: how many of the best passages may be brought up to date.
        alike: least cosine of the two facts.
        as_good: least score of the later fact, as a share of the earlier one's.
    """
    earlier, later = _pairs(memory, ranking[:among], scores, alike, as_good)
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
    memory: Snapshot, passages: Ints, scores: Floats, alike: float, as_good: float
) -> tuple[Ints, Ints]:
    """(earlier passage, the later one that brings it up to date), at most one for each passage."""
    dated = passages[np.isfinite(memory.days[passages])]
    best = [_best_fact(memory, passage, scores) for passage in dated.tolist()]
    has_fact = np.array([fact >= 0 for fact in best], dtype=np.bool_)
    dated, facts = dated[has_fact], np.array(best, dtype=np.int64)[has_fact]
    pair, others = memory.entity_facts.gather(memory.ends[facts].ravel())
    place = pair // 2
    fits = (scores[others] >= as_good * scores[facts[place]]) & ~memory.is_retired[others]
    place, others = place[fits], others[fits]
    of, stating = memory.fact_passages.gather(others)
    place, others = place[of], others[of]
    # A fact that is withheld lifts a person's words, but not an assistant's guess.
    is_trusted = memory.is_live[others] | memory.is_person[stating]
    is_later = (
        is_trusted
        & (memory.days[stating] > memory.days[dated[place]])
        & (memory.threads[stating] != memory.threads[dated[place]])
    )
    place, others, stating = place[is_later], others[is_later], stating[is_later]
    if not len(place):
        return place, place
    meanings = memory.fact_meanings
    cosine = meanings.subset_scores(meanings.rows(facts[place]), others[:, None])[:, 0]
    is_alike = cosine >= alike
    place, others, stating = place[is_alike], others[is_alike], stating[is_alike]
    order = np.lexsort((stating, -memory.days[stating], -scores[others], place))
    _, first = np.unique(place[order], return_index=True)
    chosen = order[first]
    return dated[place[chosen]], stating[chosen]


def _best_fact(memory: Snapshot, passage: int, scores: Floats) -> int:
    facts = memory.passage_facts[passage]
    return int(facts[np.argmax(scores[facts])]) if len(facts) else -1
