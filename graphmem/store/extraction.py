"""Committing what an extractor read: all of a call's results in one transaction, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphmem import facts
from graphmem.courtesy import give_way
from graphmem.predicates import affirmed
from graphmem.store import queue
from graphmem.store.belief import (
    believe,
    drop_evidence,
    evidence_of,
)
from graphmem.store.bulk import put_row
from graphmem.store.naming import name_entities
from graphmem.store.schema import evidence, microseconds
from graphmem.store.transaction import Transaction
from graphmem.types import Extraction, Passage

__all__ = ["finish_extraction", "judge"]

_PUT = put_row(evidence)
_NOTHING = "the extractor returned nothing for this passage"


@dataclass(frozen=True, slots=True)
class Reading:
    """What an extractor made of one passage, as rows of evidence but for whose and when.

    Attributes:
        passage: the passage.
        rows: of the triples that can be facts; each said once.
        failure: what went wrong, where it did.
    """

    passage: Passage
    rows: Sequence[dict[str, Any]] = ()
    failure: queue.Failure | None = None


def judge(
    claim: queue.Claim, extractions: Sequence[Extraction], *, extractor: str
) -> list[Reading]:
    """What a claim's passages hold of their triples: what can be done before the store is locked.

    A passage without a result has failed.
    """
    results = {one.passage_id: one for one in extractions}
    readings: list[Reading] = []
    for passage in claim.passages:
        give_way()
        result = results.get(passage.id, Extraction(passage.id, error=_NOTHING))
        if result.error is None:
            readings.append(Reading(passage, _rows(passage, result, extractor)))
        else:
            failure = (result.error, None, result.is_retryable)
            readings.append(Reading(passage, failure=failure))
    return readings


def finish_extraction(tx: Transaction, claim: queue.Claim, readings: Sequence[Reading]) -> None:
    """Replace the evidence of a claim's passages, and bring facts and entities in line with it.

    Passages that were forgotten, or that must be read again because what stands before them
    changed, are no longer the claim's: their results are passed over. Failed ones go back to the
    queue.
    """
    held = queue.held(tx, claim)
    still = [one for one in readings if ("passage", one.passage.id) in held]
    failed = {("passage", one.passage.id): one.failure for one in still if one.failure}
    read = [one for one in still if not one.failure]
    ids = [one.passage.id for one in read]
    old = evidence_of(tx, ids)
    uses = drop_evidence(tx, old)
    since = {(row.passage_id, row.fact_id): microseconds(row.recorded_at) for row in reversed(old)}
    new: list[dict[str, Any]] = []
    for one in read:
        for row in one.rows:
            # Read again, it was believed since it was read first.
            recorded_at = since.get((row["passage_id"], row["fact_id"]), tx.at)
            new.append({**row, **tx.owner, "recorded_at": recorded_at})
            ends = row["subject"], row["object"]
            uses.count(ends, grounded=row["grounded"], role=one.passage.role)
    tx.write(_PUT, new)
    touched = {row.fact_id for row in old} | {row["fact_id"] for row in new}
    touched |= name_entities(tx, uses, action="extract")
    believe(tx, touched, action="extract")
    queue.finish(tx, claim, [("passage", id_) for id_ in ids])
    queue.fail(tx, claim, failed)


def _rows(passage: Passage, result: Extraction, extractor: str) -> list[dict[str, Any]]:
    ground = facts.Ground(passage)
    said = dict.fromkeys(map(affirmed, result.triples))
    triples = [one for one in said if not facts.reject_reason(one)]
    ends = dict.fromkeys(end for one in triples for end in (one.subject, one.object))
    names = {end: ground.names(end) for end in ends}
    rows: list[dict[str, Any]] = []
    for n, triple in enumerate(triples):
        is_grounded = names[triple.subject] and names[triple.object]
        missing = None if is_grounded else ground.missing(triple)
        rows.append(
            {
                "passage_id": passage.id,
                "n": n,
                "fact_id": facts.fact_id(
                    triple.subject, triple.predicate, triple.object, triple.polarity
                ),
                "subject": triple.subject,
                "predicate": triple.predicate,
                "object": triple.object,
                "polarity": triple.polarity,
                "valid_from": triple.valid_from,
                "valid_to": triple.valid_to,
                "speaker": triple.speaker or passage.speaker,
                "grounded": is_grounded,
                # The entity of the one end that it lacks.
                "lacks": None if missing is None else facts.entity_id(missing),
                "extractor": extractor,
                "mood": "",
            }
        )
    return rows
