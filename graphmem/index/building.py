"""Building a snapshot: a scope's rows laid out as arrays.

A snapshot is a pure function of the passages, facts and vectors it is built from: everything is
sorted by id or by place in its thread first, so that the order of arrival leaves no trace, not even
in the last bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.identity import content_id, normal_form
from graphmem.index.dense import DenseIndex, NearPairs, VectorTable
from graphmem.index.document import Document
from graphmem.index.graph import Edges, KnowledgeGraph
from graphmem.index.lexical import Postings, spread
from graphmem.index.lists import Bools, Floats, Ints, Lists, ranks
from graphmem.index.names import NameTable
from graphmem.index.snapshot import Snapshot
from graphmem.settings import RecallSettings
from graphmem.threads import in_order
from graphmem.types import Entity, Fact, Passage, VectorKind
from graphmem.words import terms, words

__all__ = ["Rows", "build"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What an index knows of its scope, each thing read once.

    Attributes:
        passages: by id.
        documents: the same passages, read.
        facts: by id, of any status.
        fact_terms: the same facts' terms.
        name_table: names of the entities.
        found_names: entities whose name stands in the text, by passage id.
        vectors: by kind and id; missing ones count as zero.
        near: pairs of entities with similar names.
    """

    passages: Mapping[str, Passage]
    documents: Mapping[str, Document]
    facts: Mapping[str, Fact]
    fact_terms: Mapping[str, frozenset[str]]
    name_table: NameTable
    found_names: Mapping[str, frozenset[str]]
    vectors: Mapping[VectorKind, VectorTable]
    near: NearPairs


@dataclass(frozen=True, slots=True, eq=False)
class Mentions:
    """Which passages' facts name which entities, by passage, then entity; three arrays of a length.

    Attributes:
        passages, entities: positions.
        times: number of the passage's facts that name the entity.
    """

    passages: Ints
    entities: Ints
    times: Ints


def build(rows: Rows, settings: RecallSettings) -> Snapshot:
    """The snapshot of these rows."""
    passages = tuple(in_order(rows.passages.values()))
    place = {passage.id: position for position, passage in enumerate(passages)}
    documents = [rows.documents[passage.id] for passage in passages]
    facts = tuple(
        rows.facts[key]
        for key in sorted(rows.facts)
        if rows.facts[key].status != "rejected"
        and any(passage in place for passage in rows.facts[key].passages)
    )
    entities = _entities(facts)
    entity_place = {entity.id: position for position, entity in enumerate(entities)}

    _, threads = _codes([passage.thread or passage.id for passage in passages])
    speakers, speaker = _codes([passage.speaker for passage in passages])
    hubs = _hubs(speakers, speaker, settings.hub_share)
    hub_words = frozenset(word for hub in hubs for word in words(hub))
    is_hub = _is_hub(hubs, entity_place)
    window = dict(settings.window)
    vectors = rows.vectors["passage"].take(list(place))
    spoken = np.nonzero(speaker >= 0)[0]

    ends = _ends(facts, entity_place)
    is_live = np.array([fact.is_live for fact in facts], dtype=np.bool_)
    fact_passages = _stating(facts, place)
    passage_facts = fact_passages.inverse(len(passages))
    mentions = _mentions(passage_facts, ends, len(entities))
    about = _about(documents, entity_place, is_hub, mentions)
    names = _names(passages, rows.found_names, entity_place, is_hub, mentions)
    holders = names.inverse(len(entities))
    synonyms, cosines = _synonyms(entities, entity_place, is_hub, rows.near, settings.synonyms_kept)
    edges = Edges.join(
        _fact_edges(ends, is_live, is_hub, fact_passages),
        _mention_edges(mentions, is_hub, about, settings.about_weight),
        _synonym_edges(synonyms, cosines),
    )
    return Snapshot(
        passages=passages,
        facts=facts,
        entities=entities,
        entity_place=entity_place,
        name_table=rows.name_table,
        id_rank=ranks([passage.id for passage in passages]),
        threads=threads,
        days=_days(passages),
        speakers=speakers,
        speaker=speaker,
        asker=_asker(passages),
        is_person=np.array([one.role in ("user", "document") for one in passages], dtype=np.bool_),
        is_personal=_flags(passages, [document.manner.is_personal for document in documents]),
        is_question=_flags(passages, [document.manner.is_question for document in documents]),
        tells_time=_flags(passages, [document.manner.tells_time for document in documents]),
        hub_words=hub_words,
        postings=Postings.of(
            _all_terms(documents, facts, passage_facts, rows.fact_terms, hub_words),
            threads,
            window,
        ),
        meanings=DenseIndex(_windowed(vectors, threads, window)),
        spoken=spoken,
        own_meanings=DenseIndex(vectors[spoken]),
        fact_meanings=DenseIndex(rows.vectors["fact"].take([fact.id for fact in facts])),
        ends=ends,
        is_live=is_live,
        is_retired=np.array([fact.retired_at is not None for fact in facts], dtype=np.bool_),
        fact_passages=fact_passages,
        passage_facts=passage_facts,
        entity_facts=Lists.of(ends.ravel(), np.repeat(np.arange(len(facts)), 2), len(entities)),
        mentions=np.maximum(1.0, np.bincount(mentions.entities, minlength=len(entities))),
        is_hub=is_hub,
        names=names,
        holders=holders,
        rarity=_rarity(holders, len(passages), settings.common_name),
        about=about,
        subjects=about.inverse(len(entities)),
        synonyms=synonyms,
        synonym_cosines=cosines,
        graph=KnowledgeGraph.of(len(entities), len(passages), edges),
    )


