"""Bans: what a scope shall not store again, looked up before every write.

A ban is of a *value*, not of a row: it holds in every session and for every spelling, and it knows
its value by a keyed digest only. There are three kinds of values: what a triple says (however it is
spelled, see ``predicates.key``), the name of an entity, and a text, whole or a sentence of it.

One act of forgetting makes one ban, which may have several keys: of a text also its sentences, and
what nothing but that text said. They share the ban's id and are lifted together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from sqlalchemy import Connection, LargeBinary, bindparam, func, select, update

from graphmem import predicates
from graphmem.identity import keyed, normal_form, skeleton
from graphmem.passages import sentences, without_sentences
from graphmem.store import migrations
from graphmem.store.bulk import Bulk, delete_row, given, ours, put_row
from graphmem.store.schema import ban, chunks, microseconds, mine, scope_row
from graphmem.store.transaction import Transaction
from graphmem.types import Ban, Message, Passage, Scope
from graphmem.words import STOP_WORDS, words

__all__ = [
    "Bans",
    "Digest",
    "Key",
    "Name",
    "add",
    "adopt",
    "all_bans",
    "ban_id",
    "held",
    "labels",
    "lay",
    "lift",
    "rows",
    "speaks",
    "text_form",
]

Cause = Literal["forget", "reject"]
Kind = Literal["fact", "entity", "text", "sentence"]

_KEPT = [column.name for column in ban.columns if not column.primary_key]
_PUT_HEAD = put_row(ban, instead=_KEPT)
_PUT_MEMBER = put_row(ban, instead=())
_DELETE = delete_row(ban)
_ALL_COUNTED = select(func.count()).select_from(ban).where(ours(ban))
_SET_COUNT = Bulk(update(scope_row).where(ours(scope_row)), ("bans",))
_ALL = select(ban).where(ours(ban))
_BY_KEY = select(ban).where(ours(ban), ban.c.key.in_(bindparam("keys", expanding=True)))
_ALL_OF_ID = select(ban.c.key, ban.c.fact_id).where(ours(ban), ban.c.id == bindparam("id"))
_NAMES = select(ban).where(
    ours(ban),
    ban.c.key >= bindparam("low", type_=LargeBinary),
    ban.c.key < bindparam("high", type_=LargeBinary),
)

# What a key begins with: what it is of. Of names also how they are cut, and into how many words.
_FACT, _NAME, _TEXT, _SPELLING = b"f", b"n", b"t", b"x"
_BY_WORD, _BY_TOKEN = b"w", b"t"
_LONGEST_NAME = 255
# What belongs to a name at its beginning or end though it is no letter; words keep C++ and C#.
_SIGNS = "-*%$€£&@~^=<>|"

# Numbers that are written in groups as one likes: no dates and no amounts are among them.
_DIALLED = re.compile(r"\+?[\d\s()/-]+")
_DIALLED_DIGITS = 9

# What people say to each other and tell nothing with: forgetting it would tell nothing either.
_COURTESY = frozenset(
    """
    thank thanks hello hi hey bye goodbye good morning afternoon evening night day please sorry ok
    okay sure yeah yep nope great nice fine cool right well perfect welcome see later soon talk
    sound sounds got course absolutely exactly haha lol oh ah hm wow
    """.split()
)
# What a transcript puts before a line: when it was said, and who said it.
_STAMP = re.compile(r"\s*(?:\[[^\]\n]{1,40}\]|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)[\s:,-]+")
_SPEAKER = re.compile(r"\s*[^\W\d_][\w .'’-]{0,40}:\s+")


@dataclass(frozen=True, slots=True)
class Key:
    """What a row of the table is known by.

    Attributes:
        digest: the row's key.
        kind: of what.
        spares_older: whether what was recorded before the ban stays.
        fact_id: the fact that was found wrong.
    """

    digest: bytes
    kind: Kind
    spares_older: bool = False
    fact_id: str | None = None


def text_form(text: str) -> str:
    """A text as it is compared: its tokens in order, without what stands around them."""
    if not (text.isascii() and text[:1].isalnum() and "*" not in text):
        text = skeleton(text).replace("**", "")
    # Else nothing encloses the whole, and what may stand at its end goes with the last token's.
    return " ".join(filter(None, map(_token, text.split())))


# Each text of a batch is asked for whole and by sentences, and texts are made of the same words.
@lru_cache(maxsize=1 << 14)
def _token(token: str) -> str:
    """A token without what stands around it; ``""`` where that is all."""
    plain = token.rstrip(",;:!?").rstrip(".")
    if plain.isascii() and plain.isalnum():
        return plain.lower()
    form = normal_form(token).rstrip(".")
    return form if any(map(str.isalnum, form)) else ""


def _value_form(name: str) -> str:
    """A name as it is compared; of a number that is dialled only the digits count."""
    form = skeleton(name)
    digits = re.sub(r"\D", "", form)
    is_dialled = form.startswith("+") or len(digits) >= _DIALLED_DIGITS
    return f"+{digits}" if is_dialled and _DIALLED.fullmatch(form) else form


def speaks(text: str) -> bool:
    """Whether a text says anything that could be forgotten: not only "Yes, I do. Thanks!"."""
    return any(word not in STOP_WORDS and word not in _COURTESY for word in words(text))


def ban_id(digest: bytes) -> str:
    """The id of the ban that a key stands at the head of."""
    return f"b-{digest[-16:].hex()}"


class Digest:
    """Makes keys: the only place that knows the store's secret."""

    def __init__(self, connection: Connection) -> None:
        self._secret = migrations.secret(connection)

    def fact(self, subject: str, predicate: str, object_: str, polarity: bool) -> bytes:
        """Of what a triple says."""
        parts = predicates.key(subject, predicate, object_, polarity)
        return _FACT + keyed(self._secret, "fact", *map(_value_form, parts))

    def spelling(self, fact_id: str) -> bytes:
        """Of one of several facts that say the same, where each has to be found."""
        return _SPELLING + keyed(self._secret, "spelling", fact_id)

    def name(self, name: str) -> bytes | None:
        """Of an entity's name; None where nothing is left of it."""
        cut = _cut_name(name)
        return None if cut is None else self._named(*cut)

    def names(self, text: str, lengths: Mapping[bytes, Collection[int]]) -> Iterator[bytes]:
        """Of all names that a text may hold, of some numbers of words by how they are cut."""
        for how, sizes in lengths.items():
            cut = words(skeleton(text)) if how == _BY_WORD else text_form(text).split()
            for size in sizes:
                for start in range(len(cut) - size + 1):
                    yield self._named(how, tuple(cut[start : start + size]))

    def _named(self, how: bytes, cut: Sequence[str]) -> bytes:
        size = bytes([min(len(cut), _LONGEST_NAME)])
        return _NAME + how + size + keyed(self._secret, "name", *cut)

    def text(self, text: str) -> bytes:
        """Of a text or a sentence."""
        return _TEXT + keyed(self._secret, "text", text_form(text))

    def texts(self, text: str) -> list[bytes]:
        """Of a text as it stands, and without what a transcript puts before it."""
        forms = [text]
        for lead in (_STAMP, _SPEAKER):
            if found := lead.match(forms[-1]):
                forms.append(forms[-1][found.end() :])
        return list(dict.fromkeys(map(self.text, forms)))

    def of_text(self, text: str) -> list[Key]:
        """What bans a text: itself first, and its sentences; nothing where it says nothing."""
        if not speaks(text):
            return []
        spans = dict.fromkeys(sentences(text) + sentences(text, by_line=False))
        said = [text[start:end] for start, end in spans]
        found = {self.text(one): Key(self.text(one), "sentence") for one in said if speaks(one)}
        whole = self.text(text)
        return [Key(whole, "text"), *(key for key in found.values() if key.digest != whole)]


