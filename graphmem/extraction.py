"""What an extractor returned, made safe to store: it may be anybody's code, around any model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphmem.errors import ExtractionError
from graphmem.faults import MAX_CHARS
from graphmem.identity import clean_text
from graphmem.types import Extraction, Passage, Triple

__all__ = ["checked_extractions"]


def checked_extractions(
    found: Iterable[Extraction], passages: Sequence[Passage]
) -> list[Extraction]:
    """One valid Extraction for each passage, in order, whatever the extractor returned.

    A passage without one has failed; triples whose parts are no strings are dropped with a reason;
    extractions of unknown passages are ignored; of two for one passage the last counts.

    Raises:
        ExtractionError: what was returned is no sequence of Extraction.
    """
    by_id: dict[str, Extraction] = {}
    try:
        items = list(found)
    except TypeError as error:
        raise ExtractionError(
            f"the extractor returned {type(found).__name__}; return one Extraction per passage"
        ) from error
    for item in items:
        if not isinstance(item, Extraction):
            raise ExtractionError(
                f"the extractor returned a {type(item).__name__}; return one Extraction per passage"
            )
        if isinstance(item.passage_id, str):
            by_id[item.passage_id] = item
    missing = "the extractor returned nothing for this passage"
    return [
        _checked(by_id.get(passage.id, Extraction(passage.id, error=missing)))
        for passage in passages
    ]


def _checked(extraction: Extraction) -> Extraction:
    try:
        return _sorted_out(extraction)
    except TypeError:
        return Extraction(
            extraction.passage_id, error="Extraction.triples and dropped must be sequences"
        )


def _sorted_out(extraction: Extraction) -> Extraction:
    triples: list[Triple] = []
    dropped = list(extraction.dropped)
    for triple in extraction.triples:
        required = (getattr(triple, name, None) for name in ("subject", "predicate", "object"))
        optional = (getattr(triple, name, None) for name in ("valid_from", "valid_to", "speaker"))
        if not isinstance(triple, Triple) or not all(isinstance(part, str) for part in required):
            dropped.append(f"not a triple of strings: {str(triple)[:200]}")
        elif not all(part is None or isinstance(part, str) for part in optional):
            dropped.append(f"a date or speaker is no string: {str(triple)[:200]}")
        elif not isinstance(triple.polarity, bool):
            dropped.append(f"its polarity is neither True nor False: {str(triple)[:200]}")
        else:
            triples.append(_cleaned(triple))
    return Extraction(
        extraction.passage_id,
        tuple(triples),
        error=None if extraction.error is None else _reason(extraction.error),
        is_retryable=bool(extraction.is_retryable),
        dropped=tuple(map(_reason, dropped)),
    )


def _reason(value: object) -> str:
    return clean_text(str(value))[:MAX_CHARS]


def _cleaned(triple: Triple) -> Triple:
    return Triple(
        subject=clean_text(triple.subject),
        predicate=clean_text(triple.predicate),
        object=clean_text(triple.object),
        polarity=triple.polarity,
        valid_from=clean_text(triple.valid_from) if triple.valid_from else None,
        valid_to=clean_text(triple.valid_to) if triple.valid_to else None,
        speaker=clean_text(triple.speaker) if triple.speaker else None,
    )
