"""Vectors: one for each text, all of one model, kept as little-endian float32 bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from graphmem.errors import EmbedderMismatch, EmbeddingError
from graphmem.identity import clean_text
from graphmem.store import queue
from graphmem.store.bulk import among, delete_row, given, ours, put_row
from graphmem.store.schema import meta, vector
from graphmem.store.transaction import Transaction
from graphmem.types import Scope, VectorKind, Vectors

__all__ = ["check_model", "drop", "load", "outdate", "put"]

_MODEL = "embedding_model"
_DIMS = "embedding_dims"

_PUT = put_row(vector, instead=("model", "dims", "data"))
_DELETE = delete_row(vector)
_EXISTING = select(vector.c.id).where(
    ours(vector), vector.c.kind == bindparam("kind"), among(vector.c.id)
)
_SOME = select(vector.c.id, vector.c.data).where(
    ours(vector), vector.c.kind == bindparam("kind"), among(vector.c.id)
)


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
    tx.write(
        _PUT,
        [
            {**tx.owner, "kind": kind, "id": id_, "model": model, "dims": dims}
            | {"data": row.tobytes()}
            for (kind, id_), row in kept
        ],
    )
    queue.finish(tx, claim, [key for key, _ in kept])
    for (kind, id_), _ in kept:
        tx.record("embed", kind, id_)


def drop(tx: Transaction, keys: Iterable[tuple[str, str]]) -> None:
    """Delete the vectors of (kind, id), where they exist."""
    tx.write(_DELETE, [{**tx.owner, "kind": kind, "id": id_} for kind, id_ in keys])


def outdate(tx: Transaction, kind: VectorKind, ids: Sequence[str]) -> None:
    """Delete the vectors of what has other words now, where they exist: it is embedded anew."""
    if not ids:
        return
    of = {**given(tx.scope, ids), "kind": kind}
    outdated = sorted(row.id for row in tx.rows(_EXISTING, of))
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
            here = {**given(scope, some), "kind": kind}
            rows = connection.execute(_SOME, here).all()
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
    return connection.execute(select(vector.c.id).limit(1)).first() is None


def _stored_model(connection: Connection) -> tuple[str, int] | None:
    rows = connection.execute(select(meta.c.key, meta.c.value)).all()
    values = {row.key: row.value for row in rows}
    return (values[_MODEL], int(values[_DIMS])) if _MODEL in values else None
