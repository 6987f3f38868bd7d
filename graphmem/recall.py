"""Recall: from a question to ranked passages, with the facts on the way.

One chain for documents, chats between people and chats with an assistant; a part whose field is
missing (session, speaker, time, title, facts) is silent. No model is asked but for the question's
vector.

1. h: how well each passage answers by itself, by words, vectors, its best fact and its manner.
2. The facts that fit best, with their passages' h, and the names in the question are the seeds.
3. Personalized PageRank from the seeds ranks the passages; y is made concave, z.
4. The bridge adds passages that tell what the best so far leave open.
5. What was said later stands above what it brings up to date.

Without seeds, or where facts were read from few passages, h is the ranking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphmem.bridge import bridge
from graphmem.cues import QuestionCues, closeness, read_question
from graphmem.errors import InvalidInput
from graphmem.index import Index
from graphmem.lexical import Coverage, terms, words
from graphmem.lists import Ints, highest
from graphmem.pagerank import power
from graphmem.seeds import Reset, fact_scores, reset, scaled, seed_facts, withheld
from graphmem.settings import RecallSettings
from graphmem.snapshot import Snapshot
from graphmem.succession import lift_later
from graphmem.types import Fact, FactHit, RankedPassage, Recall, Route, Scope, Seed

__all__ = ["RecallSettings", "question_text", "recall"]

Floats = NDArray[np.float64]


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


@dataclass(slots=True)
class Clock:
    """Milliseconds by stage."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as this stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + (time.perf_counter() - start) * 1e3


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a question finds before any walk: ``prior`` is h, 0 to 1; see ``recall``."""

    coverage: Coverage
    cosines: Floats
    fact_cosines: Floats
    prior: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A ranking and what it rests on."""

    route: Route
    reason: str
    ranking: Ints
    scores: Floats
    seeds: Ints
    fact_scores: Floats
    start: Reset | None
    withheld: dict[str, int]


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
            passages = tuple(
                RankedPassage(memory.passages[p], score, _on_the_way(memory, p, found.seeds))
                for p, score in _scored(found.ranking[:top_k], found.scores)
            )
    return Recall(
        query=query,
        scope=scope,
        passages=passages,
        route=found.route,
        reason=found.reason,
        facts=tuple(
            FactHit(memory.facts[f], score) for f, score in _scored(found.seeds, found.fact_scores)
        ),
        seeds=_seeds(memory, found.start),
        withheld=found.withheld,
        timings=clock.spent,
    )


def _scored(positions: Ints, scores: Floats) -> list[tuple[int, float]]:
    return list(zip(positions.tolist(), scores[positions].tolist(), strict=True))


def _why_empty(memory: Snapshot, eligible: NDArray[np.bool_], query: str) -> str:
    """Why there is nothing to rank; ``""`` where there is."""
    if not memory.passages:
        return "nothing is stored"
    if not eligible.any():
        return "nothing is stored of this session"
    return "" if query.strip() else "the question is empty"


def _eligible(memory: Snapshot, session: str | None) -> NDArray[np.bool_]:
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
    eligible: NDArray[np.bool_],
    top_k: int,
    settings: RecallSettings,
    clock: Clock,
) -> Found:
    evidence = _weigh(memory, query, vector, settings, clock)
    if vector is None:
        return _by_prior(memory, evidence, eligible, top_k, "lexical", "no vectors: words alone")
    if memory.covered_share < settings.least_covered:
        reason = f"facts were read from only {memory.covered_share:.0%} of the passages"
        return _by_prior(memory, evidence, eligible, top_k, "dense", reason)
    with clock.stage("seeds"):
        scores = fact_scores(memory, evidence.fact_cosines, evidence.prior, settings.fact_prior)
        seeds = seed_facts(memory, scores, settings.seed_k)
        named = _named(memory, query)
        start = reset(
            memory,
            seeds,
            scores,
            named,
            evidence.prior,
            name_weight=settings.name_weight,
            passage_weight=settings.passage_weight,
            passage_power=settings.passage_power,
            passages=settings.passage_k,
        )
    if not start.weights.any():
        reason = "no fact fits the question and it names nothing known"
        return _by_prior(memory, evidence, eligible, top_k, "dense", reason)
    with clock.stage("walk"):
        walked = _walk(memory, start, evidence.prior, settings)
    with clock.stage("bridge"):
        total = walked + settings.bridge_weight * _bridge(memory, evidence, walked, settings)
    with clock.stage("order"):
        ranking = highest(
            np.where(eligible, total, -np.inf), max(top_k, settings.later_among), memory.id_rank
        )
        ranking = lift_later(
            memory,
            ranking[eligible[ranking]],
            scores,
            among=settings.later_among,
            alike=settings.later_alike,
            as_good=settings.later_as_good,
        )
    return Found(
        route="graph",
        reason=f"{len(seeds)} facts and {len(named)} names seed the walk",
        ranking=ranking[eligible[ranking]],
        scores=total,
        seeds=seeds,
        fact_scores=scores,
        start=start,
        withheld=withheld(memory, scores, seeds),
    )