def _cut_name(name: str) -> tuple[bytes, tuple[str, ...]] | None:
    """A name in words; in tokens where words would lose what it means (-5, A*)."""
    cut, tokens = words(skeleton(name)), tuple(text_form(name).split())
    if cut and not any(token[0] in _SIGNS or token[-1] in _SIGNS for token in tokens):
        return _BY_WORD, cut
    return (_BY_TOKEN, tokens) if tokens else None


class Name:
    """A name, to be found in texts whatever letters it is written in.

    Attributes:
        name: as it was given.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._how, self._cut = _cut_name(name) or (_BY_TOKEN, ())

    def is_in(self, text: str) -> bool:
        """Whether a text holds it, as words of its own."""
        size = len(self._cut)
        if not size or (text.isascii() and self._cut[0] not in text.lower()):
            return False
        said = words(skeleton(text)) if self._how == _BY_WORD else tuple(text_form(text).split())
        return any(said[at : at + size] == self._cut for at in range(len(said) - size + 1))


def labels(one: Message | Passage) -> tuple[str, ...]:
    """What is said of a text beside it: who speaks, its title, what the application gave."""
    data = json.dumps(dict(one.metadata), ensure_ascii=False) if one.metadata else ""
    return one.speaker or "", one.title or "", data


@dataclass
class Bans:
    """The bans of a scope that a write has to keep.

    Attributes:
        tx: the write.
        hits: how often each ban was kept, by its id.
    """

    tx: Transaction
    hits: dict[str, int] = field(default_factory=dict)
    _known: dict[bytes, Any] = field(default_factory=dict)
    _forms: dict[str, list[bytes]] = field(default_factory=dict)
    # Texts of which nothing is banned.
    _spared: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tx: Transaction) -> Bans | None:
        """The bans of the scope; None where there are none, as a rule."""
        return cls(tx) if tx.bans else None

    @cached_property
    def digest(self) -> Digest:
        """Makes the keys to ask for."""
        return Digest(self.tx.connection)

    @cached_property
    def _names(self) -> dict[bytes, Any]:
        """The bans of names: there are few, and texts hold many words."""
        span = {"low": _NAME, "high": bytes([_NAME[0] + 1])}
        return {row.key: row for row in self.tx.rows(_NAMES, {**self.tx.owner, **span})}

    @cached_property
    def _lengths(self) -> dict[bytes, list[int]]:
        lengths: dict[bytes, set[int]] = {}
        for key in self._names:
            lengths.setdefault(key[1:2], set()).add(key[2])
        return {how: sorted(sizes) for how, sizes in sorted(lengths.items())}

    def learn(self, texts: Iterable[str]) -> None:
        """Look up all that is to be asked of some texts at once."""
        asked: dict[str, list[bytes]] = {}
        for text in filter(None, texts):
            if text not in asked:
                spans = dict.fromkeys([(0, len(text)), *sentences(text)])
                if "\n" in text:
                    spans.update(dict.fromkeys(sentences(text, by_line=False)))
                said = [text[start:end] for start, end in spans]
                asked[text] = [digest for one in said for digest in self._digests(one)]
        self._look_up(digest for digests in asked.values() for digest in digests)
        if not self._names:
            known = self._known
            self._spared.update(
                text for text, keys in asked.items() if not any(map(known.__getitem__, keys))
            )

    def left(self, text: str) -> str:
        """What may be kept of a text; ``""`` where that is nothing."""
        if text in self._spared:
            return text
        return "" if self._of_text(text) else without_sentences(text, self._is_gone)

    def names(self, *texts: str) -> bool:
        """Whether any of the texts holds a banned name."""
        found = [row for text in texts for row in self._named(text)]
        self._keep(found[:1])
        return bool(found)

    def is_whole(self, message: Message) -> bool:
        """Whether nothing of a message may be kept: its text is banned, or who speaks of what."""
        return self._of_text(message.text) or self.names(*labels(message))

    def forbids(self, row: Any) -> bool:
        """Whether a fact may not be stored whoever states it, by its row."""
        found = self._row(self.digest.fact(row.subject, row.predicate, row.object, row.polarity))
        is_banned = found is not None and found.cause == "forget" and found.since is None
        return is_banned or self.names(row.subject, row.predicate, row.object)

    def refusal(self, row: Mapping[str, Any], recorded_us: int | None) -> Any:
        """The ban that keeps a triple out, as a row; None where none does.

        Args:
            row: of evidence.
            recorded_us: when the store got the message that states it.
        """
        found = self._row(self._fact(row))
        if found is not None and self._holds(found, row["fact_id"], recorded_us):
            self._keep([found])
            return found
        ends = (row["subject"], row["predicate"], row["object"], row["speaker"])
        named = [one for end in ends for one in self._named(end)]
        self._keep(named[:1])
        return named[0] if named else None

    def learn_facts(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Look up all that is to be asked of some triples at once."""
        some = list(rows)
        keys = [self._fact(row) for row in some]
        self._look_up([*keys, *(self.digest.spelling(row["fact_id"]) for row in some)])

    def log(self, reason: str) -> None:
        """Note which bans were kept."""
        for id_ in sorted(self.hits):
            self.tx.record("refuse", "ban", id_, reason=reason)
        self.hits.clear()

    def _holds(self, row: Any, fact_id: str, recorded_us: int | None) -> bool:
        if row.cause == "reject":
            # What was rejected itself stays, to be seen as that.
            is_it = fact_id == row.fact_id or self._row(self.digest.spelling(fact_id))
            return not is_it
        return row.since is None or bool(recorded_us and recorded_us > microseconds(row.since))

    def _fact(self, row: Mapping[str, Any]) -> bytes:
        return self.digest.fact(row["subject"], row["predicate"], row["object"], row["polarity"])

    def _is_gone(self, sentence: str) -> bool:
        return self._of_text(sentence) or self.names(sentence)

    def _of_text(self, text: str) -> bool:
        found = [row for digest in self._digests(text) if (row := self._row(digest))]
        self._keep(found[:1])
        return bool(found)

    def _named(self, text: str) -> list[Any]:
        if not self._lengths:
            return []
        asked = self.digest.names(text, self._lengths)
        return [self._names[digest] for digest in asked if digest in self._names]

    def _keep(self, rows: Iterable[Any]) -> None:
        for row in rows:
            self.hits[row.id] = self.hits.get(row.id, 0) + 1

    def _digests(self, text: str) -> list[bytes]:
        found = self._forms.get(text)
        if found is None:
            found = self._forms[text] = self.digest.texts(text)
        return found

    def _row(self, digest: bytes) -> Any:
        if digest not in self._known:
            self._look_up([digest])
        return self._known[digest]

    def _look_up(self, digests: Iterable[bytes]) -> None:
        asked = dict.fromkeys(one for one in digests if one not in self._known)
        self._known.update(asked)
        self._known.update((row.key, row) for row in held(self.tx, asked))


