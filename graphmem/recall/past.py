"""Recall of another time: what held then, and what was known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np

from graphmem.index.index import Index
from graphmem.index.lists import Bools, Ints
from graphmem.types import Fact

__all__ = ["Past", "held_then", "seen_then"]


class Past(Protocol):
    """Another time, by the store's rows.

    Attributes:
        as_of: what held in the world then; ``None`` asks what was believed.
    """

    as_of: datetime | None

    def facts(self, ids: Sequence[str]) -> Mapping[str, Fact]:
        """Those of the facts that held then, as they were believed."""
        ...

    def passages(self, ids: Sequence[str]) -> Collection[str]:
        """Those of the passages that were known then."""
        ...


def held_then(memory: Index, facts: Ints, past: Past) -> Bools:
    """Whether facts may seed: they held then, and were believed."""
    ids = memory.facts.ids.texts(facts)
    held = past.facts(ids)
    return np.array([id_ in held and held[id_].is_trusted for id_ in ids], dtype=np.bool_)


def seen_then(memory: Index, passages: Ints, past: Past) -> Bools:
    """Whether passages belong to that time: they were known, and say what held then.

    What was said later does where it states a fact that held, as far back as it is told.
    """
    ids = memory.passages.ids.texts(passages)
    seen = past.passages(ids)
    is_seen = np.array([id_ in seen for id_ in ids], dtype=np.bool_)
    if past.as_of is None:
        return is_seen
    is_later = memory.passages.days(passages) > past.as_of.timestamp() / 86400
    places, facts, _ = memory.facts.stated.gather(passages[is_later])
    distinct, which = np.unique(facts, return_inverse=True)
    tells = np.zeros(int(is_later.sum()), dtype=np.bool_)
    tells[places[held_then(memory, distinct, past)[which]]] = True
    is_seen[is_later.nonzero()[0][~tells]] = False
    return is_seen
