"""How much of what can be read an extractor reads, and how much of that is right.

The triples recorded in a data set are the reference. Two triples of one passage say the same where
both of their ends do, subject with subject and object with object or crosswise: predicates are too
free to be compared. Two ends say the same when the terms that they share are at least half of the
terms that they have, counted on both sides (Dice's coefficient, at least 0.5). Terms are English
stems without stop words, numbers whole (``words.terms``), each once; an end of stop words alone
("The Who") stands for its words.

A reference is *found* when any triple of the passage says the same; a triple is *right* when any
reference does. That is a floor for what is right: a true triple that nobody recorded counts as
wrong, as does one that puts two names together in another way than the reference.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as RichTable

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet, Record
from graphmem.experiments.formats import load_dataset
from graphmem.experiments.provenance import machine
from graphmem.experiments.reading import Meter, passage_ids, read
from graphmem.experiments.report import Table, quiet_in_notebooks
from graphmem.experiments.report.wording import data_name
from graphmem.experiments.shrinking import shrunk
from graphmem.experiments.triples import source
from graphmem.files import must_take_file, must_take_folder, write_json
from graphmem.progress import progress_bar
from graphmem.types import Extraction, Extractor, Scope, Triple
from graphmem.words import terms, words

__all__ = ["Readings", "bench_extraction", "says_the_same"]

Result = dict[str, Any]

_HEADER = ("data", "extractor", "found %", "right %", "passages")
_CAPTION = "recorded triples found, and triples read that are right, in percent"


class Readings(list[Result]):
    """What ``bench_extraction`` returns, a mapping for each extractor; in a notebook, a table."""

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    @property
    def table(self) -> Table:
        """Shares in percent, and of how many passages; the mappings have the counts."""
        return Table(_HEADER, [_cells(one) for one in self], _CAPTION)


def bench_extraction(
    data: Sequence[str | Path | DataSet],
    extractors: Sequence[str] = ("rules",),
    *,
    records: int = 0,
    sample: int = 200,
    seed: int = 0,
    model: Extractor | None = None,
    cache: str | Path | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> Readings:
    """Measure each extractor on each data set, show a table, and return the figures.

    Passages are read as a memory's worker would: in its batches, with what stands before them.

    Args:
        data: files in any format that ``load_dataset`` knows, or data sets, with recorded triples.
        extractors: names out of ``triples.SOURCES``; ``recorded`` shows what a perfect one gets.
        records: make each set smaller first: the first so many messages of each conversation and so
            many documents, as in ``bench_recall``. 0: everything.
        sample: how many documents of a set are read, drawn by ``seed``; conversations are read
            whole, for their messages need each other. 0: everything.
        seed: for the sample.
        model: reads as the extractor ``model``.
        cache: a folder that keeps the readings of ``model``.
        json_path: where to write ``{"results": […], "machine": {…}}``.
        console: where to show the table; standard output where omitted, in a notebook nowhere:
            there what is returned is a table.

    Returns:
        For each data set and extractor: ``data``, ``extractor``, ``name`` (as kept with facts),
        ``passages`` (read), ``failed`` (could not be read), ``reference`` and ``found`` (recorded
        triples, and those found), ``extracted`` and ``right`` (triples read, and those right),
        ``found_share`` and ``right_share`` (from 0 to 1; None of none), ``seconds`` and ``usage``.

    Raises:
        NotFound, InvalidInput: a wrong file or name, or a set without triples; nothing has run
            then.
    """
    must_take_file(json_path)
    must_take_folder(cache)
    for what, number in (("records", records), ("sample", sample)):
        if number < 0:
            raise InvalidInput(f"{what} must be 0 (everything) or more, not {number}")
    sources = {name: source(name, model=model, cache=cache) for name in extractors}
    read = [one if isinstance(one, DataSet) else load_dataset(one) for one in data]
    smaller = [shrunk(one, records) if records else one for one in read]
    sets = [_sampled(one, sample, seed) for one in smaller]
    results = Readings(
        {"data": one.name, "extractor": name, **_measure(one, sources[name](one), name)}
        for one in sets
        for name in sources
    )
    if json_path is not None:
        drawn = {"records": records, "sample": sample, "seed": seed}
        write_json(json_path, {"results": results, **drawn, "machine": machine()})
    (console or quiet_in_notebooks()).print(_table(results))
    return results


def _sampled(data: DataSet, sample: int, seed: int) -> DataSet:
    if not any(record.triples for record in data.records):
        raise InvalidInput(f"{data.name} records no triples: there is nothing to compare with")
    documents = [place for place, one in enumerate(data.records) if one.message.role == "document"]
    if not 0 < sample < len(documents):
        return data
    left_out = set(documents) - set(random.Random(seed).sample(documents, sample))
    kept = tuple(one for place, one in enumerate(data.records) if place not in left_out)
    return replace(data, records=kept, questions=())


@dataclass(frozen=True, slots=True)
class _Counts:
    passages: int
    failed: int
    reference: int
    found: int
    extracted: int
    right: int


def _measure(data: DataSet, extractor: Extractor, name: str) -> Result:
    meter = Meter()
    meter.watch(extractor)
    start = time.perf_counter()
    with progress_bar(f"{name}: reading {data.name}") as progress:
        extractions = read(data, extractor, progress)
    seconds = time.perf_counter() - start
    counts = _count(data.records, extractions)
    return {
        "name": extractor.name,
        **asdict(counts),
        "found_share": counts.found / counts.reference if counts.reference else None,
        "right_share": counts.right / counts.extracted if counts.extracted else None,
        "seconds": round(seconds, 3),
        "usage": asdict(meter.usage),
    }


def _count(
    records: Sequence[Record], extractions: Mapping[tuple[Scope, str], Extraction]
) -> _Counts:
    """Each record's references against what was read in its passages."""
    failed = reference = found = extracted = right = 0
    for record in records:
        parts = [extractions.get((record.scope, key)) for key in passage_ids(record)]
        failed += any(one is not None and one.error is not None for one in parts)
        read_triples = {triple for one in parts if one is not None for triple in one.triples}
        made = [_ends(triple) for triple in read_triples]
        wanted = [_ends(triple) for triple in dict.fromkeys(record.triples)]
        reference += len(wanted)
        extracted += len(made)
        found += sum(any(_same(one, other) for other in made) for one in wanted)
        right += sum(any(_same(one, other) for other in wanted) for one in made)
    return _Counts(len(records), failed, reference, found, extracted, right)


