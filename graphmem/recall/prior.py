"""What a question finds before any walk: h, how well each passage answers by itself.

h adds up the share of the question's words that the passage covers, its cosine with the question,
that of its best fact, and what topic, speaker, time and manner tell. A part whose field is missing
(vectors, facts, speakers) is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.index.cues import QuestionCues, closeness, read_question
from graphmem.index.lexical import Coverage
from graphmem.index.lists import Floats, Ints
from graphmem.index.snapshot import Snapshot
from graphmem.recall.clock import Clock
from graphmem.settings import RecallSettings
from graphmem.words import terms, words

__all__ = ["Prior", "scaled", "weigh"]


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What a question finds before any walk.

    Attributes:
        coverage: the question's terms against the passages.
        cosines: (P,) of the question and each passage, -1 to 1; 0 without vectors.
        fact_cosines: (F,) of the question and each fact, likewise.
        own: (P,) cosine of the question and a message without its neighbours, as a share of the
            highest, 0 to 1; 0 for documents.
        named: positions of the entities that the question names, ascending, hubs left out.
        scores: (P,) h as a share of the highest, 0 to 1.
    """

    coverage: Coverage
    cosines: Floats
    fact_cosines: Floats
    own: Floats
    named: Ints
    scores: Floats


def weigh(
    memory: Snapshot,
    query: str,
    vector: NDArray[np.float32] | None,
    settings: RecallSettings,
    clock: Clock,
) -> Prior:
    """The prior of a question; without its vector, by words and cues alone."""
    with clock.stage("words"):
        question = words(query)
        asked = terms([word for word in question if word not in memory.hub_words])
        named = _named_entities(memory, question)
        coverage = memory.postings.cover(asked, k1=settings.bm25_k1, b=settings.bm25_b)
    with clock.stage("vectors"):
        cosines, fact_cosines = np.zeros(len(memory.passages)), np.zeros(len(memory.facts))
        own = np.zeros(len(memory.passages))
        if vector is not None:
            cosines = memory.meanings.scores(vector)
            fact_cosines = memory.fact_meanings.scores(vector)
            own[memory.spoken] = scaled(memory.own_meanings.scores(vector))
    with clock.stage("prior"):
        best_fact = memory.passage_facts.maxima(fact_cosines)
        cues = read_question(query, memory.speakers, memory.asker)
        scores = coverage.share + settings.meaning_weight * cosines
        scores += settings.fact_weight * best_fact + _cue_scores(memory, cues, settings)
        scores += settings.topic_weight * _topics(memory, named)
    return Prior(coverage, cosines, fact_cosines, own, named, scaled(scores))


def _named_entities(memory: Snapshot, question: Sequence[str]) -> Ints:
    """Positions of the entities that the question's words name, ascending, hubs left out."""
    found = {
        memory.entity_place[entity]
        for name in memory.name_table.longest_in(question)
        for entity in memory.name_table.ids(name)
        if entity in memory.entity_place
    }
    places = np.array(sorted(found), dtype=np.int64)
    return places[~memory.is_hub[places]]


def scaled(values: Floats) -> Floats:
    """The values as shares of the highest, 0 to 1; what is below zero is 0.

    Unlike a stretch from lowest to highest it does not depend on the worst of the memory, and a
    memory of one passage keeps its score; measured, the two tie.
    """
    highest_value = float(values.max(initial=0.0))
    clipped = np.maximum(values, 0.0)
    return clipped / highest_value if highest_value > 0 else clipped


def _topics(memory: Snapshot, named: Ints) -> Floats:
    """(P,) how telling the name of an entity is that the document is about; 0 for messages."""
    telling = np.zeros(len(memory.passages))
    of, passages = memory.subjects.gather(named)
    np.maximum.at(telling, passages, memory.rarity[named[of]])
    telling[memory.spoken] = 0.0
    return telling


def _cue_scores(memory: Snapshot, cues: QuestionCues, settings: RecallSettings) -> Floats:
    """What speaker, time and manner add to h."""
    scores = settings.personal_weight * memory.is_personal.astype(np.float64)
    scores -= settings.question_weight * memory.is_question
    if cues.asks_when:
        scores += settings.time_weight * memory.tells_time
    is_spoken = memory.speaker >= 0
    if cues.dates:
        near = closeness(cues.dates, memory.days, settings.date_scale)
        scores += settings.date_weight * np.where(is_spoken, near, 0.0)
    if cues.speakers:
        scores -= settings.document_weight * ~is_spoken
    if len(cues.speakers) == 1:
        # Half for the right speaker, half off for others: a question that names nobody stands in
        # the middle.
        is_named = memory.speaker == memory.speakers.index(cues.speakers[0])
        half = settings.speaker_weight / 2
        scores += np.where(is_spoken, np.where(is_named, half, -half), 0.0)
    return scores
