"""Batches of texts through an extractor or an embedder, and what can be saved of one that failed.

Both are somebody's code around somebody's model. One text that it cannot take must not cost the
others of its batch, and a model that is down must not be asked once for every text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmem.embedding import checked
from graphmem.errors import EmbeddingError
from graphmem.extraction import checked_extractions
from graphmem.faults import described
from graphmem.types import Embedder, Extraction, Extractor, Passage

__all__ = ["PROBES", "read", "read_alone", "vectors"]

S = TypeVar("S")
T = TypeVar("T")
Floats = NDArray[np.float32]

# Of a batch that fails so many items are tried alone: if all of them fail the model is down.
PROBES = 3


def read(extractor: Extractor, passages: Sequence[Passage]) -> list[Extraction]:
    """One checked Extraction for each passage, in order.

    Raises:
        Exception: whatever the extractor raised; what only ends a thread comes as RuntimeError.
    """
    return _survived(lambda: checked_extractions(extractor.extract(passages), passages))


def read_alone(
    extractor: Extractor, passages: Sequence[Passage], whole: Exception, *, turn: int
) -> list[Extraction]:
    """What can be read of passages that could not be read together; the others have failed.

    Args:
        extractor: reads them one by one.
        passages: the batch.
        whole: why it could not be read together.
        turn: a number that changes from call to call: with it changes which are tried first.
    """
    alone: dict[int, Extraction | Exception] = {}
    if len(passages) > 1 and getattr(whole, "is_retryable", True):
        alone = _one_by_one(lambda one: read(extractor, [one])[0], passages, turn)
    return [_extraction(one, alone.get(at, whole)) for at, one in enumerate(passages)]


def vectors(
    embedder: Embedder, texts: Sequence[str], *, turn: int
) -> tuple[Floats | None, dict[int, Exception]]:
    """Vectors for the texts, and by its place the error of each text that has none.

    Args:
        embedder: makes them; equal texts are asked for once.
        texts: the batch.
        turn: as for ``read_alone``.

    Returns:
        Rows of shape (n texts, dims), those of failed texts zero, or ``None`` where all failed; and
        the failures.
    """
    unique = list(dict.fromkeys(texts))
    try:
        by_text = dict(zip(unique, _embedded(embedder, unique), strict=True))
        return np.stack([by_text[text] for text in texts]), {}
    except Exception as error:
        whole = error
    alone: dict[int, Floats | Exception] = {}
    if len(unique) > 1:
        alone = _one_by_one(lambda text: _embedded(embedder, [text])[0], unique, turn)
    good = [row for row in alone.values() if not isinstance(row, Exception)]
    if not good:
        return None, dict.fromkeys(range(len(texts)), whole)
    place = {text: at for at, text in enumerate(unique)}
    rows = np.zeros((len(texts), len(good[0])), dtype=np.float32)
    failures: dict[int, Exception] = {}
    for index, text in enumerate(texts):
        row = alone[place[text]]
        if isinstance(row, Exception):
            failures[index] = row
        elif len(row) != len(good[0]):
            sizes = f"{len(row)} and {len(good[0])} dimensions"
            failures[index] = EmbeddingError(f"{embedder.name} returned {sizes}")
        else:
            rows[index] = row
    return rows, failures


def _embedded(embedder: Embedder, texts: list[str]) -> Floats:
    rows = _survived(lambda: embedder.embed(texts))
    return checked(rows, len(texts), name=embedder.name)


def _survived(call: Callable[[], T]) -> T:
    """Call somebody's code: not even its SystemExit may end the thread that it runs in."""
    try:
        return call()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _one_by_one(call: Callable[[S], T], items: Sequence[S], turn: int) -> dict[int, T | Exception]:
    """The result or the error of each item, by its place.

    One bad item must not hold up its batch, and a model that is down must not be asked once for
    every item: a few spread ones are tried first, and when all of those fail no more are. Which
    they are changes with ``turn``, lest a few bad items pass for a model that is down for ever.
    """
    first = turn % len(items)
    order = [*range(first, len(items)), *range(first)]
    probes = order[:: max(1, len(items) // PROBES)][:PROBES]
    found: dict[int, T | Exception] = {}
    for place in dict.fromkeys([*probes, *order]):
        if len(found) == len(probes) and all(isinstance(one, Exception) for one in found.values()):
            break
        try:
            found[place] = call(items[place])
        except Exception as error:
            found[place] = error
    return found


def _extraction(passage: Passage, outcome: Extraction | Exception) -> Extraction:
    if isinstance(outcome, Extraction):
        return outcome
    is_retryable = bool(getattr(outcome, "is_retryable", True))
    return Extraction(passage.id, error=described(outcome), is_retryable=is_retryable)
