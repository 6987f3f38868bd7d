"""The log's chain: by it shows whether an entry was changed, removed, inserted or moved.

The *words* of an entry are its reason and its values before and after. They have a salted digest,
which stays when they are erased; the salt goes with them, so that nobody can try words against it.
The last entry of each transaction has a *link*: a hash of the link before it and of the
transaction's entries, with digests for words. The scope keeps the newest link, its *head*. Whoever
can write the file can make another chain; that shows to anybody who has noted an earlier head.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.types import LogCheck

__all__ = ["SALT_BYTES", "Entry", "digest", "erasure", "line", "link", "spans", "verify"]

SALT_BYTES = 16
_DIGEST_BYTES = 16
_LINK_BYTES = 32
_ERASED = "erased"


class Entry(NamedTuple):
    """A row of the log, as it is stored."""

    seq: int
    at: int
    action: str
    kind: str
    id: str
    actor: str
    actor_kind: str
    reason: str = ""
    before: str | None = None
    after: str | None = None
    salt: bytes | None = None
    digest: bytes | None = None
    link: bytes | None = None

    @property
    def has_words(self) -> bool:
        """Whether there is something in it that can be erased."""
        return bool(self.reason) or self.before is not None or self.after is not None


def digest(salt: bytes, reason: str, before: str | None, after: str | None) -> bytes:
    """Of an entry's words."""
    sizes = [-1 if one is None else len(one) for one in (reason, before, after)]
    words = f"{sizes}{reason}{before or ''}{after or ''}"
    return hashlib.blake2b(words.encode(), key=salt, digest_size=_DIGEST_BYTES).digest()


def line(
    seq: int,
    at: int,
    action: str,
    kind: str,
    id_: str,
    actor: str,
    actor_kind: str,
    digest_: bytes | None,
) -> str:
    """What a link covers of an entry; two that differ have different lines."""
    sizes = f"{len(action)},{len(kind)},{len(id_)},{len(actor)},{len(actor_kind)}"
    words = "" if digest_ is None else digest_.hex()
    return f"{seq},{at},{sizes},{len(words)}:{action}{kind}{id_}{actor}{actor_kind}{words}"


def link(head: bytes | None, lines: Iterable[str]) -> bytes:
    """That of a transaction, from the link before it (None: the first) and its entries."""
    state = hashlib.blake2b(head or b"", digest_size=_LINK_BYTES)
    for one in lines:
        state.update(one.encode())
    return state.digest()


def spans(numbers: Iterable[int]) -> list[list[int]]:
    """Whole numbers as runs, first and last of each, in order."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number <= runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def erasure(runs: Sequence[Sequence[int]]) -> dict[str, object]:
    """What an entry says of the entries, by number, whose words its transaction erased."""
    return {_ERASED: runs}


def verify(
    entries: Iterable[Entry], *, head: bytes | None, seq: int, noted: str | None = None
) -> LogCheck:
    """Check a scope's whole log.

    An entry whose words are gone must be named by a later one as erased.

    Args:
        entries: in the order of their numbers.
        head: the scope's newest link.
        seq: the number of its last entry.
        noted: a head that somebody has noted, as hexadecimal digits: it must be among the links.
    """
    reader = _Reader()
    is_known = not noted
    for entry in entries:
        reader.read(entry)
        is_known = is_known or (entry.link is not None and entry.link.hex() == noted)
    broken = reader.verdict(head, seq)
    if broken is None and not is_known:
        broken = 1  # another chain, in itself right: where it parts from the noted one is unknown
    return LogCheck(reader.count, len(reader.erased), broken, (head or b"").hex())


@dataclass(slots=True)
class _Reader:
    """Reads a log from its start.

    Attributes:
        count: entries read.
        erased: numbers of those whose words were erased.
        named: runs of the numbers that later entries name as erased.
        broken: number of the first entry that is not as it was written.
        last: number of the last entry read.
        head: the last link that was right.
        open: the entries since then.
    """

    count: int = 0
    erased: list[int] = field(default_factory=list)
    named: list[tuple[int, int]] = field(default_factory=list)
    broken: int | None = None
    last: int | None = None
    head: bytes | None = None
    open: list[Entry] = field(default_factory=list)

    def read(self, entry: Entry) -> None:
        """Take the next entry."""
        self.count += 1
        if self.broken is not None:
            return
        if self.last is not None and entry.seq != self.last + 1:
            self.broken = self.last + 1
        elif not _holds(entry):
            self.broken = entry.seq
        else:
            self._follow(entry)

    def _follow(self, entry: Entry) -> None:
        self.last = entry.seq
        self.open.append(entry)
        if entry.digest is not None and entry.salt is None:
            self.erased.append(entry.seq)
        if entry.link is None:
            return
        if entry.link == link(self.head, map(_line, self.open)):
            self.head = entry.link
            self.named += [run for one in self.open for run in _named(one)]
            self.open.clear()
        else:
            # The first link covers all that was before it.
            self.broken = 1 if self.head is None else self.open[0].seq

    def verdict(self, head: bytes | None, seq: int) -> int | None:
        """The first entry that is wrong, now that there are no more."""
        if self.broken is None:
            self.broken = self._end(head, seq)
        if self.broken is None:  # else the entry that names it may not have been read
            self.broken = next(_outside(self.erased, self.named), None)
        return self.broken

    def _end(self, head: bytes | None, seq: int) -> int | None:
        if self.open and self.head == head:
            return self.open[0].seq  # written behind the end
        if self.head != head or (self.last or 0) != seq:
            return (self.last or 0) + 1
        return None


def _outside(numbers: Iterable[int], runs: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The numbers, in order, that are in none of the runs."""
    ordered = sorted(runs)
    reached, at = 0, 0
    for number in numbers:
        while at < len(ordered) and ordered[at][0] <= number:
            reached = max(reached, ordered[at][1])
            at += 1
        if number > reached:
            yield number


def _holds(entry: Entry) -> bool:
    """Whether an entry's words are those of its digest, or gone."""
    if entry.digest is None or entry.salt is None:
        return not entry.has_words and entry.salt is None
    return entry.digest == digest(entry.salt, entry.reason, entry.before, entry.after)


def _line(entry: Entry) -> str:
    return line(*entry[:7], entry.digest)


def _named(entry: Entry) -> list[tuple[int, int]]:
    """The entries, by number, that an entry says were erased: only earlier ones count."""
    if entry.kind != "log" or entry.after is None:
        return []
    try:
        runs = json.loads(entry.after)[_ERASED]
        return [(int(first), min(int(last), entry.seq - 1)) for first, last in runs]
    except (ValueError, TypeError, KeyError, OverflowError):
        return []  # whoever makes another chain may write what he likes
