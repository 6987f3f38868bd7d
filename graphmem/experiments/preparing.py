"""The data sets of a run: read from files, mixed, sampled, or asked for single facts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet, Record
from graphmem.experiments.formats import load_dataset
from graphmem.experiments.formats.fields import Fields, labels_of
from graphmem.experiments.lookups import lookups as asked_back
from graphmem.experiments.mixing import mixed
from graphmem.experiments.shrinking import shrunk

__all__ = ["Origin", "Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Origin:
    """How a data set is made, so that it can be made again.

    Attributes:
        files: names of its files, or of sets that were there; several are one memory.
        format: the files' format; None: told by their content.
        lookups: how many look-ups are asked in place of its questions; 0: the questions are.
        sample: how many of its questions are drawn; 0: all.
        records: what is left of its files, as ``shrunk`` counts it; 0: everything.
    """

    files: tuple[str, ...]
    format: str | None = None
    lookups: int = 0
    sample: int = 0
    records: int = 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A data set and how it was made.

    Attributes:
        data: the set.
        origin: how it was made.
        content: digest of its records and questions.
    """

    data: DataSet
    origin: Origin
    content: str


def prepare(
    data: Sequence[str | Path | DataSet],
    *,
    format: str | None = None,
    lookups: int = 0,
    sample: int = 0,
    records: int = 0,
    mix: bool = False,
) -> list[Prepared]:
    """The data sets that a run asks, in order; of files, and of sets that are there already.

    Everything is as in ``bench_recall``.

    Raises:
        NotFound, InvalidInput: a file that is not there or not of its format; a set with wrong
            ids, or none of whose questions can be asked; negative counts.
    """
    if min(lookups, sample) < 0 or (lookups and sample):
        raise InvalidInput("pass either lookups or sample, each at least 1")
    if records < 0:
        raise InvalidInput(f"records must be 0 (everything) or more, not {records}")
    read = [
        _sound(one) if isinstance(one, DataSet) else load_dataset(one, format)
        for one in _distinct(data)
    ]
    files: list[tuple[str, ...]] = [(one.name,) for one in read]
    if len(set(files)) < len(files):
        raise InvalidInput("two data sets have one name, by which results are told: rename one")
    if records:
        read = [_shrunk(one, records) for one in read]
    if mix:
        read, files = [mixed(*read)], [tuple(one.name for one in read)]
    if lookups:
        read = [asked_back(one, lookups) for one in read]
    elif sample:
        read = [one.sample(sample) for one in read]
    for one in read:
        _must_ask(one)
    return [
        Prepared(one, Origin(names, format, lookups, sample, records), _digest(one))
        for one, names in zip(read, files, strict=True)
    ]


def _sound(data: DataSet) -> DataSet:
    """The set itself, which nobody has read from a file: it is held to what files are."""
    records: dict[str, Record] = {}
    for number, record in enumerate(data.records):
        Fields(data.name, f"records[{number}]", {"id": record.id}).new("id", records)
        records[record.id] = record
    asked: set[str] = set()
    for number, question in enumerate(data.questions):
        ids = {"gold": list(question.gold), "stale": list(question.stale)}
        fields = Fields(data.name, f"questions[{number}]", {"id": question.id, **ids})
        asked.add(fields.new("id", asked))
        for name in ids:
            fields.get(name, partial(labels_of, scope=question.scope, records=records))
    return data


def _must_ask(data: DataSet) -> None:
    if data.asked:
        return
    why = "it has no question"
    if data.questions:
        why = f"none of its {len(data.questions)} questions names a passage that answers it (gold)"
    without = ", ".join(f"{what} ({number})" for what, number in data.left_out.items())
    raise InvalidInput(
        f"{data.name} cannot be asked: {why}" + (f"; left out: {without}" if without else "")
    )


def _shrunk(data: DataSet, records: int) -> DataSet:
    _must_ask(data)
    smaller = shrunk(data, records)
    if not smaller.asked:
        raise InvalidInput(
            f"{data.name}: {records} records answer none of its questions: keep more records"
        )
    return smaller


def _distinct(data: Sequence[str | Path | DataSet]) -> Iterable[Path | DataSet]:
    """Each file and each set once."""
    given = (one if isinstance(one, DataSet) else Path(one) for one in data)
    return {id(one) if isinstance(one, DataSet) else one: one for one in given}.values()


def _digest(data: DataSet) -> str:
    digest = hashlib.sha256()
    for part in (*data.records, *data.questions):
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
