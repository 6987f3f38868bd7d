"""Recall: from a question to ranked passages, with the facts on the way.

One chain for documents, chats between people and chats with an assistant; a part whose field is
missing (session, speaker, time, title, facts) is silent. No model is asked but for the question's
vector.

1. h: how well each passage answers by itself, by words, vectors, its best fact and its manner.
2. The facts that fit best, with their passages' h, and the names in the question are the seeds.
3. Personalized PageRank from the seeds ranks the passages: y. Made concave, and lifted to h to a
   high power where that is more, it is z.
4. The bridge adds passages that tell what the best so far leave open; and of messages that are
   understood by each other, the one that says it itself gets a little more.
5. What was said later stands above what it brings up to date.

Without seeds, or where facts were read from few passages, h and the messages' own sense rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import InvalidInput
from graphmem.index.index import Index
from graphmem.index.lists import Floats, Ints, among, each_once, without
from graphmem.recall.bridge import bridge, likely, links
from graphmem.recall.candidates import candidates
from graphmem.recall.clock import Clock
from graphmem.recall.found import Found, Parts
from graphmem.recall.past import Past
from graphmem.recall.prior import Prior, weigh
from graphmem.recall.question import Question, ask
from graphmem.recall.seeds import Fits, Reset, Seeds, find_seeds, fit
from graphmem.recall.sight import look
from graphmem.recall.succession import Lifted, current_first, held_first, lift_later
from graphmem.recall.walk import Reached, walk
from graphmem.recall.wanted import Wanted
from graphmem.settings import RecallSettings
from graphmem.types import (
    Entity,
    Fact,
    FactHit,
    Passage,
    RankedPassage,
    Recall,
    Route,
    Scope,
    Seed,
)

__all__ = [
    "Read",
    "Rows",
    "Showing",
    "answered",
    "find",
    "least_fit",
    "raised",
    "recall",
    "showing",
]


@dataclass(frozen=True, slots=True)
class Rows:
    """What is shown of an answer, by id; what was forgotten meanwhile is missing."""

    passages: dict[str, Passage]
    facts: dict[str, Fact]
    entities: dict[str, Entity]


Read = Callable[[Sequence[str], Sequence[str], Sequence[str]], Rows]
"""Reads rows by the ids of passages, facts and entities."""


def recall(
    memory: Index,
    query: str,
    vector: NDArray[np.float32] | None,
    read: Read,
    *,
    scope: Scope,
    top_k: int = 5,
    settings: RecallSettings = RecallSettings(),  # noqa: B008 - frozen
    session: str | None = None,
    past: Past | None = None,
) -> Recall:
    """Passages that answer a question, best first.

    A passage that was lifted above what it brings up to date keeps its own score, so that scores
    may rise once there.

    Of the past it seeds with the facts that held then and shows what was known then. The walk goes
    over today's graph, and of a large memory today's best are looked at.

    Args:
        memory: the scope's index.
        query: the question.
        vector: the embedding of ``question_text(memory, query)``; None for words alone.
        read: reads what is shown.
        scope: whose memory it is, for the result.
        top_k: number of passages, at least 1.
        settings: the constants.
        session: only passages of this session, where given.
        past: what held and was known at another time; None for now.

    Raises:
        InvalidInput: ``top_k`` below 1, or a vector that does not fit the memory's.
    """
    if top_k < 1:
        raise InvalidInput(f"top_k must be at least 1, not {top_k}")
    clock = Clock()
    with clock.stage("total"):
        with memory.lock:
            wanted = Wanted(memory, session, past)
            found = find(memory, query, vector, wanted, top_k, settings, clock)
            if isinstance(found, str):
                return Recall(query, scope, reason=found, timings=clock.spent)
            shown = showing(memory, found, wanted, top_k, settings.seed_near)
        with clock.stage("read"):
            rows = read(shown.passage_ids, shown.fact_ids, shown.entity_ids)
            if past is not None:
                rows = replace(rows, facts={**rows.facts, **past.facts(shown.fact_ids)})
        answer = answered(Recall(query, scope, timings=clock.spent), found, shown, rows)
    return answer


def find(
    memory: Index,
    query: str,
    vector: NDArray[np.float32] | None,
    wanted: Wanted,
    top_k: int,
    settings: RecallSettings,
    clock: Clock,
) -> Found | str:
    """The ranking and what it rests on, or why there is nothing to rank.

    Needs the memory's lock. The arguments are those of ``recall``.

    Raises:
        InvalidInput: a vector that does not fit the memory's.
    """
    reason = _why_empty(memory, query, wanted.session)
    if reason:
        return reason
    vector = _checked(memory, vector)
    with clock.stage("candidates"):
        question = ask(memory, query, vector)
        looked_at = _looked_at(memory, question, wanted, top_k, settings)
    if not len(looked_at):
        return "nothing that is stored is of that time"
    with clock.stage("sight"):
        seen = look(memory, question, looked_at, settings)
    with clock.stage("facts"):
        prior = weigh(memory, question, seen, settings, top_k)
        fits = fit(prior, wanted.is_live(prior.facts), settings.fact_prior)
    by_prior = partial(
        _by_prior, memory, question, prior, fits, wanted, top_k=top_k, settings=settings
    )
    if vector is None:
        # By words, only passages that share one.
        kept = np.nonzero(prior.sight.share > 0)[0]
        return by_prior(kept, "lexical", "no vectors: words alone")
    every = np.arange(len(prior.passages))
    if memory.covered_share < settings.least_covered:
        reason = f"facts were read from only {memory.covered_share:.0%} of the passages"
        return by_prior(every, "dense", reason)
    with clock.stage("seeds"):
        seeds = find_seeds(memory, prior, fits, question.named, settings)
    if not len(seeds.reset.vertices):
        reason = "no fact fits the question and it names nothing known"
        return by_prior(every, "dense", reason)
    with clock.stage("walk"):
        reached = walk(memory, seeds.reset, settings)
    return _by_walk(memory, question, prior, fits, seeds, reached, wanted, top_k, settings, clock)


def _why_empty(memory: Index, query: str, session: str | None) -> str:
    """Why there is nothing to rank; ``""`` where there is."""
    if not len(memory):
        return "nothing is stored"
    if session is not None and not len(memory.passages.session(session)):
        return "nothing is stored of this session"
    return "" if query.strip() else "the question is empty"


def _checked(memory: Index, vector: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """The vector where it can be compared with the memory's; None where there is none."""
    senses = memory.senses["passage"]
    if vector is None or not len(senses):
        return None
    vector = np.asarray(vector, dtype=np.float32)
    if vector.shape != (senses.dims,):
        raise InvalidInput(
            f"the question's vector has shape {vector.shape}, the memory's vectors "
            f"{senses.dims} numbers: embed both with one model"
        )
    if not np.isfinite(vector).all():
        raise InvalidInput("the question's vector holds values that are not finite numbers")
    return vector