def lay(
    tx: Transaction, acts: Iterable[Sequence[Key]], *, cause: Cause = "forget", reason: str = ""
) -> tuple[str, ...]:
    """Ban values; each ban has several keys, of which the first names it. Returns the bans' ids.

    A ban that is there already stays what it is where the new one would only add a key to another.
    """
    heads: list[dict[str, Any]] = []
    members: list[dict[str, Any]] = []
    for keys in acts:
        for key in keys:
            row = {
                **tx.owner,
                "key": key.digest,
                "id": ban_id(keys[0].digest),
                "kind": key.kind,
                "cause": cause,
                "since": tx.at if key.spares_older else None,
                "at": tx.at,
                "actor": tx.actor.name,
                "actor_kind": tx.actor.kind,
                "reason": reason,
                "fact_id": key.fact_id,
            }
            (heads if key is keys[0] else members).append(row)
    if not heads:
        return ()
    tx.write(_PUT_HEAD, heads)
    tx.write(_PUT_MEMBER, members)
    _count(tx)
    return tuple(dict.fromkeys(row["id"] for row in heads))


def add(tx: Transaction, id_: str, keys: Sequence[Key]) -> None:
    """Add keys to a ban that there is."""
    head = tx.rows(select(ban).where(mine(ban, tx.scope), ban.c.id == id_).limit(1))
    fresh = {"at": tx.at, "since": None, "fact_id": None}
    new = [
        {**row._mapping, **fresh, "key": key.digest, "kind": key.kind}
        for row in head
        for key in keys
    ]
    tx.write(_PUT_MEMBER, new)
    _count(tx)


