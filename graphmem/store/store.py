"""``Store``: one open store, thin over the modules that know each kind of row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from graphmem.errors import InvalidInput, StoreError
from graphmem.facts import Evidence
from graphmem.store import (
    arrival,
    bans,
    extraction,
    forgetting,
    judging,
    migrations,
    past,
    queue,
    reading,
    renewal,
    vectors,
)
from graphmem.store.location import Location
from graphmem.store.queue import Claim, Work
from graphmem.store.reading import Changed
from graphmem.store.records import (
    StoredMessage,
    facts_by_id,
    passages_by_id,
    stated,
)
from graphmem.store.sqlite import Database
from graphmem.store.transaction import transaction
from graphmem.store.translation import translated
from graphmem.types import (
    Actor,
    Ban,
    Changes,
    Diff,
    Entity,
    Extraction,
    Fact,
    LogCheck,
    LogEntry,
    Message,
    Passage,
    Receipt,
    Scope,
    Source,
    Stats,
    Status,
    VectorKind,
)

__all__ = ["Store"]

OUTSIDE = (
    "the host's own chat history: clear it too, or it hands the words over again",
    "copies and backups of the store's file: GraphMemory.follow() brings a copy in line",
    "what was sent to a model server, and what it logged",
)
"""Where words may be that this store cannot reach."""

USER = Actor("user")
"""Who corrects a memory where nobody is named."""


class Store:
    """Rows on disk: messages, passages, facts, entities, vectors, the queue and the log.

    Safe to use from several threads and processes. Every method is one transaction: it is done and
    on disk when it returns, or it raised and nothing was changed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_closed = False
        # The version of the store and the model that was found to fit it.
        self._fitting: tuple[int, str, int | None] | None = None

    @classmethod
    def open(cls, uri: str | Path) -> Store:
        """Open a store, making it where nothing is.

        Args:
            uri: ``sqlite:///memory.db``, a plain path, or ``sqlite://`` for one in the process's
                memory, which lasts until the last store on it is closed.

        Raises:
            InvalidInput: an address that names no SQLite file.
            StoreCorrupt: the file is cut short, damaged, or something else; it is left untouched.
            StoreVersion: it was written by a newer graphmem.
            StoreReadOnly: there is none, and none can be made there.
        """
        store = cls(Database.acquire(Location.of(uri)))
        try:
            renewal.renew(store._database)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let go of the store; closing twice does no harm."""
        if not self._is_closed:
            self._is_closed = True
            self._database.release()

    @property
    def uri(self) -> str:
        """The store's address, in one form for all spellings of it."""
        return self._database.location.uri

    @property
    def path(self) -> Path | None:
        """The store's file; None where it is in memory."""
        return self._database.location.path

    @property
    def identity(self) -> str:
        """The store's own random id, made with it: what derived files are tied to."""
        with self._reading() as connection:
            return migrations.identity(connection)

    # -- writing ---------------------------------------------------------------------------------

    def put(
        self, scope: Scope, messages: Sequence[Message], *, session: str | None, now: datetime
    ) -> Receipt:
        """Store messages that were admitted (see ``passages.admit``), all or none of them.

        The same words of one speaker in one session are one message: handed in again they are
        another occurrence where their time is another one, and otherwise nothing.

        Args:
            scope: whose memory.
            messages: in the order in which they were said.
            session: the conversation they belong to; ``None`` where each stands alone.
            now: when they are recorded.
        """
        if not messages:
            return Receipt(scope)
        built = arrival.cut(messages, session)
        with transaction(self._open, scope, now=now, actor=Actor(kind="application")) as tx:
            return arrival.put(tx, built)

    def forget(
        self,
        scope: Scope,
        *,
        passages: Collection[str] = (),
        messages: Collection[str] = (),
        session: str | None = None,
        facts: Collection[str] = (),
        entity: str | None = None,
        everything: bool = False,
        is_preview: bool = False,
        most: int | None = None,
        actor: Actor = USER,
        reason: str = "",
        is_patient: bool = False,
        now: datetime,
    ) -> Receipt:
        """Erase what is named with all that only it carried, from the rows and from the file.

        It is banned then: see ``unforget``.

        Args:
            scope: whose memory.
            passages: ids.
            messages: ids.
            session: a conversation.
            facts: ids.
            entity: a name, or an entity's id.
            everything: the whole scope.
            is_preview: only say what would go.
            most: how many passages it may change at most.
            actor: who asks for it.
            reason: for the log; left out where it tells what is forgotten.
            is_patient: wait for a large file to be rewritten.
            now: the time.

        Returns:
            A receipt of what is gone. ``deferred`` says so where its words are still in the file: a
            reader holds old pages, or a large file is being rewritten.

        Raises:
            NotFound: the scope has nothing of that name.
            Ambiguous: more passages than ``most`` would change; nothing was.
        """
        target = forgetting.Target(passages, messages, session, facts, entity)
        with (
            transaction(self._open, scope, now=now, actor=actor) as tx,
            tx.trial() if is_preview else nullcontext(),
        ):
            if everything:
                done = forgetting.forget_everything(tx, reason=reason)
            else:
                done = forgetting.forget(tx, target, reason=reason)
            done.check(most)
        if is_preview:
            return Receipt(scope, candidates=done.candidates(), outside=OUTSIDE)
        return self._erased(scope, done, is_patient=is_patient)

    def follow(self, scope: Scope, original: Store, *, actor: Actor, now: datetime) -> Receipt:
        """Forget what the store that this one is a copy of has banned in a scope.

        Raises:
            InvalidInput: this is no copy of it.
        """
        with original._reading() as connection:
            is_copy = migrations.identity(connection) == self.identity
            rows = bans.rows(connection, scope)
            texts = {one.id: one.text for one in reading.passages(connection, scope)}
        if not is_copy:
            raise InvalidInput(f"{self.uri} is no copy of {original.uri}: they have nothing shared")
        with transaction(self._open, scope, now=now, actor=actor) as tx:
            done = forgetting.follow(tx, rows, texts)
        return self._erased(scope, done)

    def _erased(
        self, scope: Scope, done: forgetting.Forgotten, *, is_patient: bool = False
    ) -> Receipt:
        is_erased = self._open.erase(is_patient=is_patient)
        held = ("the words leave the file when no reader holds old pages of it any more",)
        return Receipt(
            scope,
            forgotten=tuple(done.erasure.gone),
            deferred=() if is_erased else held,
            facts=tuple(sorted(done.erasure.facts)),
            cut=tuple(done.erasure.cut),
            bans=done.bans,
            outside=OUTSIDE,
        )

    def unforget(
        self,
        scope: Scope,
        *,
        ban: str | None = None,
        fact: str | tuple[str, str, str] | None = None,
        text: str | None = None,
        entity: str | None = None,
        actor: Actor,
        reason: str = "",
        now: datetime,
    ) -> Receipt:
        """Take a ban back. What was erased stays erased, and is stored again when it comes again.

        Raises:
            NotFound: nothing of that is banned.
            NotAllowed: nobody but a person takes a ban back.
        """
        with transaction(self._open, scope, now=now, actor=actor) as tx:
            done = judging.unforget(tx, ban=ban, fact=fact, text=text, entity=entity, reason=reason)
        return Receipt(scope, bans=done.bans, facts=done.facts)

    def reject(
        self, scope: Scope, fact: str, *, actor: Actor, reason: str = "", now: datetime
    ) -> Receipt:
        """Rule that a fact is wrong.

        Raises:
            NotFound: the scope has no such fact.
        """
        with transaction(self._open, scope, now=now, actor=actor) as tx:
            done = judging.reject(tx, fact, reason=reason)
        return Receipt(scope, bans=done.bans, facts=done.facts)

    def rule(
        self,
        scope: Scope,
        fact: str,
        ruling: Literal["verified", "disputed"],
        *,
        actor: Actor,
        reason: str = "",
        now: datetime,
    ) -> Receipt:
        """Rule that a fact is so, or that it is in doubt.

        Raises:
            NotFound: the scope has no such fact.
            NotAllowed: nobody but a person verifies.
            InvalidInput: the fact is banned.
        """
        with transaction(self._open, scope, now=now, actor=actor) as tx:
            judging.rule(tx, fact, ruling, reason=reason)
        return Receipt(scope, facts=(fact,))

    def bans(self, scope: Scope) -> list[Ban]:
        """What the scope shall not store again, oldest first."""
        with self._reading() as connection:
            return bans.all_bans(connection, scope)

    # -- the queue -------------------------------------------------------------------------------

    def claim(
        self, work: Work, *, owner: str, now: datetime, max_texts: int, max_chars: int
    ) -> Claim | None:
        """Lease what has been due longest, of one scope; ``None`` when nothing is due.

        Args:
            work: ``extract`` or ``embed``.
            owner: who works on it, as ``host:pid:nanoseconds since 1970``: when that process is
                dead its leases are void at once, else after ``queue.LEASE``.
            now: what is due by then.
            max_texts: items at most.
            max_chars: characters at most, but for a single longer item.
        """
        return queue.claim(
            self._open, work, owner=owner, now=now, max_texts=max_texts, max_chars=max_chars
        )

    def finish_extraction(
        self,
        scope: Scope,
        extractions: Sequence[Extraction],
        *,
        claim: Claim,
        extractor: str,
        now: datetime,
    ) -> None:
        """Commit what was read of a claim's passages; failed ones go back to the queue.

        What is no longer the claim's (forgotten, to be read again, taken over) is passed over.
        """
        readings = extraction.judge(claim, extractions, extractor=extractor)
        with transaction(self._open, scope, now=now, actor=Actor(extractor, "extractor")) as tx:
            has_erased = extraction.finish_extraction(tx, claim, readings)
        if has_erased:
            self._open.erase()

    def put_vectors(
        self,
        claim: Claim,
        keys: Sequence[tuple[str, str]],
        rows: NDArray[np.float32],
        *,
        model: str,
        now: datetime | None = None,
    ) -> None:
        """Commit vectors of a claim's texts.

        Args:
            claim: what they were made for; what is no longer its own is passed over.
            keys: (kind, id) of each row, some or all of the claim's.
            rows: shape (len(keys), dims), finite.
            model: the embedder's name.
            now: for the log.

        Raises:
            EmbeddingError: the rows do not fit the keys.
            EmbedderMismatch: the store holds another model's vectors.
        """
        at = now or datetime.now(timezone.utc)
        with transaction(self._open, claim.scope, now=at, actor=Actor(model, "embedder")) as tx:
            vectors.put(tx, claim, keys, rows, model=model)

    def fail(
        self,
        claim: Claim,
        error: str,
        *,
        now: datetime,
        retry_at: datetime | None = None,
        is_retryable: bool = True,
    ) -> None:
        """Put back what a claim still holds; it is tried again after a back-off or as told."""
        with transaction(self._open, claim.scope, now=now) as tx:
            held = queue.held(tx, claim)
            queue.fail(tx, claim, dict.fromkeys(held, (error, retry_at, is_retryable)))

    def release(self, owner: str) -> None:
        """Put back what an owner still holds, to be taken up by anybody at once."""
        queue.release(self._open, owner)

    def make_due(self, *, now: datetime) -> None:
        """Let everything that waits for a later try be due now."""
        queue.make_due(self._open, now)

    def next_due(self, work: Work | None = None) -> datetime | None:
        """When there is next something to claim; ``None`` when nothing is queued."""
        with self._reading() as connection:
            return queue.next_due(connection, work)

    def pending_count(
        self,
        scope: Scope | None = None,
        *,
        work: Work | None = None,
        is_leased: bool | None = None,
    ) -> int:
        """How many items are queued or being worked on; only the latter where ``is_leased``."""
        with self._reading() as connection:
            return reading.pending_count(connection, scope, work, is_leased)

    def pending_work(self, scope: Scope, kind: VectorKind, id: str) -> dict[str, str]:
        """What still is to be done with a row, and why that failed last; see ``queue``."""
        with self._reading() as connection:
            return reading.pending_work(connection, scope, kind, id)

    # -- reading ---------------------------------------------------------------------------------

    def seq(self, scope: Scope) -> int:
        """Number of the scope's last log entry; 0 before any."""
        with self._reading() as connection:
            return reading.sequence(connection, scope)[0]

    def forget_seq(self, scope: Scope) -> int:
        """Number of the log entry of the scope's last forget; 0 before any."""
        with self._reading() as connection:
            return reading.sequence(connection, scope)[1]

    def version(self) -> int:
        """A number that is another one after each commit to the store, whoever made it. Cheap."""
        with translated(self._database.name):
            return self._open.version()

    def log_digest(self, scope: Scope, seq: int) -> str | None:
        """Of the scope's log entry of a number: tells one history from another. None: no entry."""
        with self._reading() as connection:
            return reading.log_digest(connection, scope, seq)

    def changes(self, scope: Scope, *, after: int | None) -> Changes:
        """What an index that knows the scope up to a log number must learn; ``None``: all.

        Where that may be much, read it in portions: see ``changed``.
        """
        with self._reading() as connection:
            return reading.changes(connection, scope, reading.changed(connection, scope, after))

    def changed(self, scope: Scope, *, after: int | None) -> Changed:
        """Which rows an index that knows the scope up to a log number must learn; ``None``: all."""
        with self._reading() as connection:
            return reading.changed(connection, scope, after)

    def changes_of(self, scope: Scope, changed: Changed) -> Changes:
        """The rows that changed, or a portion of them, as they are now."""
        with self._reading() as connection:
            return reading.changes(connection, scope, changed)

    def passages(
        self, scope: Scope, *, session: str | None = None, ids: Iterable[str] | None = None
    ) -> list[Passage]:
        """Passages by thread, in the order in which they were said; unknown ids are left out."""
        with self._reading() as connection:
            return reading.passages(connection, scope, session=session, ids=ids)

    def by_id(
        self,
        scope: Scope,
        *,
        passages: Iterable[str] = (),
        facts: Iterable[str] = (),
        entities: Iterable[str] = (),
    ) -> tuple[dict[str, Passage], dict[str, Fact], dict[str, Entity]]:
        """Rows by id, from one state of the store; unknown ids are left out."""
        with self._reading() as connection:
            return (
                passages_by_id(connection, scope, passages),
                facts_by_id(connection, scope, facts),
                reading.entities_by_id(connection, scope, entities),
            )

    def messages(self, scope: Scope, *, session: str | None = None) -> list[StoredMessage]:
        """Messages by thread, in the order in which they were said."""
        with self._reading() as connection:
            return reading.messages(connection, scope, session=session)

    def facts(
        self,
        scope: Scope,
        *,
        subject: str | None = None,
        status: Status | None = None,
        passage: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> list[Fact]:
        """Facts by id, of any status; of one subject, one status, or stated by one passage.

        Of another time: those that held in the world at ``as_of``, as far as was known at
        ``known_at``; see ``past``.
        """
        with self._reading() as connection:
            found = _facts(connection, scope, subject, status, passage, as_of, known_at)
        return found

    def facts_and_passages(
        self, scope: Scope, *, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> tuple[list[Fact], list[Passage]]:
        """The facts as ``facts`` gives them and the passages that were known, of one state."""
        with self._reading() as connection:
            found = _facts(connection, scope, None, None, None, as_of, known_at)
            said = reading.passages(connection, scope)
            if known_at is not None:
                ids = [one.id for one in said]
                known = past.known_passages(connection, scope, ids, known_at)
                said = [one for one in said if one.id in known]
        return found, said

    def facts_then(
        self,
        scope: Scope,
        ids: Iterable[str],
        *,
        as_of: datetime | None,
        known_at: datetime | None,
    ) -> dict[str, Fact]:
        """Those of the facts that held then, as they were believed; without ``as_of`` the live."""
        with self._reading() as connection:
            then = past.facts_then(connection, scope, ids, as_of, known_at)
        return then if as_of else {id_: one for id_, one in then.items() if one.is_live}

    def known_passages(
        self, scope: Scope, ids: Iterable[str], *, known_at: datetime | None
    ) -> set[str]:
        """Those of the passages that the store had got by then."""
        with self._reading() as connection:
            return past.known_passages(connection, scope, ids, known_at)

    def diff(self, scope: Scope, start: datetime, end: datetime) -> Diff:
        """What the scope came to believe, and ceased to, after a time and up to another."""
        with self._reading() as connection:
            return past.difference(connection, scope, start, end)

    def evidence(self, scope: Scope, fact_id: str) -> list[Evidence]:
        """Who said a fact, where and when."""
        with self._reading() as connection:
            return stated(connection, scope, [fact_id]).get(fact_id, [])

    def sources(self, scope: Scope, fact_id: str) -> list[Source]:
        """Where a fact was read: who said it, when, in which words; in the order said.

        Raises:
            NotFound: the scope has no such fact.
        """
        with self._reading() as connection:
            return reading.sources(connection, scope, fact_id)

    def entities(self, scope: Scope) -> list[Entity]:
        """Entities by name."""
        with self._reading() as connection:
            return reading.entities(connection, scope)

    def log(
        self,
        scope: Scope,
        *,
        after: int = 0,
        since: datetime | None = None,
        until: datetime | None = None,
        kind: str | None = None,
        id: str | None = None,
        limit: int | None = None,
    ) -> list[LogEntry]:
        """The scope's changes, oldest first; of more than ``limit`` the newest."""
        with self._reading() as connection:
            return reading.log_entries(
                connection,
                scope,
                after=after,
                since=since,
                until=until,
                kind=kind,
                id_=id,
                limit=limit,
            )

    def verify_log(self, scope: Scope, *, noted: str | None = None) -> LogCheck:
        """Whether the scope's log is what was written, and still holds a head that was noted."""
        with self._reading() as connection:
            return reading.verify_log(connection, scope, noted)

    def stats(self, scope: Scope | None = None) -> Stats:
        """Counts of a scope, or of the whole store."""
        with self._reading() as connection:
            return reading.stats(connection, scope)

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written to, sorted."""
        with self._reading() as connection:
            return reading.scopes(connection)

    def check_model(self, name: str, dims: int | None = None) -> None:
        """Check that a model's vectors fit those that are stored; any fit an empty store.

        Raises:
            EmbedderMismatch: they are another model's, or of another size.
        """
        wanted = (self.version(), name, dims)
        if wanted != self._fitting:
            with self._reading() as connection:
                vectors.check_model(connection, name, dims)
            self._fitting = wanted

    @property
    def _open(self) -> Database:
        if self._is_closed:
            raise StoreError("this store is closed; open it again with Store.open(uri)")
        return self._database

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._open.reading() as connection:
            yield connection


def _facts(
    connection: Connection,
    scope: Scope,
    subject: str | None,
    status: Status | None,
    passage: str | None,
    as_of: datetime | None,
    known_at: datetime | None,
) -> list[Fact]:
    is_past = as_of is not None or known_at is not None
    now = None if is_past else status
    found = reading.facts(connection, scope, subject=subject, status=now, passage=passage)
    if not is_past:
        return found
    then = past.facts_then(connection, scope, [one.id for one in found], as_of, known_at)
    return [one for _, one in sorted(then.items()) if status in (None, one.status)]
