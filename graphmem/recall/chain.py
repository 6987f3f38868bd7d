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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import InvalidInput
from graphmem.index.index import Index
from graphmem.index.lists import Bools, Floats, Ints, highest
from graphmem.index.snapshot import Snapshot
from graphmem.recall.bridge import bridge
from graphmem.recall.clock import Clock
from graphmem.recall.pagerank import power
from graphmem.recall.prior import Prior, scaled, weigh
from graphmem.recall.seeds import Reset, Seeds, find_seeds, withheld
from graphmem.recall.succession import lift_later
from graphmem.settings import RecallSettings
from graphmem.types import Fact, FactHit, RankedPassage, Recall, Route, Scope, Seed
from graphmem.words import words

__all__ = ["question_text", "recall"]


def question_text(index: Index, query: str) -> str:
    """What of a question is to be embedded: all but the names of hubs, who are in everything.

    The question itself where nothing else would be left.
    """
    hub_words = index.snapshot().hub_words
    if not hub_words:
        return query
    kept = [token for token in query.split() if not _is_hub(token, hub_words)]
    return " ".join(kept) if words(" ".join(kept)) else query


def _is_hub(token: str, hub_words: frozenset[str]) -> bool:
    token_words = words(token)
    return bool(token_words) and all(word in hub_words for word in token_words)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A ranking and what it rests on.

    Attributes:
        route, reason: as in ``Recall``.
        ranking: passages that may be shown, best first, at least ``top_k`` where there are.
        scores: (P,) what they are ranked by, each at least 0.
        seeds: where the walk began; None without a walk.
    """

    route: Route
    reason: str
    ranking: Ints
    scores: Floats
    seeds: Seeds | None = None


def recall(
    index: Index,
    query: str,
    vector: NDArray[np.float32] | None,
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
        index: the scope's memory.
        query: the question.
        vector: the embedding of ``question_text(index, query)``; None for words alone.
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
        with clock.stage("index"):
            memory = index.snapshot()
        eligible = _eligible(memory, session)
        reason = _why_empty(memory, eligible, query)
        if reason:
            return Recall(query, scope, reason=reason, timings=clock.spent)
        vector = _checked(memory, vector)
        found = _find(memory, query, vector, eligible, top_k, settings, clock)
        with clock.stage("facts"):
            facts = found.seeds.facts if found.seeds else np.zeros(0, dtype=np.int64)
            passages = tuple(
                RankedPassage(memory.passages[p], score, _on_the_way(memory, p, facts))
                for p, score in _scored(found.ranking[:top_k], found.scores)
            )
    answer = Recall(query, scope, passages, found.route, found.reason, timings=clock.spent)
    return answer if found.seeds is None else _with_seeds(answer, memory, found.seeds)


def _why_empty(memory: Snapshot, eligible: Bools, query: str) -> str:
    """Why there is nothing to rank; ``""`` where there is."""
    if not memory.passages:
        return "nothing is stored"
    if not eligible.any():
        return "nothing is stored of this session"
    return "" if query.strip() else "the question is empty"


def _eligible(memory: Snapshot, session: str | None) -> Bools:
    if session is None:
        return np.ones(len(memory.passages), dtype=np.bool_)
    return np.array([passage.session == session for passage in memory.passages], dtype=np.bool_)


def _checked(memory: Snapshot, vector: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """The vector where it can be compared with the memory's; None where there is none."""
    if vector is None or not memory.meanings.has_vectors:
        return None
    vector = np.asarray(vector, dtype=np.float32)
    if vector.shape != (memory.meanings.dims,):
        raise InvalidInput(
            f"the question's vector has shape {vector.shape}, the memory's vectors "
            f"{memory.meanings.dims} numbers: embed both with one model"
        )
    if not np.isfinite(vector).all():
        raise InvalidInput("the question's vector holds values that are not finite numbers")
    return vector