Ends = tuple[Collection[str], Collection[str]]


def says_the_same(one: Triple, other: Triple) -> bool:
    """Whether two triples of one passage put the same two names together; see the module."""
    return _same(_ends(one), _ends(other))


def _ends(triple: Triple) -> Ends:
    return _terms(triple.subject), _terms(triple.object)


def _terms(end: str) -> Collection[str]:
    found = words(end)
    return terms(found).keys() or set(found)


def _same(one: Ends, other: Ends) -> bool:
    return (_alike(one[0], other[0]) and _alike(one[1], other[1])) or (
        _alike(one[0], other[1]) and _alike(one[1], other[0])
    )


def _alike(one: Collection[str], other: Collection[str]) -> bool:
    shared = sum(term in other for term in one)
    return shared > 0 and 2 * shared >= 0.5 * (len(one) + len(other))


def _table(results: Sequence[Result]) -> RichTable:
    table = RichTable(title=_CAPTION, box=SIMPLE, pad_edge=False)
    for column in _HEADER[:2]:
        table.add_column(column, overflow="fold")
    for column in (*_HEADER[2:], "s"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in results:
        table.add_row(*_cells(one), f"{one['seconds']:.1f}")
    return table


def _cells(one: Result) -> list[str]:
    return [
        data_name(one["data"]),
        one["extractor"],
        _percent(one["found_share"]),
        _percent(one["right_share"]),
        _passages(one),
    ]


def _passages(one: Result) -> str:
    """How many were read, and how many of them could not be."""
    return f"{one['passages']} ({one['failed']} failed)" if one["failed"] else str(one["passages"])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
