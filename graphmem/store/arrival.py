"""Putting messages: new ones become rows, known ones become occurrences.

The rows of stamped messages do not depend on the order or the batches in which they came, but for
arrival numbers and the time of recording: a message stands at the earliest time at which it was
said, wherever in its thread that is, and the passages behind it are queued to be read again,
because an extractor looks back from them.

What is banned is not stored: such a message is refused whole, or loses the sentences in question
and keeps the id that it has with them, by which it is known when it is delivered again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from sqlalchemy import bindparam, func, select, update

from graphmem import passages
from graphmem.store import queue
from graphmem.store.bans import Bans
from graphmem.store.belief import believe, facts_of
from graphmem.store.bulk import among, ours, put_row
from graphmem.store.lookup import Lookup
from graphmem.store.order import followers, passages_of, place, rearrange
from graphmem.store.records import said_columns
from graphmem.store.schema import NOWHERE, message, mine, occurrence, passage
from graphmem.store.transaction import Transaction
from graphmem.types import Message, Passage, Receipt

__all__ = ["FORGOTTEN", "Cut", "cut", "put"]

FORGOTTEN = "it was forgotten here; unforget() lets it be stored again"

_KNOWN = Lookup(
    select(
        message.c.id,
        message.c.thread,
        message.c.metadata,
        message.c.said_us,
        message.c.said_offset,
    ).where(ours(message), among(message.c.id))
)
_SAID_AGAIN = Lookup(
    select(occurrence.c.message_id, occurrence.c.said_us).where(
        ours(occurrence), among(occurrence.c.message_id)
    )
)
_LAST_PLACE = select(func.max(passage.c.place)).where(
    ours(passage), passage.c.thread == bindparam("thread")
)
_END = Lookup(
    select(
        message.c.ordinal,
        message.c.place,
        _LAST_PLACE.scalar_subquery().label("last_place"),
    )
    .where(ours(message), message.c.thread == bindparam("thread"))
    .order_by(message.c.ordinal.desc())
    .limit(1)
)
_PUT_MESSAGE = put_row(message)
_PUT_PASSAGE = put_row(passage)
_PUT_OCCURRENCE = put_row(occurrence, instead=())


@dataclass(frozen=True, slots=True)
class Cut:
    """A message with its passages.

    Attributes:
        message: as it is to be stored.
        parts: its passages.
        spans: where they stand in its text.
    """

    message: Message
    parts: tuple[Passage, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Known:
    """A message that is stored, or is about to be; ``learnt`` are times that are news."""

    id: str
    thread: str
    metadata: str
    said_us: int | None
    said_offset: int | None
    times: set[int]
    learnt: set[int] = field(default_factory=set)

    @property
    def precedence(self) -> tuple[bool, int, str, int]:
        """Of two deliveries the one with the lower gives its time and metadata."""
        return (self.said_us is None, self.said_us or 0, self.metadata, self.said_offset or 0)


@dataclass(frozen=True, slots=True)
class _End:
    """Where a thread goes on.

    Attributes:
        ordinal: the next arrival number.
        place: where an unstamped message stands that arrives next: with the newest arrival.
        last_place: what stood last before this batch.
    """

    ordinal: int
    place: int
    last_place: int


_NO_METADATA = "{}"
_NO_THREAD = _End(0, NOWHERE, NOWHERE)


@dataclass(slots=True)
class _Plan:
    """What a batch amounts to."""

    known: dict[str, _Known]
    new: dict[str, Cut] = field(default_factory=dict)
    moved: dict[str, None] = field(default_factory=dict)
    relabelled: dict[str, None] = field(default_factory=dict)
    repeated: dict[str, None] = field(default_factory=dict)
    stored: dict[str, None] = field(default_factory=dict)
    merged: dict[str, None] = field(default_factory=dict)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


def cut(messages: Sequence[Message], session: str | None) -> list[Cut]:
    """Admitted messages with their passages: what can be done before the store is locked."""
    return [_cut(one, passages.build(one, session)) for one in messages]


def _cut(one: Message, parts: tuple[Passage, ...]) -> Cut:
    spans = passages.message_spans(one)
    return Cut(one, parts, tuple(spans[part.part] for part in parts))


def put(tx: Transaction, built: Sequence[Cut]) -> Receipt:
    """Store messages, and queue what is new for extraction and embedding."""
    plan = _plan(tx, built)
    moved = passages_of(tx, plan.moved)
    shaken = followers(tx, moved)
    inner = _insert_messages(tx, plan)
    _move(tx, plan)
    if plan.moved:
        shaken |= rearrange(tx, {plan.known[id_].thread for id_ in plan.moved})
    shaken |= followers(tx, [*moved, *inner]) | set(moved)
    queue.add(tx, ("extract", "embed"), [("passage", id_) for id_ in plan.stored])
    queue.again(tx, "extract", [("passage", id_) for id_ in sorted(shaken - plan.stored.keys())])
    for id_ in plan.stored:
        tx.record("add", "passage", id_)
    for id_ in (*moved, *passages_of(tx, plan.relabelled)):
        tx.record("edit", "passage", id_)
    if plan.repeated:
        repeated = passages_of(tx, plan.repeated)
        for id_ in repeated:
            if id_ not in plan.stored and id_ not in moved:
                tx.record("merge", "passage", id_)
        believe(tx, facts_of(tx, repeated), action="merge")
    return Receipt(
        tx.scope,
        tuple(plan.stored),
        tuple(plan.merged),
        dropped=tuple(plan.dropped),
        refused=tuple(plan.refused),
    )


def _plan(tx: Transaction, built: Sequence[Cut]) -> _Plan:
    plan = _Plan(_known(tx, {one.parts[0].message_id for one in built if one.parts}))
    bans = Bans.of(tx)
    if bans:
        new = [one for one in built if one.parts and one.parts[0].message_id not in plan.known]
        bans.learn(text for one in new for text in (one.message.text, *_texts(one)))
    for one in built:
        if not one.parts:
            plan.dropped.append((one.message.text[:80], "it holds no words"))
        elif one.parts[0].message_id in plan.known:
            _repeat(plan, one.message, one.parts, has_bans=bans is not None)
        elif left := _spared(plan, bans, one) if bans else one:
            _start(plan, left)
    if bans:
        bans.log("put")
    return plan


def _texts(one: Cut) -> list[str]:
    return [part.text for part in one.parts]


def _spared(plan: _Plan, bans: Bans, one: Cut) -> Cut | None:
    """What may be stored of a new message; None where that is nothing."""
    texts = _texts(one)
    left = [""] * len(texts) if bans.is_whole(one.message) else list(map(bans.left, texts))
    if left == texts:
        return one
    what = one.message.text[:80]
    if not any(left):
        plan.refused.append((what, FORGOTTEN))
        plan.dropped.append((what, FORGOTTEN))
        return None
    plan.refused += [
        (text[:80], FORGOTTEN if not rest else f"sentences of it were cut: {FORGOTTEN}")
        for text, rest in zip(texts, left, strict=True)
        if rest != text
    ]
    return _with_texts(one, left)


def _with_texts(one: Cut, texts: Sequence[str]) -> Cut:
    """The message with other texts of its parts; those without one are left out."""
    kept = [replace(part, text=text) for part, text in zip(one.parts, texts, strict=True) if text]
    ends = list(accumulate(len(part.text) for part in kept))
    spans = tuple(zip([0, *ends], ends, strict=False))
    text = "".join(part.text for part in kept)
    return Cut(replace(one.message, text=text), tuple(kept), spans)


def _start(plan: _Plan, one: Cut) -> None:
    known = _known_of(one.message, one.parts[0])
    plan.known[known.id] = known
    plan.new[known.id] = one
    plan.stored.update((part.id, None) for part in one.parts)


def _repeat(plan: _Plan, one: Message, parts: tuple[Passage, ...], *, has_bans: bool) -> None:
    """Another delivery: perhaps said at another time, perhaps the same words handed in again.

    Where something is banned, metadata that is gone stays so.
    """
    given = _known_of(one, parts[0])
    known = plan.known[given.id]
    plan.merged.update((part.id, None) for part in parts if part.id not in plan.stored)
    if not given.times:
        return  # of unstamped deliveries the first counts: nothing else orders them
    if not given.times <= known.times:
        known.learnt |= given.times - known.times
        known.times |= given.times
        plan.repeated[known.id] = None
    if given.precedence < known.precedence:
        is_moved = (known.said_us, known.said_offset) != (given.said_us, given.said_offset)
        if not (has_bans and known.metadata == _NO_METADATA):
            known.metadata = given.metadata
        known.said_us, known.said_offset = given.said_us, given.said_offset
        if known.id not in plan.new:
            (plan.moved if is_moved else plan.relabelled)[known.id] = None


def _known_of(one: Message, part: Passage) -> _Known:
    us, offset = said_columns(one.said_at)
    metadata = json.dumps(dict(one.metadata), ensure_ascii=False, sort_keys=True)
    times = set() if us is None else {us}
    return _Known(part.message_id, part.thread, metadata, us, offset, times)


def _known(tx: Transaction, ids: Iterable[str]) -> dict[str, _Known]:
    """Those of the messages that are stored."""
    found: dict[str, _Known] = {}
    for row in _KNOWN.rows(tx.connection, tx.scope, ids):
        times = set() if row.said_us is None else {row.said_us}
        found[row.id] = _Known(
            row.id, row.thread, row.metadata, row.said_us, row.said_offset, times
        )
    if found:
        for row in _SAID_AGAIN.rows(tx.connection, tx.scope, found):
            found[row.message_id].times.add(row.said_us)
    return found


def _insert_messages(tx: Transaction, plan: _Plan) -> list[str]:
    """Write the rows of new messages; returns the passages that others stand behind."""
    ends = _thread_ends(tx, plan)
    message_rows: list[dict[str, Any]] = []
    passage_rows: list[dict[str, Any]] = []
    inner: list[str] = []
    for id_, one in plan.new.items():
        parts = one.parts
        known = plan.known[id_]
        end = ends.get(known.thread, _NO_THREAD)
        place = end.place if known.said_us is None else known.said_us
        if place < end.last_place:
            inner += [part.id for part in parts]
        ends[known.thread] = replace(end, ordinal=end.ordinal + 1, place=place)
        message_rows.append(_message_row(tx, one.message, parts[0], known, place, end.ordinal))
        passage_rows += _passage_rows(tx, one, place, end.ordinal)
    tx.write(_PUT_MESSAGE, message_rows)
    tx.write(_PUT_PASSAGE, passage_rows)
    tx.write(_PUT_OCCURRENCE, _occurrence_rows(tx, plan))
    return inner


def _message_row(
    tx: Transaction, one: Message, part: Passage, known: _Known, place: int, ordinal: int
) -> dict[str, Any]:
    return {
        **tx.owner,
        "id": known.id,
        "session": part.session,
        "thread": known.thread,
        "place": place,
        "ordinal": ordinal,
        "role": one.role,
        "speaker": one.speaker or "",
        "title": one.title or "",
        "text": one.text,
        "metadata": known.metadata,
        "said_us": known.said_us,
        "said_offset": known.said_offset,
        "recorded_us": tx.at,
    }


def _occurrence_rows(tx: Transaction, plan: _Plan) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for id_ in plan.repeated:
        known = plan.known[id_]
        is_first = known.learnt == known.times and id_ not in plan.new
        for us in sorted(known.times) if is_first or len(known.times) > 1 else ():
            at = tx.at if us in known.learnt else None
            rows.append({**tx.owner, "message_id": id_, "said_us": us, "recorded_us": at})
    return rows


def _passage_rows(tx: Transaction, one: Cut, place: int, ordinal: int) -> list[dict[str, Any]]:
    return [
        {
            **tx.owner,
            "id": part.id,
            "part": part.part,
            "start": start,
            "stop": stop,
            "thread": part.thread,
            "place": place,
            "ordinal": ordinal,
            "embedded": None,
        }
        for part, (start, stop) in zip(one.parts, one.spans, strict=True)
    ]


def _thread_ends(tx: Transaction, plan: _Plan) -> dict[str, _End]:
    """The ends of threads that go on. A message that is a thread of its own is new there."""
    ends: dict[str, _End] = {}
    for thread in sorted({plan.known[id_].thread for id_ in plan.new} - plan.new.keys()):
        for row in _END.rows(tx.connection, tx.scope, thread=thread):
            ends[thread] = _End(row.ordinal + 1, row.place, row.last_place)
    return ends


def _move(tx: Transaction, plan: _Plan) -> None:
    """Messages that turn out to have been said earlier, or first with other metadata."""
    place(tx, {id_: plan.known[id_].said_us or 0 for id_ in plan.moved})
    for id_ in (*plan.moved, *plan.relabelled):
        known = plan.known[id_]
        tx.run(
            update(message)
            .where(mine(message, tx.scope), message.c.id == id_)
            .values(metadata=known.metadata, said_us=known.said_us, said_offset=known.said_offset)
        )
