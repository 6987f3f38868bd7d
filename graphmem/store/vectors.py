"""Vectors: one for each text, all of one model, kept as little-endian float32 bytes.

A vector has the number of the log's entry that tells of it, which stands in the row whose words it
is of: new ones lie side by side, and need no index over ids, which are hashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Table, and_, select

from graphmem.errors import EmbedderMismatch, EmbeddingError
from graphmem.identity import clean_text
from graphmem.store import queue
from graphmem.store.bulk import Bulk, among, given, ours, put_row, update_row
from graphmem.store.schema import entity, fact, meta, passage, vector
from graphmem.store.transaction import Transaction
from graphmem.types import Scope, VectorKind, Vectors

__all__ = ["check_model", "drop", "load", "outdate", "put"]

_MODEL = "embedding_model"
_DIMS = "embedding_dims"

_PUT = put_row(vector)


class _Owner:
    """The statements about one kind of row that has a vector."""

    def __init__(self, table: Table) -> None:
        those = and_(ours(table), among(table.c.id), table.c.embedded.is_not(None))
        numbers = select(table.c.embedded).where(those)
        self.existing = select(table.c.id).where(those)
        self.some = (
            select(table.c.id, vector.c.data)
            .select_from(table.join(vector, and_(ours(vector), vector.c.n == table.c.embedded)))
            .where(those)
        )
        self.delete = Bulk(vector.delete().where(ours(vector), vector.c.n.in_(numbers)))
        self.clear = Bulk(table.update().where(those), ("embedded",))
        self.point = update_row(table, ("embedded",))


_OWNERS: dict[str, _Owner] = {one.name: _Owner(one) for one in (passage, fact, entity)}


def check_model(connection: Connection, name: str, dims: int | None) -> None:
    """Check that a model's vectors fit those that are stored; any fit an empty store.

    Raises:
        EmbedderMismatch: they are another model's, or of another size.
    """
    stored = _stored_model(connection)
    if stored is None:
        return
    given = (clean_text(name), stored[1] if dims is None else dims)
    if given != stored and not _is_empty(connection):
        size = "" if dims is None else f" ({dims} dimensions)"
        raise EmbedderMismatch(
            f"the store's vectors were made by {stored[0]!r} ({stored[1]} dimensions), not by "
            f"{name!r}{size}: open it with the model {stored[0]!r}, or start a new store",
            stored=stored,
            given=given,
        )


def put(
    tx: Transaction,
    claim: queue.Claim,
    keys: Sequence[tuple[str, str]],
    rows: NDArray[np.float32],
    *,
    model: str,
) -> None:
    """Store the vectors of a claim's texts, but for texts that went or changed meanwhile.

    Raises:
        EmbeddingError: ``rows`` is no finite array with one row for each key.
        EmbedderMismatch: the store holds another model's vectors.
    """
    array = np.asarray(rows, dtype="<f4")
    if array.ndim != 2 or len(array) != len(keys) or not np.isfinite(array).all():
        raise EmbeddingError(
            f"vectors of shape {array.shape} for {len(keys)} texts: "
            "the embedder must return one finite row for each"
        )
    if not keys:
        return
    dims = array.shape[1]
    check_model(tx.connection, model, dims)
    if _stored_model(tx.connection) != (clean_text(model), dims):
        tx.run(meta.delete().where(meta.c.key.in_((_MODEL, _DIMS))))
        tx.run(meta.insert().values(key=_MODEL, value=model))
        tx.run(meta.insert().values(key=_DIMS, value=str(dims)))
    held = queue.held(tx, claim)
    kept = [(key, row) for key, row in zip(keys, array, strict=True) if tuple(key) in held]
    _delete(tx, [key for key, _ in kept])
    numbers = tx.record_all("embed", [key for key, _ in kept])
    pointers: dict[str, list[dict[str, Any]]] = {}
    written: list[dict[str, Any]] = []
    of = {**tx.owner, "model": model, "dims": dims}
    for n, ((kind, id_), row) in zip(numbers, kept, strict=True):
        written.append({**of, "n": n, "data": row.tobytes()})
        pointers.setdefault(kind, []).append({**tx.owner, "id": id_, "embedded": n})
    tx.write(_PUT, written)
    for kind, owners in pointers.items():
        tx.write(_OWNERS[kind].point, owners)
    queue.finish(tx, claim, [key for key, _ in kept])


def drop(tx: Transaction, keys: Iterable[tuple[str, str]]) -> None:
    """Delete the vectors of (kind, id), where they exist; before the rows go that have them."""
    for kind, of in _delete(tx, keys).items():
        tx.write(_OWNERS[kind].clear, [{**of, "embedded": None}])


def _delete(tx: Transaction, keys: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Delete vectors whose numbers are about to go; returns by kind whose they are."""
    whose = {kind: given(tx.scope, some) for kind, some in queue.by_kind(keys).items()}
    for kind, of in whose.items():
        tx.write(_OWNERS[kind].delete, [of])
    return whose


def outdate(tx: Transaction, kind: VectorKind, ids: Sequence[str]) -> None:
    """Delete the vectors of what has other words now, where they exist: it is embedded anew."""
    if not ids:
        return
    outdated = sorted(row.id for row in tx.rows(_OWNERS[kind].existing, given(tx.scope, ids)))
    drop(tx, [(kind, id_) for id_ in outdated])
    for id_ in outdated:
        tx.record("re-embed", kind, id_)


def load(
    connection: Connection, scope: Scope, ids: Mapping[VectorKind, Sequence[str]]
) -> dict[VectorKind, Vectors]:
    """The vectors of some ids that have one, by kind and in order of id."""
    found: dict[VectorKind, Vectors] = {}
    for kind, some in ids.items():
        if some:
            rows = connection.execute(_OWNERS[kind].some, given(scope, some)).all()
            if rows:
                found[kind] = _stack(sorted((id_, data) for id_, data in rows))
    return found


def _stack(rows: Sequence[tuple[str, bytes]]) -> Vectors:
    data = np.frombuffer(b"".join(data for _, data in rows), dtype="<f4")
    return Vectors(
        tuple(id_ for id_, _ in rows),
        data.astype(np.float32, copy=False).reshape(len(rows), -1),
    )


def _is_empty(connection: Connection) -> bool:
    return connection.execute(select(vector.c.n).limit(1)).first() is None


def _stored_model(connection: Connection) -> tuple[str, int] | None:
    rows = connection.execute(select(meta.c.key, meta.c.value)).all()
    values = {row.key: row.value for row in rows}
    return (values[_MODEL], int(values[_DIMS])) if _MODEL in values else None
