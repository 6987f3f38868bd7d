"""The deletion sequence: 13 steps from writing a value to its absence from a copy.

Each step looks at the value that goes and, by the same function, at a twin that was told beside it
and never forgotten: a memory that shows neither has lost its words, not forgotten them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphmem import GraphMemory, Receipt, Scope
from graphmem.experiments.trust.cases import Readings, Said, Sentence, Telling
from graphmem.experiments.trust.paths import PATHS, SPELLINGS, plain, shown_on
from graphmem.types import Embedder, Extractor

__all__ = ["STEPS", "TARGETS", "Check", "sequence"]

TARGETS = ("fact", "passage", "message", "entity", "session", "scope", "words")
"""What is named to ``forget``; ``words`` is a request in words, previewed first."""

_OWNER, _OTHER = Scope("owner"), Scope("neighbour")
_ACTOR, _REASON = "the owner", "asked for"
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Check:
    """What one step saw.

    Attributes:
        step: its number, from 1.
        name: what it does.
        passed: whether it is as it must be, for the value and for the twin.
        saw: what was wrong, or ``""``.
    """

    step: int
    name: str
    passed: bool
    saw: str = ""


@dataclass
class State:
    """Where a sequence stands.

    Attributes:
        telling: what is told.
        target: what is named to ``forget``.
        folder: the store is here, the copy in ``copy`` beside it.
        embedder, extractor: of the memories.
        readings: what the recorded triples' extractor knows; None where another reads.
        memory: the open one.
        gone: ids of the facts, passages and entities that the value alone had.
        receipt: of the deletion.
    """

    telling: Telling
    target: str
    folder: Path
    embedder: Embedder
    extractor: Extractor
    readings: Readings | None
    memory: GraphMemory = field(init=False)
    gone: frozenset[str] = frozenset()
    receipt: Receipt | None = None

    def __post_init__(self) -> None:
        (self.folder / "store").mkdir()
        self.memory = self.open("store")

    def open(self, place: str) -> GraphMemory:
        """The memory in one of the two places."""
        return GraphMemory.open(
            f"sqlite:///{self.folder / place / 'memory.db'}",
            scope=_OWNER,
            embed_model=self.embedder,
            extractor=self.extractor,
        )

    def tell(self, said: Said, way: str, scope: Scope = _OWNER) -> Receipt:
        """Feed a message, which bears how it came."""
        if self.readings is not None:
            self.readings.learn([said])
        return self.memory.remember(said.message(way=way), session=said.session, scope=scope)

    @property
    def twin_scope(self) -> Scope:
        """Where the twin is: beside the value, unless the whole scope goes."""
        return _OTHER if self.target == "scope" else _OWNER


def sequence(
    telling: Telling,
    target: str,
    folder: Path,
    embedder: Embedder,
    extractor: Extractor,
    readings: Readings | None,
) -> list[Check]:
    """Go through the 13 steps; a step that raises has failed, and the next ones are tried.

    Args:
        telling: what is told.
        target: one of ``TARGETS``.
        folder: an empty folder for the store and its copy.
        embedder: makes vectors.
        extractor: reads triples.
        readings: what the extractor knows of recorded triples, to be told of other spellings;
            ``None`` where it reads by itself.
    """
    state = State(telling, target, folder, embedder, extractor, readings)
    checks = []
    try:
        for number, (name, step) in enumerate(STEPS.items(), 1):
            try:
                saw = step(state)
            except Exception as error:  # whatever it is, the step has failed
                saw = f"{type(error).__name__}: {error}"
            checks.append(Check(number, name, not saw, saw))
    finally:
        state.memory.close()
    return checks


def _write(state: State) -> str:
    for said in state.telling.told:
        receipt = state.tell(said, "first")
        # The twin of a whole scope is in another one, which never held the value.
        if state.target == "scope" and said.session != state.telling.source.session:
            state.tell(said, "first", _OTHER)
        if not receipt.stored:
            return f"not stored: {said.text}"
    left = state.memory.drain(_SECONDS)
    return f"{left} items are left unread" if left else ""


def _readable(state: State) -> str:
    problem = _seen(state, state.telling.gone, state.telling.question, _OWNER)
    problem = problem or _twin(state)
    state.memory.close()
    shutil.copytree(state.folder / "store", state.folder / "copy")
    state.memory = state.open("store")
    return problem


def _delete(state: State) -> str:
    memory, before = state.memory, _ids(state.memory)
    if state.target == "words":
        preview = memory.forget(query=state.telling.ask)
        if not preview.candidates or preview.state != "preview":
            return "the preview shows nothing to forget"
        if _ids(memory) != before:
            return "the preview has changed something"
    receipts = [memory.forget(actor=_ACTOR, reason=_REASON, **named) for named in _named(state)]
    state.receipt = receipts[-1]
    memory.drain(_SECONDS)
    state.gone = before - _ids(memory)
    if not state.gone:
        return "nothing has gone"
    if any(receipt.state not in ("erased", "deferred") for receipt in receipts):
        return f"the receipt says {state.receipt.state!r}"
    if not all(receipt.outside for receipt in receipts):
        return "the receipt does not say what is out of reach"
    return ""


def _named(state: State) -> Iterator[dict[str, Any]]:
    """The arguments of ``forget``: one call, or one for each fact that tells the value."""
    telling, memory = state.telling, state.memory
    if state.target == "fact":
        facts = [fact.id for fact in memory.facts() if plain(telling.gone) in plain(fact.text)]
        if not facts:
            raise LookupError("no fact tells the value")
        for fact in facts:
            # One that tells the same in other words has gone with it.
            if any(one.id == fact for one in memory.facts()):
                yield {"fact": fact}
        return
    source = next(one for one in memory.passages() if telling.gone in one.text)
    named: dict[str, dict[str, Any]] = {
        "passage": {"passage": source.id},
        "message": {"message": source.message_id},
        "entity": {"entity": telling.entity},
        "session": {"session": telling.source.session},
        "scope": {"everything": True},
        "words": {"query": telling.ask, "preview": False},
    }
    yield named[state.target]


def _absent(state: State) -> str:
    problem = _twin(state)
    shown = shown_on(state.memory, state.telling.gone, state.telling.question)
    if shown:
        ways = sorted(
            str(one.metadata.get("way"))
            for one in state.memory.passages()
            if plain(state.telling.gone) in plain(one.text)
        )
        return f"still shown on {', '.join(shown)}" + (f" (fed {', '.join(ways)})" if ways else "")
    return problem


def _feed(state: State) -> str:
    """Feed the words again in every way; exact words never come in, others until they are read."""
    fresh = Said((Sentence("A sentence that nobody has said before."),), "fresh")
    for way, said in _ways(state):
        state.tell(said, way)
    if not state.tell(fresh, "control").stored:
        return "nothing new is stored any more"
    shown = {
        str(one.metadata["way"])
        for one in state.memory.passages()
        if plain(state.telling.gone) in plain(one.text)
    }
    shown -= {way for way, _ in _ways(state) if way.startswith("other")}
    if shown:
        return f"stored again: {', '.join(sorted(shown))}"
    return _twin(state)


def _ways(state: State) -> Iterator[tuple[str, Said]]:
    """How the value comes back: the same words, and ways named "other" that only a reader knows."""
    telling, source = state.telling, state.telling.source
    yield "in the same session", source
    yield "in another session", replace(source, session="another")
    yield "on its own", replace(source, session=None, at=None)
    yield "said by somebody else", replace(source, session="hearsay", speaker="Somebody")
    yield "by the assistant", replace(source, session="echo", role="assistant", speaker="assistant")
    yield (
        "as a document",
        replace(source, session=None, role="document", speaker=None, title="Old notes"),
    )
    for name, spelling in SPELLINGS.items():
        spelled = tuple(sentence.spelled(spelling) for sentence in source.sentences)
        yield name, replace(source, session=f"spelled {name}", sentences=spelled)
    for sentence in source.sentences:
        if telling.gone in sentence.text:
            yield "other: its sentence", replace(source, session="cut", sentences=(sentence,))
    whole = [said for said in telling.told if said.session == source.session]
    joined = tuple(sentence for said in whole for sentence in said.sentences)
    yield "other: joined", replace(source, session="joined", sentences=joined)
    # Who forgets everything may begin anew: the same text stays out, not what it told.
    for number, said in enumerate(telling.again if state.target != "scope" else ()):
        yield f"other: words {number + 1}", replace(said, session="again")


def _absent_when_read(state: State) -> str:
    left = state.memory.drain(_SECONDS)
    return f"{left} items are left unread" if left else _absent(state)


def _jobs(state: State) -> str:
    """Run what runs behind: read, embed, fold and save; open again, and from no index at all."""
    state.memory.drain(_SECONDS)
    state.memory.close()
    state.memory = state.open("store")
    state.memory.recall(state.telling.question)
    problem = _absent(state)
    state.memory.close()
    shutil.rmtree(state.folder / "store" / "memory.db.index", ignore_errors=True)
    state.memory = state.open("store")
    left = state.memory.drain(_SECONDS)
    return problem or (f"{left} items are left unread" if left else _twin(state))


def _artefacts(state: State) -> str:
    """Look at the bytes of every file, of which the memory is closed."""
    state.memory.close()
    files = {
        path.relative_to(state.folder / "store").as_posix(): path.read_bytes()
        for path in sorted((state.folder / "store").rglob("*"))
        if path.is_file()
    }
    state.memory = state.open("store")
    if state.telling.twin.encode() not in files["memory.db"]:
        return "the words of the twin are not in the file"
    gone = [state.telling.gone]
    gone += [spelling(state.telling.gone) for spelling in SPELLINGS.values()]
    held = [name for name, content in files.items() if any(one.encode() in content for one in gone)]
    return f"its words are in {', '.join(held)}" if held else ""


def _auditable(state: State) -> str:
    memory = state.memory
    entries = [entry for entry in memory.log() if entry.action == "forget"]
    if not any(entry.actor == _ACTOR and entry.reason == _REASON for entry in entries):
        return "the log does not say who forgot it, and why"
    check = memory.verify_log()
    if check.broken_at is not None:
        return f"the log's chain is broken at {check.broken_at}"
    if not memory.bans():
        return "there is no ban"
    return ""


def _shared(state: State) -> str:
    """A copy made before the deletion holds the value: else its absence would say nothing."""
    with _Opened(state, "copy"):
        return _seen(state, state.telling.gone, state.telling.question, _OWNER)


def _follow(state: State) -> str:
    with _Opened(state, "copy") as copy:
        copy.follow(_uri(state, "store"))
        copy.drain(_SECONDS)
        return _twin(state)


def _absent_from_copy(state: State) -> str:
    with _Opened(state, "copy") as copy:
        copy.drain(_SECONDS)
        return _absent(state)


STEPS: Mapping[str, Callable[[State], str]] = {
    "write": _write,
    "readable": _readable,
    "delete": _delete,
    "absent": _absent,
    "fed again": _feed,
    "absent still": _absent_when_read,
    "jobs, restart": _jobs,
    "absent after": _absent,
    "no artefact": _artefacts,
    "auditable": _auditable,
    "shared before": _shared,
    "copy follows": _follow,
    "absent in copy": _absent_from_copy,
}
"""The steps by name, in order; each returns what is wrong, or ``""``."""


class _Opened:
    """The sequence on another store for a while."""

    def __init__(self, state: State, place: str) -> None:
        self._state, self._place = state, place

    def __enter__(self) -> GraphMemory:
        self._first = self._state.memory
        self._state.memory = self._state.open(self._place)
        return self._state.memory

    def __exit__(self, *error: object) -> None:
        self._state.memory.close()
        self._state.memory = self._first


def _uri(state: State, place: str) -> str:
    return f"sqlite:///{state.folder / place / 'memory.db'}"


def _twin(state: State) -> str:
    telling = state.telling
    return _seen(state, telling.twin, telling.twin_question, state.twin_scope)


def _seen(state: State, words: str, question: str, scope: Scope) -> str:
    missing = sorted(PATHS.keys() - shown_on(state.memory, words, question, scope=scope))
    return f"{words!r} is not shown on {', '.join(missing)}" if missing else ""


def _ids(memory: GraphMemory) -> frozenset[str]:
    facts, passages, entities = memory.facts(), memory.passages(), memory.entities()
    return frozenset(
        [
            *(fact.id for fact in facts),
            *(passage.id for passage in passages),
            *(entity.id for entity in entities),
        ]
    )
