"""Committing what an extractor read: all of a call's results in one transaction, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam

from graphmem import facts
from graphmem.courtesy import give_way
from graphmem.dating import dated
from graphmem.moods import mood
from graphmem.predicates import affirmed
from graphmem.store import order, queue
from graphmem.store.belief import (
    believe,
    drop_evidence,
    evidence_of,
)
from graphmem.store.bulk import Bulk, ours, put_row
from graphmem.store.naming import name_entities
from graphmem.store.refusing import Refused
from graphmem.store.schema import evidence, microseconds
from graphmem.store.transaction import Transaction
from graphmem.types import Extraction, Passage

__all__ = ["finish_extraction", "judge"]

_PUT = put_row(evidence)
_MEAN = Bulk(
    evidence.update()
    .where(ours(evidence), evidence.c.passage_id == bindparam("id"))
    .values(mood=bindparam("mood"))
)
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
    for one in claim.passages:
        give_way()
        result = results.get(one.id, Extraction(one.id, error=_NOTHING))
        if result.error is None:
            readings.append(Reading(one, _rows(one, result, extractor)))
        else:
            failure = (result.error, None, result.is_retryable)
            readings.append(Reading(one, failure=failure))
    return readings


def finish_extraction(tx: Transaction, claim: queue.Claim, readings: Sequence[Reading]) -> bool:
    """Replace the evidence of a claim's passages, and bring facts and entities in line with it.

    Passages that were forgotten, or that must be read again because what stands before them
    changed, are no longer the claim's: their results are passed over. Failed ones go back to the
    queue.

    Returns:
        Whether words had to be erased, because they state what was forgotten.
    """
    held = queue.held(tx, claim)
    still = [one for one in readings if ("passage", one.passage.id) in held]
    failed = {("passage", one.passage.id): one.failure for one in still if one.failure}
    read = [one for one in still if not one.failure]
    ids = [one.passage.id for one in read]
    old = evidence_of(tx, ids)
    uses = drop_evidence(tx, old)
    since = {(row.passage_id, row.fact_id): microseconds(row.recorded_at) for row in reversed(old)}
    refused = Refused.of(tx, [(one.passage.id, one.rows) for one in read])
    new: list[dict[str, Any]] = []
    following = _following(tx, read)
    for one in read:
        meant = mood(one.passage, following.get(one.passage.id))
        for row in refused.others(one.rows):
            # Read again, it was believed since it was read first.
            recorded_at = since.get((row["passage_id"], row["fact_id"]), tx.at)
            new.append({**row, **tx.owner, "recorded_at": recorded_at, "mood": meant})
            ends = row["subject"], row["object"]
            uses.count(ends, grounded=row["grounded"], role=one.passage.role)
    tx.write(_PUT, new)
    touched = {row.fact_id for row in old} | {row["fact_id"] for row in new}
    wrong = _understand(tx, [one.passage for one in read])
    touched |= {row.fact_id for row in wrong}
    touched |= name_entities(tx, uses, action="extract")
    changed = [*ids, *(row.passage_id for row in wrong)]
    believe(tx, touched, action="extract", read=dict.fromkeys(changed))
    queue.finish(tx, claim, [("passage", id_) for id_ in ids])
    queue.fail(tx, claim, failed)
    return refused.take_back(tx)


def _following(tx: Transaction, readings: Sequence[Reading]) -> dict[str, Passage]:
    """The next passage of the same speaker behind those that state something, within sight."""
    after = {one.passage.before[-1].id: one.passage for one in readings if one.passage.before}
    found: dict[str, Passage] = {}
    for passage in [one.passage for one in readings if one.rows]:
        # Nobody comes behind a document, or a text without a session.
        if passage.role != "user" or passage.thread == passage.message_id:
            continue
        # As a rule they are read together.
        spoken = _spoken(passage, _read_behind(passage, after))
        spoken = spoken or _spoken(passage, order.behind(tx, passage.id))
        if spoken:
            found[passage.id] = spoken
    return found


def _read_behind(passage: Passage, after: Mapping[str, Passage]) -> list[Passage]:
    """The passages behind one, as far as they were read with it; ``after`` has the next of each."""
    found: list[Passage] = []
    while len(found) < order.CONTEXT_PASSAGES and passage.id in after:
        passage = after[passage.id]
        found.append(passage)
    return found


def _spoken(by: Passage, passages: Iterable[Passage]) -> Passage | None:
    """The first of the passages that the speaker of another said."""
    return next((one for one in passages if (one.role, one.speaker) == (by.role, by.speaker)), None)


def _understand(tx: Transaction, passages: Sequence[Passage]) -> list[Any]:
    """Judge anew how what was read earlier was meant, now that its speaker has gone on.

    Returns:
        The rows of evidence, as they were, that were meant otherwise than was thought.
    """
    ids = {one.id for one in passages}
    meant = {
        said.id: mood(said, one)
        for one in passages
        if one.role == "user" and (said := _spoken(one, reversed(one.before)))
        if said.id not in ids
    }
    wrong = [row for row in evidence_of(tx, sorted(meant)) if row.mood != meant[row.passage_id]]
    tx.write(
        _MEAN,
        [
            {**tx.owner, "id": id_, "mood": meant[id_]}
            for id_ in sorted({row.passage_id for row in wrong})
        ],
    )
    return wrong


def _rows(passage: Passage, result: Extraction, extractor: str) -> list[dict[str, Any]]:
    ground = facts.Ground(passage)
    said = dict.fromkeys(dated(affirmed(one), passage) for one in result.triples)
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
            }
        )
    return rows
