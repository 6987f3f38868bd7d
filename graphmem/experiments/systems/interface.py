"""What a memory under test is: the interface, what it is made from, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.triples import Source, recorded
from graphmem.settings import RecallSettings
from graphmem.types import Embedder, Usage

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

__all__ = ["BUDGET", "Answer", "Kind", "Parts", "Progress", "Retunable", "System"]

BUDGET = 550
"""Tokens that what is recalled may have: what the memory block adds to a prompt by default."""

Progress = Callable[[int, int], None]
"""Is told (done, total)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking of record ids, best first, and what it took.

    Attributes:
        ranking: record ids, each once; empty where the system ranks nothing.
        milliseconds: for the ranking, without embedding the question.
        route: which way answered, as the system names it.
        stages: milliseconds by stage, as the system names them, where it tells.
        text: what the system hands to the model in place of records, where it ranks none.
    """

    ranking: tuple[str, ...]
    milliseconds: float
    route: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)
    text: str = ""


@runtime_checkable
class System(Protocol):
    """A memory under test: ``ingest``, then ``ask``; ``close`` in the end."""

    @property
    def usage(self) -> Usage:
        """Calls and tokens that models other than the embedder have cost so far."""
        ...

    def ingest(self, data: DataSet, progress: Progress) -> None:
        """Take all records in, in place of what was there; ``progress`` is told (done, total)."""
        ...

    def ask(self, question: Question, top_k: int) -> Answer:
        """Rank the records of the question's scope, ``top_k`` at most."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@runtime_checkable
class Retunable(System, Protocol):
    """A system that can go on with other constants of recall without reading all again."""

    def retune(self, settings: RecallSettings | None) -> None:
        """Ask with these constants from now on, on the records that are in; None: the product's."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a system may be made from; it takes what it needs.

    Attributes:
        embedder: makes the vectors.
        triples: where triples come from (see ``triples.source``).
        settings: the constants of recall, for systems that have them; None: the product's.
        llm: any LLM of LlamaIndex, for systems that need one.
        seed: for systems that draw lots.
        budget: tokens of the model's context, for systems that fill it.
    """

    embedder: Embedder
    triples: Source = recorded
    settings: RecallSettings | None = None
    llm: LLM | None = None
    seed: int = 0
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class Kind:
    """How a registered system is opened, and which of the parts it makes use of.

    Attributes:
        open: makes the system.
        uses_triples: whether another source of triples is another system.
        uses_settings: whether other constants of recall are another system.
        needs_model: whether it cannot be opened without ``Parts.llm``.
    """

    open: Callable[[Parts], System]
    uses_triples: bool = False
    uses_settings: bool = False
    needs_model: bool = False
