"""The words of a scope: which terms stand in which passage, and which words follow each other.

A passage has its own terms, and once each those of its facts that it lacks: pronouns get resolved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

import numpy as np

from graphmem.identity import key64
from graphmem.index.columns import Column, Ragged
from graphmem.index.composite import Composite
from graphmem.index.keys import Keys, KeyTable
from graphmem.index.lists import Floats, Ints, among, each_once
from graphmem.index.relations import Relation
from graphmem.memo import Memo
from graphmem.words import terms as terms_of

__all__ = ["Lexicon", "word_keys"]


class Lexicon(Composite):
    """Terms by passage and passages by term.

    Attributes:
        lengths: number of terms of each passage, those of hubs' names left out.
    """

    parts = ("_terms", "_holders", "_own", "_added", "_words", "_of_facts", "_lengths", "_counts")

    def __init__(self) -> None:
        self._terms = KeyTable()
        self._holders = Relation()  # term → passages, how often
        self._own = Ragged(np.int32)  # passage → its text's terms, as often as they stand there
        self._added = Relation(weights=False)  # passage → terms of its facts that its text lacks
        self._words = Ragged(np.uint32)  # passage → keys of its text's words, in order
        self._of_facts = Ragged(np.int32)  # fact → its terms
        self._lengths = Column(np.float64)
        self._counts = Column(np.int32)  # by term: number of passages that have it

    @property
    def lengths(self) -> Floats:
        """(P,) number of terms."""
        return self._lengths.values

    def add_passages(self, words: Sequence[Keys], terms: Sequence[Mapping[str, int]]) -> None:
        """The texts of the next passages: keys of their words, and how often each term occurs."""
        first = len(self._lengths)
        places = self._places(list(chain.from_iterable(terms)))
        counts = np.fromiter(chain.from_iterable(one.values() for one in terms), dtype=np.int64)
        distinct = np.array([len(one) for one in terms], dtype=np.int64)
        owners = np.repeat(np.arange(first, first + len(terms)), distinct)
        order = np.lexsort((places, owners))
        places, counts, owners = places[order], counts[order], owners[order]
        lengths = np.bincount(owners - first, weights=counts, minlength=len(terms))
        self._own.extend(np.repeat(places, counts), lengths.astype(np.int64))
        self._words.append([keys.astype(np.uint32) for keys in words])
        self._lengths.append(np.zeros(len(terms)))
        self._holders.add(places, owners, counts.astype(np.float64))
        np.add.at(self._counts.values, places, np.int32(1))

    def add_facts(self, terms: Sequence[Collection[str]]) -> None:
        """The terms of the next facts."""
        places = self._places(list(chain.from_iterable(terms)))
        self._of_facts.extend(places, np.array([len(one) for one in terms], dtype=np.int64))

    def is_worded(self, passage: int, words: Keys) -> bool:
        """Whether a passage's text is the words of these keys."""
        return np.array_equal(self._words[passage], words.astype(np.uint32))

    def drop_passages(self, passages: Ints) -> None:
        """Take out the texts of passages, which no fact has added terms to any more."""
        places, terms, counts = self._own_terms(passages)
        self._holders.add(terms, passages[places], -counts)
        np.subtract.at(self._counts.values, terms, 1)
        self._lengths.values[passages] = 0.0
        self._own.blank(passages)
        self._words.blank(passages)

    def sweep(self) -> None:
        """Forget the terms that no passage has any more."""
        self._terms.keep(self._counts.values > 0)

    def drop_facts(self, facts: Ints) -> None:
        """Forget the words of facts that no passage states any more."""
        self._of_facts.blank(facts)

    def retell(self, passages: Ints, places: Ints, facts: Ints, unheard: Ints) -> None:
        """The facts that passages state have changed.

        Args:
            passages: distinct.
            places: in ``passages``, of those that state a fact.
            facts: the facts that they state, aligned with ``places``.
            unheard: terms that do not count for a passage's length.
        """
        width = max(1, len(self._counts))
        of, terms = self._of_facts.gather(facts)
        stated = each_once(places[of] * width + terms)
        own_places, own_terms, own_counts = self._own_terms(passages)
        own = own_places * width + own_terms
        wanted = stated[~among(own, stated)]
        old_places, old_terms, _ = self._added.gather(passages)
        had = old_places * width + old_terms
        for keys, sign in (
            (wanted[~among(had, wanted)], 1),
            (had[~among(wanted, had)], -1),
        ):
            if len(keys):
                place, term = np.divmod(keys, width)
                weights = np.full(len(keys), float(sign))
                self._added.add(passages[place], term, weights)
                self._holders.add(term, passages[place], weights)
                np.add.at(self._counts.values, term, sign)
        unheard = np.sort(unheard)
        is_heard = ~among(unheard, own_terms)
        lengths = np.bincount(
            own_places[is_heard], weights=own_counts[is_heard], minlength=len(passages)
        )
        added_place, added_term = np.divmod(wanted, width)
        is_heard = ~among(unheard, added_term)
        lengths += np.bincount(added_place[is_heard], minlength=len(passages))
        self._lengths.values[passages] = lengths

    def terms(self, terms: Sequence[str]) -> Ints:
        """Places of terms; -1 where no passage or fact ever had it."""
        return self._terms.find(word_keys(terms))

    def holders(self, terms: Ints) -> tuple[Ints, Ints, Floats]:
        """(which of the terms, passage that has it, how often), by term, then passage."""
        return self._holders.gather(terms)

    def spread(self, terms: Ints) -> Ints:
        """Number of passages that have each term; a term at -1 nobody has."""
        if not len(self._counts):
            return np.zeros(len(terms), dtype=np.int64)
        return np.where(terms >= 0, self._counts.values[terms], 0)

    def with_words(self, names: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """The passages in whose text a name's words follow each other.

        Returns:
            (which of the names, passage), each pair once.
        """
        which, passages = self._maybe_with([terms_of(name) for name in names])
        of, found = self._words.gather(passages)
        lengths = np.array([len(name) for name in names], dtype=np.int64)
        firsts = np.cumsum(lengths) - lengths
        keys = word_keys(list(chain.from_iterable(names))).astype(np.uint32)
        starts = np.nonzero(found == keys[firsts[which]][of])[0] if len(of) else of
        for step in range(1, int(lengths.max(initial=0))):
            name = which[of[starts]]
            inside = np.minimum(starts + step, len(found) - 1)
            key = keys.take(firsts[name] + step, mode="clip")
            follows = (found[inside] == key) & (of[inside] == of[starts]) & (inside > starts)
            starts = starts[follows | (lengths[name] <= step)]
        pairs = each_once(of[starts])
        return which[pairs], passages[pairs]

    def _maybe_with(self, terms: Sequence[Collection[str]]) -> tuple[Ints, Ints]:
        """(which, passage): the passages that have the two rarest of some terms."""
        which, lengths = np.arange(len(terms)), np.array([len(one) for one in terms], dtype=int)
        owners = np.repeat(which, lengths)
        places = self.terms(list(chain.from_iterable(terms)))
        spread = self.spread(places)
        order = np.lexsort((places, spread, owners))
        firsts = np.cumsum(lengths) - lengths
        # A name with a word that nobody has stands nowhere.
        which = which[lengths > 0]
        which = which[spread[order[firsts[which]]] > 0]
        of, passages, _ = self._holders.gather(places[order[firsts[which]]])
        which, more = which[of], which[lengths[which] > 1]
        by, holding, _ = self._holders.gather(places[order[firsts[more] + 1]])
        size = max(1, len(self._lengths))
        has_both = among(more[by] * size + holding, which * size + passages)
        kept = has_both | (lengths[which] == 1)
        return which[kept], passages[kept]

    def _places(self, terms: Sequence[str]) -> Ints:
        """Places of terms, new ones among them."""
        places, fresh = self._terms.number(word_keys(terms), len(self._counts))
        self._counts.resize(len(self._counts) + len(fresh))
        return places

    def _own_terms(self, passages: Ints) -> tuple[Ints, Ints, Floats]:
        """(place, term, how often) of the passages' texts, ascending."""
        places, terms = self._own.gather(passages)
        is_first = np.ones(len(terms), dtype=np.bool_)
        is_first[1:] = (places[1:] != places[:-1]) | (terms[1:] != terms[:-1])
        firsts = is_first.nonzero()[0]
        counts = np.diff(firsts, append=len(terms))
        return places[firsts], terms[firsts].astype(np.int64), counts.astype(np.float64)


_keys: Memo[int] = Memo(key64, 1 << 17)


def word_keys(words: Sequence[str]) -> Keys:
    """A key for each word."""
    return np.array([_keys[word] for word in words], dtype=np.uint64)