def adopt(tx: Transaction, theirs: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Take over a copy's bans; returns the ids of those that are new here."""
    known = {row.key for row in tx.rows(_ALL, tx.owner)}
    new = [{**row, **tx.owner} for row in theirs if row["key"] not in known]
    for row in new:
        row.update({name: row[name] and microseconds(row[name]) for name in ("at", "since")})
    tx.write(_PUT_MEMBER, new)
    _count(tx)
    return tuple(dict.fromkeys(row["id"] for row in new))


def held(tx: Transaction, digests: Iterable[bytes]) -> list[Any]:
    """Those of the keys that are banned, as rows."""
    return [
        row
        for some in chunks(dict.fromkeys(digests))
        for row in tx.rows(_BY_KEY, {**tx.owner, "keys": some})
    ]


def lift(tx: Transaction, ids: Collection[str]) -> set[str]:
    """Take bans back with all their keys; returns the ids of facts that are no longer rejected."""
    rejected: set[str] = set()
    for id_ in ids:
        lifted = tx.rows(_ALL_OF_ID, {**tx.owner, "id": id_})
        rejected.update(row.fact_id for row in lifted if row.fact_id)
        tx.write(_DELETE, [{**tx.owner, "key": row.key} for row in lifted])
    _count(tx)
    return rejected


def _count(tx: Transaction) -> None:
    tx.bans = tx.rows(_ALL_COUNTED, tx.owner)[0][0]
    tx.write(_SET_COUNT, [{**tx.owner, "bans": tx.bans}])


def rows(connection: Connection, scope: Scope) -> list[dict[str, Any]]:
    """The rows of a scope's bans, for a copy of the store."""
    return [dict(row._mapping) for row in connection.execute(_ALL, given(scope)).all()]


def all_bans(connection: Connection, scope: Scope) -> list[Ban]:
    """A scope's bans, oldest first."""
    found = [
        Ban(row.id, row.kind, row.cause, row.at, row.actor, row.actor_kind, row.reason, row.fact_id)
        for row in connection.execute(_ALL, given(scope)).all()
        if row.id == ban_id(row.key)
    ]
    return sorted(found, key=lambda one: (one.at, one.id))
