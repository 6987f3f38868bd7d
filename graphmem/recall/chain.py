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

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import InvalidInput
from graphmem.index.index import Index
from graphmem.index.lists import Floats, Ints, among, each_once, without
from graphmem.recall.bridge import bridge, likely, links
from graphmem.recall.candidates import candidates
from graphmem.recall.clock import Clock
from graphmem.recall.prior import Prior, weigh
from graphmem.recall.question import Question, ask
from graphmem.recall.seeds import Reset, Seeds, find_seeds, withheld
from graphmem.recall.sight import look
from graphmem.recall.succession import lift_later
from graphmem.recall.walk import Reached, walk
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

__all__ = ["Rows", "recall"]


@dataclass(frozen=True, slots=True)
class Rows:
    """What is shown of an answer, by id; what was forgotten meanwhile is missing."""

    passages: dict[str, Passage]
    facts: dict[str, Fact]
    entities: dict[str, Entity]


Read = Callable[[Sequence[str], Sequence[str], Sequence[str]], Rows]
"""Reads rows by the ids of passages, facts and entities."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A ranking and what it rests on; n passages.

    Attributes:
        route, reason: as in ``Recall``.
        ranking: passages that may be shown, best first.
        passages: (n,) all that were ranked, ascending.
        scores: (n,) what they are ranked by, each at least 0.
        seeds: where the walk began; None without a walk.
    """

    route: Route
    reason: str
    ranking: Ints
    passages: Ints
    scores: Floats
    seeds: Seeds | None = None


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
) -> Recall:
    """Passages that answer a question, best first.

    A passage that was lifted above what it brings up to date keeps its own score, so that scores
    may rise once there.

    Args:
        memory: the scope's index.
        query: the question.
        vector: the embedding of ``question_text(memory, query)``; None for words alone.
        read: reads what is shown.
        scope: whose memory it is, for the result.
        top_k: number of passages, at least 1.
        settings: the constants.
        session: only passages of this session, where given.

    Raises:
        InvalidInput: ``top_k`` below 1, or a vector that does not fit the memory's.
    """
    if top_k < 1:
        raise InvalidInput(f"top_k must be at least 1, not {top_k}")
    clock = Clock()
    with clock.stage("total"):
        with memory.lock:
            reason = _why_empty(memory, query, session)
            if reason:
                return Recall(query, scope, reason=reason, timings=clock.spent)
            vector = _checked(memory, vector)
            found = _find(memory, query, vector, session, top_k, settings, clock)
            shown = _shown(memory, found, top_k)
        with clock.stage("read"):
            rows = read(shown.passage_ids, shown.fact_ids, shown.entity_ids)
        answer = _answer(Recall(query, scope, timings=clock.spent), found, shown, rows)
    return answer


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


def _find(
    memory: Index,
    query: str,
    vector: NDArray[np.float32] | None,
    session: str | None,
    top_k: int,
    settings: RecallSettings,
    clock: Clock,
) -> Found:
    with clock.stage("candidates"):
        question = ask(memory, query, vector)
        looked_at = candidates(memory, question, settings, session)
    with clock.stage("sight"):
        seen = look(memory, question, looked_at, settings)
    with clock.stage("facts"):
        prior = weigh(memory, question, seen, settings, top_k)
    if vector is None:
        # By words, only passages that share one.
        kept = np.nonzero(prior.sight.share > 0)[0]
        return _by_prior(memory, prior, kept, "lexical", "no vectors: words alone", top_k, settings)
    every = np.arange(len(prior.passages))
    if memory.covered_share < settings.least_covered:
        reason = f"facts were read from only {memory.covered_share:.0%} of the passages"
        return _by_prior(memory, prior, every, "dense", reason, top_k, settings)
    with clock.stage("seeds"):
        seeds = find_seeds(memory, prior, question.named, settings)
    if not len(seeds.reset.vertices):
        reason = "no fact fits the question and it names nothing known"
        return _by_prior(memory, prior, every, "dense", reason, top_k, settings)
    with clock.stage("walk"):
        reached = walk(memory, seeds.reset, settings)
    return _by_walk(memory, question, prior, seeds, reached, session, top_k, settings, clock)


def _by_prior(
    memory: Index,
    prior: Prior,
    places: Ints,
    route: Route,
    reason: str,
    top_k: int,
    settings: RecallSettings,
) -> Found:
    """The ranking without a walk: by h, and the messages' own sense."""
    scores = prior.scores + settings.own_weight * prior.own
    passages, scores = prior.passages[places], scores[places]
    best = _best(memory, passages, scores, top_k)
    return Found(route, reason, best, passages, scores)


