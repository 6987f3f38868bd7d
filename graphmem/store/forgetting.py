"""Forgetting: what is to go by what was named, and what shall not come back.

A passage, a message or a session goes whole. Of a fact all evidence goes, with the sentences that
state it; a passage that states it in no sentence of its own (a bare "yes") goes whole. Of an entity
all facts go, the sentences that name it, and what it said itself.

What was named is banned (see ``bans``). With a text also what nothing but that text said: in
messages that come later, for others may say it already and were not named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select

from graphmem.errors import Ambiguous, InvalidInput, NotFound
from graphmem.facts import entity_id, entity_id_of
from graphmem.identity import normal_form, skeleton
from graphmem.passages import without_sentences
from graphmem.predicates import bare, written
from graphmem.store.bans import Bans, Digest, Key, Name, adopt, labels, lay
from graphmem.store.belief import believe, evidence_of
from graphmem.store.bulk import among, given, ours
from graphmem.store.erasing import Erasure, erase, state_no_more
from graphmem.store.records import (
    IS_OF_FACTS,
    all_fact_ids,
    facts_by_id,
    of_facts,
    passages_by_id,
    select_passages,
    to_fact,
    to_passage,
)
from graphmem.store.rivals import between
from graphmem.store.schema import TABLES, chunks, entity, evidence, fact, message, mine, passage
from graphmem.store.sqlite import owe_erasure
from graphmem.store.transaction import Transaction, shares_a_word
from graphmem.types import Candidate, Fact, Passage
from graphmem.words import words

__all__ = ["Forgotten", "Target", "follow", "forget", "forget_everything", "same_value"]

_ALL_ENTITIES = select(entity.c.id, entity.c.name).where(ours(entity))
_ABOUT = select(fact).where(ours(fact), among(fact.c.subject_id))
_ALL_OF_OBJECT = select(fact.c.id).where(ours(fact), among(fact.c.object_id))
_EVIDENCE = select(evidence.c.passage_id, evidence.c.n).where(IS_OF_FACTS)


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten.

    Attributes:
        passages, messages, facts: ids; with facts those passages that say the same.
        session: a conversation.
        entity: a name, or an entity's id.
    """

    passages: Collection[str] = ()
    messages: Collection[str] = ()
    session: str | None = None
    facts: Collection[str] = ()
    entity: str | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forget came to.

    Attributes:
        erasure: the passages and facts that are gone.
        bans: ids of the bans that were laid.
    """

    erasure: Erasure
    bans: tuple[str, ...] = ()

    def check(self, most: int | None) -> None:
        """Check that not more passages are changed than the caller reckons with.

        Raises:
            Ambiguous: more.
        """
        count = len(self.erasure.was)
        if most is not None and count > most:
            raise Ambiguous(
                f"that would change {count} passages, and most is {most}: look at the preview, and "
                f"raise most to {count} if it is what you mean",
                candidates=self.candidates(),
            )

    def candidates(self) -> tuple[Candidate, ...]:
        """What goes, as a preview shows it."""
        plan = self.erasure
        facts = [
            Candidate("fact", id_, one.text, "nothing would state it any more", 1.0)
            for id_, one in sorted(plan.facts.items())
        ]
        gone = [Candidate("passage", id_, plan.was[id_].text, "it goes", 1.0) for id_ in plan.gone]
        cut = [
            Candidate("passage", id_, plan.was[id_].text, f"of it stays {plan.left[id_]!r}", 1.0)
            for id_ in plan.cut
        ]
        return (*facts, *gone, *cut)


def forget(tx: Transaction, target: Target, *, reason: str) -> Forgotten:
    """Erase what was named, and ban it.

    Raises:
        NotFound: the scope has nothing of that name.
    """
    digest = Digest(tx.connection)
    if target.facts:
        return _forget_facts(tx, digest, target, reason)
    if target.entity is not None:
        return _forget_entity(tx, digest, target.entity, reason)
    plan = Erasure(_resolve(tx, target))
    reason = _discreet(reason, plan)
    stated = _stated_firmly(tx, plan.gone)
    erase(tx, plan, action="forget", reason=reason)
    said = _said_by_nobody_else(tx, digest, plan, {id_ for ids in stated.values() for id_ in ids})
    acts = [
        [*digest.of_text(one.text), *(said[id_] for id_ in stated.get(one.id, ()) if id_ in said)]
        for one in plan.was.values()
    ]
    bans = lay(tx, filter(None, acts), reason=reason)
    return Forgotten(plan, _noted(tx, bans, reason))


def forget_everything(tx: Transaction, *, reason: str) -> Forgotten:
    """Erase all of a scope's rows; its texts are banned, what they said is not."""
    digest = Digest(tx.connection)
    plan = Erasure(_load(tx, mine(passage, tx.scope)))
    reason = _discreet(reason, plan)
    facts = all_fact_ids(tx.connection, tx.scope)
    plan.facts.update(facts_by_id(tx.connection, tx.scope, facts))
    tx.blank_all()
    bans = lay(tx, (digest.of_text(one.text) for one in plan.was.values()), reason=reason)
    for table in TABLES:
        tx.run(table.delete().where(mine(table, tx.scope)))
    # Who follows the log starts over at this entry.
    tx.record("forget", "scope", "", reason=reason)
    tx.voids()
    owe_erasure(tx.connection)
    return Forgotten(plan, bans)


