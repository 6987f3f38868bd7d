"""How long the agent waits for a flush: ``aput`` beside a plain fsync on the same disk."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphmem.errors import InvalidInput
from graphmem.experiments.metrics import percentiles
from graphmem.experiments.provenance import machine
from graphmem.files import must_take_file, write_json
from graphmem.progress import progress_bar
from graphmem.testing import HashEmbedder, ScriptedExtractor

__all__ = ["bench_put"]

_WORDS = tuple(
    "the harbour train was late again so we talked about her garden and his boat".split()
)


def bench_put(
    *,
    flushes: int = 100,
    messages: int = 40,
    words: int = 60,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Time ``GraphMemoryBlock.aput`` with the worker idle, a plain write and fsync in turn with it.

    Args:
        flushes: how many flushes are timed, each of other messages, into one growing scope.
        messages: messages of a flush; LlamaIndex flushes about 40 by default.
        words: words of a message.
        json_path: where to write the figures.
        console: where to show the table; standard output where omitted.

    Returns:
        ``put_ms`` and ``fsync_ms``, each with ``p50`` and ``p95`` in milliseconds, what was put,
        and the machine.

    Raises:
        NotFound, InvalidInput: a count below 1, or a result that cannot be written there.
    """
    must_take_file(json_path)
    if min(flushes, messages, words) < 1:
        raise InvalidInput("flushes, messages and words must each be at least 1")
    with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
        put, fsync = asyncio.run(_time(Path(folder), flushes, messages, words))
    result = {
        "flushes": flushes,
        "messages": messages,
        "words": words,
        "put_ms": dict(zip(("p50", "p95"), percentiles(put), strict=True)),
        "fsync_ms": dict(zip(("p50", "p95"), percentiles(fsync), strict=True)),
        "machine": machine(),
    }
    if json_path is not None:
        write_json(json_path, result)
    table = Table(title=f"a flush of {messages} messages, in milliseconds")
    for column in ("", "p50", "p95"):
        table.add_column(column, justify="right" if column else "left")
    for name, times in (("aput", put), ("plain fsync", fsync)):
        table.add_row(name, *(f"{value:.1f}" for value in percentiles(times)))
    (console or Console()).print(table)
    return result


async def _time(
    folder: Path, flushes: int, messages: int, words: int
) -> tuple[Sequence[float], Sequence[float]]:
    from llama_index.core.llms import ChatMessage

    from graphmem.block import GraphMemoryBlock

    rng = random.Random(0)
    put: list[float] = []
    fsync: list[float] = []
    block = GraphMemoryBlock(
        uri=f"sqlite:///{folder / 'memory.db'}",
        embed_model=HashEmbedder(),
        extractor=ScriptedExtractor(),
    )
    with progress_bar("putting") as progress, (folder / "plain").open("wb") as plain:
        for number in range(flushes):
            texts = [
                f"{number}.{index} {' '.join(rng.choices(_WORDS, k=words))}"
                for index in range(messages)
            ]
            flush = [
                ChatMessage(role="assistant" if index % 2 else "user", content=text)
                for index, text in enumerate(texts)
            ]
            started = time.perf_counter()
            await block.aput(flush, from_short_term_memory=True, session_id=f"s{number // 10}")
            put.append((time.perf_counter() - started) * 1e3)
            await block.adrain()
            started = time.perf_counter()
            plain.write("".join(texts).encode())
            plain.flush()
            os.fsync(plain.fileno())
            fsync.append((time.perf_counter() - started) * 1e3)
            progress(number + 1, flushes)
    block.close()
    return put, fsync