def _by_walk(
    memory: Index,
    question: Question,
    prior: Prior,
    seeds: Seeds,
    reached: Reached,
    session: str | None,
    top_k: int,
    settings: RecallSettings,
    clock: Clock,
) -> Found:
    within = None if session is None else memory.passages.session(session)
    with clock.stage("bridge"):
        more = without(reached.best(settings.passage_k, memory.passages.ids), prior.passages)
        if within is not None:
            more = more[among(within, more)]
        walked = _walked(prior, reached, settings)
        # What only the walk came to was not looked at yet: it answers little by itself.
        passages = np.concatenate([prior.passages, more])
        so_far = np.concatenate(
            [(prior.scores + walked) / 2, _risen(reached.rank(more), settings) / 2]
        )
        hops = memory.passages.ids.highest(passages, so_far, settings.first_hops)
        linked = links(memory, passages[hops], so_far[hops], settings.about_bonus)
        if within is not None:
            linked = linked.only(among(within, linked.passages).nonzero()[0])
        linked = likely(question, prior.sight, linked, settings.linked_k)
        beyond = each_once(np.concatenate([more, without(linked.passages, prior.passages)]))
        seen = prior.sight.join(look(memory, question, beyond, settings))
        bridged = bridge(memory, question, seen, linked, settings)
        scores = settings.bridge_weight * bridged
        known = seen.places(prior.passages)
        scores[known] += walked + settings.own_weight * prior.own
        new = seen.places(beyond)
        scores[new] += prior.share_of_own(seen.own[new]) * settings.own_weight
        scores[new] += _risen(reached.rank(beyond), settings)
    with clock.stage("order"):
        best = _best(memory, seen.passages, scores, max(top_k, settings.later_among))
        ranking = lift_later(
            memory,
            best,
            seeds,
            among=settings.later_among,
            alike=settings.later_alike,
            as_good=settings.later_as_good,
        )
        if within is not None:
            ranking = ranking[among(within, ranking)]
    reason = f"seeded by facts: {len(seeds.facts)}, by names in the question: {len(seeds.named)}"
    return Found("graph", reason, ranking, seen.passages, scores, seeds)


def _walked(prior: Prior, reached: Reached, settings: RecallSettings) -> Floats:
    """z: the walk's score of each passage, 0 to 1."""
    # Where no fact leads, the walk does not come, however well a passage answers by itself.
    return np.maximum(
        _risen(reached.rank(prior.passages), settings), prior.scores**settings.passage_power
    )


def _risen(ranks: Floats, settings: RecallSettings) -> Floats:
    half = settings.walk_half
    return (1 + half) * ranks / (ranks + half)


def _best(memory: Index, passages: Ints, scores: Floats, count: int) -> Ints:
    """The ``count`` passages of the highest scores, best first, ties by id."""
    return passages[memory.passages.ids.highest(passages, scores, count)]


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is shown of an answer, by id.

    Attributes:
        passage_ids, scores: ranked.
        on_the_way: for each passage its facts that lead from the seeds to it.
        seed_facts: (id, score), best first.
        seeds: (entity's id, weight, reason), heaviest first.
        withheld: as in ``Recall``.
    """

    passage_ids: list[str]
    scores: list[float]
    on_the_way: list[list[str]]
    seed_facts: list[tuple[str, float]]
    seeds: list[tuple[str, float, str]]
    withheld: dict[str, int]

    @property
    def fact_ids(self) -> list[str]:
        """Of all facts."""
        shown = [id_ for some in self.on_the_way for id_ in some]
        return list(dict.fromkeys([id_ for id_, _ in self.seed_facts] + shown))

    @property
    def entity_ids(self) -> list[str]:
        """Of all entities."""
        return [id_ for id_, _, _ in self.seeds]


def _shown(memory: Index, found: Found, top_k: int) -> _Shown:
    ranking = found.ranking[:top_k]
    scores = found.scores[np.searchsorted(found.passages, ranking)]
    ids = memory.passages.ids.texts(ranking)
    seeds = found.seeds
    if seeds is None:
        ways = [memory.facts.ids.texts(one) for one in _ways(memory, ranking, _NONE)]
        return _Shown(ids, scores.tolist(), ways, [], [], {})
    return _Shown(
        ids,
        scores.tolist(),
        [memory.facts.ids.texts(one) for one in _ways(memory, ranking, seeds.facts)],
        list(
            zip(
                memory.facts.ids.texts(seeds.facts),
                seeds.score(seeds.facts).tolist(),
                strict=True,
            )
        ),
        _seeds(memory, seeds.reset),
        withheld(memory, seeds),
    )


def _ways(memory: Index, ranking: Ints, seeds: Ints) -> list[Ints]:
    """Live facts of each passage: seed facts first, then those that share an end with one."""
    ends = each_once(memory.facts.ends(seeds).ravel())
    ends = ends[~memory.is_hub(ends)]
    places, facts, _ = memory.facts.stated.gather(ranking)
    live = memory.facts.is_live(facts)
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
    return [facts[places == place] for place in range(len(ranking))]


def _seeds(memory: Index, start: Reset) -> list[tuple[str, float, str]]:
    """Entities of the reset distribution, heaviest first, ties by id."""
    weights = start.by_fact + start.by_name
    order = np.lexsort((memory.entities.ids.ranks(start.entities), -weights))
    order = order[weights[order] > 0]
    reasons = np.where(start.by_fact >= start.by_name, "fact", "name")[order].tolist()
    ids = memory.entities.ids.texts(start.entities[order])
    return list(zip(ids, weights[order].tolist(), reasons, strict=True))


def _answer(empty: Recall, found: Found, shown: _Shown, rows: Rows) -> Recall:
    passages = zip(shown.passage_ids, shown.scores, shown.on_the_way, strict=True)
    return replace(
        empty,
        passages=tuple(
            RankedPassage(
                rows.passages[id_],
                score,
                tuple(rows.facts[fact] for fact in way if fact in rows.facts),
            )
            for id_, score, way in passages
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