def _looked_at(
    memory: Index, question: Question, wanted: Wanted, top_k: int, settings: RecallSettings
) -> Ints:
    """The passages to be looked at, ascending: where few of today's best are wanted, all."""
    found = wanted.only(candidates(memory, question, settings, wanted.session))
    if wanted.past is None or len(found) >= top_k or len(memory) <= settings.look_all:
        return found
    all_of_them = replace(settings, look_all=len(memory))
    return wanted.only(candidates(memory, question, all_of_them, wanted.session))


def _by_prior(
    memory: Index,
    question: Question,
    prior: Prior,
    fits: Fits,
    wanted: Wanted,
    places: Ints,
    route: Route,
    reason: str,
    *,
    top_k: int,
    settings: RecallSettings,
) -> Found:
    """The ranking without a walk: by h, and the messages' own sense."""
    own = settings.own_weight * prior.own[places]
    parts = Parts(prior.scores[places], own, np.zeros(len(places)))
    passages, scores = prior.passages[places], parts.scores
    best = _best(memory, passages, scores, max(top_k, settings.later_among))
    last = _up_to_date(memory, best, fits, wanted, settings)
    return Found(
        route,
        reason,
        last.ranking,
        passages,
        scores,
        parts,
        question,
        prior.sight,
        prior,
        fits,
        lifts=(last,),
    )


def _up_to_date(
    memory: Index, ranking: Ints, fits: Fits, wanted: Wanted, settings: RecallSettings
) -> Lifted:
    """The ranking with what holds above what it replaced, or what held above what was over."""
    if wanted.past is not None:
        return held_first(memory, ranking, fits, wanted.is_over, among=settings.later_among)
    lifted = current_first(memory, ranking, fits)
    return replace(lifted, ranking=wanted.only(lifted.ranking))


