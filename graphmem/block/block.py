"""``GraphMemoryBlock``: the engine as a memory block of a LlamaIndex ``Memory``.

An adapter and nothing else. It turns chat messages into messages, runs the engine in threads of its
own (a host's event loops come and go, and a cancelled turn must not leave a write half done), keeps
one recall per user message, and lets no fault reach the agent.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_validator
from llama_index.core.llms import LLM, ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.utils import get_tokenizer
from typing_extensions import Self

from graphmem import context
from graphmem.arguments import check_target
from graphmem.block.background import start, wait
from graphmem.block.batches import Batch, by_session, together
from graphmem.block.chat import as_chat, newest_turn, own_copy, sorted_out
from graphmem.block.events import announce_fault, announce_recall, announce_write
from graphmem.block.services import Services
from graphmem.block.spill import Spill
from graphmem.block.turns import Occurrence, Turns
from graphmem.courtesy import served_first
from graphmem.errors import InvalidInput, NotFound
from graphmem.explaining import MAX_TOP_K
from graphmem.faults import FaultKind, Faults
from graphmem.memory import DEFAULT_SCOPE, GraphMemory
from graphmem.settings import RecallSettings
from graphmem.types import (
    Actor,
    Ban,
    Embedder,
    Entity,
    Extractor,
    Fact,
    Recall,
    Receipt,
    Role,
    Scope,
    Stats,
)

__all__ = ["GraphMemoryBlock"]


class GraphMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory for a LlamaIndex ``Memory``: flushed messages become a knowledge graph.

    ``aput`` returns when the words are on disk; facts and vectors follow behind it. ``aget``
    recalls what fits the last user message, once per message. Neither raises (see ``strict``):
    what goes wrong is logged, counted in ``stats()`` and sent out as a ``FaultEvent``; words that
    the disk refused wait in memory.

    ``Memory`` hands over only what no longer fits its window, and never the last turn: call
    ``aremember(memory)`` at the end of a conversation. ``memory.reset()`` forgets nothing here;
    ``forget`` does. One block may serve many sessions, loops and threads at once.

    The fields are JSON-able, and a block made from ``model_dump()`` opens the same store. A pickle
    holds the fields and, as far as they can be pickled, ``embed_model``, ``llm``, ``extractor`` and
    ``tokenizer_fn`` (with any key that such an object holds); what cannot is replaced by its
    default, with a warning. A copy shares those objects. Both open the store on first use.

    Args:
        embed_model: an ``Embedder``, any LlamaIndex ``BaseEmbedding``, or a folder with a
            MiniLM-shaped ONNX model; ``None`` is the bundled model of the extra ``local``.
        llm: any LlamaIndex ``LLM``, to read facts with; ``None`` is the offline rules, where
            installed.
        extractor: reads facts, instead of an ``llm``.
        tokenizer_fn: counts tokens, as the ``Memory``'s; ``None`` is LlamaIndex's global one.
        **options: the other fields; ``GraphMemoryBlock.model_fields`` describes each. ``uri``, the
            store (``"sqlite:///memory.db"`` or a path), is needed; ``scope`` is whose memory,
            ``agent`` one agent's own; ``token_budget`` and ``top_k`` bound what is recalled;
            ``current_session_only`` keeps to the asking session.

    Raises:
        MissingDependency: no embedding model was given and none is installed.
        StoreError: the store cannot be opened (see ``graphmem.errors``).
        ValueError: an unknown or wrong option.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    name: str = Field(
        default="GraphMemory",
        pattern=r"^[A-Za-z_][\w.-]*$",
        description="Name of the block: the tag around its text in the prompt.",
    )
    description: str | None = Field(
        default="What is remembered from earlier conversations.",
        description="Description of the block.",
    )
    priority: int = Field(
        default=1,
        description="Order of cutting when the window overflows: 0 is never cut and may overflow "
        "it, of the others llama-index-core 0.14 cuts the lowest first.",
    )
    accept_short_term_memory: bool = Field(
        default=True,
        description="Whether to store the messages that the Memory flushes; if not, only "
        "remember() and aremember() store.",
    )
    uri: str = Field(
        frozen=True,
        min_length=1,
        description="The store, as in SQLAlchemy: 'sqlite:///memory.db', or a plain path.",
    )
    scope: str = Field(
        default=DEFAULT_SCOPE,
        frozen=True,
        description="Whose memory: the user (or tenant). No other scope is ever read.",
    )
    agent: str = Field(
        default="",
        frozen=True,
        description="One of the user's agents with a memory of its own; empty is the common one.",
    )
    user_name: str | None = Field(
        default=None,
        description="Who speaks in user messages that name nobody; None is the scope's user.",
    )
    assistant_name: str | None = Field(
        default=None,
        description="Who speaks in assistant messages that name nobody; None is 'assistant'.",
    )
    token_budget: int = Field(
        default=550, ge=0, description="Most tokens of recalled text; whole items only."
    )
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K, description="Most passages to recall.")
    current_session_only: bool = Field(
        default=False,
        description="Whether to recall passages of the asking session only. By default a user's "
        "new session knows the earlier ones.",
    )
    recall_timeout: float = Field(
        default=10.0,
        gt=0,
        description="Seconds after which the agent goes on without memory for this turn.",
    )
    strict: bool = Field(
        default=False, description="Whether faults raise into the agent after they are recorded."
    )
    workers: int = Field(
        default=2, ge=1, frozen=True, description="How many extractions run at a time."
    )
    settings: RecallSettings = Field(
        default_factory=RecallSettings, frozen=True, description="The constants of recall."
    )

    _given: Services = PrivateAttr()
    _live: _Live = PrivateAttr()

    def __init__(
        self,
        *,
        embed_model: Embedder | BaseEmbedding | str | None = None,
        llm: LLM | None = None,
        extractor: Extractor | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._given = Services(embed_model, llm, extractor, tokenizer_fn)
        self._live = self._dormant()
        self._open()

    @field_validator("uri", mode="before")
    @classmethod
    def _uri_as_text(cls, value: Any) -> Any:
        return os.fspath(value) if isinstance(value, os.PathLike) else value

    @field_validator("scope")
    @classmethod
    def _scope_is_valid(cls, value: str) -> str:
        return Scope(value).user

    @field_validator("agent")
    @classmethod
    def _agent_is_valid(cls, value: str) -> str:
        return Scope("any", value).agent

    @classmethod
    def class_name(cls) -> str:
        """Name of the class, as LlamaIndex components have it."""
        return "GraphMemoryBlock"

    # -- the host's side -------------------------------------------------------------------------

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Store messages, as ``Memory`` calls it when it flushes; the caller's stay untouched.

        Args:
            messages: in the order in which they were said. ``additional_kwargs`` may hold
                ``timestamp`` (an aware datetime, its ISO 8601 form, or seconds since 1970) and
                ``speaker``.
            from_short_term_memory: whether they fell out of the window.
            session_id: their session.
        """
        # Before the first await: blocks share the message objects and change them.
        copies = [own_copy(message) for message in self._chat(messages)]
        if from_short_term_memory:
            self._live.turns.flushed(self._key(session_id), len(copies))
        with served_first():
            await super().aput(copies, from_short_term_memory, session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        batches, problems = self._batches(self._chat(messages), None)
        if not batches and not problems:
            return
        try:
            await wait(start("write", self._store_all, batches, problems))
        except Exception:
            # Recorded where it happened.
            if self.strict:
                raise

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        known = self._chat(messages or [])
        occurrence: Occurrence | None = None
        try:
            turn = newest_turn(known)
            if turn is None or not turn.query.strip():
                return ""
            key = self._key(block_kwargs.get("session_id"))
            basis = (self.token_budget, self.top_k, self.current_session_only, self.settings)
            occurrence = self._live.turns.occurrence(key, turn, basis)
            recall = functools.partial(self._recalled, turn.query, key[1])
            found = start("read", occurrence.text, self._forget_seq, recall)
            return await wait(found, self.recall_timeout)
        except Exception as error:
            if occurrence is not None:
                # The whole turn goes on in the same way, and pays for the fault once.
                occurrence.is_lost = not self.strict
            self._record("recall", error, "the agent answers without memory")
            if self.strict:
                raise
            return ""

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Drop the least valuable items of a recalled text: a little more than asked.

        The host does not count the tags that it puts around the text; they are made room for here.

        Args:
            content: what ``aget`` returned; the host passes ``[]`` for nothing.
            tokens_to_truncate: how many tokens must go, at least.
        """
        try:
            if tokens_to_truncate > 0:
                tags = f"<memory>\n<{self.name}>\n\n</{self.name}>\n</memory>"
                tokens_to_truncate += self._count_tokens(tags)
            return context.truncate(content, tokens_to_truncate, self._count_tokens)
        except Exception as error:
            self._record("recall", error, "the agent answers without memory")
            if self.strict:
                raise
            return None

    # -- the application's side ------------------------------------------------------------------

    @property
    def memory(self) -> GraphMemory:
        """The engine beneath; opens the store if it is not open."""
        return self._live.memory or self._open()

    async def aremember(
        self,
        messages: Memory | ChatMessage | str | Iterable[ChatMessage | str],
        session_id: str | None = None,
    ) -> Receipt:
        """Store messages now, before the window overflows; the later flush adds nothing.

        Args:
            messages: a whole ``Memory`` (its window and its archive, under its own session), chat
                messages, or plain texts of the user.
            session_id: their session: the ``Memory``'s own where it will flush them later.

        Returns:
            What was stored, what was known, what is no memory, and what waits in memory because
            the store refused it.

        Raises:
            InvalidInput: something in ``messages`` is no message. Nothing is stored.
            GraphMemError: the store refused, and the spill is full or the block strict.
        """
        if isinstance(messages, Memory):
            session_id = messages.session_id if session_id is None else session_id
            messages = await messages.aget_all()
        batches, problems = self._batches(as_chat(messages), session_id)
        return await wait(start("write", self._store_all, batches, problems))

    def remember(
        self,
        messages: Memory | ChatMessage | str | Iterable[ChatMessage | str],
        session_id: str | None = None,
    ) -> Receipt:
        """As ``aremember``, for code without an event loop."""
        if isinstance(messages, Memory):
            session_id = messages.session_id if session_id is None else session_id
            messages = messages.get_all()
        return self._store_all(*self._batches(as_chat(messages), session_id))

    async def arecall(self, query: str, *, session: str | None = None) -> Recall:
        """As ``recall``, without blocking the event loop."""
        return await wait(start("read", functools.partial(self.recall, query, session=session)))

    def recall(self, query: str, *, session: str | None = None) -> Recall:
        """The passages that answer a question, best first, with scores, facts and route.

        Args:
            query: the question.
            session: only passages of this session.

        Raises:
            GraphMemError: the store or the embedder does not fit. This call hides no fault.
        """
        return self.memory.recall(query, scope=self._owner, top_k=self.top_k, session=session)

    async def adrain(self, timeout: float | None = None) -> int:
        """As ``drain``, without blocking the event loop."""
        return await wait(start("drain", self.drain, timeout))

    def drain(self, timeout: float | None = None) -> int:
        """Wait until facts and vectors have caught up, and return how much is left (0: nothing).

        Args:
            timeout: seconds; ``None`` waits as long as there is progress.
        """
        self._live.spill.retry()
        return self.memory.drain(timeout) + len(self._live.spill)

    async def aforget(
        self,
        *,
        fact: str | Fact | None = None,
        passage: str | None = None,
        message: str | None = None,
        entity: str | Entity | None = None,
        session: str | None = None,
        everything: bool = False,
        query: str | None = None,
        preview: bool | None = None,
        most: int = 10,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """As ``forget``, without blocking the event loop."""
        forget = functools.partial(
            self.forget,
            fact=fact,
            passage=passage,
            message=message,
            entity=entity,
            session=session,
            everything=everything,
            query=query,
            preview=preview,
            most=most,
            actor=actor,
            reason=reason,
        )
        return await wait(start("write", forget))

    def forget(
        self,
        *,
        fact: str | Fact | None = None,
        passage: str | None = None,
        message: str | None = None,
        entity: str | Entity | None = None,
        session: str | None = None,
        everything: bool = False,
        query: str | None = None,
        preview: bool | None = None,
        most: int = 10,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Erase what one of the arguments names, and keep it from coming back.

        As ``GraphMemory.forget``, in this block's scope. The host's own chat database is not
        touched: ``memory.reset()`` clears that; what it hands over again is refused here.

        Raises:
            InvalidInput: not exactly one thing was named.
            NotFound: there is no such thing.
            Ambiguous: a ``query`` means several things, nothing, or more than ``most`` passages.
        """
        check_target(
            fact=fact,
            passage=passage,
            message=message,
            entity=entity,
            session=session,
            query=query,
            everything=everything,
        )
        live = self._live
        is_preview = query is not None if preview is None else preview
        unwritten = 0
        if not is_preview and (session is not None or everything):
            unwritten = live.spill.discard(self._owner, session)
        live.turns.clear()
        live.faults.forget_last()
        try:
            return self.memory.forget(
                self._owner,
                fact=fact,
                passage=passage,
                message=message,
                entity=entity,
                session=session,
                everything=everything,
                query=query,
                preview=preview,
                most=most,
                actor=actor,
                reason=reason,
            )
        except NotFound:
            if unwritten:
                return Receipt(self._owner)
            raise

    def unforget(
        self,
        *,
        ban: str | Ban | None = None,
        fact: str | Fact | tuple[str, str, str] | None = None,
        text: str | None = None,
        entity: str | None = None,
        actor: str | Actor = "",
        reason: str = "",
    ) -> Receipt:
        """Let something be stored or believed again: as ``GraphMemory.unforget``."""
        self._live.turns.clear()
        return self.memory.unforget(
            self._owner,
            ban=ban,
            fact=fact,
            text=text,
            entity=entity,
            actor=actor,
            reason=reason,
        )

    def reject(self, fact: str | Fact, *, actor: str | Actor = "", reason: str = "") -> Receipt:
        """Rule that a fact is wrong: as ``GraphMemory.reject``."""
        self._live.turns.clear()
        return self.memory.reject(fact, scope=self._owner, actor=actor, reason=reason)

    def verify(self, fact: str | Fact, *, actor: str | Actor = "", reason: str = "") -> Receipt:
        """Rule that a fact is so: as ``GraphMemory.verify``."""
        self._live.turns.clear()
        return self.memory.verify(fact, scope=self._owner, actor=actor, reason=reason)

    def dispute(self, fact: str | Fact, *, actor: str | Actor = "", reason: str = "") -> Receipt:
        """Rule that a fact is in doubt: as ``GraphMemory.dispute``."""
        self._live.turns.clear()
        return self.memory.dispute(fact, scope=self._owner, actor=actor, reason=reason)

    def bans(self) -> list[Ban]:
        """What this block's scope shall not store again: as ``GraphMemory.bans``."""
        return self.memory.bans(self._owner)

    def stats(self) -> Stats:
        """Counts of this block's scope, of what waits in memory, and of swallowed faults."""
        counts = self.memory.stats(self._owner)
        faults = Counter(counts.faults)
        faults.update(self._live.faults.counts())
        return replace(
            counts,
            spilled=len(self._live.spill),
            faults=dict(faults),
            last_error=counts.last_error or self._live.faults.last_of(self._owner),
        )

    def close(self) -> None:
        """Let go of the store. What waits in memory is tried a last time; later use reopens."""
        live = self._live
        live.spill.close()
        with live.lock:
            memory, live.memory = live.memory, None
        if memory is not None:
            memory.close()

    # -- copies and pickles ----------------------------------------------------------------------

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        return {**state, "__pydantic_private__": {"_given": self._given.picklable()}}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        private = state["__pydantic_private__"]
        super().__setstate__({**state, "__pydantic_private__": dict(private)})
        self._live = self._dormant()

    def __copy__(self) -> Self:
        return self._twin(dict(self.__dict__))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        # Every field is immutable; the given objects are services, and shared.
        return self._twin(dict(self.__dict__))

    def _twin(self, values: dict[str, Any]) -> Self:
        twin = type(self).__new__(type(self))
        state = super().__getstate__()
        private = {"_given": self._given}
        twin.__setstate__({**state, "__dict__": values, "__pydantic_private__": private})
        return twin

    # -- parts -----------------------------------------------------------------------------------

    @property
    def _owner(self) -> Scope:
        return Scope(self.scope, self.agent)

    def _key(self, session: object) -> tuple[Scope, str]:
        return self._owner, "" if session is None else str(session)

    def _dormant(self) -> _Live:
        """Everything of a block that lives in this process only, before the store is open."""
        spill = Spill(self._write, functools.partial(self._record, "storage"))
        faults = Faults()
        faults.listen(announce_fault)
        return _Live(spill, faults)

    def _open(self) -> GraphMemory:
        live = self._live
        with live.lock:
            if live.memory is None:
                given = self._given
                live.memory = GraphMemory.open(
                    self.uri,
                    scope=self._owner,
                    embed_model=given.embed_model,
                    extractor=given.extractor,
                    llm=given.llm,
                    settings=self.settings,
                    workers=self.workers,
                )
                live.memory.faults.listen(announce_fault)
            return live.memory

    def _record(self, kind: FaultKind, error: BaseException, consequence: str) -> None:
        memory = self._live.memory
        faults = self._live.faults if memory is None else memory.faults
        faults.record(kind, error, consequence, scope=self._owner)

    def _chat(self, messages: object) -> list[ChatMessage]:
        """The chat messages among what the host passed."""
        found, problem = sorted_out(messages)
        if problem:
            error = InvalidInput(problem)
            self._record("input", error, "what is no chat message is left out")
            if self.strict:
                raise error
        return found

    def _count_tokens(self, text: str) -> int:
        return len((self._given.tokenizer_fn or get_tokenizer())(text))

    def _forget_seq(self) -> int:
        return self.memory.forget_seq(self._owner)

    def _recalled(self, query: str, session: str) -> str:
        """A recall as text for the prompt."""
        found = self.memory.recall(
            query,
            scope=self._owner,
            top_k=self.top_k,
            session=session if self.current_session_only else None,
        )
        announce_recall(found, session)
        return context.render(
            found, token_budget=self.token_budget, count_tokens=self._count_tokens
        )

    def _batches(
        self, messages: Iterable[ChatMessage], session_id: str | None
    ) -> tuple[list[Batch], list[Exception]]:
        """The messages by session, and what was wrong with some of them: recorded, not raised."""
        names: dict[Role, str | None] = {"user": self.user_name, "assistant": self.assistant_name}
        found = by_session(messages, self._owner, session_id, names)
        problems = list(found.refusals)
        for error in found.refusals:
            self._record("input", error, "a message is left out")
        if found.doubts:
            problems.append(InvalidInput(found.doubts[0]))
            consequence = f"the time of {len(found.doubts)} messages counts as unknown"
            self._record("input", problems[-1], consequence)
        return found.batches, problems

    def _store_all(self, batches: Sequence[Batch], problems: Sequence[Exception]) -> Receipt:
        """Write batches. The first error is raised after the last batch: no words wait for it."""
        receipts: list[Receipt] = []
        errors = list(problems) if self.strict else []
        for batch in batches:
            try:
                receipts.append(self._store(batch))
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return together(self._owner, receipts)

    def _store(self, batch: Batch) -> Receipt:
        """Write a batch, behind whatever waits in the spill; spill it if the store refuses."""
        spill = self._live.spill
        error = spill.retry()
        if error is None:
            try:
                return self._write(batch)
            except Exception as refused:
                error = refused
        if not spill.keep(batch, error) or self.strict:
            raise error
        waits = f"{len(batch.messages)} messages wait in memory ({type(error).__name__})"
        receipt = Receipt(batch.scope, deferred=(waits,))
        announce_write(batch, receipt)
        return receipt

    def _write(self, batch: Batch) -> Receipt:
        receipt = self.memory.remember(batch.messages, scope=batch.scope, session=batch.session)
        announce_write(batch, receipt)
        return receipt


class _Live:
    """What belongs to one block in one process."""

    def __init__(self, spill: Spill, faults: Faults) -> None:
        self.spill = spill
        # Holds faults while there is no memory to hold them.
        self.faults = faults
        self.turns = Turns()
        self.lock = threading.Lock()
        self.memory: GraphMemory | None = None
