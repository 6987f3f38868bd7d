"""Refusing: what an extractor reads of what was forgotten is not stored, and its words go.

A text is refused when it is put, by its words. In other words it is known only when it has been
read: then its triples are refused, and the sentences that state them are erased and banned too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from sqlalchemy import select

from graphmem.store.bans import Bans, Digest, add
from graphmem.store.bulk import among, given, ours
from graphmem.store.erasing import Erasure, erase, state_no_more
from graphmem.store.records import OF_MESSAGE, passages_by_id
from graphmem.store.schema import message, passage
from graphmem.store.transaction import Transaction

__all__ = ["Refused"]

_CAME = (
    select(passage.c.id, message.c.recorded_us)
    .select_from(passage.join(message, OF_MESSAGE))
    .where(ours(passage), among(passage.c.id))
)

Row = Mapping[str, Any]


@dataclass(slots=True)
class Refused:
    """The triples of some passages that are banned.

    Attributes:
        bans: the ban that keeps a triple out, by passage and number.
        rows: by passage, all that was read of those that have such triples.
    """

    bans: dict[tuple[str, int], Any] = field(default_factory=dict)
    rows: dict[str, Sequence[Row]] = field(default_factory=dict)

    @classmethod
    def of(cls, tx: Transaction, read: Iterable[tuple[str, Sequence[Row]]]) -> Refused:
        """Look up what was read, where the scope has bans at all.

        Args:
            tx: the write.
            read: passages and their rows of evidence.
        """
        refused = cls()
        bans = Bans.of(tx)
        if bans is None:
            return refused
        by_passage = dict(read)
        bans.learn_facts(row for rows in by_passage.values() for row in rows)
        came = _came(tx, by_passage)
        for id_, rows in by_passage.items():
            for row in rows:
                held = bans.refusal(row, came.get(id_))
                if held is not None:
                    refused.bans[id_, row["n"]] = held
                    refused.rows[id_] = rows
        bans.log("extract")
        return refused

    def others(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Those of the rows that are stored."""
        if not self.bans:
            return rows
        return [row for row in rows if (row["passage_id"], row["n"]) not in self.bans]

    def take_back(self, tx: Transaction) -> bool:
        """Erase the sentences that state what was forgotten, if any; they are banned with it."""
        plan = Erasure()
        said: dict[str, list[str]] = {}
        for id_, one in sorted(passages_by_id(tx.connection, tx.scope, self.rows).items()):
            rows = [SimpleNamespace(**row) for row in self.rows[id_]]
            own = [row for row in rows if self._is_forgotten(row)]
            others = [row for row in rows if (id_, row.n) not in self.bans]
            gone = state_no_more(plan, one, own, others, goes_whole=False)
            for row in own:
                said.setdefault(self.bans[id_, row.n].id, []).extend(gone[row.fact_id])
        if not plan.was:
            return False
        digest = Digest(tx.connection)
        erase(tx, plan, action="forget")
        for ban, texts in said.items():
            add(tx, ban, [key for text in texts for key in digest.of_text(text)])
        return True

    def _is_forgotten(self, row: Any) -> bool:
        held = self.bans.get((row.passage_id, row.n))
        return held is not None and held.kind == "fact" and held.cause == "forget"


def _came(tx: Transaction, passage_ids: Iterable[str]) -> dict[str, int]:
    """When the store got the messages of passages, where that is known."""
    return {row.id: row.recorded_us for row in tx.rows(_CAME, given(tx.scope, passage_ids))}
