"""Committing what an extractor read: all of a call's results in one transaction, once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from graphmem import facts
from graphmem.store import queue
from graphmem.store.belief import (
    believe,
    drop_evidence,
    evidence_of,
    fact_id,
    facts_of,
)
from graphmem.store.naming import entity_id, name_entities
from graphmem.store.schema import evidence
from graphmem.store.transaction import Transaction
from graphmem.types import Extraction, Passage, Triple

__all__ = ["finish_extraction"]

_NOTHING = "the extractor returned nothing for this passage"


def finish_extraction(
    tx: Transaction, claim: queue.Claim, extractions: Sequence[Extraction], *, extractor: str
) -> None:
    """Replace the evidence of a claim's passages, and bring facts and entities in line with it.

    Passages that were forgotten, or that must be read again because what stands before them
    changed, are no longer the claim's: their results are passed over. A passage without a result
    has failed; failed ones go back to the queue.
    """
    held = queue.held(tx, claim)
    results = {one.passage_id: one for one in extractions}
    mine_still = [one for one in claim.passages if ("passage", one.id) in held]
    read: list[Passage] = []
    failed: dict[queue.Key, queue.Failure] = {}
    for one in mine_still:
        result = results.get(one.id, Extraction(one.id, error=_NOTHING))
        if result.error is None:
            read.append(one)
        else:
            failed["passage", one.id] = (result.error, None, result.is_retryable)
    ids = [one.id for one in read]
    touched = facts_of(tx, ids)
    old = evidence_of(tx, ids)
    since = {(row.passage_id, row.fact_id): row.recorded_at for row in reversed(old)}
    uses = drop_evidence(tx, old)
    new = [row for one in read for row in _rows(tx, one, results[one.id], extractor, since)]
    tx.run(evidence.insert(), new)
    roles = {one.id: one.role for one in read}
    for row in new:
        ends = row["subject"], row["object"]
        uses.count(ends, grounded=row["grounded"], role=roles[row["passage_id"]])
    touched.update(row["fact_id"] for row in new)
    touched |= name_entities(tx, uses, action="extract")
    believe(tx, touched, action="extract")
    queue.finish(tx, claim, [("passage", id_) for id_ in ids])
    queue.fail(tx, claim, failed)


def _rows(
    tx: Transaction,
    passage: Passage,
    result: Extraction,
    extractor: str,
    since: dict[tuple[str, str], datetime],
) -> list[dict[str, Any]]:
    """Evidence rows of the triples that can be facts; each said once."""
    ground = facts.Ground(passage)
    triples = [one for one in dict.fromkeys(result.triples) if not facts.reject_reason(one)]
    return [
        {
            **tx.owner,
            "passage_id": passage.id,
            "n": n,
            "fact_id": fact_id(triple),
            "subject": triple.subject,
            "predicate": triple.predicate,
            "object": triple.object,
            "polarity": triple.polarity,
            "valid_from": triple.valid_from,
            "valid_to": triple.valid_to,
            "speaker": triple.speaker or passage.speaker,
            **_support(ground, triple),
            "extractor": extractor,
            # Read again, it was believed since it was read first.
            "recorded_at": since.get((passage.id, fact_id(triple)), tx.now),
        }
        for n, triple in enumerate(triples)
    ]


def _support(ground: facts.Ground, triple: Triple) -> dict[str, Any]:
    """Whether the passage holds the triple, or else the entity of the one end that it lacks."""
    if ground.holds(triple):
        return {"grounded": True, "lacks": None}
    missing = ground.missing(triple)
    return {"grounded": False, "lacks": None if missing is None else entity_id(missing)}
