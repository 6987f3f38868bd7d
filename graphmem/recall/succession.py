"""Later above earlier: what was said last about a thing stands above what it replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from graphmem.index.index import Index
from graphmem.index.lists import Bools, Floats, Ints, each_once, each_once_with_places, is_first
from graphmem.index.lists import among as is_among
from graphmem.recall.seeds import Fits

__all__ = ["Lifted", "current_first", "held_first", "lift_later"]

# A passage that tells more than what was replaced may fit the question best by something else.
_NEARLY = 0.5


def _nobody() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """A ranking after some passages were put above others; k pairs.

    Attributes:
        ranking: as it is then, best first.
        before: as it was.
        earlier, later: (k,) of each pair the passage that is brought up to date, and the one that
            does and stands above it.
        replaced, by: (k,) the facts that say so.
    """

    ranking: Ints
    before: Ints
    earlier: Ints = field(default_factory=_nobody)
    later: Ints = field(default_factory=_nobody)
    replaced: Ints = field(default_factory=_nobody)
    by: Ints = field(default_factory=_nobody)

    def pair_of(self, passage: int) -> int:
        """The place of the pair that lifted a passage; -1 where it was not lifted."""
        before = self.before.tolist()
        for at in (self.later == passage).nonzero()[0].tolist():
            below = int(self.earlier[at])
            if passage not in before or before.index(passage) > before.index(below):
                return int(at)
        return -1


def lift_later(
    memory: Index,
    ranking: Ints,
    fits: Fits,
    *,
    among: int,
    alike: float,
    as_good: float,
) -> Lifted:
    """The ranking with later passages moved just above the earlier ones that they bring up to date.

    For each of the ``among`` best passages and its best fact f, a fact g of a later session that
    shares an end with f, is alike in sense (cosine at least ``alike``) and fits the question nearly
    as well (``as_good`` times the score of f) lifts its passage. Nothing leaves the ranking.

    Args:
        memory: the index.
        ranking: passages, best first.
        fits: how well facts fit the question.
        among: how many of the best passages may be brought up to date.
        alike: least cosine of the two facts.
        as_good: least score of the later fact, as a share of the earlier one's.
    """
    pairs = _pairs(memory, ranking[:among], fits, alike, as_good)
    return Lifted(_lifted(ranking, *pairs[:2]), ranking, *pairs)


def current_first(memory: Index, ranking: Ints, fits: Fits) -> Lifted:
    """The ranking with what holds now just above what it replaced.

    Where a passage states a fact that was replaced and that fits at least half as well as its best
    one, the passage that states what holds in its place stands above it, wherever it was ranked: of
    several a person's, of those the latest said, ties by id. Nothing leaves the ranking.

    Args:
        memory: the index.
        ranking: passages, best first.
        fits: how well facts fit the question.
    """
    stating, facts = _best_replaced(memory, ranking, fits)
    winners = memory.facts.winners(facts)
    place, by, _ = memory.facts.stating.gather(winners)
    is_person = memory.passages.flag("person", by)
    order = np.lexsort((memory.passages.ids.ranks(by), -_said(memory, by), ~is_person, place))
    place, by = place[order], by[order]
    # A passage that states both says itself what holds.
    tells = np.zeros(len(stating), dtype=np.bool_)
    tells[place[by == stating[place]]] = True
    firsts = is_first(place) & ~tells[place]
    place, later = place[firsts], by[firsts]
    earlier = stating[place]
    order = _lifted(ranking, earlier, later)
    return Lifted(order, ranking, earlier, later, facts[place], winners[place])


def held_first(
    memory: Index,
    ranking: Ints,
    fits: Fits,
    is_outdated: Callable[[Ints], Bools],
    *,
    among: int,
) -> Lifted:
    """The ranking of another time: of the ``among`` best, what was over by then stands last.

    Args:
        memory: the index.
        ranking: passages, best first.
        fits: how well facts fit the question.
        is_outdated: whether facts were over by then.
        among: how many of the best passages change places.
    """
    stating, facts = _best_facts(memory, ranking[:among], fits)
    is_over = is_among(np.sort(stating[is_outdated(facts)]), ranking[:among])
    order = [ranking[:among][~is_over], ranking[:among][is_over], ranking[among:]]
    return Lifted(np.concatenate(order), ranking)


def _lifted(ranking: Ints, earlier: Ints, later: Ints) -> Ints:
    """The ranking with each later passage just above its earlier one, if it is not yet above."""
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
    memory: Index, passages: Ints, fits: Fits, alike: float, as_good: float
) -> tuple[Ints, Ints, Ints, Ints]:
    """(earlier passage, the later one that brings it up to date, the fact of each that say so).

    At most one for each passage.
    """
    days, threads = memory.passages.days, memory.passages.threads
    dated, facts = _best_facts(memory, passages[np.isfinite(days(passages))], fits)
    if not len(facts):
        return facts, facts, facts, facts
    least = as_good * fits.score(facts)
    good = (fits.scores >= least.min()).nonzero()[0]
    good = good[~memory.facts.is_outdated(fits.facts[good])]
    ends, known = memory.facts.ends(facts), memory.facts.ends(fits.facts[good])
    touches = is_among(each_once(ends.ravel()), known.ravel()).reshape(known.shape).any(axis=1)
    good, known = good[touches], known[touches]
    others = fits.facts[good]
    shares = (ends[:, None, :, None] == known[None, :, None, :]).any(axis=(2, 3))
    place, at = np.nonzero(shares & (fits.scores[good] >= least[:, None]))
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
        return place, place, place, place
    senses = memory.senses["fact"]
    wanted, of_other = each_once_with_places(others)
    cosine = senses.cosines(wanted, senses.take(facts))[place, of_other]
    is_alike = cosine >= alike
    place, others, stating = place[is_alike], others[is_alike], stating[is_alike]
    ranks = memory.passages.ids.ranks(stating)
    order = np.lexsort((ranks, -days(stating), -fits.score(others), place))
    chosen = order[is_first(place.take(order))]
    of = place[chosen]
    return dated[of], stating[chosen], facts[of], others[chosen]


def _best_facts(memory: Index, passages: Ints, fits: Fits) -> tuple[Ints, Ints]:
    """(passage, its fact that fits best, ties by id) for each passage with a fact that fits."""
    places, facts, _ = memory.facts.stated.gather(passages)
    scores = fits.score(facts)
    fitting = scores > 0
    places, facts = _fitting_best(memory, places[fitting], facts[fitting], scores[fitting])
    return passages[places], facts


def _best_replaced(memory: Index, passages: Ints, fits: Fits) -> tuple[Ints, Ints]:
    """(passage, its replaced fact that fits best) where that fits nearly as well as its best."""
    places, facts, _ = memory.facts.stated.gather(passages)
    scores = fits.score(facts)
    best = np.zeros(len(passages), dtype=scores.dtype)
    np.maximum.at(best, places, scores)
    fitting = (scores > 0) & (scores >= _NEARLY * best[places])
    places, facts, scores = places[fitting], facts[fitting], scores[fitting]
    replaced = memory.facts.winners(facts) >= 0
    places, facts = _fitting_best(memory, places[replaced], facts[replaced], scores[replaced])
    return passages[places], facts


def _fitting_best(memory: Index, places: Ints, facts: Ints, scores: Floats) -> tuple[Ints, Ints]:
    """Each place once, with its fact of the highest score, ties by id."""
    order = np.lexsort((memory.facts.ids.ranks(facts), -scores, places))
    firsts = order[is_first(places.take(order))]
    return places[firsts], facts[firsts]


def _said(memory: Index, passages: Ints) -> Floats:
    """When passages were said, as ``Passages.days``; those of unknown time before all."""
    days = memory.passages.days(passages)
    return np.where(np.isfinite(days), days, -np.inf)
