"""What a recall reads: one scope's memory as arrays by position, never changed once built.

A snapshot is a pure function of the passages, facts and vectors it is built from: everything is
sorted by id or by place in its thread first, so that the order of arrival leaves no trace, not even
in the last bits. Positions mean something within one snapshot only and do not leave recall.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.identity import content_id, normal_form
from graphmem.index.cues import Manner
from graphmem.index.dense import DenseIndex, NearPairs, VectorTable
from graphmem.index.graph import Edges, KnowledgeGraph
from graphmem.index.lexical import Postings, spread
from graphmem.index.lists import Bools, Floats, Ints, Lists, ranks
from graphmem.index.names import NameTable
from graphmem.settings import RecallSettings
from graphmem.threads import in_order
from graphmem.types import Entity, Fact, Passage, VectorKind
from graphmem.words import terms, words

__all__ = ["Document", "Snapshot", "build", "read_title"]


_FINAL_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Document:
    """A passage read once: its words and what follows from them alone."""

    words: tuple[str, ...]
    terms: Counter[str]
    manner: Manner
    title_id: str


def read_title(title: str) -> str:
    """Id of the entity that a title names, a final parenthesis dropped; ``""`` without a title."""
    name = normal_form(_FINAL_PARENTHESIS.sub("", title))
    return content_id("e", name) if name else ""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One scope's memory at one time. P passages, F facts and E entities by position.

    Attributes:
        seq: the scope's log sequence number that it is up to date with.
        passages: in order of thread, then of place in it: neighbours lie side by side.
        facts: every fact that has a passage here and is not rejected, live or not, by id.
        entities: the ends of the facts, by id.
        entity_place: entity id → position.
        name_table: the entities' names as they stand in texts.
        id_rank: (P,) place of the passage's id among all: what decides ties.
        threads: (P,) number of the passage's thread.
        days: (P,) when it was said, in days since 1970, NaN where unknown.
        speakers: everyone who speaks, sorted; ``speaker`` (P,) is the place among them or -1.
        asker: the one speaker with the role of user, where there is just one.
        is_person: (P,) whether a person said it: no assistant, no tool.
        is_personal, is_question, tells_time: (P,) the manner it is said in, False for documents.
        hub_words: words of the hubs' names.
        postings: the words, windowed.
        meanings: the windowed vectors of passages.
        fact_meanings: the vectors of facts.
        ends: (F, 2) positions of subject and object.
        is_live: (F,) whether the fact may seed. The others still say in which passage to look for
            what: on chats, with a quarter of the facts withheld, recall@5 was 77 with them in words
            and mentions, 69 without them; their fact edges added nothing.
        is_retired: (F,) whether another fact has replaced it.
        fact_passages, passage_facts: which passage states which fact.
        entity_facts: facts by end.
        mentions: (E,) number of passages whose facts name the entity, at least 1.
        is_hub: (E,) whether the entity is a hub.
        names, holders: entities whose name stands in a passage or its facts, and the inverse;
            without hubs.
        rarity: (E,) how telling a name is: nearly 1 in one passage, falling to 0; 0 in more than
            ``common_name``.
        about, subjects: entities that a passage is about, and the inverse; without hubs.
        synonyms: near entities by entity; ``synonym_cosines`` is aligned with its items.
        graph: what PageRank walks.
    """

    seq: int
    passages: tuple[Passage, ...]
    facts: tuple[Fact, ...]
    entities: tuple[Entity, ...]
    entity_place: Mapping[str, int]
    name_table: NameTable
    id_rank: Ints
    threads: Ints
    days: Floats
    speakers: tuple[str, ...]
    speaker: Ints
    asker: str | None
    is_person: Bools
    is_personal: Bools
    is_question: Bools
    tells_time: Bools
    hub_words: frozenset[str]
    postings: Postings
    meanings: DenseIndex
    fact_meanings: DenseIndex
    ends: Ints
    is_live: Bools
    is_retired: Bools
    fact_passages: Lists
    passage_facts: Lists
    entity_facts: Lists
    mentions: Floats
    is_hub: Bools
    names: Lists
    holders: Lists
    rarity: Floats
    about: Lists
    subjects: Lists
    synonyms: Lists
    synonym_cosines: Floats
    graph: KnowledgeGraph

    @property
    def covered_share(self) -> float:
        """Share of the passages that facts were read from."""
        has_facts = self.passage_facts.lengths > 0
        return float(has_facts.mean()) if len(has_facts) else 0.0


