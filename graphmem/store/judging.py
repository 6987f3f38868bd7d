"""Judging: what a person says of a fact itself, and taking a ban back.

A rejection is a ban of the value, however it is spelled. The fact keeps its evidence, so that it
can be shown as wrong, and be believed again; what says the same in other words from then on is not
stored. Rows are read in ``rulings``, by which facts are believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select

from graphmem.errors import InvalidInput, NotAllowed, NotFound
from graphmem.store.bans import Digest, Key, held, lay, lift
from graphmem.store.belief import believe
from graphmem.store.bulk import among, given, ours, put_row
from graphmem.store.forgetting import same_value
from graphmem.store.schema import ban as ban_rows
from graphmem.store.schema import verdict
from graphmem.store.transaction import Transaction

__all__ = ["Judged", "reject", "rule", "unforget"]

_PUT = put_row(verdict, instead=("ruling", "at", "actor", "actor_kind", "reason"))
_REJECTED = select(ban_rows.c.id).where(ours(ban_rows), among(ban_rows.c.fact_id))

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judgement came to.

    Attributes:
        bans: ids of the bans that were laid, or taken back.
        facts: ids of the facts that are rejected by them, or no longer are.
    """

    bans: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


def reject(tx: Transaction, fact_id: str, *, reason: str = "") -> Judged:
    """Rule that a fact is wrong, in whatever words it is stated.

    Raises:
        NotFound: the scope has no such fact.
    """
    values = same_value(tx, digest := Digest(tx.connection), [fact_id])
    bans: tuple[str, ...] = ()
    facts: list[str] = []
    for value, alike in values.items():
        ids = sorted({one.id for one in alike}, key=lambda id_: (id_ != fact_id, id_))
        others = [Key(digest.spelling(id_), "fact", fact_id=id_) for id_ in ids[1:]]
        bans += lay(
            tx, [[Key(value, "fact", fact_id=ids[0]), *others]], cause="reject", reason=reason
        )
        facts += ids
    _settle(tx, "reject", "ban", bans, facts, reason)
    return Judged(bans, tuple(facts))


def rule(
    tx: Transaction, fact_id: str, ruling: Literal["verified", "disputed"], *, reason: str = ""
) -> None:
    """Rule that a fact is so, or that it is in doubt; only a person can say that it is so.

    Raises:
        NotFound: the scope has no such fact.
        NotAllowed: nobody but a person verifies.
        InvalidInput: it was found wrong, or forgotten: that has to be taken back first.
    """
    if ruling == "verified":
        _check_person(tx, "verify a fact")
    values = same_value(tx, Digest(tx.connection), [fact_id])
    if tx.bans:
        rows = tx.rows(_REJECTED, given(tx.scope, [fact_id])) or held(tx, values)
        if rows:
            raise InvalidInput(
                f"the fact {fact_id!r} is banned: unforget(ban={rows[0].id!r}) takes that back"
            )
    row = {"fact_id": fact_id, "ruling": ruling, "at": tx.at, "reason": reason}
    actor = {"actor": tx.actor.name, "actor_kind": tx.actor.kind}
    tx.write(_PUT, [{**tx.owner, **row, **actor}])
    action = "verify" if ruling == "verified" else "dispute"
    _settle(tx, action, "verdict", [fact_id], [fact_id], reason)


def unforget(
    tx: Transaction,
    *,
    ban: str | None = None,
    fact: str | Triple | None = None,
    text: str | None = None,
    entity: str | None = None,
    reason: str = "",
) -> Judged:
    """Take a ban back, named by its id or by what it is of; what was erased stays erased.

    Raises:
        NotFound: nothing of that kind is banned.
        NotAllowed: nobody but a person takes a ban back.
    """
    _check_person(tx, "take a ban back")
    ids = _named(tx, ban, fact, text, entity)
    if not ids:
        raise NotFound(f"nothing of that is banned in {tx.scope}; the list of bans tells what is")
    facts = sorted(lift(tx, ids))
    _settle(tx, "unforget", "ban", ids, facts, reason)
    return Judged(tuple(ids), tuple(facts))


def _named(
    tx: Transaction,
    id_: str | None,
    fact: str | Triple | None,
    text: str | None,
    entity: str | None,
) -> list[str]:
    """Ids of the bans that are meant."""
    digest = Digest(tx.connection)
    if isinstance(fact, str):
        return sorted({row.id for row in tx.rows(_REJECTED, given(tx.scope, [fact]))})
    keys: list[bytes] = []
    if id_ is not None:
        rows = tx.rows(select(ban_rows.c.id).where(ours(ban_rows), ban_rows.c.id == id_), tx.owner)
        return [id_] if rows else []
    if fact is not None:
        keys += [digest.fact(*fact, polarity) for polarity in (True, False)]
    if text is not None:
        keys += [*digest.texts(text), *(key.digest for key in digest.of_text(text))]
    if entity is not None and (key := digest.name(entity)):
        keys.append(key)
    return sorted({row.id for row in held(tx, keys)})


def _check_person(tx: Transaction, what: str) -> None:
    if tx.actor.kind != "person":
        raise NotAllowed(f"only a person may {what}, not an actor of the kind {tx.actor.kind!r}")


def _settle(
    tx: Transaction,
    action: str,
    kind: str,
    ids: Iterable[str],
    facts: Sequence[str],
    reason: str,
) -> None:
    for id_ in ids:
        tx.record(action, kind, id_, reason=reason)
    believe(tx, facts, action=action, reason=reason)
    tx.voids()