def _noted(tx: Transaction, bans: tuple[str, ...], reason: str) -> tuple[str, ...]:
    for id_ in bans:
        tx.record("forget", "ban", id_, reason=reason)
    return bans


def _discreet(reason: str, plan: Erasure) -> str:
    """The reason, unless it tells what is being forgotten: it stays in the log."""
    if not isinstance(reason, str):
        raise InvalidInput(f"reason must be a string, not {type(reason).__name__}")
    if not reason:
        return ""
    return "" if shares_a_word(reason, set(words("\n".join(plan.lost)))) else reason


# -- passages ------------------------------------------------------------------------------------


def _resolve(tx: Transaction, target: Target) -> dict[str, Passage]:
    """The target's passages by id."""
    found = passages_by_id(tx.connection, tx.scope, target.passages)
    for ids in chunks(target.messages):
        found.update(_load(tx, message.c.id.in_(ids)))
    if target.session is not None:
        found.update(_load(tx, message.c.session == target.session))
    if not found:
        raise NotFound(f"nothing to forget: {tx.scope} has no such passage, message or session")
    return found


def _load(tx: Transaction, wanted: ColumnElement[bool]) -> dict[str, Passage]:
    rows = tx.rows(select_passages(tx.scope).where(wanted))
    return {row.id: to_passage(row) for row in rows}


def _stated_firmly(tx: Transaction, passage_ids: Sequence[str]) -> dict[str, list[str]]:
    """By passage, the facts that it holds in its own words or in those before it."""
    found: dict[str, list[str]] = {}
    for row in evidence_of(tx, passage_ids):
        if row.grounded:
            found.setdefault(row.passage_id, []).append(row.fact_id)
    return found


def _said_by_nobody_else(
    tx: Transaction, digest: Digest, plan: Erasure, stated: Collection[str]
) -> dict[str, Key]:
    """The keys of what went with passages that stated it, by fact, unless others say the same."""
    vanished = {id_: _digest_of(digest, plan.facts[id_]) for id_ in stated if id_ in plan.facts}
    names = {end for id_ in vanished for end in (plan.facts[id_].subject, plan.facts[id_].object)}
    others = {_digest_of(digest, one) for one in _between(tx, names)}
    return {
        id_: Key(value, "fact", spares_older=True)
        for id_, value in sorted(vanished.items())
        if value not in others
    }


def _between(tx: Transaction, names: Collection[str]) -> list[Fact]:
    """The facts between any two of these names, with an article or without."""
    if not names:
        return []
    forms = set(map(normal_form, names))
    forms.update([one for form in forms for one in written(normal_form(bare(form)))])
    ends = set(map(entity_id_of, forms))
    rows = between(tx.connection, tx.scope, ends, ends)
    return list(facts_by_id(tx.connection, tx.scope, [row.id for row in rows]).values())


def _about(tx: Transaction, entity_ids: Collection[str]) -> list[Fact]:
    return [to_fact(row) for row in tx.rows(_ABOUT, given(tx.scope, entity_ids))]


def _digest_of(digest: Digest, one: Fact) -> bytes:
    return digest.fact(one.subject, one.predicate, one.object, one.polarity)


# -- facts ---------------------------------------------------------------------------------------


def same_value(tx: Transaction, digest: Digest, fact_ids: Iterable[str]) -> dict[bytes, list[Fact]]:
    """All facts that say what one of these says, by the digest of that.

    Raises:
        NotFound: one of them is none of the scope's.
    """
    wanted = sorted(set(fact_ids))
    named = facts_by_id(tx.connection, tx.scope, wanted)
    for id_ in wanted:
        if id_ not in named:
            raise NotFound(f"no fact {id_!r} in {tx.scope}: ids are those of facts and recalls")
    found: dict[bytes, list[Fact]] = {}
    for one in named.values():
        found.setdefault(_digest_of(digest, one), []).append(one)
    alike = _lookalikes(tx, {name for one in named.values() for name in (one.subject, one.object)})
    for one in _about(tx, alike):
        key = _digest_of(digest, one)
        if key in found and one.id not in named:
            found[key].append(one)
    return found


def _lookalikes(tx: Transaction, names: Iterable[str]) -> list[str]:
    """Ids of the entities that look like one of the names, and of those ends that have no row."""
    looks = {skeleton(name): entity_id(name) for name in names}
    found = set(looks.values())
    for row in tx.rows(_ALL_ENTITIES, tx.owner):
        if not row.name.isascii() and skeleton(row.name) in looks:
            found.add(row.id)
    # What has no letter of another alphabet has one entity for all its spellings.
    found.update(entity_id(look) for look in looks)
    return sorted(found)


