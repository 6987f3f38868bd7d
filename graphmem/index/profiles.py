"""What passages are about and whom they name: rules over arrays, nothing kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphmem.index.lists import Bools, Floats, Ints, each_once, is_first

__all__ = ["Pairs", "about", "changed", "distinct", "mentions"]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """(place, item) pairs, each once, by place, then item, with a value; three arrays of a length.

    Attributes:
        places: positions in a list of passages.
        items: positions of entities.
        values: what the pair weighs.
    """

    places: Ints
    items: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.places)


def distinct(places: Ints, items: Ints, values: Floats | None = None) -> Pairs:
    """The distinct pairs; values of a repeated one add up, or are 1 where none are given."""
    width = int(items.max(initial=0)) + 1
    keys = places * width + items
    if values is None:
        keys = each_once(keys)
        return Pairs(*np.divmod(keys, width), np.ones(len(keys)))
    order = keys.argsort(kind="stable")
    keys = keys[order]
    firsts = is_first(keys).nonzero()[0]
    sums = np.add.reduceat(values[order], firsts) if len(firsts) else np.zeros(0)
    return Pairs(*np.divmod(keys[firsts], width), sums)


def mentions(places: Ints, ends: Ints) -> Pairs:
    """The entities that passages' facts name, and how often.

    Args:
        places: (n,) the passage that states a fact.
        ends: (n, 2) subject and object of the fact.
    """
    return distinct(np.repeat(places, 2), ends.ravel(), np.ones(2 * len(places)))


def about(size: int, named: Pairs, titles: Ints, is_hub: Callable[[Ints], Bools]) -> Pairs:
    """What each passage is about: its title's entity, else the entities in most of its facts.

    Args:
        size: number of passages.
        named: their ``mentions``.
        titles: (size,) the entity that the title names, or -1.
        is_hub: which of some entities are hubs, which are nothing that a passage is about.
    """
    counts = ~is_hub(named.items) & (titles[named.places] < 0)
    most = np.zeros(size)
    np.maximum.at(most, named.places[counts], named.values[counts])
    counts &= named.values == most[named.places]
    titled = np.nonzero(titles >= 0)[0]
    titled = titled[~is_hub(titles[titled])]
    return distinct(
        np.concatenate([titled, named.places[counts]]),
        np.concatenate([titles[titled], named.items[counts]]),
    )


def changed(before: Pairs, after: Pairs) -> Pairs:
    """What must be added to ``before`` to get ``after``, where that is not nothing."""
    change = distinct(
        np.concatenate([after.places, before.places]),
        np.concatenate([after.items, before.items]),
        np.concatenate([after.values, -before.values]),
    )
    moved = change.values != 0
    return Pairs(change.places[moved], change.items[moved], change.values[moved])
