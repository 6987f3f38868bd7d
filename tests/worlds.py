"""Small memories as changes: passages, facts and vectors without a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from graphmem.identity import content_id, normal_form
from graphmem.index import Index
from graphmem.recall import Rows, question_text, recall
from graphmem.recall.past import Past
from graphmem.settings import RecallSettings
from graphmem.testing import HashEmbedder
from graphmem.types import (
    Changes,
    Embedder,
    Entity,
    Fact,
    Passage,
    Recall,
    Role,
    Scope,
    Status,
    Vectors,
)

OWNER = Scope("ana")


class Memory(Index):
    """An index with the rows that it was told of, in place of a store."""

    def update(self, changes: Changes) -> None:
        # As with a store, rows are there before the index knows them.
        if changes.is_whole or not hasattr(self, "rows"):
            self.rows = Rows({}, {}, {})
        self.rows.passages.update((one.id, one) for one in changes.passages)
        for one in changes.facts:
            self.rows.facts[one.id] = one
            for key, name in ((one.subject_id, one.subject), (one.object_id, one.object)):
                known = self.rows.entities.get(key)
                if known is None or name < known.name:
                    self.rows.entities[key] = Entity(key, name)
        super().update(changes)
        self.pair()
        told = {one.id for one in (*changes.passages, *changes.facts)}
        for key in changes.removed - told:
            self.rows.passages.pop(key, None)
            self.rows.facts.pop(key, None)

    def read(self, passages, facts, entities) -> Rows:
        return Rows(
            {key: self.rows.passages[key] for key in passages if key in self.rows.passages},
            {key: self.rows.facts[key] for key in facts if key in self.rows.facts},
            {key: self.rows.entities[key] for key in entities if key in self.rows.entities},
        )


@dataclass(frozen=True)
class Said:
    """One passage and the triples it states; the id is the name a test calls it by."""

    id: str
    text: str
    triples: Sequence[tuple[str, str, str]] = ()
    speaker: str = ""
    session: str = ""
    said_at: datetime | None = None
    title: str = ""
    role: Role | None = None
    status: Status = "asserted"

    def passage(self, ordinal: int) -> Passage:
        return Passage(
            self.id,
            f"m-{self.id}",
            self.text,
            role=self.role or ("user" if self.speaker else "document"),
            speaker=self.speaker,
            session=self.session,
            thread=self.session or self.id,
            said_at=self.said_at,
            ordinal=ordinal,
            title=self.title,
        )


def entity_id(name: str) -> str:
    return content_id("e", normal_form(name))


def fact_id(subject: str, predicate: str, object_: str) -> str:
    return content_id("f", normal_form(subject), normal_form(predicate), normal_form(object_), "+")


def facts_of(said: Iterable[Said]) -> tuple[Fact, ...]:
    """Facts of the passages' triples, equal ones merged."""
    stating: dict[str, list[tuple[str, tuple[str, str, str], Status]]] = defaultdict(list)
    for one in said:
        for triple in one.triples:
            stating[fact_id(*triple)].append((one.id, triple, one.status))
    facts = []
    for key, rows in stating.items():
        subject, predicate, object_ = min(triple for _, triple, _ in rows)
        facts.append(
            Fact(
                key,
                entity_id(subject),
                entity_id(object_),
                subject,
                predicate,
                object_,
                status="asserted" if any(row[2] == "asserted" for row in rows) else rows[0][2],
                passages=tuple(sorted({row[0] for row in rows})),
            )
        )
    return tuple(facts)


@dataclass
class World:
    """Passages in order, as the changes that a store would report of them."""

    said: Sequence[Said]
    embedder: Embedder | None = field(default_factory=HashEmbedder)

    def changes(self, seq: int = 1) -> Changes:
        passages = tuple(one.passage(number) for number, one in enumerate(self.said))
        facts = facts_of(self.said)
        return Changes(seq, passages, facts, self.vectors(passages, facts), is_whole=True)

    def vectors(self, passages: Sequence[Passage], facts: Sequence[Fact]) -> dict:
        if self.embedder is None:
            return {}
        names = {fact.subject_id: fact.subject for fact in facts}
        names |= {fact.object_id: fact.object for fact in facts}
        texts = {
            "passage": {one.id: one.full_text for one in passages},
            "fact": {one.id: one.text for one in facts},
            "entity": names,
        }
        return {
            kind: Vectors(tuple(table), self.embedder.embed(list(table.values())))
            for kind, table in texts.items()
        }

    def index(self) -> Memory:
        index = Memory()
        index.update(self.changes())
        return index


def ask(
    index: Memory,
    query: str,
    *,
    embedder: Embedder | None = HashEmbedder(),  # noqa: B008 - counts calls, nothing else
    top_k: int = 5,
    settings: RecallSettings = RecallSettings(),  # noqa: B008 - frozen
    session: str | None = None,
    past: Past | None = None,
) -> Recall:
    vector = None if embedder is None else embedder.embed_query(question_text(index, query))
    return recall(
        index,
        query,
        vector,
        index.read,
        scope=OWNER,
        top_k=top_k,
        settings=settings,
        session=session,
        past=past,
    )


def ids(found: Recall) -> list[str]:
    return [one.passage.id for one in found]