def build(
    seq: int,
    passages: Mapping[str, Passage],
    documents: Mapping[str, Document],
    facts: Mapping[str, Fact],
    fact_terms: Mapping[str, frozenset[str]],
    name_table: NameTable,
    found_names: Mapping[str, frozenset[str]],
    vectors: Mapping[VectorKind, VectorTable],
    near: NearPairs,
    settings: RecallSettings,
) -> Snapshot:
    """The snapshot of these rows.

    Args:
        seq: what they are up to date with.
        passages: by id.
        documents: the same passages, read.
        facts: by id, of any status.
        fact_terms: the same facts' terms.
        name_table: names of the entities.
        found_names: entities whose name stands in the text, by passage id.
        vectors: by kind and id; missing ones are zero.
        near: pairs of entities with similar names.
        settings: the constants.
    """
    ordered = tuple(in_order(passages.values()))
    place = {passage.id: position for position, passage in enumerate(ordered)}
    read = [documents[passage.id] for passage in ordered]
    known = tuple(
        facts[key]
        for key in sorted(facts)
        if facts[key].status != "rejected" and any(p in place for p in facts[key].passages)
    )
    entities = _entities(known)
    entity_place = {entity.id: position for position, entity in enumerate(entities)}
    size, fact_count, entity_count = len(ordered), len(known), len(entities)

    _, threads = _codes([passage.thread or passage.id for passage in ordered])
    speakers, speaker = _codes([passage.speaker for passage in ordered])
    hubs = _hubs(speakers, speaker, settings.hub_share)
    hub_words = frozenset(word for hub in hubs for word in words(hub))
    is_hub = np.zeros(entity_count, dtype=np.bool_)
    for hub in hubs:
        hub_id = content_id("e", normal_form(hub))
        if hub_id in entity_place:
            is_hub[entity_place[hub_id]] = True

    ends = np.array(
        [(entity_place[fact.subject_id], entity_place[fact.object_id]) for fact in known],
        dtype=np.int64,
    ).reshape(-1, 2)
    is_live = np.array([fact.is_live for fact in known], dtype=np.bool_)
    stated = [
        (position, place[passage])
        for position, fact in enumerate(known)
        for passage in fact.passages
        if passage in place
    ]
    pairs = np.array(stated, dtype=np.int64).reshape(-1, 2)
    fact_passages = Lists.of(pairs[:, 0], pairs[:, 1], fact_count)
    passage_facts = fact_passages.inverse(size)
    numbers = np.arange(fact_count)
    entity_facts = Lists.of(ends.ravel(), np.repeat(numbers, 2), entity_count)

    stated_by, mentioned, times = _mentions(passage_facts, ends, entity_count)
    mentions = np.maximum(1.0, np.bincount(mentioned, minlength=entity_count).astype(np.float64))
    about = _about(read, entity_place, is_hub, stated_by, mentioned, times)
    names = _names(ordered, found_names, entity_place, is_hub, stated_by, mentioned)
    holders = names.inverse(entity_count)
    synonyms, cosines = _synonyms(entities, entity_place, is_hub, near, settings.synonyms_kept)
    graph = KnowledgeGraph.of(
        entity_count,
        size,
        Edges.join(
            _fact_edges(ends, is_live, is_hub, fact_passages),
            _mention_edges(stated_by, mentioned, is_hub, about, settings.about_weight),
            _synonym_edges(synonyms, cosines),
        ),
    )
    window = dict(settings.window)
    hub_terms = frozenset(terms(sorted(hub_words)))
    return Snapshot(
        seq=seq,
        passages=ordered,
        facts=known,
        entities=entities,
        entity_place=entity_place,
        name_table=name_table,
        id_rank=ranks([passage.id for passage in ordered]),
        threads=threads,
        days=_days(ordered),
        speakers=speakers,
        speaker=speaker,
        asker=_asker(ordered),
        is_person=np.array([one.role in ("user", "document") for one in ordered], dtype=np.bool_),
        is_personal=_flags(ordered, [document.manner.is_personal for document in read]),
        is_question=_flags(ordered, [document.manner.is_question for document in read]),
        tells_time=_flags(ordered, [document.manner.tells_time for document in read]),
        hub_words=hub_words,
        postings=Postings.of(
            [
                _with_fact_terms(document.terms, stated_terms, hub_terms)
                for document, stated_terms in zip(
                    read, _stated_terms(known, passage_facts, fact_terms), strict=True
                )
            ],
            threads,
            window,
        ),
        meanings=DenseIndex(_windowed(vectors["passage"].take(list(place)), threads, window)),
        fact_meanings=DenseIndex(vectors["fact"].take([fact.id for fact in known])),
        ends=ends,
        is_live=is_live,
        is_retired=np.array([fact.retired_at is not None for fact in known], dtype=np.bool_),
        fact_passages=fact_passages,
        passage_facts=passage_facts,
        entity_facts=entity_facts,
        mentions=mentions,
        is_hub=is_hub,
        names=names,
        holders=holders,
        rarity=_rarity(holders, size, settings.common_name),
        about=about,
        subjects=about.inverse(entity_count),
        synonyms=synonyms,
        synonym_cosines=cosines,
        graph=graph,
    )


