"""The derived index of one scope: what recall reads, kept up to date in place.

Everything is an array by position, so that a change costs what it holds and no more; texts are not
kept: what is shown is read from the store. The index is a function of the rows it was told of,
whatever the order and the portions in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphmem.index import profiles
from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.document import Document, name_terms, name_words
from graphmem.index.entities import Entities
from graphmem.index.facts import Facts, Told
from graphmem.index.graph import Graph, entity_vertices, passage_vertices
from graphmem.index.keys import keys_of
from graphmem.index.lexicon import Lexicon, word_keys
from graphmem.index.lists import Bools, Floats, Ints, among, each_once
from graphmem.index.passages import Passages
from graphmem.index.profiles import Pairs
from graphmem.index.relations import GRAIN, Relation
from graphmem.index.senses import Senses
from graphmem.index.yielding import YieldingLock
from graphmem.settings import RecallSettings
from graphmem.types import Changes, Fact, Passage, VectorKind, Vectors

__all__ = ["Index"]


class Index(Composite):
    """What recall needs to know of one scope.

    ``update``, and all that reads, need ``lock``, which is never held for long.

    Args:
        settings: the constants; those of indexing count here.

    Attributes:
        lock: for whoever changes or reads it.
        seq: the log sequence number of the newest changes; 0 before any.
        passages, facts, entities, lexicon, graph: see there.
        named, holders: passage → entities whose name stands in it or its facts, and the inverse.
        topics, subjects: passage → entities that it is about, and the inverse; without hubs.
        senses: the vectors of each kind.
    """

    parts = ("passages", "facts", "entities", "lexicon", "graph", "named", "holders", "topics",
             "subjects", "_unpaired", "_covered", "_heard", "_length")  # fmt: skip

    def __init__(self, settings: RecallSettings = RecallSettings()) -> None:  # noqa: B008 - frozen
        self.settings = settings
        self.lock = YieldingLock()
        self._offsets = tuple(offset for offset, _ in settings.window if offset)
        self._clear()

    def _clear(self) -> None:
        self.seq = 0
        self.passages = Passages(self.settings.hub_share)
        self.facts = Facts()
        self.entities = Entities(self.settings.longest_name)
        self.lexicon = Lexicon()
        self.graph = Graph()
        self.named, self.holders = Relation(weights=False), Relation(weights=False)
        self.topics, self.subjects = Relation(weights=False), Relation(weights=False)
        self.senses: dict[VectorKind, Senses] = {
            "passage": Senses(np.int16, is_searched=True),
            "fact": Senses(np.int8),
            "entity": Senses(np.int16, is_searched=True),
        }
        self._unpaired = Column(np.int32)  # entities whose names were not compared yet
        self._covered = Column(np.bool_)  # by passage: whether it states a fact
        self._heard = Column(np.float64)  # by passage: terms of its window
        self._length = Column(np.float64)  # by passage: length of its window's vector
        self._mean_heard: float | None = None  # None: to be computed
        self._rarity: tuple[int, Floats] = (-1, np.zeros(0))  # for so many passages

    def __len__(self) -> int:
        """Number of passages."""
        return self.passages.here

    @property
    def entries(self) -> int:
        """Number of positions of all kinds."""
        return len(self.passages) + len(self.facts) + len(self.entities)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, without what is mapped from files."""
        return super().nbytes + sum(senses.nbytes for senses in self.senses.values())

    # -- reading ---------------------------------------------------------------------------------

    @property
    def hub_words(self) -> frozenset[str]:
        """Words of the hubs' names."""
        return self.passages.speakers.hub_words

    @property
    def covered_share(self) -> float:
        """Share of the passages that facts were read from."""
        return float(np.count_nonzero(self._covered.values)) / max(1, self.passages.here)

    @property
    def hubs(self) -> Ints:
        """Entities that are hubs, ascending."""
        return self.graph.hubs // 2

    def is_hub(self, entities: Ints) -> Bools:
        """Whether they are hubs."""
        return self.graph.is_hub(entity_vertices(entities))

    def _find_hubs(self) -> Ints:
        found = self.entities.ids.find(self.passages.speakers.hub_entities)
        return np.sort(found[found >= 0])

    def heard(self, passages: Ints) -> Floats:
        """Number of terms in each passage's window, neighbours' by weight."""
        return self._heard.values[passages]

    @property
    def mean_heard(self) -> float:
        """Mean of ``heard`` over all passages."""
        if self._mean_heard is None:
            self._mean_heard = float(self._heard.values.sum()) / max(1, self.passages.here)
        return self._mean_heard

    def window_length(self, passages: Ints) -> Floats:
        """Length of the weighted sum of each passage's and its neighbours' vectors."""
        return self._length.values[passages]

    def rarity(self, entities: Ints) -> Floats:
        """How telling a name is: nearly 1 in one passage, falling to 0.

        ln((P + 1) / holders) / ln(P + 2); 0 for names that nobody or too many hold, and for hubs.
        """
        held = self.entities.held(entities)
        table = self._rarities()
        rarity = table.take(np.minimum(held, len(table) - 1))
        rarity[self.is_hub(entities)] = 0.0
        return rarity

    def _rarities(self) -> Floats:
        """By number of holders; the last is that of too many."""
        size, known = self._rarity
        if size != self.passages.here:
            size = self.passages.here
            held = np.arange(1, min(self.settings.common_name, size) + 1)
            known = np.zeros(len(held) + 2)
            known[1:-1] = np.log((size + 1) / held) / np.log(size + 2)
            self._rarity = size, known
        return known

    # -- changing --------------------------------------------------------------------------------

    def update(self, changes: Changes) -> None:
        """Learn what changed. The same changes twice do no harm.

        Raises:
            EmbeddingError: vectors that do not fit the ones already here; nothing was changed.
        """
        documents = [Document.of(one) for one in changes.passages]
        with self.lock.yielding():
            if changes.is_whole:
                self._clear()
            for kind, vectors in changes.vectors.items():
                self.senses[kind].check(vectors.ids, vectors.rows)
            retold = moved = _NONE
            if changes.passages or changes.facts or changes.removed:
                retold, moved = self._learn(changes, documents)
            put = [self._put(kind, changes.vectors[kind]) for kind in sorted(changes.vectors)]
            self._listen(np.concatenate([retold, moved]))
            self._sense(np.concatenate([moved, *put]))
            self.seq = max(self.seq, changes.seq)

    def _learn(self, changes: Changes, documents: Sequence[Document]) -> tuple[Ints, Ints]:
        """Take rows in; returns passages that tell others, and that came or stand beside others."""
        removed = sorted(changes.removed)
        gone = self._gone(removed, changes.passages, documents)
        told = [self._withdraw(gone)]
        new, moved = self._admit(changes.passages, documents)
        shifted = self.passages.threads.arrange(np.concatenate([gone, new, moved]))
        said, touched = self._tell(changes.facts, removed)
        told.append(said)
        touched += [gone, new, *(one.passages for one in told), *self._settle(told)]
        touched.append(self._turn())
        retold = each_once(np.concatenate(touched))
        self._profile(retold)
        self.lexicon.drop_passages(gone)
        return retold, np.concatenate([gone, new, shifted])

    def _gone(
        self, removed: Sequence[str], passages: Sequence[Passage], documents: Sequence[Document]
    ) -> Ints:
        """Passages that were removed, or have another text now."""
        gone = self.passages.ids.find(removed).tolist()
        for passage, document in zip(passages, documents, strict=True):
            position = self.passages.ids.get(passage.id)
            if position >= 0 and not self.lexicon.is_worded(position, word_keys(document.words)):
                gone.append(position)
        return _here(gone)

    def _withdraw(self, gone: Ints) -> Told:
        told = self.facts.unlink(gone)
        self.passages.leave(gone)
        self.entities.names.unread(gone)
        self.senses["passage"].drop(gone)
        return told

    def _admit(
        self, passages: Sequence[Passage], documents: Sequence[Document]
    ) -> tuple[Ints, Ints]:
        """Positions of new passages, and of those that were known."""
        positions = self.passages.ids.find([one.id for one in passages]).tolist()
        fresh: list[tuple[Passage, Document]] = []
        for position, passage, document in zip(positions, passages, documents, strict=True):
            if position >= 0:
                self.passages.move(position, passage)
            else:
                fresh.append((passage, document))
        return self._read(*zip(*fresh, strict=True)) if fresh else _NONE, _here(positions)

    def _read(self, passages: Sequence[Passage], documents: Sequence[Document]) -> Ints:
        """Positions of passages, which are new."""
        new = self.passages.add(passages, documents)
        titles = list({one.title_id for one in documents if one.title_id})
        self.passages.name_titles(titles, self.entities.ids.find(titles))
        texts = [word_keys(one.words) for one in documents]
        self.lexicon.add_passages(texts, [one.terms for one in documents])
        self.entities.names.read(new, texts)
        size = len(self.passages)
        for column in (self._covered, self._heard, self._length):
            column.resize(size)
        self.senses["passage"].reserve(size)
        self.passages.enter(new)
        return new

    def _tell(self, rows: Sequence[Fact], removed: Sequence[str]) -> tuple[Told, list[Ints]]:
        """What facts that came or went change, and the passages that new names touch."""
        texts = keys_of(one.text for one in rows)
        every = self.facts.ids.find([one.id for one in rows])
        is_new = every < 0
        reworded = ~is_new & (self.facts.words(every) != texts) if len(self.facts) else is_new
        gone = [self.facts.ids.find(removed), every[reworded & ~is_new]]
        self.facts.ids.drop(self.facts.ids.texts(gone[1]))
        fresh = (is_new | reworded).nonzero()[0]
        touched: list[Ints] = []
        if len(fresh):
            new = [rows[place] for place in fresh.tolist()]
            ends, touched = self._name(new)
            every[fresh] = self.facts.add(new, ends, texts[fresh])
            self.lexicon.add_facts([_terms(one) for one in new])
        self.graph.reserve(len(self.entities), len(self.passages))
        self.graph.turn(entity_vertices(self._find_hubs()))
        self.senses["fact"].reserve(len(self.facts))
        self.senses["entity"].reserve(len(self.entities))
        told = self.facts.tell(
            every, rows, self.passages.ids, _besides(np.concatenate(gone), every)
        )
        return told, touched

    def _name(self, facts: Sequence[Fact]) -> tuple[Ints, list[Ints]]:
        """The entities at the facts' ends, (n, 2), and the passages that new ones touch."""
        names: dict[str, str] = {}
        for one in facts:
            names.setdefault(one.subject_id, one.subject)
            names.setdefault(one.object_id, one.object)
        ids = list(names)
        positions = self.entities.ids.find(ids)
        fresh = (positions < 0).nonzero()[0]
        touched = []
        if len(fresh):
            new = [ids[place] for place in fresh.tolist()]
            named = [name_words[names[id_]] for id_ in new]
            positions[fresh], numbers, unheard = self.entities.add(new, named)
            touched = [self.passages.name_titles(new, positions[fresh])]
            looked_for = (numbers >= 0).nonzero()[0]
            which, holding = self.lexicon.with_words([named[at] for at in looked_for.tolist()])
            here = self.passages.is_here[holding]
            which, holding = looked_for[which[here]], holding[here]
            is_unheard = among(unheard, which)
            self.entities.names.stand(numbers[which[is_unheard]], holding[is_unheard])
            touched.append(holding)
        position = dict(zip(ids, positions.tolist(), strict=True))
        ends = [(position[one.subject_id], position[one.object_id]) for one in facts]
        return np.array(ends, dtype=np.int64), touched

    def _settle(self, told: Sequence[Told]) -> list[Ints]:
        """Edges, and what nothing names any more; returns passages that this touches."""
        ends = []
        for one in told:
            facts, change = one.edges
            pairs = self.facts.ends(facts)
            self.graph.add(entity_vertices(pairs[:, 0]), entity_vertices(pairs[:, 1]), change)
            for some, by in ((one.came, 1), (one.went, -1)):
                ends.append(self.facts.ends(some).ravel())
                self.entities.use(ends[-1], by)
        silent = self.facts.silent(np.concatenate([part for one in told for part in (one.every,)]))
        ends.append(self.facts.ends(silent).ravel())
        self.senses["fact"].drop(silent)
        self.lexicon.drop_facts(silent)
        self.facts.drop(silent)
        unused = self.entities.unused(np.concatenate(ends))
        gone = np.full(len(unused), -1)
        touched = [
            self.holders.gather(unused)[1],
            self.passages.name_titles(self.entities.ids.texts(unused), gone),
        ]
        self._unpair(unused)
        self.senses["entity"].drop(unused)
        self.entities.drop(unused)
        return touched

    def _turn(self) -> Ints:
        """Who is a hub may have changed; returns the passages that this touches."""
        speakers = self.passages.speakers
        entities, unheard = set(speakers.hub_entities), set(speakers.hub_terms)
        if not speakers.find_hubs():
            return _NONE
        self.graph.turn(entity_vertices(self._find_hubs()))
        entities ^= set(speakers.hub_entities)
        unheard ^= set(speakers.hub_terms)
        found = self.entities.ids.find(sorted(entities))
        touched = [self.holders.gather(found[found >= 0])[1]]
        touched.append(self.lexicon.holders(self.lexicon.terms(sorted(unheard)))[1])
        return np.concatenate(touched)

    def _profile(self, passages: Ints) -> None:
        """Bring in line what passages name and are about, and their edges, with their facts."""
        places, facts, _ = self.facts.stated.gather(passages)
        unheard = self.lexicon.terms(self.passages.speakers.hub_terms)
        self.lexicon.retell(passages, places, facts, unheard)
        covered = np.zeros(len(passages), dtype=np.bool_)
        covered[places] = True
        self._covered.values[passages] = covered
        told = profiles.mentions(places, self.facts.ends(facts))
        topics = profiles.about(len(passages), told, self.passages.titles(passages), self.is_hub)
        read_places, read = self.entities.names.named_in(passages)
        named = profiles.distinct(
            np.concatenate([told.places, read_places]), np.concatenate([told.items, read])
        )
        self._change(self.topics, self.subjects, passages, topics)
        held = self._change(self.named, self.holders, passages, named)
        self.entities.count(self._mention(passages, told, topics), held)

    def _change(
        self, relation: Relation, inverse: Relation, passages: Ints, after: Pairs
    ) -> tuple[Ints, Floats]:
        """Make the passages' rows what they shall be; returns (items, changes)."""
        places, items, values = relation.gather(passages)
        change = profiles.changed(Pairs(places, items, values), after)
        relation.add(passages[change.places], change.items, change.values)
        inverse.add(change.items, passages[change.places], change.values)
        return change.items, change.values

    def _mention(self, passages: Ints, told: Pairs, topics: Pairs) -> tuple[Ints, Floats]:
        """Mention edges; returns (entities, change of the number of passages that mention it)."""
        width = len(self.entities)
        is_topic = among(topics.places * width + topics.items, told.places * width + told.items)
        weights = np.where(is_topic, self.settings.about_weight, 1.0)
        places, vertices, before = self.graph.weights(passage_vertices(passages))
        had = Pairs(places, vertices // 2, before)
        change = profiles.changed(had, Pairs(told.places, told.items, weights))
        self.graph.add(
            passage_vertices(passages[change.places]), entity_vertices(change.items), change.values
        )
        count = profiles.changed(
            Pairs(had.places, had.items, np.ones(len(had))),
            Pairs(told.places, told.items, np.ones(len(told))),
        )
        return count.items, count.values

    def _put(self, kind: VectorKind, vectors: Vectors) -> Ints:
        """Take vectors in; returns the passages that have another one than before."""
        tables = {"passage": self.passages.ids, "fact": self.facts.ids, "entity": self.entities.ids}
        positions = tables[kind].find(vectors.ids)
        known = positions >= 0
        changed = self.senses[kind].put(positions[known], vectors.rows[known])
        if kind == "entity":
            self._unpair(changed)
            self._unpaired.append(changed)
        return changed if kind == "passage" else _NONE

    def _unpair(self, entities: Ints) -> None:
        one, other, cosines = self.entities.pairs_of(entities)
        self.entities.join(one, other, -cosines)
        self.graph.add(entity_vertices(one), entity_vertices(other), -cosines)

    def sweep(self) -> None:
        """Let nothing be left of what is gone but empty positions."""
        with self.lock:
            self.lexicon.sweep()
            self.entities.names.sweep()
            self.passages.sweep()

    @property
    def unpaired(self) -> int:
        """Number of entities whose names were not compared with the others yet."""
        return len(self._unpaired)

    def pair(self, most: int | None = None) -> int:
        """Look for similar names of entities that came since; returns how many are left.

        They are looked for beside readers; the owner may not update meanwhile.

        Args:
            most: so many entities at most.
        """
        waiting = self._unpaired.values
        if not len(waiting):
            return 0
        now = waiting[: len(waiting) if most is None else most].astype(np.int64)
        left = waiting[len(now) :].copy()
        senses = self.senses["entity"]
        now = each_once(now[senses.has(now)])
        which, others, cosines = senses.near(now, self.settings.synonym_cosine)
        one = now[which]
        once = (one < others) | ~among(now, others)
        one, others = one[once], others[once]
        # To what the graph keeps, so that what is added is what may be taken away.
        cosines = np.rint(cosines[once] / GRAIN) * GRAIN
        with self.lock.yielding():
            # Whoever was compared before has found those that were still waiting.
            self._unpair(now)
            self.entities.join(one, others, cosines)
            self.graph.add(entity_vertices(one), entity_vertices(others), cosines)
            self._unpaired = Column(np.int32, values=left)
        return len(left)

    def _seeing(self, passages: Ints) -> tuple[Ints, dict[int, Ints]]:
        """Who sees passages that have changed, and who stands around those."""
        # Whoever sees beyond a gap sees others than before, even if not what stood in it.
        reach = max((abs(offset) for offset in self._offsets), default=0)
        seeing = self.passages.threads.near(each_once(passages), range(-reach, reach + 1))
        return seeing, self.passages.threads.around(seeing, self._offsets)

    def _listen(self, passages: Ints) -> None:
        """How many terms stand in windows with passages that tell others, or came or moved."""
        if not len(passages):
            return
        seeing, around = self._seeing(passages)
        lengths = self.lexicon.lengths
        heard = self._weight * lengths[seeing]
        for offset, weight in self.settings.window:
            if offset:
                there = around[offset]
                heard += weight * np.where(there >= 0, lengths[there], 0.0)
        self._heard.values[seeing] = heard
        self._mean_heard = None

    def _sense(self, passages: Ints) -> None:
        """How long the sum of vectors is in windows with passages that have others, or moved."""
        if not len(passages):
            return
        seeing, around = self._seeing(passages)
        senses = self.senses["passage"]
        total = self._weight * senses.take(seeing)
        for offset, weight in self.settings.window:
            if offset and (around[offset] >= 0).any():
                total += np.float32(weight) * senses.take(around[offset])
        lengths = np.sqrt(np.einsum("pd,pd->p", total, total, dtype=np.float64))
        self._length.values[seeing] = lengths

    @property
    def _weight(self) -> float:
        return dict(self.settings.window)[0]


_NONE = np.zeros(0, dtype=np.int64)


def _terms(fact: Fact) -> frozenset[str]:
    """The terms of a fact."""
    return name_terms[fact.subject] | name_terms[fact.predicate] | name_terms[fact.object]


def _here(positions: Sequence[int]) -> Ints:
    """Those that there are, ascending, each once."""
    found = each_once(np.array(positions, dtype=np.int64))
    return found[found >= 0]


def _besides(positions: Ints, others: Ints) -> Ints:
    """Those that there are and that are none of the others, ascending, each once."""
    found = each_once(positions[positions >= 0])
    return found[~among(np.sort(others), found)]