def _by_walk(
    memory: Index,
    question: Question,
    prior: Prior,
    fits: Fits,
    seeds: Seeds,
    reached: Reached,
    wanted: Wanted,
    top_k: int,
    settings: RecallSettings,
    clock: Clock,
) -> Found:
    with clock.stage("bridge"):
        best = reached.best(settings.passage_k, memory.passages.ids)
        more = wanted.only(without(best, prior.passages))
        walked = _walked(prior, reached, settings)
        # What only the walk came to was not looked at yet: it answers little by itself.
        passages = np.concatenate([prior.passages, more])
        so_far = np.concatenate(
            [(prior.scores + walked) / 2, raised(reached.rank(more), settings) / 2]
        )
        hops = memory.passages.ids.highest(passages, so_far, settings.first_hops)
        linked = links(memory, passages[hops], so_far[hops], settings.about_bonus)
        linked = linked.only(wanted.is_wanted(linked.passages).nonzero()[0])
        linked = likely(question, prior.sight, linked, settings.linked_k)
        beyond = each_once(np.concatenate([more, without(linked.passages, prior.passages)]))
        seen = prior.sight.join(look(memory, question, beyond, settings))
        bridged = bridge(memory, question, seen, linked, settings)
        size = len(seen.passages)
        parts = Parts(np.zeros(size), np.zeros(size), settings.bridge_weight * bridged.scores)
        known, new = seen.places(prior.passages), seen.places(beyond)
        parts.reached[known], parts.own[known] = walked, settings.own_weight * prior.own
        parts.reached[new] = raised(reached.rank(beyond), settings)
        parts.own[new] = settings.own_weight * prior.share_of_own(seen.own[new])
        scores = parts.scores
    with clock.stage("order"):
        best = _best(memory, seen.passages, scores, max(top_k, settings.later_among))
        lifts = []
        if wanted.past is None:
            later = lift_later(
                memory,
                best,
                fits,
                among=settings.later_among,
                alike=settings.later_alike,
                as_good=settings.later_as_good,
            )
            lifts, best = [later], later.ranking
        lifts.append(_up_to_date(memory, wanted.only(best), fits, wanted, settings))
    reason = f"seeded by facts: {len(seeds.facts)}, by names in the question: {len(seeds.named)}"
    return Found(
        "graph",
        reason,
        lifts[-1].ranking,
        seen.passages,
        scores,
        parts,
        question,
        seen,
        prior,
        fits,
        tuple(lifts),
        seeds,
        reached,
        bridged,
    )


def _walked(prior: Prior, reached: Reached, settings: RecallSettings) -> Floats:
    """z: the walk's score of each passage, 0 to 1."""
    # Where no fact leads, the walk does not come, however well a passage answers by itself.
    return np.maximum(
        raised(reached.rank(prior.passages), settings), prior.scores**settings.passage_power
    )


def raised(ranks: Floats, settings: RecallSettings) -> Floats:
    """What the walk's ranks count in a score: made concave, 0 to 1."""
    half = settings.walk_half
    return (1 + half) * ranks / (ranks + half)


def _best(memory: Index, passages: Ints, scores: Floats, count: int) -> Ints:
    """The ``count`` passages of the highest scores, best first, ties by id."""
    return passages[memory.passages.ids.highest(passages, scores, count)]


@dataclass(frozen=True, slots=True)
class Showing:
    """What is shown of an answer, by id.

    Attributes:
        passage_ids, scores: ranked.
        on_the_way: for each passage its facts that lead from the seeds to it.
        outdated: for each passage its facts that are not so any more.
        seed_facts: (id, score), best first.
        seeds: (entity's id, weight, reason), heaviest first.
        withheld: as in ``Recall``.
    """

    passage_ids: list[str]
    scores: list[float]
    on_the_way: list[list[str]]
    outdated: list[list[str]]
    seed_facts: list[tuple[str, float]]
    seeds: list[tuple[str, float, str]]
    withheld: dict[str, int]

    @property
    def fact_ids(self) -> list[str]:
        """Of all facts."""
        shown = [id_ for some in (*self.on_the_way, *self.outdated) for id_ in some]
        return list(dict.fromkeys([id_ for id_, _ in self.seed_facts] + shown))

    @property
    def entity_ids(self) -> list[str]:
        """Of all entities."""
        return [id_ for id_, _, _ in self.seeds]


