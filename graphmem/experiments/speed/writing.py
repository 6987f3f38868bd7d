"""Writing: a put beside a plain fsync, what indexing a flush costs, and a forget."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.llms import ChatMessage
from numpy.typing import NDArray

from graphmem.block import GraphMemoryBlock
from graphmem.experiments.speed.inside import indexing_timed
from graphmem.experiments.speed.models import ClauseExtractor, WordEmbedder
from graphmem.experiments.speed.timing import Figures, by_stage, figures, milliseconds, within
from graphmem.experiments.speed.world import Batch
from graphmem.memory import GraphMemory
from graphmem.store import Claim, Store
from graphmem.types import Extraction, Scope

__all__ = ["TimedStore", "flushes_indexed", "forgets", "puts"]

_SECONDS = 60.0


class TimedStore(Store):
    """A store that adds up the milliseconds of committing what was read and embedded."""

    facts_ms = 0.0
    vectors_ms = 0.0

    def finish_extraction(
        self,
        scope: Scope,
        extractions: Sequence[Extraction],
        *,
        claim: Claim,
        extractor: str,
        now: datetime,
    ) -> None:
        """As ``Store``."""
        start = time.perf_counter()
        super().finish_extraction(scope, extractions, claim=claim, extractor=extractor, now=now)
        self.facts_ms += (time.perf_counter() - start) * 1e3

    def put_vectors(
        self,
        claim: Claim,
        keys: Sequence[tuple[str, str]],
        rows: NDArray[np.float32],
        *,
        model: str,
        now: datetime | None = None,
    ) -> None:
        """As ``Store``."""
        start = time.perf_counter()
        super().put_vectors(claim, keys, rows, model=model, now=now)
        self.vectors_ms += (time.perf_counter() - start) * 1e3


def flushes_indexed(
    memory: GraphMemory,
    store: TimedStore,
    models: tuple[WordEmbedder, ClauseExtractor],
    flushes: Iterator[Batch],
    question: str,
    *,
    count: int,
) -> dict[str, Any]:
    """What it costs to index a flush, in milliseconds for each passage.

    Counted are the store's ``facts`` and ``vectors`` transactions, and under ``index`` the
    processor time of bringing the index up to date, in whichever thread. Not in the sum, beside it:
    ``processor``, all processor time of the process from storing the flush to that recall but that
    of the models, whichever thread spent it.
    """
    timings: list[dict[str, float]] = []
    processor: list[float] = []
    for _ in within(_SECONDS, range(count)):
        session, messages = next(flushes)
        facts_ms, vectors_ms = store.facts_ms, store.vectors_ms
        busy = _processor(models)
        with indexing_timed() as indexed:
            memory.remember(messages, session=session)
            memory.drain()
            memory.recall(question)
        busy = _processor(models) - busy
        each = {
            "facts": store.facts_ms - facts_ms,
            "vectors": store.vectors_ms - vectors_ms,
            "index": sum(indexed),
        }
        timings.append({stage: value / len(messages) for stage, value in each.items()})
        processor.append(busy / len(messages))
    return {
        **figures([sum(one.values()) for one in timings]),
        "flushes": len(timings),
        "stages": by_stage(timings),
        "processor": figures(processor),
    }


def _processor(models: tuple[WordEmbedder, ClauseExtractor]) -> float:
    """Milliseconds of processor time of this process so far, without its models'."""
    return (time.process_time() - sum(model.seconds for model in models)) * 1e3


def puts(
    block: GraphMemoryBlock, flushes: Iterator[Batch], plain: Path, *, count: int
) -> tuple[Figures, Figures]:
    """``aput`` with the worker idle, and in turn with it a plain write and fsync of the same words.

    Returns:
        Milliseconds of the put, and of the write.
    """
    return asyncio.run(_puts(block, flushes, plain, count))


async def _puts(
    block: GraphMemoryBlock, flushes: Iterator[Batch], plain: Path, count: int
) -> tuple[Figures, Figures]:
    put: list[float] = []
    fsync: list[float] = []
    with plain.open("ab") as file:
        for _ in within(_SECONDS, range(count)):
            session, messages = next(flushes)
            flush = [
                ChatMessage(
                    content=one.text,
                    additional_kwargs={"speaker": one.speaker, "timestamp": one.said_at},
                )
                for one in messages
            ]
            start = time.perf_counter()
            await block.aput(flush, from_short_term_memory=True, session_id=session)
            put.append((time.perf_counter() - start) * 1e3)
            await block.adrain()
            words = "".join(one.text for one in messages).encode()
            start = time.perf_counter()
            file.write(words)
            file.flush()
            os.fsync(file.fileno())
            fsync.append((time.perf_counter() - start) * 1e3)
    return figures(put), figures(fsync)


def forgets(memory: GraphMemory, passages: Sequence[str]) -> Figures:
    """Milliseconds until the receipt of a forget is there; what is left to do is not waited for."""
    times: list[float] = []
    for passage in within(_SECONDS, passages):
        times.append(milliseconds(lambda passage=passage: memory.forget(passage=passage)))  # type: ignore[misc]
        memory.drain()
    return figures(times)
