"""The entities of a scope: their names, how often they are named, and who is called alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphmem.index.columns import Column
from graphmem.index.composite import Composite
from graphmem.index.ids import Ids
from graphmem.index.lists import Bools, Floats, Ints, among, each_once
from graphmem.index.names import Names
from graphmem.index.relations import Relation

__all__ = ["Entities"]


class Entities(Composite):
    """What facts name, by position. An entity is here while a fact names it.

    Args:
        longest_name: see ``Names``.

    Attributes:
        ids: of the entities.
        names: see there.
        synonyms: cosine by pair of entities with similar names, both ways.
    """

    parts = ("ids", "names", "synonyms", "_uses", "_mentions", "_held")

    def __init__(self, longest_name: int) -> None:
        self.ids = Ids()
        self.names = Names(longest_name)
        self.synonyms = Relation()
        self._uses = Column(np.int32)  # facts that name it
        self._mentions = Column(np.int32)  # passages whose facts name it
        self._held = Column(np.int32)  # passages that name it, in their facts or in their text

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.ids)

    def add(self, ids: Sequence[str], names: Sequence[Sequence[str]]) -> tuple[Ints, Ints, Ints]:
        """The next entities, which nothing names yet: positions, and what ``Names.add`` says."""
        positions = self.ids.add(ids)
        for column in (self._uses, self._mentions, self._held):
            column.resize(len(self.ids))
        return positions, *self.names.add(names)

    def use(self, entities: Ints, by: int) -> None:
        """Facts that name them came or went."""
        np.add.at(self._uses.values, entities, by)

    def unused(self, entities: Ints) -> Ints:
        """Those that no fact names."""
        found = each_once(entities)
        is_unused: Bools = self._uses.values[found] == 0
        return found[is_unused]

    def mentions(self, entities: Ints) -> Floats:
        """Number of passages whose facts name them, at least 1."""
        return np.maximum(1.0, self._mentions.values[entities])

    def held(self, entities: Ints) -> Ints:
        """Number of passages that name them."""
        return self._held.values[entities].astype(np.int64)

    def count(self, mentioned: tuple[Ints, Floats], held: tuple[Ints, Floats]) -> None:
        """Passages came to name entities, or ceased to: (entities, changes)."""
        for column, (entities, change) in ((self._mentions, mentioned), (self._held, held)):
            np.add.at(column.values, entities, change.astype(np.int32))

    def join(self, one: Ints, other: Ints, cosines: Floats) -> None:
        """Pairs with similar names, each given once; negative cosines take one away."""
        self.synonyms.add(
            np.concatenate([one, other]),
            np.concatenate([other, one]),
            np.concatenate([cosines, cosines]),
        )

    def pairs_of(self, entities: Ints) -> tuple[Ints, Ints, Floats]:
        """(one, other, cosine) of every pair with one of the entities, each once."""
        places, near, cosines = self.synonyms.gather(entities)
        once = ~among(each_once(entities), near) | (entities[places] < near)
        return entities[places][once], near[once], cosines[once]

    def drop(self, entities: Ints) -> None:
        """Forget entities."""
        self.names.drop(entities)
        self.ids.drop(self.ids.texts(entities))
