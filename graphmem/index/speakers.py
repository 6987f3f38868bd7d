"""Who speaks in a scope, and who of them is a hub."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphmem.identity import content_id, normal_form
from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.ids import Ids
from graphmem.index.lists import Ints
from graphmem.words import terms, words

__all__ = ["Speakers"]


class Speakers(Composite):
    """Everyone who speaks, by number, and how much.

    Args:
        hub_share: a speaker of at least this share of the spoken passages is a hub.

    Attributes:
        hubs: their names, sorted; ``hub_words`` are the words of these, ``hub_terms`` their terms,
            ``hub_entities`` the ids of the entities that they are.
    """

    parts = ("_names", "_spoken", "_as_user")

    def __init__(self, hub_share: float) -> None:
        self._hub_share = hub_share
        self._names = Ids()
        self._spoken = Column(np.int64)
        self._as_user = Column(np.int64)
        self._by_word: dict[str, list[int]] = {}  # numbers by the first word of the name
        self._name_hubs(())

    def _name_hubs(self, hubs: tuple[str, ...]) -> None:
        self.hubs = hubs
        self.hub_words = frozenset(word for hub in hubs for word in words(hub))
        self.hub_terms = tuple(sorted(terms(sorted(self.hub_words))))
        self.hub_entities = tuple(content_id("e", normal_form(hub)) for hub in hubs)

    def number(self, name: str) -> int:
        """The number of a speaker; -1 for nobody, and for who never spoke."""
        return self._names.get(name) if name else -1

    def numbers(self, names: Sequence[str]) -> Ints:
        """Numbers of speakers, who get one if they never spoke; -1 for nobody (``""``)."""
        distinct = list(dict.fromkeys(name for name in names if name))
        found = self._names.find(distinct)
        fresh = [name for name, number in zip(distinct, found.tolist(), strict=True) if number < 0]
        if fresh:
            numbers = self._names.add(fresh)
            found[found < 0] = numbers
            self._file(fresh, numbers)
            for column in (self._spoken, self._as_user):
                column.resize(len(self._names))
        number_of = dict(zip(distinct, found.tolist(), strict=True))
        return np.array([number_of.get(name, -1) for name in names], dtype=np.int64)

    def count(self, numbers: NDArray[np.int32], is_user: NDArray[np.bool_], by: int) -> None:
        """Passages of these speakers came or went."""
        spoken = numbers >= 0
        np.add.at(self._spoken.values, numbers[spoken], by)
        np.add.at(self._as_user.values, numbers[spoken & is_user], by)

    def sweep(self) -> None:
        """Forget the names of those who say nothing any more."""
        self._names.drop(self._names.texts(np.nonzero(self._spoken.values == 0)[0]))
        self._index_names()

    def _index_names(self) -> None:
        self._by_word = {}
        numbers = np.arange(len(self._names))
        self._file(self._names.texts(numbers), numbers)

    def find_hubs(self) -> bool:
        """Bring the hubs up to date; returns whether they are others than before."""
        spoken = self._spoken.values
        least = self._hub_share * spoken.sum()
        numbers = np.nonzero((spoken >= least) & (spoken > 0))[0]
        hubs = tuple(sorted(self._names.texts(numbers)))
        if hubs == self.hubs:
            return False
        self._name_hubs(hubs)
        return True

    def called(self, text_words: Iterable[str]) -> list[str]:
        """Everyone who speaks and whose name begins with one of the words, sorted."""
        numbers = [number for word in set(text_words) for number in self._by_word.get(word, ())]
        found = np.array(numbers, dtype=np.int64)
        return sorted(self._names.texts(found[self._spoken.values[found] > 0]))

    def _file(self, names: Iterable[str], numbers: Ints) -> None:
        for name, number in zip(names, numbers.tolist(), strict=True):
            for word in words(name)[:1]:
                self._by_word.setdefault(word, []).append(number)

    @property
    def asker(self) -> str | None:
        """The one speaker with the role of user, where there is just one."""
        users = np.nonzero(self._as_user.values > 0)[0]
        return self._names.text(int(users[0])) if len(users) == 1 else None

    def take(self, arrays: dict[str, NDArray[np.generic]]) -> None:  # type: ignore[override]
        """Take over the state that ``arrays`` gave."""
        super().take(arrays)
        self._index_names()
        self._name_hubs(())
        self.find_hubs()
