"""What a recall reads: one scope's memory as arrays by position, never changed once built.

Positions mean something within one snapshot only and do not leave recall.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphmem.index.dense import DenseIndex
from graphmem.index.graph import KnowledgeGraph
from graphmem.index.lexical import Postings
from graphmem.index.lists import Bools, Floats, Ints, Lists
from graphmem.index.names import NameTable
from graphmem.types import Entity, Fact, Passage

__all__ = ["Snapshot"]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One scope's memory at one time. P passages, F facts and E entities by position.

    Attributes:
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
        spoken: positions of the passages that somebody speaks, ascending.
        own_meanings: their vectors without a window, in that order.
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
    spoken: Ints
    own_meanings: DenseIndex
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
