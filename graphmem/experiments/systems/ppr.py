"""Personalized PageRank with HippoRAG 2's published settings: what the graph gives without us.

The method of "From RAG to Memory" (arXiv 2502.14802) with the settings of its public code, without
a model at the question: there a model filters the seed facts, here all of them pass.

Names are lower case with a space for all that is no Latin letter or digit; a triple without a
letter left at an end is no fact. Edges are undirected, with weights as that code adds them up: each
triple counts 2 between its ends, a passage 1 with each name of its triples, and two names of at
least 0.8 cosine twice their cosine in place of their triples (once from a name of one or two
letters; the nearest 100).

A question seeds the names of the five facts that are nearest to it, five names at most: each with
the mean of its facts' cosines, scaled to 0..1 over all facts, over the number of passages that
mention it. Every passage is seeded with 0.05 times its cosine, scaled likewise. The exact rank,
damping 0.5, orders the passages. Without facts the cosines do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphmem.errors import ExtractionError
from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.reading import Meter, as_told, passage_ids, read
from graphmem.experiments.systems.baselines import stretched
from graphmem.experiments.systems.flat import FlatVectors, near_pairs
from graphmem.experiments.systems.interface import Answer, Parts, Progress
from graphmem.index.lists import Floats, Ints, highest, ranks
from graphmem.recall.clock import Clock
from graphmem.recall.exact import Exact
from graphmem.types import Embedder, Extraction, Scope, Triple, Usage

__all__ = ["PersonalizedPageRank"]

_SEED_FACTS = 5
_SEED_NAMES = 5
_PASSAGE_WEIGHT = 0.05
_DAMPING = 0.5
_SYNONYM_COSINE = 0.8
_SYNONYMS = 100
_SHORTEST_SYNONYM = 3

Name = str
Fact = tuple[Name, str, Name]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Corpus:
    """The records of one scope; P records, F facts and E names by position.

    Attributes:
        ids: of the records.
        id_rank: (P,) what decides ties.
        meanings, fact_meanings: vectors of records and facts.
        ends: (F, 2) names of a fact.
        mentions: (E,) number of records whose triples have the name.
        walk: ranks names, then records.
    """

    ids: Sequence[str]
    id_rank: Ints
    meanings: FlatVectors
    fact_meanings: FlatVectors
    ends: Ints
    mentions: Floats
    walk: Exact


class PersonalizedPageRank:
    """HippoRAG 2's retrieval with the filter passed through; see the module.

    Each record is a passage, who said it in front of what was said. Triples are taken as the
    extractor gives them, whether or not the passage has their words: the method knows no such test.

    Args:
        parts: embedder and source of triples.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._meter = Meter()
        self._scopes: dict[Scope, _Corpus] = {}

    @property
    def usage(self) -> Usage:
        """What the extractors have cost; a question asks no model."""
        return self._meter.usage

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Read triples, embed, and build the graphs.

        Raises:
            ExtractionError: something could not be read.
        """
        self._scopes = {}
        extractor = self._parts.triples(data)
        self._meter.watch(extractor)
        read_by_id = read(data, extractor, progress)
        for scope in data.scopes:
            records = [record for record in data.records if record.scope == scope]
            facts = [_facts(record, read_by_id) for record in records]
            self._scopes[scope] = _corpus(records, facts, self._parts.embedder)
        progress(len(data.records), len(data.records))

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank the scope's records by exact Personalized PageRank."""
        corpus = self._scopes.get(question.scope)
        if corpus is None:
            return Answer((), 0.0)
        vector = self._parts.embedder.embed_query(question.text)
        clock = Clock()
        with clock.stage("total"):
            with clock.stage("vectors"):
                by_passage = _scaled(corpus.meanings.scores(vector))
                by_fact = _scaled(corpus.fact_meanings.scores(vector))
            scores, route = by_passage, "dense"
            if len(corpus.ends):
                with clock.stage("walk"):
                    reset = np.concatenate([_seeds(corpus, by_fact), _PASSAGE_WEIGHT * by_passage])
                    rank = corpus.walk.rank(reset, damping=_DAMPING)
                scores, route = rank[len(corpus.mentions) :], "graph"
            best = highest(scores, top_k, corpus.id_rank)
        ranking = tuple(corpus.ids[place] for place in best.tolist())
        return Answer(ranking, clock.spent["total"], route, clock.spent)

    def close(self) -> None:
        """Let go of everything."""
        self._scopes = {}


