"""What the tests of snapshots and the processes that they start share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphmem.index.saving import Home, Loaded, Refused, Segment, Source
from graphmem.types import Scope

SOURCE = Source("store-1", "settings-1", 1)
ANA = Scope("ana")
ARRAYS = {
    "starts": np.arange(40, dtype=np.int64),
    "weights": np.linspace(0, 1, 33),
    "is_live": np.array([True, False, True]),
}


def current(seq: int, digest: str) -> bool:
    return digest == f"row {seq}"


def new_home(folder: Path, scope: Scope = ANA, mode: int = 0o600) -> Home:
    store = folder / "m.db"
    store.touch()
    store.chmod(mode)
    return Home(store, scope)


def save(
    home: Home,
    seq: int = 1,
    arrays: Mapping[str, Any] = ARRAYS,
    segments: Any = (),
    source: Source = SOURCE,
) -> bool:
    return home.save(source, arrays, segments, seq=seq, digest=f"row {seq}")


def load(home: Home, source: Source = SOURCE) -> Loaded | Refused:
    return home.load(source, current)


def new_segment(home: Home, data: bytes = b"vectors") -> Segment:
    path = home.new_segment()
    assert path is not None
    path.write_bytes(data)
    return Segment.of(path)


def filled(seq: int, size: int = 1_500_000) -> dict[str, Any]:
    return {name: np.full(size, seq, np.int32) for name in ("a", "b")}
