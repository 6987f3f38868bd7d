"""Every error that graphmem raises on purpose.

    GraphMemError
    ├── InvalidInput          a wrong value at the public door          (also a ValueError)
    │   └── Ambiguous         words that ask to forget mean several things
    ├── NotAllowed            this actor may not make this change       (also a PermissionError)
    ├── MissingDependency     an extra is not installed                 (also an ImportError)
    ├── StoreError            the store cannot be used
    │   ├── StoreCorrupt      the file is damaged or is not a store
    │   ├── StoreReadOnly     the file or its folder cannot be written
    │   ├── StoreBusy         another writer held the store too long
    │   ├── StoreFull         the disk is full
    │   ├── StoreVersion      the file was written by a newer graphmem
    │   └── EmbedderMismatch  the vectors in it are another model's
    ├── EmbeddingError        the embedder failed or broke its contract
    ├── ExtractionError       the extractor failed or broke its contract
    └── NotFound              no such passage, session or file          (also a LookupError)

Each message names what is wrong and what to do about it. What a program may want to read is an
attribute as well.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Ambiguous",
    "EmbedderMismatch",
    "EmbeddingError",
    "ExtractionError",
    "GraphMemError",
    "InvalidInput",
    "MissingDependency",
    "NotAllowed",
    "NotFound",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreVersion",
]


class GraphMemError(Exception):
    """Root of the tree: catch this to catch everything graphmem raises on purpose."""


class InvalidInput(GraphMemError, ValueError):
    """A value at the public door has the wrong type or is out of range."""


class Ambiguous(InvalidInput):
    """Words that ask to forget may mean several things, or nothing that is stored.

    Attributes:
        candidates: what they may mean, as ``graphmem.types.Candidate``, likeliest first.
    """

    def __init__(self, message: str, *, candidates: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class NotAllowed(GraphMemError, PermissionError):
    """This kind of actor may not make this change: ask a person."""


class MissingDependency(GraphMemError, ImportError):
    """Something optional is needed and not installed; the message names every way out."""


class StoreError(GraphMemError):
    """The store cannot be opened, read or written."""


class StoreCorrupt(StoreError):
    """The file is truncated, damaged, or not a graphmem store. It is left untouched."""


class StoreReadOnly(StoreError):
    """The store's file or folder cannot be written."""


class StoreBusy(StoreError):
    """Another writer held the store for longer than the time-out. Nothing was written."""


class StoreFull(StoreError):
    """The disk refused the write. Nothing was written."""


class StoreVersion(StoreError):
    """The store was written by a newer graphmem.

    Attributes:
        found: schema version in the file.
        known: newest schema version that this graphmem reads.
    """

    def __init__(self, message: str, *, found: int, known: int) -> None:
        super().__init__(message)
        self.found = found
        self.known = known


class EmbedderMismatch(StoreError):
    """The store's vectors were made by another embedding model, or have another size.

    Attributes:
        stored: (model name, dimensions) of the vectors in the store.
        given: (model name, dimensions) of the embedder that was passed.
    """

    def __init__(self, message: str, *, stored: tuple[str, int], given: tuple[str, int]) -> None:
        super().__init__(message)
        self.stored = stored
        self.given = given


class EmbeddingError(GraphMemError):
    """The embedder raised, or returned vectors that do not fit the texts."""


class ExtractionError(GraphMemError):
    """The extractor raised, or returned something that does not fit the passages.

    Attributes:
        is_retryable: whether trying again later can help (a time-out, a full queue) or not (a
            refused key, a prompt without its placeholders).
    """

    def __init__(self, message: str, *, is_retryable: bool = True) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable


class NotFound(GraphMemError, LookupError):
    """The named thing is not there."""