def _weigh(
    memory: Snapshot,
    query: str,
    vector: NDArray[np.float32] | None,
    settings: RecallSettings,
    clock: Clock,
) -> Evidence:
    with clock.stage("words"):
        asked = terms([word for word in words(query) if word not in memory.hub_words])
        coverage = memory.postings.cover(asked, k1=settings.bm25_k1, b=settings.bm25_b)
    with clock.stage("vectors"):
        if vector is None:
            cosines, fact_cosines = np.zeros(len(memory.passages)), np.zeros(len(memory.facts))
        else:
            cosines = memory.meanings.scores(vector)
            fact_cosines = memory.fact_meanings.scores(vector)
    with clock.stage("prior"):
        best_fact = memory.passage_facts.reduce(np.maximum, fact_cosines, 0.0)
        prior = coverage.share + settings.meaning_weight * cosines
        prior += settings.fact_weight * best_fact
        prior += _cue_scores(memory, read_question(query, memory.speakers, memory.asker), settings)
    return Evidence(coverage, cosines, fact_cosines, scaled(prior))


def _cue_scores(memory: Snapshot, cues: QuestionCues, settings: RecallSettings) -> Floats:
    """What speaker, time and manner add to h; 0 for documents."""
    scores = settings.personal_weight * memory.is_personal.astype(np.float64)
    scores -= settings.question_weight * memory.is_question
    if cues.asks_when:
        scores += settings.time_weight * memory.tells_time
    if cues.dates:
        is_chat = memory.speaker >= 0
        near = closeness(cues.dates, memory.days, settings.date_scale)
        scores += settings.date_weight * np.where(is_chat, near, 0.0)
    if len(cues.speakers) == 1:
        # Half for the right speaker, half off for others: a question that names nobody, or a
        # document, stands in the middle.
        is_named = memory.speaker == memory.speakers.index(cues.speakers[0])
        half = settings.speaker_weight / 2
        scores += np.where(memory.speaker >= 0, np.where(is_named, half, -half), 0.0)
    return scores


def _named(memory: Snapshot, query: str) -> Ints:
    """Positions of the entities that the question names, ascending, hubs left out."""
    found = {
        memory.entity_place[entity]
        for name in memory.name_table.longest_in(words(query))
        for entity in memory.name_table.ids(name)
        if entity in memory.entity_place
    }
    named = np.array(sorted(found), dtype=np.int64)
    return named[~memory.is_hub[named]]


def _walk(memory: Snapshot, start: Reset, prior: Floats, settings: RecallSettings) -> Floats:
    """z: the walk's score of each passage, 0 to 1."""
    rank = power(memory.graph, start.weights, damping=settings.damping, steps=settings.steps)
    reached = rank[memory.graph.entities :]
    highest = float(reached.max())
    reached = reached / highest if highest > 0 else reached
    half = settings.walk_half
    walked: Floats = (1 + half) * reached / (reached + half)
    # The walk cannot come to a passage that no fact was read from.
    is_bare = memory.passage_facts.lengths == 0
    return np.where(is_bare, np.maximum(walked, prior**settings.passage_power), walked)


def _bridge(
    memory: Snapshot, evidence: Evidence, walked: Floats, settings: RecallSettings
) -> Floats:
    scores = (evidence.prior + walked) / 2
    return bridge(
        memory,
        highest(scores, settings.first_hops, memory.id_rank),
        scores,
        evidence.coverage,
        evidence.cosines,
        about_bonus=settings.about_bonus,
    )


def _by_prior(
    memory: Snapshot,
    evidence: Evidence,
    eligible: NDArray[np.bool_],
    top_k: int,
    route: Route,
    reason: str,
) -> Found:
    """The ranking without a walk: h alone; by words, only passages that share one."""
    if route == "lexical":
        eligible = eligible & (evidence.coverage.share > 0)
    ranking = highest(np.where(eligible, evidence.prior, -np.inf), top_k, memory.id_rank)
    return Found(
        route=route,
        reason=reason,
        ranking=ranking[eligible[ranking]],
        scores=evidence.prior,
        seeds=np.zeros(0, dtype=np.int64),
        fact_scores=np.zeros(0),
        start=None,
        withheld={},
    )


def _on_the_way(memory: Snapshot, passage: int, seeds: Ints) -> tuple[Fact, ...]:
    """Live facts of the passage: seed facts first, then those that share an end with one."""
    ends = {end for end in memory.ends[seeds].ravel().tolist() if not memory.is_hub[end]}
    facts = [f for f in memory.passage_facts[passage].tolist() if memory.is_live[f]]
    chosen = [f for f in seeds.tolist() if f in facts]
    near = [f for f in facts if f not in chosen and not ends.isdisjoint(memory.ends[f].tolist())]
    return tuple(memory.facts[f] for f in chosen + near)


def _seeds(memory: Snapshot, start: Reset | None) -> tuple[Seed, ...]:
    """Entities of the reset distribution, heaviest first, ties by id."""
    if start is None:
        return ()
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
