"""The data sets of a run: read from files, mixed, sampled, or asked for single facts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.formats import load_dataset
from graphmem.experiments.lookups import lookups as asked_back
from graphmem.experiments.mixing import mixed

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A data set and how it was made.

    Attributes:
        data: the set.
        files, lookups, sample: as in ``rows.Setup``.
        content: digest of its records and questions.
    """

    data: DataSet
    files: tuple[str, ...]
    lookups: int = 0
    sample: int = 0
    content: str = ""


def prepare(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    lookups: int = 0,
    sample: int = 0,
    mix: bool = False,
) -> list[Prepared]:
    """The data sets that a run asks, in the order of the files.

    Raises:
        NotFound, InvalidInput: a file that is not there or not of its format; negative counts.
    """
    if min(lookups, sample) < 0 or (lookups and sample):
        raise InvalidInput("pass either lookups or sample, each at least 1")
    read = [load_dataset(path, format) for path in dict.fromkeys(map(Path, paths))]
    files: list[tuple[str, ...]] = [(one.name,) for one in read]
    if len(set(files)) < len(files):
        raise InvalidInput("two data files have one name, by which results are told: rename one")
    if mix:
        read, files = [mixed(*read)], [tuple(one.name for one in read)]
    if lookups:
        read = [asked_back(one, lookups, 0) for one in read]
    elif sample:
        read = [one.sample(sample, 0) for one in read]
    return [
        Prepared(one, names, lookups, sample, _digest(one))
        for one, names in zip(read, files, strict=True)
    ]


def _digest(data: DataSet) -> str:
    digest = hashlib.sha256()
    for part in (*data.records, *data.questions):
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
