"""``GraphMemory``: the engine without a framework. It wires the stages together and holds no rules.

``remember`` admits messages (``passages``), stores them durably (``store``) and wakes the
``worker``; the worker extracts and embeds; ``recall`` has the scope's index brought up to date from
the store's log (``indexes``) and ranks (``recall``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphmem import embedding, passages
from graphmem.arguments import now, text, whole_number
from graphmem.display import markup
from graphmem.errors import GraphMemError, InvalidInput, MissingDependency
from graphmem.explaining import Explaining
from graphmem.faults import Faults
from graphmem.indexes import Indexes
from graphmem.progress import progress_bar
from graphmem.recall import recall
from graphmem.settings import RecallSettings
from graphmem.store import Store
from graphmem.types import (
    Embedder,
    Extractor,
    Message,
    Recall,
    Receipt,
    Role,
    Scope,
    Stats,
    Usage,
)
from graphmem.worker import Worker

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

__all__ = ["DEFAULT_SCOPE", "GraphMemory"]

DEFAULT_SCOPE = "default"


class GraphMemory(Explaining):
    """Long-term memory on a knowledge graph: remember text, recall passages.

    Most users call ``open``::

        with GraphMemory.open("sqlite:///memory.db", scope="Nell") as memory:
            memory.remember("Henrik Dahl grew up in Skagen.", session="may")
            memory.drain()
            for ranked in memory.recall("Where did Henrik grow up?"):
                print(ranked.score, ranked.passage.text)

    Safe to use from several threads. Several memories on one store, in one process or in many, see
    each other's writes: at once, or where this one is learning what it was told itself, about a
    second later. What a memory was told itself its next recall sees.

    Args:
        store: where rows live; closed with the memory.
        embedder: makes vectors.
        extractor: makes triples; ``None`` leaves passages pending and recall without a graph.
        scope: whose memory is meant where a call names none.
        settings: the constants of recall.
        workers: how many extractions run at a time.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        extractor: Extractor | None = None,
        *,
        scope: Scope | str = DEFAULT_SCOPE,
        settings: RecallSettings | None = None,
        workers: int = 2,
    ) -> None:
        _check_parts(extractor, settings, workers)
        self.settings = settings or RecallSettings()
        faults = Faults()
        indexes = Indexes(store, self.settings, faults)
        super().__init__(store, Scope.of(scope), faults, indexes)
        self._embedder = embedder
        self._extractor = extractor
        self._worker = Worker(
            store,
            embedder,
            extractor,
            self.faults,
            threads=workers,
            on_commit=self._indexes.notify,
        )
        # Work that an earlier process left on disk goes on now.
        self._worker.notify()

    @classmethod
    def open(
        cls,
        uri: str | Path,
        *,
        scope: Scope | str = DEFAULT_SCOPE,
        embed_model: Embedder | BaseEmbedding | str | Path | None = None,
        extractor: Extractor | None = None,
        llm: LLM | None = None,
        settings: RecallSettings | None = None,
        workers: int = 2,
    ) -> GraphMemory:
        """Open or create a memory.

        Args:
            uri: ``"sqlite:///memory.db"`` (or a plain path), as in SQLAlchemy.
            scope: whose memory is meant where a call names none.
            embed_model: an ``Embedder``, any LlamaIndex ``BaseEmbedding``, or a folder with a
                MiniLM-shaped ONNX model; ``None`` is the bundled model of the extra ``local``.
            extractor: reads triples; ``None`` is the offline English rules, where installed.
            llm: any LlamaIndex ``LLM``, to read triples with instead.
            settings: the constants of recall.
            workers: how many extractions run at a time.

        Raises:
            MissingDependency: no embedding model was given and none is installed.
            StoreError: the store cannot be opened (see ``graphmem.errors``).
            EmbedderMismatch: the store holds another model's vectors.
        """
        if extractor is not None and llm is not None:
            raise InvalidInput("pass either extractor= or llm=, not both")
        scope = Scope.of(scope)
        embedder = embedding.resolve(embed_model)
        reader = extractor if extractor is not None else _default_extractor(llm)
        store = Store.open(uri)
        try:
            store.check_model(embedder.name, getattr(embedder, "dims", None))
            return cls(store, embedder, reader, scope=scope, settings=settings, workers=workers)
        except BaseException:
            store.close()
            raise

    # -- writing ---------------------------------------------------------------------------------

    def remember(
        self,
        content: str | Message | Iterable[str | Message],
        *,
        scope: Scope | str | None = None,
        session: str | None = None,
        said_at: datetime | None = None,
        speaker: str | None = None,
        role: Role | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Store text. It is on disk when this returns; facts and vectors follow.

        Args:
            content: text, a message, or several in the order in which they were said.
            scope: whose memory; the memory's own where omitted.
            session: the conversation they belong to. Messages of one session are each other's
                context. A single text without a session stands alone.
            said_at: when it was said, with a time zone. This and the rest are for plain text;
                a ``Message`` brings its own.
            speaker: who said it; the scope's user where omitted.
            role: ``user``, ``assistant``, ``system``, ``tool`` or ``document``; ``user`` where
                omitted, ``document`` with a title.
            title: makes it a document, split into passages in order.
            metadata: JSON-able values to get back with the passage.

        Returns:
            What was stored, what was known already, and what is no memory and why.

        Raises:
            InvalidInput: a wrong type, a naive time, an unknown role. Nothing is stored.
            StoreError: the disk refused. Nothing is stored.
        """
        owner = self._scope(scope)
        given: dict[str, Any] = {
            "said_at": said_at,
            "speaker": speaker,
            "role": role,
            "title": title,
        }
        given |= {"metadata": metadata}
        options = {name: value for name, value in given.items() if value is not None}
        if title is not None:
            options.setdefault("role", "document")
        session = text("session", session)
        if isinstance(content, (str, Message)):
            several: Sequence[str | Message] = [content]
        else:
            several = _items(content)
            session = "" if session is None else session
        items = [_message(item, options) for item in several]
        admitted: list[Message] = []
        dropped: list[tuple[str, str]] = []
        for item in items:
            message, reason = passages.admit(item, owner.user)
            if reason:
                dropped.append((item.text[:80] if isinstance(item.text, str) else "", reason))
            else:
                admitted.append(message)
        if not admitted:
            return Receipt(owner, dropped=tuple(dropped))
        receipt = self._store.put(owner, admitted, session=session, now=now())
        self._indexes.wrote(owner)
        if receipt.stored:
            self._worker.notify()
        return replace(receipt, dropped=(*dropped, *receipt.dropped))

    def drain(
        self,
        timeout: float | None = None,
        *,
        progress: bool | Callable[[int, int], None] = False,
    ) -> int:
        """Wait for extraction and embedding, and return how many items are left (0: all done).

        Scopes that were recalled in this memory know of it all then, too.

        Items that failed before are tried again now, each once; ``stats().last_error`` says why
        what is left has failed.

        Args:
            timeout: seconds; ``None`` waits as long as there is progress.
            progress: True shows a progress bar; a function is called with (done, total).

        Raises:
            InvalidInput: ``timeout`` is no number.
        """
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, Real)):
            raise InvalidInput(f"timeout must be seconds or None, not {timeout!r:.80}")
        deadline = None if timeout is None else time.monotonic() + timeout
        if callable(progress):
            left = self._worker.drain(timeout, progress)
        elif not progress:
            left = self._worker.drain(timeout)
        else:
            with progress_bar("reading") as advance:
                left = self._worker.drain(timeout, advance)
        if not left:
            self._indexes.settle(deadline)
        return left

    # -- reading ---------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        scope: Scope | str | None = None,
        top_k: int = 5,
        session: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Recall:
        """The passages that answer a question, best first. No model is called but the embedder.

        Args:
            query: the question, as a person would ask it.
            scope: whose memory; the memory's own where omitted.
            top_k: how many passages at most, 1 to 1000.
            session: only passages of this conversation.
            as_of: a time with its zone: by the facts that held in the world then, and what was said
                by then or tells of then.
            known_at: a time with its zone: by what this memory had been told by then.

        Returns:
            Ranked passages to loop over, each with its score and facts, and how they were found.
            The nearest come back whether or not they answer; scores compare within one recall.

        Raises:
            InvalidInput: a wrong type, or ``top_k`` out of range.
            EmbedderMismatch: the embedder's vectors do not fit the store's.
        """
        asked = self._asked(query, scope, top_k, session, as_of, known_at)
        clock = [time.perf_counter()]
        index, words = self._current(asked)
        clock.append(time.perf_counter())
        # Not under the lock: the embedder may be a server far away.
        vector = self._query_vector(words, asked.scope)
        clock.append(time.perf_counter())
        found = self._answer(asked, index, vector, recall)
        clock.append(time.perf_counter())
        update, embed, total = ((clock[n] - clock[m]) * 1e3 for n, m in ((1, 0), (2, 1), (3, 0)))
        timings = {"update": update, "embed": embed, **found.timings, "total": total}
        return replace(found, timings=timings, as_of=asked.as_of, known_at=asked.known_at)

    def stats(self, scope: Scope | str | None = None) -> Stats:
        """Counts of a scope, and of this process's work on the whole store."""
        owner = self._scope(scope)
        counts = self._store.stats(owner)
        return replace(
            counts,
            usage=getattr(self._extractor, "usage", Usage()),
            faults=self.faults.counts(),
            last_error=self.faults.last_of(owner) or counts.last_error,
        )

    # -- life ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop the worker and let go of the store. Unfinished work stays queued on disk."""
        if self._is_closed:
            return
        self._is_closed = True
        self._worker.stop()
        self._indexes.close()
        self._store.close()

    def __enter__(self) -> GraphMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"GraphMemory({self._store.uri!r}, scope={str(self.scope)!r})"

    def _repr_html_(self) -> str:
        try:
            stats, problem = self.stats(), ""
        except GraphMemError as error:
            stats, problem = None, str(error)  # closed, or a disk that cannot be read
        return markup.memory_html(self._store.uri, self.scope, stats, problem)

    # -- parts -----------------------------------------------------------------------------------

    def _queued(self) -> None:
        self._worker.notify()

    def _query_vector(self, query: str, scope: Scope) -> NDArray[np.float32] | None:
        """The question's vector, or None where there is none to be had: words still work."""
        if not query.strip():
            return None
        name = self._embedder.name
        try:
            rows = embedding.checked([self._embedder.embed_query(query)], 1, name=name)
        except Exception as error:
            self.faults.record("embedding", error, "recall goes by words alone", scope=scope)
            return None
        vector: NDArray[np.float32] = rows[0]
        self._store.check_model(name, len(vector))
        return vector


def _check_parts(extractor: object, settings: object, workers: object) -> None:
    if extractor is not None and not (
        isinstance(extractor, Extractor) and isinstance(extractor.name, str)
    ):
        raise InvalidInput(
            f"extractor must have a name and extract(passages), {type(extractor).__name__} has not"
        )
    if settings is not None and not isinstance(settings, RecallSettings):
        raise InvalidInput(f"settings must be RecallSettings, not {type(settings).__name__}")
    whole_number("workers", workers, 0)


def _default_extractor(llm: LLM | None) -> Extractor | None:
    if llm is not None:
        from graphmem.extractors.llm import LLMExtractor

        return LLMExtractor(llm)
    from graphmem.extractors.rules import RulesExtractor

    try:
        return RulesExtractor()
    except MissingDependency:
        return None  # recall by words and vectors needs no triples


def _items(content: Iterable[str | Message]) -> Sequence[str | Message]:
    if isinstance(content, (Mapping, Set)):
        raise InvalidInput(
            f"remember takes messages in the order in which they were said: pass a list, "
            f"not a {type(content).__name__}"
        )
    try:
        return list(content)
    except TypeError:
        raise InvalidInput(
            f"remember takes text, a Message, or several; not {type(content).__name__}"
        ) from None


def _message(item: str | Message, options: Mapping[str, Any]) -> Message:
    if isinstance(item, Message):
        if options:
            raise InvalidInput(
                f"{', '.join(sorted(options))} go into the Message itself, or with plain text"
            )
        return item
    if isinstance(item, str):
        return Message(item, **options)
    raise InvalidInput(f"remember takes text, a Message, or several; got {type(item).__name__}")
