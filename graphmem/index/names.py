"""Names of entities in running text: which stand in a passage, which in a question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from graphmem.index.columns import Column, runs
from graphmem.index.composite import Composite
from graphmem.index.keys import Keys, KeyTable
from graphmem.index.lexicon import word_keys
from graphmem.index.lists import Ints, each_once
from graphmem.index.profiles import distinct
from graphmem.index.relations import Relation
from graphmem.words import STOP_WORDS

__all__ = ["Names", "is_nameable"]

_FIRST, _NEXT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def is_nameable(name: Sequence[str], longest: int) -> bool:
    """Whether a name's words are telling enough to be looked for in running text.

    One to ``longest`` words, not all of them stop words; a single word needs three characters.
    """
    if not 0 < len(name) <= longest or all(word in STOP_WORDS for word in name):
        return False
    return len(name) > 1 or len(name[0]) >= 3


class Names(Composite):
    """Names by their words; several entities may share one (``"U.S."`` and ``"u s"``).

    Args:
        longest: names of more words are not looked for.
    """

    parts = ("_table", "_reach", "_called", "_name", "_standing", "_count")

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._table = KeyTable()  # key of the words → number of the name
        self._reach = KeyTable()  # key of a word → words of the longest name that it begins
        self._called = Relation(weights=False)  # name → entities
        self._name = Column(np.int32)  # entity → name, or -1
        self._standing = Relation(weights=False)  # passage → names
        self._count = Column(np.int8)  # by name: 1

    def add(self, names: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """The names of the next entities.

        Returns:
            The number of each one's name, -1 where it is not looked for; and the places in
            ``names`` of those that nobody ever had: they must be looked for in the passages that
            are here (see ``stand``).
        """
        numbers = np.full(len(names), -1)
        looked_for = [at for at, name in enumerate(names) if is_nameable(name, self._longest)]
        fresh = np.zeros(0, dtype=np.int64)
        if looked_for:
            places = np.array(looked_for)
            lengths = np.array([len(names[at]) for at in looked_for])
            words = word_keys(list(chain.from_iterable(names[at] for at in looked_for)))
            starts = np.cumsum(lengths) - lengths
            first = len(self._count)
            found, new = self._table.number(_spans(words, starts, lengths), first)
            self._count.resize(first + len(new), 1)
            self._extend(words[starts[new]], lengths[new])
            numbers[places], fresh = found, places[new]
            self._called.add(found, len(self._name) + places)
        self._name.append(numbers)
        return numbers, fresh

    def _extend(self, words: Keys, lengths: Ints) -> None:
        """There are names of these lengths that begin with these words."""
        order = np.argsort(lengths)
        words, lengths = words[order], lengths[order]
        longer = lengths > self._reach.find(words)
        self._reach.add_many(words[longer], lengths[longer])

    def drop(self, entities: Ints) -> None:
        """Unlearn the names of entities."""
        numbers = self._name.values[entities].astype(np.int64)
        has_name = numbers >= 0
        self._called.add(numbers[has_name], entities[has_name], np.full(int(has_name.sum()), -1.0))
        self._name.values[entities] = -1

    def sweep(self) -> None:
        """Forget the names that no entity has any more."""
        is_kept = np.zeros(len(self._count), dtype=np.bool_)
        is_kept[self._name.values[self._name.values >= 0]] = True
        self._table.keep(is_kept)

    def stand(self, numbers: Ints, passages: Ints) -> None:
        """Names were found in passages that did not have them: pairs, each once."""
        self._standing.add(passages, numbers)

    def read(self, passages: Ints, texts: Sequence[Keys]) -> None:
        """Find the names in the texts of new passages, given as keys of their words."""
        of, _, _, numbers = self._matches(texts)
        found = distinct(of, numbers)
        self._standing.add(passages[found.places], found.items)

    def unread(self, passages: Ints) -> None:
        """Take passages out."""
        places, numbers, _ = self._standing.gather(passages)
        self._standing.add(passages[places], numbers, np.full(len(numbers), -1.0))

    def named_in(self, passages: Ints) -> tuple[Ints, Ints]:
        """(place, entity) for each entity whose name stands in a passage's text."""
        places, numbers, _ = self._standing.gather(passages)
        of, entities, _ = self._called.gather(numbers)
        return places[of], entities

    def longest_in(self, words: Sequence[str]) -> Ints:
        """Entities whose names stand in a text, without overlap: the longest, then the leftmost."""
        _, starts, lengths, numbers = self._matches([word_keys(words)])
        # A name that nobody has any more must not stand in the way of a shorter one.
        called = each_once(self._called.gather(numbers)[0])
        starts, lengths, numbers = starts[called], lengths[called], numbers[called]
        taken = np.zeros(len(words), dtype=np.bool_)
        chosen: list[int] = []
        for one in np.lexsort((starts, -lengths)).tolist():
            span = slice(starts[one], starts[one] + lengths[one])
            if not taken[span].any():
                taken[span] = True
                chosen.append(int(numbers[one]))
        return each_once(self._called.gather(np.array(chosen, dtype=np.int64))[1])

    def _matches(self, texts: Sequence[Keys]) -> tuple[Ints, Ints, Ints, Ints]:
        """(text, start, length, number) of every name in the texts that an entity has or had."""
        sizes = np.array([len(text) for text in texts], dtype=np.int64)
        words = np.concatenate([np.zeros(0, dtype=np.uint64), *texts])
        of, places = runs(np.zeros(len(texts), dtype=np.int64), sizes)
        most = np.minimum(np.maximum(self._reach.find(words), 0), sizes[of] - places)
        at, lengths = runs(np.ones(len(words), dtype=np.int64), most)
        numbers = self._table.find(_spans(words, at, lengths))
        known = (numbers >= 0).nonzero()[0]
        at = at[known]
        return of[at], places[at], lengths[known], numbers[known]


def _spans(words: Keys, starts: Ints, lengths: Ints) -> Keys:
    """A key for each run of words: where it starts, and its length, at least 1."""
    mixed = words[starts] * _FIRST
    for step in range(1, int(lengths.max(initial=0))):
        longer = (lengths > step).nonzero()[0]
        so_far = mixed[longer]
        so_far = (so_far ^ (so_far >> np.uint64(29))) * _NEXT
        mixed[longer] = so_far + words[starts[longer] + step]
    return mixed + lengths.astype(np.uint64)