def _find(
    memory: Snapshot,
    query: str,
    vector: NDArray[np.float32] | None,
    eligible: Bools,
    top_k: int,
    settings: RecallSettings,
    clock: Clock,
) -> Found:
    prior = weigh(memory, query, vector, settings, clock)
    if vector is None:
        # By words, only passages that share one.
        eligible = eligible & (prior.coverage.share > 0)
        reason = "no vectors: words alone"
        return _by_prior(memory, prior, eligible, top_k, settings, "lexical", reason)
    if memory.covered_share < settings.least_covered:
        reason = f"facts were read from only {memory.covered_share:.0%} of the passages"
        return _by_prior(memory, prior, eligible, top_k, settings, "dense", reason)
    with clock.stage("seeds"):
        seeds = find_seeds(memory, prior, settings)
    if not seeds.reset.weights.any():
        reason = "no fact fits the question and it names nothing known"
        return _by_prior(memory, prior, eligible, top_k, settings, "dense", reason)
    with clock.stage("walk"):
        walked = _walk(memory, seeds.reset, prior, settings)
    with clock.stage("bridge"):
        scores = walked + settings.bridge_weight * _bridge(memory, prior, walked, settings)
        scores += settings.own_weight * prior.own
    with clock.stage("order"):
        ranking = lift_later(
            memory,
            _best(memory, scores, eligible, max(top_k, settings.later_among)),
            seeds.fact_scores,
            among=settings.later_among,
            alike=settings.later_alike,
            as_good=settings.later_as_good,
        )
    reason = f"seeded by facts: {len(seeds.facts)}, by names in the question: {len(seeds.named)}"
    return Found("graph", reason, ranking[eligible[ranking]], scores, seeds)


def _by_prior(
    memory: Snapshot,
    prior: Prior,
    eligible: Bools,
    top_k: int,
    settings: RecallSettings,
    route: Route,
    reason: str,
) -> Found:
    """The ranking without a walk: by h, and the messages' own sense."""
    scores = prior.scores + settings.own_weight * prior.own
    return Found(route, reason, _best(memory, scores, eligible, top_k), scores)


def _best(memory: Snapshot, scores: Floats, eligible: Bools, count: int) -> Ints:
    """The ``count`` best eligible passages, best first, ties by id."""
    best = highest(np.where(eligible, scores, -np.inf), count, memory.id_rank)
    return best[eligible[best]]


def _walk(memory: Snapshot, start: Reset, prior: Prior, settings: RecallSettings) -> Floats:
    """z: the walk's score of each passage, 0 to 1."""
    rank = power(memory.graph, start.weights, damping=settings.damping, steps=settings.steps)
    reached = scaled(rank[memory.graph.entities :])
    half = settings.walk_half
    walked: Floats = (1 + half) * reached / (reached + half)
    # Where no fact leads, the walk does not come, however well a passage answers by itself.
    return np.maximum(walked, prior.scores**settings.passage_power)


def _bridge(memory: Snapshot, prior: Prior, walked: Floats, settings: RecallSettings) -> Floats:
    scores = (prior.scores + walked) / 2
    return bridge(
        memory,
        highest(scores, settings.first_hops, memory.id_rank),
        scores,
        prior.coverage,
        prior.cosines,
        about_bonus=settings.about_bonus,
    )


def _scored(positions: Ints, scores: Floats) -> list[tuple[int, float]]:
    return list(zip(positions.tolist(), scores[positions].tolist(), strict=True))


def _on_the_way(memory: Snapshot, passage: int, seeds: Ints) -> tuple[Fact, ...]:
    """Live facts of the passage: seed facts first, then those that share an end with one."""
    ends = {end for end in memory.ends[seeds].ravel().tolist() if not memory.is_hub[end]}
    facts = [f for f in memory.passage_facts[passage].tolist() if memory.is_live[f]]
    chosen = [f for f in seeds.tolist() if f in facts]
    near = [f for f in facts if f not in chosen and not ends.isdisjoint(memory.ends[f].tolist())]
    return tuple(memory.facts[f] for f in chosen + near)


def _with_seeds(answer: Recall, memory: Snapshot, seeds: Seeds) -> Recall:
    return replace(
        answer,
        facts=tuple(
            FactHit(memory.facts[f], score) for f, score in _scored(seeds.facts, seeds.fact_scores)
        ),
        seeds=_entities(memory, seeds.reset),
        withheld=withheld(memory, seeds.fact_scores, seeds.facts),
    )


def _entities(memory: Snapshot, start: Reset) -> tuple[Seed, ...]:
    """Entities of the reset distribution, heaviest first, ties by id."""
    weights = start.by_fact + start.by_name
    touched = np.nonzero(weights)[0]
    order = touched[np.lexsort((touched, -weights[touched]))]
    return tuple(
        Seed(
            memory.entities[e],
            float(weights[e]),
            "fact" if start.by_fact[e] >= start.by_name[e] else "name",
        )
        for e in order.tolist()
    )