def _forget_facts(tx: Transaction, digest: Digest, target: Target, reason: str) -> Forgotten:
    """Forget facts, and passages that say the same."""
    values = same_value(tx, digest, target.facts)
    facts = [one for some in values.values() for one in some]
    plan = Erasure()
    cut = _state_no_more(tx, plan, facts)
    same = passages_by_id(tx.connection, tx.scope, target.passages)
    for one in same.values():
        plan.lose(one, "")
    plan.facts.update((one.id, one) for one in facts)
    reason = _discreet(reason, plan)
    erase(tx, plan, action="forget", reason=reason)
    acts: list[list[Key]] = []
    for value, some in values.items():
        said = [text for one in some for text in cut.get(one.id, ())]
        said += [] if acts else [one.text for one in same.values()]
        keys = [key for text in dict.fromkeys(said) for key in digest.of_text(text)]
        acts.append([Key(value, "fact"), *keys])
    return Forgotten(plan, _noted(tx, lay(tx, acts, reason=reason), reason))


def _state_no_more(tx: Transaction, plan: Erasure, facts: Iterable[Fact]) -> dict[str, list[str]]:
    """Plan that no passage states the facts any more; returns the texts that go, by fact."""
    ids = {one.id for one in facts}
    told = sorted({row.passage_id for row in tx.rows(_EVIDENCE, of_facts(tx.scope, sorted(ids)))})
    known = passages_by_id(tx.connection, tx.scope, told)
    by_passage: dict[str, list[Any]] = {}
    for row in evidence_of(tx, told):
        by_passage.setdefault(row.passage_id, []).append(row)
    gone: dict[str, list[str]] = {}
    for id_, rows in by_passage.items():
        own = [row for row in rows if row.fact_id in ids]
        plan.evidence += own
        others = [row for row in rows if row.fact_id not in ids]
        for fact_id, texts in state_no_more(plan, known[id_], own, others).items():
            gone.setdefault(fact_id, []).extend(texts)
    return gone


# -- entities ------------------------------------------------------------------------------------


def _forget_entity(tx: Transaction, digest: Digest, named: str, reason: str) -> Forgotten:
    entities = {row.id: row.name for row in tx.rows(_ALL_ENTITIES, tx.owner)}
    wanted = Name(entities.get(named, named))
    ends = sorted(id_ for id_, name in entities.items() if wanted.is_in(name))
    asked = given(tx.scope, ends)
    ids = {row.id for statement in (_ABOUT, _ALL_OF_OBJECT) for row in tx.rows(statement, asked)}
    plan = Erasure(facts=facts_by_id(tx.connection, tx.scope, ids))
    for one in _load(tx, mine(passage, tx.scope)).values():
        if any(map(wanted.is_in, labels(one))):
            plan.lose(one, "")
        elif wanted.is_in(one.text):
            plan.lose(one, without_sentences(one.text, wanted.is_in))
    if not ends and not plan.was:
        raise NotFound(f"nothing to forget: {tx.scope} knows no {entities.get(named, named)!r:.80}")
    plan.evidence += _naming(tx, plan, wanted)
    reason = _discreet(reason, plan)
    erase(tx, plan, action="forget", reason=reason)
    key = digest.name(wanted.name)
    bans = lay(tx, [[Key(key, "entity")]] if key else (), reason=reason)
    return Forgotten(plan, _noted(tx, bans, reason))


def _naming(tx: Transaction, plan: Erasure, wanted: Name) -> list[Any]:
    """The evidence of the facts, and in passages that lose sentences what else has the name."""
    told = tx.rows(_EVIDENCE, of_facts(tx.scope, sorted(plan.facts)))
    places = {*plan.cut, *(row.passage_id for row in told)}
    return [
        row
        for row in evidence_of(tx, sorted(places))
        if row.fact_id in plan.facts or wanted.is_in(row.predicate) or wanted.is_in(row.speaker)
    ]


# -- copies --------------------------------------------------------------------------------------


def follow(
    tx: Transaction, bans: Sequence[Mapping[str, Any]], texts: Mapping[str, str]
) -> Forgotten:
    """Forget what the original has banned since this copy of it was made.

    Args:
        tx: the copy's.
        bans: rows of the original's bans.
        texts: of the original's passages: what these say is not banned.
    """
    ids = adopt(tx, bans)
    kept = Bans(tx)
    plan = Erasure()
    for one in _load(tx, mine(passage, tx.scope)).values():
        if texts.get(one.id) != one.text:
            plan.lose(one, "" if kept.names(*labels(one)) else kept.left(one.text))
    rows = tx.rows(select(fact).where(mine(fact, tx.scope)))
    facts = facts_by_id(tx.connection, tx.scope, [row.id for row in rows if kept.forbids(row)])
    _state_no_more(tx, plan, facts.values())
    plan.facts.update(facts)
    erase(tx, plan, action="forget")
    rejected = {row["fact_id"] for row in bans if row["fact_id"]}
    believe(tx, rejected, action="reject")
    return Forgotten(plan, _noted(tx, ids, ""))