def _days(passages: Sequence[Passage]) -> Floats:
    """When each passage was said, in days since 1970; NaN where unknown."""
    return np.array(
        [p.said_at.timestamp() / 86400 if p.said_at else np.nan for p in passages], dtype=np.float64
    )


def _codes(values: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The distinct values, sorted, and each value's place among them; ``""`` has the place -1."""
    distinct = tuple(sorted(set(values) - {""}))
    place = {value: index for index, value in enumerate(distinct)} | {"": -1}
    return distinct, np.array([place[value] for value in values], dtype=np.int64)


def _entities(facts: Sequence[Fact]) -> tuple[Entity, ...]:
    """The facts' ends by id, each with the name used most, ties by name."""
    uses: dict[str, list[str]] = {}
    for fact in facts:
        uses.setdefault(fact.subject_id, []).append(fact.subject)
        uses.setdefault(fact.object_id, []).append(fact.object)
    return tuple(Entity(key, _most_used(uses[key])) for key in sorted(uses))


def _most_used(names: Sequence[str]) -> str:
    distinct = set(names)
    return min(distinct, key=lambda name: (-names.count(name), name))


def _hubs(speakers: Sequence[str], speaker: Ints, share: float) -> tuple[str, ...]:
    spoken = np.bincount(speaker[speaker >= 0], minlength=len(speakers))
    least = share * spoken.sum()
    return tuple(
        name for name, count in zip(speakers, spoken.tolist(), strict=True) if count >= least
    )


def _asker(passages: Sequence[Passage]) -> str | None:
    users = {passage.speaker for passage in passages if passage.role == "user" and passage.speaker}
    return users.pop() if len(users) == 1 else None


def _flags(passages: Sequence[Passage], values: Sequence[bool]) -> Bools:
    """The values where somebody speaks, False for documents."""
    return np.array(
        [value and bool(passage.speaker) for passage, value in zip(passages, values, strict=True)],
        dtype=np.bool_,
    )


def _stated_terms(
    facts: Sequence[Fact], passage_facts: Lists, fact_terms: Mapping[str, frozenset[str]]
) -> list[list[frozenset[str]]]:
    """For each passage, the terms of each fact that it states."""
    by_fact = [fact_terms[fact.id] for fact in facts]
    return [
        [by_fact[fact] for fact in passage_facts[position].tolist()]
        for position in range(len(passage_facts))
    ]


def _with_fact_terms(
    own: Mapping[str, int], stated: Sequence[frozenset[str]], hub_terms: frozenset[str]
) -> dict[str, int]:
    """A passage's terms, and once each those of its facts that it lacks: pronouns get resolved."""
    counts = {term: count for term, count in own.items() if term not in hub_terms}
    for fact in stated:
        for term in fact:
            if term not in own and term not in hub_terms:
                counts[term] = 1
    return counts


def _windowed(
    rows: NDArray[np.float32], threads: Ints, window: Mapping[int, float]
) -> NDArray[np.float32]:
    """Each vector with its neighbours' by weight, brought back to unit length."""
    if not rows.size or len(np.unique(threads)) == len(threads):
        return rows
    total = spread(rows.T.astype(np.float64), threads, window).T
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (total / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    return scaled


def _mentions(passage_facts: Lists, ends: Ints, entity_count: int) -> tuple[Ints, Ints, Ints]:
    """(passage, entity, number of the passage's facts that name it), by passage, then entity."""
    owners = np.repeat(passage_facts.owners, 2)
    keys, times = np.unique(
        owners * max(1, entity_count) + ends[passage_facts.items].ravel(), return_counts=True
    )
    stated_by, mentioned = np.divmod(keys, max(1, entity_count))
    return stated_by, mentioned, times


def _about(
    documents: Sequence[Document],
    entity_place: Mapping[str, int],
    is_hub: Bools,
    stated_by: Ints,
    mentioned: Ints,
    times: Ints,
) -> Lists:
    """What each passage is about: its title's entity, else the entities in most of its facts."""
    size = len(documents)
    titled = [
        (position, entity_place[document.title_id])
        for position, document in enumerate(documents)
        if document.title_id in entity_place
    ]
    title_pairs = np.array(titled, dtype=np.int64).reshape(-1, 2)
    has_title = np.zeros(size, dtype=np.bool_)
    has_title[title_pairs[:, 0]] = True
    counts = ~is_hub[mentioned] & ~has_title[stated_by]
    most = np.zeros(size, dtype=np.int64)
    np.maximum.at(most, stated_by[counts], times[counts])
    counts &= times == most[stated_by]
    owners = np.concatenate([title_pairs[:, 0], stated_by[counts]])
    items = np.concatenate([title_pairs[:, 1], mentioned[counts]])
    keep = ~is_hub[items]
    return Lists.of(owners[keep], items[keep], size)


def _names(
    passages: Sequence[Passage],
    found_names: Mapping[str, frozenset[str]],
    entity_place: Mapping[str, int],
    is_hub: Bools,
    stated_by: Ints,
    mentioned: Ints,
) -> Lists:
    """Entities named by a passage, in its facts or in its text, hubs left out."""
    found = [
        (position, entity_place[entity])
        for position, passage in enumerate(passages)
        for entity in found_names.get(passage.id, ())
        if entity in entity_place
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    owners = np.concatenate([stated_by, pairs[:, 0]])
    items = np.concatenate([mentioned, pairs[:, 1]])
    keep = ~is_hub[items]
    return Lists.of(owners[keep], items[keep], len(passages))


def _rarity(holders: Lists, size: int, common: int) -> Floats:
    """ln((P + 1) / holders) / ln(P + 2), below 1; 0 for names that nobody or too many hold."""
    lengths = holders.lengths.astype(np.float64)
    is_telling = (lengths > 0) & (lengths <= common)
    rarity = np.log((size + 1) / np.maximum(lengths, 1)) / np.log(size + 2)
    return np.where(is_telling, rarity, 0.0)


def _synonyms(
    entities: Sequence[Entity],
    entity_place: Mapping[str, int],
    is_hub: Bools,
    near: NearPairs,
    most: int,
) -> tuple[Lists, Floats]:
    cosines: dict[tuple[int, int], float] = {}
    for position, entity in enumerate(entities):
        if is_hub[position]:
            continue
        for other_id, cosine in near.of(entity.id, most):
            other = entity_place.get(other_id, -1)
            if other >= 0 and not is_hub[other]:
                cosines[position, other] = cosines[other, position] = cosine
    pairs = np.array(sorted(cosines), dtype=np.int64).reshape(-1, 2)
    lists = Lists.of(pairs[:, 0], pairs[:, 1], len(entities))
    return lists, np.array([cosines[pair] for pair in sorted(cosines)], dtype=np.float64)


def _fact_edges(ends: Ints, is_live: Bools, is_hub: Bools, fact_passages: Lists) -> Edges:
    keep = is_live & ~is_hub[ends].any(axis=1)
    weights = fact_passages.lengths[keep].astype(np.float64)
    return Edges(ends[keep, 0], ends[keep, 1], weights)


def _mention_edges(
    stated_by: Ints, mentioned: Ints, is_hub: Bools, about: Lists, about_weight: float
) -> Edges:
    keep = ~is_hub[mentioned]
    passages, entities = stated_by[keep], mentioned[keep]
    width = len(is_hub)
    is_about = np.isin(passages * width + entities, about.owners * width + about.items)
    return Edges(entities, width + passages, np.where(is_about, about_weight, 1.0))


def _synonym_edges(synonyms: Lists, cosines: Floats) -> Edges:
    owners = synonyms.owners
    once = owners < synonyms.items
    return Edges(owners[once], synonyms.items[once], cosines[once])