def showing(memory: Index, found: Found, wanted: Wanted, top_k: int, near: float) -> Showing:
    """What is shown of what was found; a withheld fact counts by ``least_fit``."""
    ranking = found.ranking[:top_k]
    seeds, facts = found.seeds, memory.facts.ids
    seed_facts = _NONE if seeds is None else seeds.facts
    scores = [] if seeds is None else seeds.scores.tolist()
    stated = memory.facts.stated.gather(ranking)[:2]
    return Showing(
        memory.passages.ids.texts(ranking),
        found.score(ranking).tolist(),
        [facts.texts(one) for one in _ways(memory, stated, wanted, seed_facts, len(ranking))],
        [facts.texts(one) for one in _outdated(memory, stated, wanted, len(ranking))],
        list(zip(facts.texts(seed_facts), scores, strict=True)),
        [] if seeds is None else _seeds(memory, seeds.reset),
        found.fits.withheld(memory, least_fit(found, near)),
    )


def least_fit(found: Found, near: float) -> float:
    """How well a withheld fact must fit to be counted: as a seed, or as the best without any."""
    scores = [] if found.seeds is None else found.seeds.scores.tolist()
    return float(min(scores, default=near * float(found.fits.scores.max(initial=0.0))))


def _outdated(memory: Index, stated: tuple[Ints, Ints], wanted: Wanted, count: int) -> list[Ints]:
    """Facts of each passage that are not so any more, by id."""
    places, facts = stated
    is_outdated = wanted.is_outdated(facts)
    places, facts = places[is_outdated], facts[is_outdated]
    order = np.lexsort((memory.facts.ids.ranks(facts), places))
    places, facts = places[order], facts[order]
    return [facts[places == place] for place in range(count)]


def _ways(
    memory: Index, stated: tuple[Ints, Ints], wanted: Wanted, seeds: Ints, count: int
) -> list[Ints]:
    """Live facts of each passage: seed facts first, then those that share an end with one."""
    ends = each_once(memory.facts.ends(seeds).ravel())
    ends = ends[~memory.is_hub(ends)]
    places, facts = stated
    live = wanted.is_live(facts)
    places, facts = places[live], facts[live]
    rank = np.full(len(facts), len(seeds), dtype=np.int64)
    for number, seed in enumerate(seeds.tolist()):
        rank[facts == seed] = number
    of_facts = memory.facts.ends(facts)
    touches = among(ends, of_facts[:, 0]) | among(ends, of_facts[:, 1])
    near = touches | (rank < len(seeds))
    places, facts, rank = places[near], facts[near], rank[near]
    order = np.lexsort((memory.facts.ids.ranks(facts), rank, places))
    places, facts = places[order], facts[order]
    return [facts[places == place] for place in range(count)]


def _seeds(memory: Index, start: Reset) -> list[tuple[str, float, str]]:
    """Entities of the reset distribution, heaviest first, ties by id."""
    weights = start.by_fact + start.by_name
    order = np.lexsort((memory.entities.ids.ranks(start.entities), -weights))
    order = order[weights[order] > 0]
    reasons = np.where(start.by_fact >= start.by_name, "fact", "name")[order].tolist()
    ids = memory.entities.ids.texts(start.entities[order])
    return list(zip(ids, weights[order].tolist(), reasons, strict=True))


def answered(empty: Recall, found: Found, shown: Showing, rows: Rows) -> Recall:
    """The recall of what was found, from the rows that are still there."""
    passages = zip(shown.passage_ids, shown.scores, shown.on_the_way, shown.outdated, strict=True)

    def known(ids: Sequence[str]) -> tuple[Fact, ...]:
        return tuple(rows.facts[id_] for id_ in ids if id_ in rows.facts)

    return replace(
        empty,
        passages=tuple(
            RankedPassage(
                rows.passages[id_],
                score,
                known(way),
                known(outdated),
            )
            for id_, score, way, outdated in passages
            if id_ in rows.passages
        ),
        route=found.route,
        reason=found.reason,
        facts=tuple(
            FactHit(rows.facts[id_], score) for id_, score in shown.seed_facts if id_ in rows.facts
        ),
        seeds=tuple(
            Seed(rows.entities[id_], weight, reason)  # type: ignore[arg-type]
            for id_, weight, reason in shown.seeds
            if id_ in rows.entities
        ),
        withheld=shown.withheld,
    )


_NONE = np.zeros(0, dtype=np.int64)
