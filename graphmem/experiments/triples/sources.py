"""Where triples come from: recorded in the set, a model, the offline rules, or standing together.

Each source is an extractor for a data set, so that the same memory can be measured on each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet, Record
from graphmem.experiments.reading import passage_ids
from graphmem.experiments.triples.cache import CachedExtractor
from graphmem.experiments.triples.cooccurrence import CooccurrenceExtractor
from graphmem.types import Extraction, Extractor, Passage, Scope, Triple

__all__ = ["SOURCES", "RecordedExtractor", "Source", "recorded", "source"]

Source = Callable[[DataSet], Extractor]
"""The extractor that stands for a source, given the data set that it is to read."""

SOURCES = ("recorded", "rules", "cooccurrence", "model", "none")
"""The names that ``source`` knows."""


class RecordedExtractor:
    """The triples recorded in a data set, by the id of the passage they were read from.

    Args:
        triples: by passage id; a passage without any has nothing to learn.
        name: as kept with each fact.
    """

    def __init__(
        self, triples: Mapping[str, Sequence[Triple]], *, name: str = "recorded/1"
    ) -> None:
        self._triples = triples
        self._name = name

    @property
    def name(self) -> str:
        """As kept with each fact."""
        return self._name

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """What was recorded of each passage."""
        return [Extraction(p.id, tuple(self._triples.get(p.id, ()))) for p in passages]


def recorded(data: DataSet) -> RecordedExtractor:
    """The triples recorded in a data set; those of a long record count for each of its passages.

    Raises:
        InvalidInput: records of the same words in two scopes record different triples: a passage's
            id is the same in both, and each memory would be given the other's.
    """
    triples: dict[str, list[Triple]] = {}
    told: dict[str, dict[Scope, tuple[Record, set[Triple]]]] = {}
    for record in data.records:
        for passage_id in passage_ids(record):
            others = triples.setdefault(passage_id, [])  # of a record with the same words
            known = set(others)
            others += [triple for triple in record.triples if triple not in known]
            scopes = told.setdefault(passage_id, {})
            scopes.setdefault(record.scope, (record, set()))[1].update(record.triples)
    for scopes in told.values():
        (first, read), *others_told = scopes.values()
        for other, also_read in others_told:
            if also_read != read:
                raise InvalidInput(
                    f"{data.name}: {first.id!r} and {other.id!r} say the same words in two scopes, "
                    "but record different triples: record the same of both, or name other sessions"
                )
    return RecordedExtractor(triples)


def source(name: str, *, model: Extractor | None = None, cache: str | Path | None = None) -> Source:
    """The source of that name.

    ``recorded`` are the set's own triples, ``rules`` the offline English rules, ``cooccurrence``
    what stands together in a sentence, ``model`` the extractor that is passed, and ``none`` gives
    no triples at all.

    Args:
        name: one of ``SOURCES``.
        model: the extractor of ``model``; any, with a model behind it or not.
        cache: a folder that keeps the readings of ``model`` from one run to the next.

    Raises:
        InvalidInput: there is no such source, or ``model`` is missing.
    """
    if name == "model":
        if model is None:
            raise InvalidInput(
                'the source of triples "model" needs an extractor: pass model=, for example '
                "graphmem.extractors.OpenAIExtractor(…) or LLMExtractor(…)"
            )
        reader = model
        return lambda data: CachedExtractor(reader, cache)
    plain: dict[str, Source] = {
        "recorded": recorded,
        "rules": _rules,
        "cooccurrence": lambda data: CooccurrenceExtractor(),
        "none": lambda data: RecordedExtractor({}, name="none"),
    }
    if name not in plain:
        raise InvalidInput(
            f"there is no source of triples {name!r}: choose among {', '.join(SOURCES)}"
        )
    return plain[name]


def _rules(data: DataSet) -> Extractor:
    from graphmem.extractors.rules import RulesExtractor

    return RulesExtractor()
