"""Saving an index to its folder and opening it from there.

The vectors lie in files of their own, which are only ever added to; everything else is one
container of arrays. An index that has changed while it was being saved is not saved: the next time
will do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import StoreCorrupt
from graphmem.index.composite import Foldable
from graphmem.index.index import Index
from graphmem.index.saving import Home, Loaded, Segment, Source
from graphmem.settings import RecallSettings
from graphmem.words import STEMS

__all__ = ["fold", "open_from", "save_to", "source_of"]

# Of what the arrays mean: counts up when that changes, and older snapshots are built anew.
VERSION = 3

# The settings that shape an index; the others are read at each recall.
_SHAPING = (
    "hub_share",
    "window",
    "about_weight",
    "synonym_cosine",
    "longest_name",
)


def source_of(store: str, settings: RecallSettings) -> Source:
    """What a snapshot must be made from and by, to be used with a store and settings."""
    shaping = {name: asdict(settings)[name] for name in _SHAPING} | {"stems": STEMS}
    return Source(store, hashlib.sha256(repr(shaping).encode()).hexdigest()[:32], VERSION)


def fold(index: Index) -> None:
    """Merge what is new into the sorted parts, beside readers and updates; one fold at a time.

    The new parts are made without the lock, and put in place under it.
    """
    put_in_place = [_folding(part) for part in index.foldable()]
    with index.lock.yielding():
        for put in put_in_place:
            put()
    for senses in index.senses.values():
        if senses.wants_repack:
            search = senses.repacked()
            with index.lock.yielding():
                senses.swap(search)


def _folding(part: Foldable) -> Callable[[], None]:
    """Merges a part's news, and returns what puts the outcome in place."""
    return partial(part.swap, part.folded())  # type: ignore[arg-type]


def save_to(home: Home, source: Source, index: Index, digest: str, *, whole: bool) -> bool:
    """Save a folded index; the owner may not update meanwhile.

    Args:
        home: where to.
        source: see ``source_of``.
        index: folded.
        digest: of the log's row at the index's ``seq``.
        whole: write all vectors anew, for instance because the files were removed.

    Returns:
        Whether it was saved; if not, write it whole the next time.
    """
    segments: list[Segment] = []
    for senses in index.senses.values():
        path = home.new_segment()
        if path is None:
            return False
        try:
            if senses.write(path, whole=whole):
                with index.lock:
                    senses.adopt(path)
        except OSError:
            return False
        segments += senses.segments
    with index.lock:
        seq = index.seq
        arrays = {name: np.array(one) for name, one in index.arrays().items()}
        for kind, senses in index.senses.items():
            arrays |= {f"senses.{kind}.{key}": one for key, one in senses.arrays().items()}
    return home.save(source, arrays, segments, seq=seq, digest=digest)


def open_from(home: Home, loaded: Loaded, settings: RecallSettings) -> Index | None:
    """The index of a verified snapshot; None where its parts do not fit together."""
    index = Index(settings)
    try:
        index.take(loaded.arrays)
        for kind, senses in index.senses.items():
            prefix = f"senses.{kind}."
            own: dict[str, NDArray[np.generic]] = {
                key[len(prefix) :]: one
                for key, one in loaded.arrays.items()
                if key.startswith(prefix)
            }
            senses.load(own, home.folder, loaded.segments)
    except (StoreCorrupt, KeyError, ValueError):
        return None
    index.seq = loaded.seq
    return index
