"""The contradiction matrix: five ways in which words stop being so, and five things to ask then.

A: what answers is what holds. B: what no longer holds is not put before a model without saying so.
C: both stay so after jobs, a restart and the old words' return by other paths. D: what was so, and
when, can still be told. E: everything derived agrees.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from graphmem import Fact, GraphMemory, RankedPassage, Recall
from graphmem.context import quote, render
from graphmem.experiments.trust.cases import Change, Readings, Said
from graphmem.experiments.trust.paths import plain, signature
from graphmem.types import Embedder, Extractor

__all__ = ["SCORES", "scores"]

SCORES: Mapping[str, str] = {
    "A": "answer",
    "B": "prompt hygiene",
    "C": "durability",
    "D": "history",
    "E": "derived agree",
}
"""What is asked of each case, by letter."""

_BUDGET = 100_000
_SECONDS = 60
# What stands behind the quoted words of a line that tells what is no longer so.
_LABEL = re.compile(r"\b(no longer|until|wrong)\b")


@dataclass
class State:
    """Where a wording stands.

    Attributes:
        change: what is told.
        folder: the store is here.
        embedder, extractor: of the memory.
        readings: what the recorded triples' extractor knows; None where another reads.
        memory: the open one.
        heard: when each message had been read, in the order of arrival.
    """

    change: Change
    folder: Path
    embedder: Embedder
    extractor: Extractor
    readings: Readings | None
    memory: GraphMemory = field(init=False)
    heard: list[datetime] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = self.open()

    def open(self) -> GraphMemory:
        """The memory, once more."""
        return GraphMemory.open(
            f"sqlite:///{self.folder / 'memory.db'}",
            scope="owner",
            embed_model=self.embedder,
            extractor=self.extractor,
        )

    def tell(self, said: Said) -> None:
        """Feed a message, which bears its part, and wait until it was read."""
        if self.readings is not None:
            self.readings.learn([said])
        self.memory.remember(said.message(part=said.part), session=said.session)
        left = self.memory.drain(_SECONDS)
        if left:
            raise TimeoutError(f"{left} items are left unread")
        self.heard.append(datetime.now(timezone.utc))

    def recall(self) -> Recall:
        """What the question recalls now; what is bounded is asked for at its time."""
        as_of = self.change.now if self.change.is_bounded else None
        return self.memory.recall(self.change.question, as_of=as_of)

    def parts(self, fact: Fact) -> set[str]:
        """The parts of the messages that state a fact."""
        by_id = {one.id: str(one.metadata.get("part")) for one in self.memory.passages()}
        return {by_id.get(one, "") for one in fact.passages}

    def is_stale(self, fact: Fact) -> bool:
        """Whether a fact is the one that ceases to hold: no new message states it."""
        parts = self.parts(fact)
        return "old" in parts and "new" not in parts and _tells(fact, self.change.stale)

    def believes(self, fact: Fact, words: str) -> bool:
        """Whether a fact is live and tells these words."""
        return fact.is_live and _tells(fact, words)


def scores(
    change: Change,
    folder: Path,
    embedder: Embedder,
    extractor: Extractor,
    readings: Readings | None,
) -> dict[str, str]:
    """What is wrong by letter of ``SCORES``, ``""`` for nothing, of one wording.

    Args:
        change: what is told.
        folder: an empty folder for the store.
        embedder: makes vectors.
        extractor: reads triples.
        readings: what the extractor knows of recorded triples, to be told of what comes back;
            ``None`` where it reads by itself.
    """
    state = State(change, folder, embedder, extractor, readings)
    try:
        for said in change.told:
            state.tell(said)
        found = {}
        for letter, asked in _ASKED.items():
            try:
                found[letter] = asked(state)
            except Exception as error:  # whatever it is, the cell has failed
                found[letter] = f"{type(error).__name__}: {error}"
    finally:
        state.memory.close()
    return {letter: found[letter] for letter in SCORES}


def _answer(state: State) -> str:
    change, found = state.change, state.recall()
    stale = [fact.text for fact in found.statements if state.is_stale(fact)]
    if stale:
        return f"believes {'; '.join(stale)}"
    facts = state.memory.facts(as_of=change.now)
    believed = [fact.text for fact in facts if fact.is_live and state.is_stale(fact)]
    if believed:
        return f"holds that {'; '.join(believed)}"
    for words in (*filter(None, [change.current]), *change.kept):
        if not any(state.believes(fact, words) for fact in facts):
            return f"does not believe anything about {words}"
    if change.current and not any(_tells(fact, change.current) for fact in found.statements):
        return f"nothing about {change.current} among the statements recalled"
    has_new = any(said.part == "new" for said in change.told)
    if has_new and _part(found[0]) != "new":
        return f"recalls first: {found[0].passage.text}"
    return ""


def _hygiene(state: State) -> str:
    # Asked without a time: what is over is shown as well, and has to say so.
    found = state.memory.recall(state.change.question)
    lines = render(found, token_budget=_BUDGET, count_tokens=len).split("\n")
    for words in _doubtful(state, found):
        for line in lines:
            _, quoted, behind = line.partition(quote(words))
            if quoted and not _LABEL.search(behind):
                return f"without a label: {line}"
    return ""


def _doubtful(state: State, found: Recall) -> Iterator[str]:
    """Words that a model must not read without a label."""
    for fact in found.statements:
        if state.is_stale(fact):
            yield fact.text
    for ranked in found:
        # Words that say themselves until when they hold need no other label.
        if _part(ranked) == "old" and not state.change.is_bounded:
            yield ranked.passage.text


def _durability(state: State) -> str:
    """Feed the old words by other paths, then ask again, from a reopened and a rebuilt index."""
    for said in state.change.told:
        if said.part == "old":
            for other in _other_paths(said):
                state.tell(other)
    problem = _twice(state)
    state.memory.close()
    state.memory = state.open()
    problem = problem or _twice(state)
    state.memory.close()
    shutil.rmtree(state.folder / "memory.db.index", ignore_errors=True)
    state.memory = state.open()
    return problem or _twice(state)


def _other_paths(said: Said) -> Iterator[Said]:
    person = replace(said, role="user", speaker=said.speaker or "Somebody", title=None)
    yield replace(person, session="brought in again", at=None)
    yield replace(person, session="echo", role="assistant", speaker="assistant", at=None)
    document = replace(said, session=None, role="document", speaker=None)
    yield replace(document, title="From a drawer", at=None)
    if said.at is not None:
        yield replace(said, session="an export of then")


def _twice(state: State) -> str:
    return _answer(state) or _hygiene(state)


def _history(state: State) -> str:
    change, memory = state.change, state.memory
    stale = [fact for fact in memory.facts() if state.is_stale(fact)]
    if not stale:
        return "the old fact is gone"
    for fact in stale:
        if not (fact.retired_at or fact.valid_to):
            return f"nothing says that it is over: {fact.text}"
        said = {time for source in memory.sources(fact) for time in source.said_at}
        if change.then is not None and not said and not _is_document(change):
            return f"nobody knows when it was said: {fact.text}"
        if not memory.log(id=fact.id):
            return f"not in the log: {fact.text}"
    if change.then is not None and not _held(state, change.then):
        return f"not known to have held at {change.then:%Y-%m-%d}: {stale[0].text}"
    if _held(state, change.now):
        return f"held at {change.now:%Y-%m-%d}: {stale[0].text}"
    first = change.told[0]
    known = memory.facts(known_at=state.heard[0])
    if first.part and not any(first.part in state.parts(fact) for fact in known if fact.is_live):
        return "not known to have been believed before the rest was heard"
    return ""


def _held(state: State, moment: datetime) -> bool:
    facts = state.memory.facts(as_of=moment)
    return any(fact.is_trusted and state.is_stale(fact) for fact in facts)


def _is_document(change: Change) -> bool:
    return all(said.role == "document" for said in change.told)


def _agreement(state: State) -> str:
    memory, change = state.memory, state.change
    before = signature(memory.recall(change.question))
    live = {fact.id for fact in memory.facts() if fact.is_live}
    graph = memory.graph(passages=False)
    edges = {key for _, _, key in graph.edges(keys=True)}
    if edges != live:
        return f"the graph has {len(edges)} edges, of {len(live)} live facts"
    stats = memory.stats()
    if (stats.facts, stats.pending, stats.unembedded) != (len(live), 0, 0):
        return f"the counts are {stats.facts}, {stats.pending}, {stats.unembedded}"
    if change.then is not None:
        past = memory.graph(passages=False, as_of=change.then)
        then = {key for _, _, key in past.edges(keys=True)}
        if not any(fact.id in then for fact in memory.facts() if state.is_stale(fact)):
            return f"the graph of {change.then:%Y-%m-%d} lacks what held then"
    state.memory.close()
    state.memory = memory = state.open()
    if signature(memory.recall(change.question)) != before:
        return "the saved index answers otherwise"
    memory.close()
    shutil.rmtree(state.folder / "memory.db.index", ignore_errors=True)
    state.memory = memory = state.open()
    if signature(memory.recall(change.question)) != before:
        return "the index built anew answers otherwise"
    return ""


# Durability comes last: it tells the old words again.
_ASKED: Mapping[str, Callable[[State], str]] = {
    "A": _answer,
    "B": _hygiene,
    "D": _history,
    "E": _agreement,
    "C": _durability,
}


def _tells(fact: Fact, words: str) -> bool:
    return plain(words) in plain(fact.text)


def _part(ranked: RankedPassage) -> str:
    return str(ranked.passage.metadata.get("part"))