def _entities(facts: Sequence[Fact]) -> tuple[Entity, ...]:
    """The facts' ends by id, each with the name used most, ties by name."""
    uses: dict[str, list[str]] = {}
    for fact in facts:
        uses.setdefault(fact.subject_id, []).append(fact.subject)
        uses.setdefault(fact.object_id, []).append(fact.object)
    return tuple(Entity(key, _most_used(uses[key])) for key in sorted(uses))


def _most_used(names: Sequence[str]) -> str:
    counts = Counter(names)
    return min(counts, key=lambda name: (-counts[name], name))


def _hubs(speakers: Sequence[str], speaker: Ints, share: float) -> tuple[str, ...]:
    spoken = np.bincount(speaker[speaker >= 0], minlength=len(speakers))
    least = share * spoken.sum()
    return tuple(
        name for name, count in zip(speakers, spoken.tolist(), strict=True) if count >= least
    )


def _is_hub(hubs: Sequence[str], entity_place: Mapping[str, int]) -> Bools:
    ids = [content_id("e", normal_form(hub)) for hub in hubs]
    is_hub = np.zeros(len(entity_place), dtype=np.bool_)
    is_hub[[entity_place[key] for key in ids if key in entity_place]] = True
    return is_hub


def _asker(passages: Sequence[Passage]) -> str | None:
    users = {passage.speaker for passage in passages if passage.role == "user" and passage.speaker}
    return users.pop() if len(users) == 1 else None


def _flags(passages: Sequence[Passage], values: Sequence[bool]) -> Bools:
    """The values where somebody speaks, False for documents."""
    return np.array(
        [value and bool(passage.speaker) for passage, value in zip(passages, values, strict=True)],
        dtype=np.bool_,
    )


def _ends(facts: Sequence[Fact], entity_place: Mapping[str, int]) -> Ints:
    places = [(entity_place[fact.subject_id], entity_place[fact.object_id]) for fact in facts]
    return np.array(places, dtype=np.int64).reshape(-1, 2)


def _stating(facts: Sequence[Fact], place: Mapping[str, int]) -> Lists:
    """For each fact, the passages that state it."""
    stated = [
        (position, place[passage])
        for position, fact in enumerate(facts)
        for passage in fact.passages
        if passage in place
    ]
    pairs = np.array(stated, dtype=np.int64).reshape(-1, 2)
    return Lists.of(pairs[:, 0], pairs[:, 1], len(facts))


def _all_terms(
    documents: Sequence[Document],
    facts: Sequence[Fact],
    passage_facts: Lists,
    fact_terms: Mapping[str, frozenset[str]],
    hub_words: frozenset[str],
) -> list[dict[str, int]]:
    """Each passage's terms with those of its facts, without the hubs' names."""
    hub_terms = frozenset(terms(sorted(hub_words)))
    by_fact = [fact_terms[fact.id] for fact in facts]
    return [
        _with_fact_terms(
            document.terms, [by_fact[fact] for fact in passage_facts[position].tolist()], hub_terms
        )
        for position, document in enumerate(documents)
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


def _mentions(passage_facts: Lists, ends: Ints, entity_count: int) -> Mentions:
    owners = np.repeat(passage_facts.owners, 2)
    width = max(1, entity_count)
    keys, times = np.unique(owners * width + ends[passage_facts.items].ravel(), return_counts=True)
    passages, entities = np.divmod(keys, width)
    return Mentions(passages, entities, times)


def _about(
    documents: Sequence[Document],
    entity_place: Mapping[str, int],
    is_hub: Bools,
    mentions: Mentions,
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
    counts = ~is_hub[mentions.entities] & ~has_title[mentions.passages]
    most = np.zeros(size, dtype=np.int64)
    np.maximum.at(most, mentions.passages[counts], mentions.times[counts])
    counts &= mentions.times == most[mentions.passages]
    owners = np.concatenate([title_pairs[:, 0], mentions.passages[counts]])
    items = np.concatenate([title_pairs[:, 1], mentions.entities[counts]])
    keep = ~is_hub[items]
    return Lists.of(owners[keep], items[keep], size)


def _names(
    passages: Sequence[Passage],
    found_names: Mapping[str, frozenset[str]],
    entity_place: Mapping[str, int],
    is_hub: Bools,
    mentions: Mentions,
) -> Lists:
    """Entities named by a passage, in its facts or in its text, hubs left out."""
    found = [
        (position, entity_place[entity])
        for position, passage in enumerate(passages)
        for entity in found_names.get(passage.id, ())
        if entity in entity_place
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    owners = np.concatenate([mentions.passages, pairs[:, 0]])
    items = np.concatenate([mentions.entities, pairs[:, 1]])
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


def _mention_edges(mentions: Mentions, is_hub: Bools, about: Lists, about_weight: float) -> Edges:
    keep = ~is_hub[mentions.entities]
    passages, entities = mentions.passages[keep], mentions.entities[keep]
    width = len(is_hub)
    is_about = np.isin(passages * width + entities, about.owners * width + about.items)
    return Edges(entities, width + passages, np.where(is_about, about_weight, 1.0))


def _synonym_edges(synonyms: Lists, cosines: Floats) -> Edges:
    owners = synonyms.owners
    once = owners < synonyms.items
    return Edges(owners[once], synonyms.items[once], cosines[once])


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
