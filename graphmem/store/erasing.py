"""Erasing: passages go, or lose sentences, with everything that only those words carried.

Afterwards the rows are those of a store that never saw the words, as far as they can be computed
without a model; passages that an extractor read with a look back at them are queued to be read
again, and what was read of them, or of what is left, in words that are gone is dropped at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import and_, bindparam, literal_column, select, update

from graphmem.grounding import Ground
from graphmem.identity import normal_form
from graphmem.passages import sentences, without_sentences
from graphmem.store import queue, vectors
from graphmem.store.belief import believe, drop_evidence, evidence_of
from graphmem.store.bulk import Bulk, among, delete_row, ours
from graphmem.store.lookup import Lookup
from graphmem.store.naming import Uses, name_entities
from graphmem.store.order import followers, positions, rearrange, with_context
from graphmem.store.records import OF_MESSAGE, facts_by_id
from graphmem.store.schema import message, mine, occurrence, passage, pending, verdict
from graphmem.store.sqlite import owe_erasure
from graphmem.store.transaction import Transaction
from graphmem.types import Fact, Passage, Triple
from graphmem.words import STOP_WORDS, terms, words

__all__ = ["Erasure", "erase", "state_no_more"]

_DELETE_PASSAGE = delete_row(passage)
_DELETE_MESSAGE = delete_row(message)
_DELETE_VERDICT = delete_row(verdict)
_DELETE_OCCURRENCES = Bulk(
    occurrence.delete().where(ours(occurrence), occurrence.c.message_id == bindparam("message_id"))
)
_PARTS = Lookup(
    select(message.c.id.label("message_id"), passage.c.id, passage.c.start, passage.c.stop)
    .select_from(message.join(passage, OF_MESSAGE))
    .where(ours(message), among(message.c.id))
    .order_by(message.c.id, passage.c.part)
)
_QUOTE_NOTHING = Bulk(
    update(pending).where(ours(pending), pending.c.attempts > literal_column("0")), ("error",)
)
_UNREAD = Lookup(
    select(pending.c.id).where(
        ours(pending),
        pending.c.kind == "passage",
        pending.c.work == "extract",
        among(pending.c.id),
    )
)
# Where one clause may end and the next begin.
_CLAUSE_END = re.compile(
    r"(?:[,;]|\s[-\u2013\u2014])\s+(?:(?:and|but|so|while|whereas|because|though)\s+)?"
    r"|\s+(?:and|but|while|whereas|because|though)\s+"
)
_WORD = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class Erasure:
    """What is to be erased, and then what that came to.

    Attributes:
        was: the passages that go or lose sentences, as they were.
        left: what is left of the text of those that go on.
        evidence: rows of evidence that go though their passages stay.
        facts: facts that are gone with it, as they were.
    """

    was: dict[str, Passage] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    evidence: list[Any] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)

    @property
    def gone(self) -> list[str]:
        """Ids of the passages that go."""
        return sorted(self.was.keys() - self.left.keys())

    @property
    def cut(self) -> list[str]:
        """Ids of the passages that lose sentences."""
        return sorted(self.left)

    @property
    def lost(self) -> list[str]:
        """The words that go, text by text: those that are left elsewhere in a passage stay."""
        gone = [self.was[id_].full_text for id_ in self.gone]
        gone += [one.text for one in self.facts.values()]
        for id_ in self.cut:
            kept = set(words(self.left[id_]))
            gone += [word for word in words(self.was[id_].text) if word not in kept]
        return gone

    @property
    def names(self) -> set[str]:
        """The words that name what the facts that go are about."""
        ends = [end for one in self.facts.values() for end in (one.subject, one.object)]
        ends += [end for row in self.evidence for end in (row.subject, row.object)]
        return set(words(" . ".join(ends))) - STOP_WORDS

    def lose(self, one: Passage, text: str) -> None:
        """Leave no more than this of a passage: nothing lets it go."""
        first = self.was.setdefault(one.id, one)
        if text and text != first.text:
            self.left[one.id] = text
        else:
            self.left.pop(one.id, None)
            if text:
                del self.was[one.id]


def state_no_more(
    plan: Erasure,
    one: Passage,
    rows: Sequence[Any],
    others: Sequence[Any],
    *,
    goes_whole: bool = True,
) -> dict[str, list[str]]:
    """Plan that a passage loses the sentences that state some triples.

    Args:
        plan: what is to be erased.
        one: the passage.
        rows: of evidence in it, whose triples are not to be stated any more.
        others: the rest of its evidence.
        goes_whole: whether it goes whole where it holds a triple in no sentence of its own: a bare
            "yes".

    Returns:
        The texts that go, by fact.
    """
    gone = {row.fact_id: _holding(one, row, others) for row in rows}
    for row in rows:
        if goes_whole and row.grounded and not gone[row.fact_id]:
            gone[row.fact_id] = [one.text]
    said = {text for texts in gone.values() for text in texts}
    if one.id not in plan.gone and said:
        left = plan.left.get(one.id, one.text)
        for sentence in sorted(said):
            rest = _clauses_left(one, sentence, rows, others)
            left = left.replace(sentence, rest) if rest else left
        whole = one.text in said and left == one.text
        plan.lose(one, "" if whole else without_sentences(left, said.__contains__))
    return gone


def _holding(one: Passage, row: Any, others: Iterable[Any]) -> list[str]:
    """The sentences of a passage that state a triple which it gave.

    They are those that hold its object, or, where that is who speaks, its subject. One that states
    another triple about the object is left out, unless it has words of this one's predicate.
    """
    end = _telling_end(one, row)
    name = getattr(row, end)
    own = _telling(row.predicate)
    rivals = [
        told
        for other in others
        if normal_form(getattr(other, end)) == normal_form(name)
        and (told := _telling(other.predicate) - own)
    ]
    found: list[str] = []
    for start, stop in sentences(one.text):
        sentence = one.text[start:stop]
        alone = replace(one, text=sentence, title="", speaker="", before=())
        if not Ground(alone).names(name):
            continue
        said = set(terms(words(sentence)))
        if said & own or not any(told <= said for told in rivals):
            found.append(sentence)
    return found


def _clauses_left(one: Passage, sentence: str, rows: Iterable[Any], others: Iterable[Any]) -> str:
    """What may stay of a sentence that goes: its clauses that state other triples alone.

    Such a clause holds both ends of another triple, and not the end by which one of these is told.
    The rest goes: where the two cannot be told apart, all of it.
    """
    clauses = [clause for clause in _CLAUSE_END.split(sentence.strip()) if clause]
    if len(clauses) < 2:
        return ""
    gone = [getattr(row, _telling_end(one, row)) for row in rows]
    kept = [Triple(row.subject, row.predicate, row.object) for row in others]
    left = []
    for clause in clauses:
        said = replace(one, text=clause, title="", before=())
        told = Ground(replace(said, speaker=""))
        states = Ground(said).holds
        if not any(map(told.names, gone)) and any(map(states, kept)):
            left.append(clause.strip(" ,;.!?"))
    if not left:
        return ""
    end = sentence.rstrip()[-1:]
    stop = end if end in ".!?" else "."
    return f"{', '.join(left)}{stop}{sentence[len(sentence.rstrip()) :]}"


def _telling_end(one: Passage, row: Any) -> str:
    """Which end tells a triple: its object, or its subject where the object is who speaks."""
    return "subject" if normal_form(row.object) == normal_form(one.speaker) else "object"


def _telling(predicate: str) -> set[str]:
    return set(terms(words(predicate.replace("_", " "))))


def erase(tx: Transaction, plan: Erasure, *, action: str, reason: str = "") -> None:
    """Carry it out, with all that follows from it; ``plan.facts`` tells which facts are gone."""
    gone, cut = plan.gone, plan.cut
    changed = {*gone, *cut}
    behind = followers(tx, sorted(changed)) - changed
    own = {(row.passage_id, row.n): row for row in evidence_of(tx, gone)}
    own.update(((row.passage_id, row.n), row) for row in plan.evidence)
    dropped = list(own.values())
    uses = drop_evidence(tx, dropped)
    _rewrite(tx, plan)
    shaken = rearrange(tx, {plan.was[id_].thread for id_ in gone}) | behind
    tainted = _tainted(tx, behind, cut, plan.was.values())
    uses.update(drop_evidence(tx, tainted))
    touched = {row.fact_id for row in (*dropped, *tainted)}
    _forget_facts(tx, plan, touched, uses, action=action, reason=reason)
    unread = _UNREAD.rows(tx.connection, tx.scope, cut) if cut else ()
    again = (shaken - changed) | {row.id for row in unread}
    queue.again(tx, "extract", [("passage", id_) for id_ in _in_order(tx, again)])
    _blank_errors(tx)
    for id_ in gone:
        tx.record("forget", "passage", id_, reason=reason)
    for id_ in cut:
        tx.record("edit", "passage", id_, reason=reason)
    tx.hush(plan.lost)
    tx.voids()
    owe_erasure(tx.connection)


def _forget_facts(
    tx: Transaction, plan: Erasure, touched: set[str], uses: Uses, *, action: str, reason: str
) -> None:
    before = facts_by_id(tx.connection, tx.scope, touched)
    touched = touched | name_entities(tx, uses, action=action)
    believe(tx, touched, action=action, reason=reason)
    after = facts_by_id(tx.connection, tx.scope, before)
    plan.facts.update((id_, one) for id_, one in before.items() if id_ not in after)
    tx.write(_DELETE_VERDICT, [{**tx.owner, "fact_id": id_} for id_ in plan.facts])
    tx.blank(touched)


def _rewrite(tx: Transaction, plan: Erasure) -> None:
    """Delete the passages that go, and write what is left of the others."""
    gone = [("passage", id_) for id_ in plan.gone]
    cut = [("passage", id_) for id_ in plan.cut]
    queue.drop(tx, "extract", gone)
    queue.drop(tx, "embed", gone)
    vectors.drop(tx, gone)
    vectors.outdate(tx, "passage", plan.cut)
    queue.again(tx, "embed", cut)
    parts = _parts(tx, {one.message_id for one in plan.was.values()})
    tx.write(_DELETE_PASSAGE, [{**tx.owner, "id": id_} for _, id_ in gone])
    whole: list[str] = []
    names = plan.names
    for id_, rows in sorted(parts.items()):
        kept = [row for row in rows if row.id not in plan.was or row.id in plan.left]
        if kept:
            _write_message(tx, id_, kept, plan.left, names)
        else:
            whole.append(id_)
    tx.write(_DELETE_OCCURRENCES, [{**tx.owner, "message_id": id_} for id_ in whole])
    tx.write(_DELETE_MESSAGE, [{**tx.owner, "id": id_} for id_ in whole])


def _parts(tx: Transaction, message_ids: Collection[str]) -> dict[str, list[Any]]:
    """The parts of each message, in order."""
    found: dict[str, list[Any]] = {}
    for row in _PARTS.rows(tx.connection, tx.scope, sorted(message_ids)):
        found.setdefault(row.message_id, []).append(row)
    return found


def _write_message(
    tx: Transaction,
    message_id: str,
    parts: Sequence[Any],
    left: Mapping[str, str],
    names: Collection[str],
) -> None:
    """Let a message consist of these parts; they keep their numbers.

    The message keeps its id, by which it is known when it is delivered again. Its title and
    metadata go where they name what goes and what is left does not.
    """
    here = and_(mine(message, tx.scope), message.c.id == message_id)
    columns = (message.c.text, message.c.title, message.c.metadata)
    text, title, metadata = tx.connection.execute(select(*columns).where(here)).one()
    pieces: list[str] = []
    start = 0
    for row in parts:
        piece = left.get(row.id, text[row.start : row.stop])
        pieces.append(piece)
        tx.run(
            update(passage)
            .where(mine(passage, tx.scope), passage.c.id == row.id)
            .values(start=start, stop=start + len(piece))
        )
        start += len(piece)
    gone = set(names) - set(words("".join(pieces)))
    beside = {
        "title": "" if gone.intersection(words(title)) else title,
        "metadata": "{}" if gone.intersection(words(metadata)) else metadata,
    }
    tx.run(update(message).where(here).values(text="".join(pieces), **beside))


def _tainted(
    tx: Transaction, behind: Iterable[str], cut: Collection[str], was: Iterable[Passage]
) -> list[Any]:
    """Evidence rows of passages that hold a word which only the erased text gave."""
    lost = _voice(was)
    doubts = []
    for row in evidence_of(tx, sorted({*behind, *cut})):
        told = _names(row) if row.passage_id in cut else _all_words(row)
        if shared := [word for word in told if word in lost]:
            doubts.append((row, shared))
    ids = {row.passage_id for row, _ in doubts}
    rows = positions(tx.connection, tx.scope, sorted(ids)) if ids else ()
    near = with_context(tx.connection, tx.scope, rows)
    kept = {one.id: _voice([one, *one.before]) for one in near}
    return [
        row for row, shared in doubts if any(word not in kept[row.passage_id] for word in shared)
    ]


def _all_words(row: Any) -> list[str]:
    return _WORD.findall(normal_form(f"{row.subject} {row.predicate} {row.object}"))


def _names(row: Any) -> list[str]:
    """The words of a triple that name something: what is not read again loses no others."""
    proper = " ".join(word for word in row.predicate.split() if word != word.lower())
    told = _WORD.findall(normal_form(f"{row.subject} {row.object} {proper}"))
    return [word for word in told if word not in STOP_WORDS]


def _voice(passages: Iterable[Passage]) -> str:
    """All that passages say and who says it, as one normal form to look for words in."""
    return normal_form("\n".join(f"{one.speaker}\n{one.full_text}" for one in passages))


def _in_order(tx: Transaction, ids: Collection[str]) -> list[str]:
    rows = positions(tx.connection, tx.scope, sorted(ids))
    return [
        row.id
        for row in sorted(rows, key=lambda row: (row.thread, row.place, row.ordinal, row.part))
    ]


def _blank_errors(tx: Transaction) -> None:
    """An error may quote what was sent to the model: keep that there was one, not its words."""
    tx.write(_QUOTE_NOTHING, [{**tx.owner, "error": ""}])
