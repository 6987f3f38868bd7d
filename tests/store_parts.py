"""What the store's tests share: doing all queued work, and a store's rows as comparable values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from graphmem.store import Store, new_owner
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.types import Extractor, Message, Passage, Scope, Triple

ANA = Scope("ana")
NOW = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
OWNER = new_owner()
EMBEDDER = HashEmbedder(dims=16)


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def said(text: str, minutes: float | None = None, speaker: str = "ana", **rest: Any) -> Message:
    stamp = None if minutes is None else at(minutes)
    return Message(text, speaker=speaker, said_at=stamp, **rest)


def put(
    store: Store,
    *messages: Message,
    session: str | None = "s",
    scope: Scope = ANA,
    now: datetime = NOW,
) -> Any:
    return store.put(scope, list(messages), session=session, now=now)


def claim(store: Store, work: Any = "extract", *, now: datetime = NOW, texts: int = 1000) -> Any:
    return store.claim(work, owner=OWNER, now=now, max_texts=texts, max_chars=10**6)


def extract(store: Store, extractor: Extractor, *, now: datetime = NOW, texts: int = 1000) -> None:
    while one := claim(store, now=now, texts=texts):
        found = extractor.extract(one.passages)
        store.finish_extraction(one.scope, found, claim=one, extractor=extractor.name, now=now)


def embed(store: Store, *, now: datetime = NOW) -> None:
    while one := claim(store, "embed", now=now):
        rows = EMBEDDER.embed([text for _, _, text in one.texts])
        store.put_vectors(one, one.keys, rows, model=EMBEDDER.name, now=now)


def drain(store: Store, extractor: Extractor, *, now: datetime = NOW, texts: int = 1000) -> None:
    extract(store, extractor, now=now, texts=texts)
    embed(store, now=now)


def neighbourly() -> ScriptedExtractor:
    """Reads out of each passage its own last word, and that of the passage before it."""
    return ScriptedExtractor(_with_neighbour)


def _with_neighbour(passage: Passage) -> Iterable[Triple]:
    yield Triple(passage.speaker, "says", _last_word(passage))
    yield Triple(passage.speaker, "lives in", _last_word(passage))
    if passage.before:
        yield Triple(passage.speaker, "answers", _last_word(passage.before[-1]))
    if len(passage.before) == 8:
        yield Triple(_last_word(passage), "is far from", _last_word(passage.before[0]))


def farsighted() -> ScriptedExtractor:
    """As neighbourly, and reads Lima0 out of each passage, which mostly is not near it."""

    def read(passage: Passage) -> Iterable[Triple]:
        yield from _with_neighbour(passage)
        yield Triple(passage.text.split(" is ")[0].rstrip("."), "misses", "Lima0")

    return ScriptedExtractor(read)


def _last_word(passage: Passage) -> str:
    return passage.text.rstrip(".").split()[-1]


def rows(store: Store, scope: Scope = ANA) -> dict[str, Any]:
    """All that a store says of a scope, without what may depend on when things came."""
    whole = store.changes(scope, after=None)
    return {
        "passages": [
            (one.id, one.text, one.said_at, one.thread, one.metadata)
            for one in store.passages(scope)
        ],
        "messages": [(one.id, one.message, one.said_at) for one in store.messages(scope)],
        "facts": [
            (one.id, one.text, one.status, one.replaced_by, one.valid_to, one.passages)
            for one in store.facts(scope)
        ],
        "retired": [one.id for one in store.facts(scope) if one.retired_at],
        "evidence": [
            (one.passage_id, one.subject, one.object, one.grounded, one.said_at, one.extractor)
            for fact in store.facts(scope)[:100]
            for one in store.evidence(scope, fact.id)
        ],
        "entities": store.entities(scope),
        "vectors": {
            kind: (vectors.ids, vectors.rows.tolist()) for kind, vectors in whole.vectors.items()
        },
        "pending": store.pending_count(scope),
    }


def shown(changes_: Sequence[Any]) -> dict[str, Any]:
    """What an index would hold after some changes, by id."""
    held: dict[str, dict[str, Any]] = {"passages": {}, "facts": {}, "vectors": {}}
    for one in changes_:
        if one.is_whole:
            held = {"passages": {}, "facts": {}, "vectors": {}}
        for id_ in one.removed:
            held["passages"].pop(id_, None)
            held["facts"].pop(id_, None)
            held["vectors"].pop(id_, None)
        held["passages"].update((passage.id, passage) for passage in one.passages)
        held["facts"].update((fact.id, fact) for fact in one.facts)
        for vectors in one.vectors.values():
            held["vectors"].update(zip(vectors.ids, vectors.rows.tolist(), strict=True))
    return held
