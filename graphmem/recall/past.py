"""Recall of another time: what held then, and what was known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import numpy as np

from graphmem.index.index import Index
from graphmem.index.lists import Bools, Ints
from graphmem.types import Fact

__all__ = ["Past", "held_then", "seen_then"]


class Past(Protocol):
    """Another time, by the store's rows."""

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
    """Whether passages were known then."""
    ids = memory.passages.ids.texts(passages)
    seen = past.passages(ids)
    return np.array([id_ in seen for id_ in ids], dtype=np.bool_)
