"""From the evidence of one fact to the fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from graphmem.facts.evidence import Evidence, Ruling, entity_id, fact_id, firm, trusted
from graphmem.identity import normal_form
from graphmem.times import earliest, latest
from graphmem.types import Fact, Status

__all__ = ["merge"]


def merge(evidence: Sequence[Evidence], ruling: Ruling | None = None) -> Fact:
    """The fact that the evidence of one fact id adds up to, in whatever order it came.

    Its status is the first of these that fits:

    - ``rejected`` and ``disputed``: a person ruled so;
    - ``verified``: a person ruled so, or a person says so in words that hold it, later (by a known
      order) than another speaker, be it an assistant, a document or another person;
    - ``asserted``: a person or a document says so in words that hold it, in earnest;
    - ``candidate``: nobody but an assistant or a tool does, or no passage holds it, or as a joke.

    What it shows rests on the trusted evidence alone, or on all where there is none: the spelling
    used most often (ties: the smallest), the span in which it is known to hold (from the earliest
    stated start to the latest stated end, each as precise as stated; an end before the start is
    unknown), the time of its first record. Its passages are those that hold it, whoever speaks, or
    all when none does.

    Args:
        evidence: at least one row; all of them have the subject, predicate, object and polarity of
            one fact, in normal form.
        ruling: what a person ruled on it.

    Raises:
        ValueError: no evidence, or evidence of several facts.
    """
    ids = {fact_id(row.subject, row.predicate, row.object, row.polarity) for row in evidence}
    if len(ids) != 1:
        raise ValueError(f"merge takes the evidence of one fact, not of {len(ids)}")
    shown = trusted(evidence) or evidence
    holding = [row for row in evidence if row.grounded and not row.mood] or evidence
    subject = _most_used(row.subject for row in shown)
    object_ = _most_used(row.object for row in shown)
    valid_from = earliest(row.valid_from for row in shown)
    return Fact(
        id=ids.pop(),
        subject_id=entity_id(subject),
        object_id=entity_id(object_),
        subject=subject,
        predicate=_most_used(row.predicate for row in shown),
        object=object_,
        polarity=evidence[0].polarity,
        valid_from=valid_from,
        valid_to=latest((row.valid_to for row in shown), after=valid_from),
        recorded_at=min((row.recorded_at for row in shown if row.recorded_at), default=None),
        status=_status(evidence, ruling),
        passages=tuple(sorted({row.passage_id for row in holding})),
    )


def _status(evidence: Sequence[Evidence], ruling: Ruling | None) -> Status:
    if ruling:
        return ruling.verdict
    if not trusted(evidence):
        return "candidate"
    return "verified" if len(evidence) > 1 and _is_confirmed(evidence) else "asserted"


def _is_confirmed(evidence: Sequence[Evidence]) -> bool:
    """Whether a person says later what another speaker had said."""
    said = [row for row in evidence if not row.mood]
    return any(
        _speaker(later) != _speaker(earlier) and _is_after(later, earlier)
        for later in firm(evidence)
        if later.role == "user"
        for earlier in said
    )


def _speaker(row: Evidence) -> tuple[str, str]:
    return row.role, normal_form(row.speaker)


def _is_after(later: Evidence, earlier: Evidence) -> bool:
    """Whether the one is known to be said after the other."""
    if later.said_at != earlier.said_at:
        return bool(later.said_at and earlier.said_at and later.said_at > earlier.said_at)
    return later.thread == earlier.thread is not None and later.ordinal > earlier.ordinal


def _most_used(spellings: Iterable[str]) -> str:
    spaced = [" ".join(spelling.split()) for spelling in spellings]
    if len(set(spaced)) == 1:
        return spaced[0]
    counts = Counter(spaced)
    return min(counts, key=lambda spelling: (-counts[spelling], spelling))
