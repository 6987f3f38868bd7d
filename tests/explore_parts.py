"""Facts, passages and graphs for the tests of ``graphmem.explore``."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from graphmem import GraphMemory
from graphmem.explore import Graph, graph_of
from graphmem.facts import entity_id, fact_id
from graphmem.types import Fact, Passage

NOON = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)


def fact(subject: str, predicate: str, object_: str, polarity: bool = True, **more) -> Fact:
    return Fact(
        fact_id(subject, predicate, object_, polarity),
        entity_id(subject),
        entity_id(object_),
        subject,
        predicate,
        object_,
        polarity,
        **more,
    )


def passage(number: int, text: str = "…", **more) -> Passage:
    more = {"speaker": "Bob", "session": "s", "thread": "s", "said_at": None} | more
    return Passage(f"p-{number}", f"m-{number}", text, ordinal=number, **more)


def talk() -> Graph:
    """Bob and Eve in Oslo, Zoe elsewhere; three passages, the last of another session."""
    said = [
        passage(1, "I live in Oslo.", said_at=NOON),
        passage(2, "Eve lives in Oslo, too.", said_at=NOON + timedelta(minutes=1)),
        passage(3, "Zoe likes tea.", session="t", thread="t", speaker="Eve"),
    ]
    facts = [
        fact("Bob", "lives in", "Oslo", passages=("p-1", "p-9"), recorded_at=NOON),
        fact("Eve", "lives in", "Oslo", passages=("p-2",)),
        fact("Eve", "likes", "Bob", False, passages=("p-2",)),
        fact("Zoe", "likes", "tea", passages=("p-3",)),
    ]
    return graph_of(facts, said)


def played(folder: Path) -> GraphMemory:
    """A memory with the shipped conversation, as the rules read it."""
    import asyncio  # who only makes facts need not load the framework
    from contextlib import closing

    from graphmem import GraphMemoryBlock, demo
    from graphmem.extractors.rules import RulesExtractor

    told = demo.load()
    uri = f"sqlite:///{folder / 'demo.db'}"
    block = GraphMemoryBlock(
        uri=uri, scope=told.user, assistant_name=told.assistant, extractor=RulesExtractor()
    )
    with closing(block):
        asyncio.run(demo.play(told, block))
        assert block.memory.drain(120) == 0
    return GraphMemory.open(uri, scope=told.user)
