"""The derived index of one scope: kept up to date from changes, read as snapshots.

Each passage is read once, each name is looked for once: a change costs its own size, except that
the arrays of the snapshot are laid out anew at the first recall after it.
"""

from __future__ import annotations

import threading

from graphmem.index.building import Rows, build
from graphmem.index.dense import NearPairs, VectorTable
from graphmem.index.document import Document
from graphmem.index.names import NameTable, stands_in
from graphmem.index.snapshot import Snapshot
from graphmem.settings import RecallSettings
from graphmem.types import Changes, Fact, Passage, VectorKind, Vectors
from graphmem.words import terms, words

__all__ = ["Index"]


class Index:
    """What recall needs to know of one scope. Safe to update and read from several threads.

    Args:
        settings: the constants; those of indexing count here.
    """

    def __init__(self, settings: RecallSettings = RecallSettings()) -> None:  # noqa: B008 - frozen
        self.settings = settings
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._seq = 0
        self._passages: dict[str, Passage] = {}
        self._documents: dict[str, Document] = {}
        self._facts: dict[str, Fact] = {}
        self._fact_terms: dict[str, frozenset[str]] = {}
        self._uses: dict[str, set[str]] = {}
        self._with_word: dict[str, set[str]] = {}
        self._names = NameTable(self.settings.longest_name)
        self._found: dict[str, set[tuple[str, ...]]] = {}
        self._vectors: dict[VectorKind, VectorTable] = {
            "passage": VectorTable(),
            "fact": VectorTable(),
            "entity": VectorTable(),
        }
        self._near = NearPairs(self.settings.synonym_cosine)
        self._unpaired: set[str] = set()
        self._snapshot: Snapshot | None = None

    @property
    def seq(self) -> int:
        """The log sequence number of the newest changes; 0 before any."""
        return self._seq

    def __len__(self) -> int:
        """Number of passages."""
        return len(self._passages)

    def update(self, changes: Changes) -> None:
        """Learn what changed. The same changes twice do no harm.

        Raises:
            EmbeddingError: vectors that do not fit the ones already here; nothing was changed but
                what came before them.
        """
        with self._lock:
            if changes.is_whole:
                self._clear()
            touched: set[str] = set()
            for key in sorted(changes.removed):
                self._drop_passage(key)
                touched |= self._drop_fact(key)
            new_names = [name for fact in changes.facts for name in self._put_fact(fact)]
            for name in new_names:
                self._look_for(name)
            for passage in changes.passages:
                self._put_passage(passage)
            for kind, vectors in changes.vectors.items():
                self._put_vectors(kind, vectors)
            self._drop_orphans(touched)
            self._seq = max(self._seq, changes.seq)
            self._snapshot = None

    def snapshot(self) -> Snapshot:
        """The memory as it stands, built at the first call after a change."""
        with self._lock:
            if self._snapshot is None:
                self._pair_entities()
                rows = Rows(
                    self._passages,
                    self._documents,
                    self._facts,
                    self._fact_terms,
                    self._names.copy(),
                    {key: self._named(key) for key in self._passages},
                    self._vectors,
                    self._near,
                )
                self._snapshot = build(rows, self.settings)
            return self._snapshot

    def _put_passage(self, passage: Passage) -> None:
        known = self._passages.get(passage.id)
        self._passages[passage.id] = passage
        if known is not None and known.full_text == passage.full_text:
            return
        if known is not None:
            self._drop_words(passage.id)
            self._vectors["passage"].drop([passage.id])
        document = self._documents[passage.id] = Document.of(passage)
        for word in set(document.words):
            self._with_word.setdefault(word, set()).add(passage.id)
        self._found[passage.id] = self._names.all_in(document.words)

    def _drop_passage(self, key: str) -> None:
        if self._passages.pop(key, None) is not None:
            self._drop_words(key)
            self._vectors["passage"].drop([key])

    def _drop_words(self, key: str) -> None:
        for word in set(self._documents.pop(key).words):
            self._with_word[word].discard(key)
            if not self._with_word[word]:
                del self._with_word[word]
        del self._found[key]

    def _put_fact(self, fact: Fact) -> list[tuple[str, ...]]:
        """Learn a fact; returns the names that nothing had before."""
        known = self._facts.get(fact.id)
        if known is not None and known.text != fact.text:
            self._vectors["fact"].drop([fact.id])
        self._facts[fact.id] = fact
        self._fact_terms[fact.id] = frozenset(
            terms(words(f"{fact.subject}\n{fact.predicate}\n{fact.object}"))
        )
        new = []
        for entity_id, name in ((fact.subject_id, fact.subject), (fact.object_id, fact.object)):
            self._uses.setdefault(entity_id, set()).add(fact.id)
            name_words = self._names.add(entity_id, name)
            if name_words is not None:
                new.append(name_words)
        return new

    def _look_for(self, name: tuple[str, ...]) -> None:
        """Find a new name in the passages that are here already, by its rarest word."""
        holders = min((self._with_word.get(word, set()) for word in name), key=len)
        for key in holders:
            if len(name) == 1 or stands_in(name, self._documents[key].words):
                self._found[key].add(name)

    def _drop_fact(self, key: str) -> set[str]:
        """Forget a fact; returns the entities that it named."""
        fact = self._facts.pop(key, None)
        if fact is None:
            return set()
        del self._fact_terms[key]
        self._vectors["fact"].drop([key])
        ends = {fact.subject_id, fact.object_id}
        for entity_id in ends:
            self._uses[entity_id].discard(key)
            if not self._uses[entity_id]:
                del self._uses[entity_id]
        return ends

    def _named(self, key: str) -> frozenset[str]:
        """Entities whose name stands in the passage's text."""
        return frozenset().union(*(self._names.ids(name) for name in self._found[key]))

    def _put_vectors(self, kind: VectorKind, vectors: Vectors) -> None:
        changed = self._vectors[kind].put(vectors.ids, vectors.rows)
        if kind == "entity":
            self._unpaired.update(changed)

    def _pair_entities(self) -> None:
        entities = self._vectors["entity"]
        self._near.update(sorted(key for key in self._unpaired if key in entities), entities)
        self._unpaired.clear()

    def _drop_orphans(self, entity_ids: set[str]) -> None:
        """Forget what was known of entities that no fact names any more."""
        orphans = sorted(key for key in entity_ids if key not in self._uses)
        for key in orphans:
            self._names.drop(key)
        self._vectors["entity"].drop(orphans)
        self._near.drop(orphans)