def _facts(record: Record, read_by_id: Mapping[tuple[Scope, str], Extraction]) -> list[Fact]:
    """The record's facts, as often as they were read; the parts of a long one may share theirs."""
    found: list[Fact] = []
    for passage_id in passage_ids(record):
        extraction = read_by_id.get((record.scope, passage_id))
        if extraction is None:  # no memory: nothing was said
            continue
        if extraction.error is not None:
            raise ExtractionError(f"{record.id} could not be read: {extraction.error}")
        known = set(found)
        found += [fact for fact in _as_facts(extraction.triples) if fact not in known]
    return found


def _as_facts(triples: Iterable[Triple]) -> list[Fact]:
    named = [(_name(one.subject), _name(one.predicate), _name(one.object)) for one in triples]
    return [fact for fact in named if fact[0] and fact[2]]


def _name(text: str) -> Name:
    return re.sub("[^a-z0-9 ]", " ", text.lower()).strip()


def _corpus(
    records: Sequence[Record], facts: Sequence[Sequence[Fact]], embedder: Embedder
) -> _Corpus:
    distinct = sorted({fact for of_record in facts for fact in of_record})
    mentioned = [_ends(of_record) for of_record in facts]
    names = _ends(distinct)
    place = {name: position for position, name in enumerate(names)}
    ends = [(place[subject], place[target]) for subject, _, target in distinct]
    counts = Counter(place[name] for of_record in mentioned for name in of_record)
    edges = _fact_edges(facts, place)
    for number, of_record in enumerate(mentioned, len(names)):
        edges.update(((number, place[name]), 1.0) for name in of_record)
    edges |= _synonyms(names, embedder)
    both: dict[Pair, float] = {}
    for (one, other), weight in edges.items():
        if one != other:
            pair = (min(one, other), max(one, other))
            both[pair] = both.get(pair, 0.0) + weight
    pairs = np.array(list(both), dtype=np.int64).reshape(-1, 2)
    weights = np.array(list(both.values()), dtype=np.float64)
    return _Corpus(
        ids=[record.id for record in records],
        id_rank=ranks([record.id for record in records]),
        meanings=FlatVectors(embedder.embed([as_told(record) for record in records])),
        fact_meanings=FlatVectors(embedder.embed([str(fact) for fact in distinct])),
        ends=np.array(ends, dtype=np.int64).reshape(-1, 2),
        mentions=np.array([counts[position] for position in range(len(names))], dtype=np.float64),
        walk=Exact(len(names) + len(records), pairs[:, 0], pairs[:, 1], weights),
    )


def _ends(facts: Iterable[Fact]) -> list[Name]:
    """The names at the facts' ends, sorted."""
    return sorted({end for subject, _, target in facts for end in (subject, target)})


def _fact_edges(facts: Iterable[Iterable[Fact]], place: Mapping[Name, int]) -> dict[Pair, float]:
    """How many triples lead from one name to another, each in both directions."""
    edges: dict[Pair, float] = {}
    for of_record in facts:
        for subject, _, target in of_record:
            there = place[subject], place[target]
            for pair in (there, there[::-1]):
                edges[pair] = edges.get(pair, 0.0) + 1.0
    return edges


def _synonyms(names: Sequence[Name], embedder: Embedder) -> dict[Pair, float]:
    """Cosines of each name with those near to it, by their positions in ``names``."""
    if not names:
        return {}
    return {
        (place, other): cosine
        for place, others, cosines in near_pairs(embedder.embed(names), _SYNONYM_COSINE)
        if len(names[place].replace(" ", "")) >= _SHORTEST_SYNONYM
        for other, cosine in zip(
            others[:_SYNONYMS].tolist(), cosines[:_SYNONYMS].tolist(), strict=True
        )
    }


def _scaled(values: Floats) -> Floats:
    """Moved and stretched to run from 0 to 1; ones where all are equal."""
    if len(values) and values.min() == values.max():
        return np.ones_like(values)
    return stretched(values)


def _seeds(corpus: _Corpus, by_fact: Floats) -> Floats:
    """Reset weight of each name."""
    facts = highest(by_fact, _SEED_FACTS)
    ends = corpus.ends[facts]
    size = len(corpus.mentions)
    counts = np.bincount(ends.ravel(), minlength=size)
    sums = np.bincount(ends.ravel(), weights=np.repeat(by_fact[facts], 2), minlength=size)
    weights = sums / np.maximum(counts, 1) / np.maximum(corpus.mentions, 1)
    kept = highest(weights, _SEED_NAMES)
    result = np.zeros(size)
    result[kept] = weights[kept]
    return result
