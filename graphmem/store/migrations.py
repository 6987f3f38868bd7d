"""Bringing an older file's schema up to date, one version at a time, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, insert, select, update

from graphmem.errors import StoreCorrupt, StoreVersion
from graphmem.store.schema import SCHEMA_VERSION, meta, metadata

__all__ = ["SCHEMA_VERSION", "STEPS", "Step", "build", "upgrade", "version"]

Step = Callable[[Connection], None]

# From version n to n + 1. A step is never changed once released: files of its age are out there.
STEPS: dict[int, Step] = {}

_VERSION = "schema_version"


def build(connection: Connection) -> None:
    """Make the tables of the newest version in an empty database."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(meta).values(key=_VERSION, value=str(SCHEMA_VERSION)))


def version(connection: Connection) -> int:
    """The schema version of the file.

    Raises:
        StoreCorrupt: it has none.
    """
    value = connection.execute(select(meta.c.value).where(meta.c.key == _VERSION)).scalar()
    if value is None or not value.isdecimal():
        raise StoreCorrupt("the store does not say its schema version; restore it from a backup")
    return int(value)


def upgrade(
    connection: Connection, *, steps: Mapping[int, Step] = STEPS, newest: int = SCHEMA_VERSION
) -> None:
    """Apply the steps that the file lacks, in the caller's transaction.

    Raises:
        StoreVersion: the file is newer than ``newest``, or older than the first step.
    """
    found = version(connection)
    if found > newest:
        raise StoreVersion(
            f"the store has schema version {found}, and this graphmem reads up to {newest}: "
            "upgrade graphmem, or name another file",
            found=found,
            known=newest,
        )
    for number in range(found, newest):
        if number not in steps:
            raise StoreVersion(
                f"no way leads from the store's schema version {number} to {newest}: "
                "open it with an older graphmem",
                found=found,
                known=newest,
            )
        steps[number](connection)
    if found < newest:
        connection.execute(update(meta).where(meta.c.key == _VERSION).values(value=str(newest)))
