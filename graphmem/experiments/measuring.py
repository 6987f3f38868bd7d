"""Measuring: from setups to rows, each system reading a data set once for all its variants."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import cache as cached
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphmem
from graphmem import embedding
from graphmem.errors import InvalidInput
from graphmem.experiments.cache import CachedEmbedder
from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.files import machine
from graphmem.experiments.metrics import Outcome, judge, percentiles
from graphmem.experiments.preparing import Prepared
from graphmem.experiments.rows import Cost, Row, RowFolder, Setup
from graphmem.experiments.systems import SYSTEMS, Parts, Retunable, System, open_system
from graphmem.experiments.triples import Source, source
from graphmem.experiments.variants import DEFAULTS, Variant
from graphmem.progress import Steps, progress_steps
from graphmem.types import Embedder, Extractor, Usage

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

__all__ = ["BUDGET", "DEPTH", "Measurer"]

DEPTH = 50
"""How many records a system is asked for."""

BUDGET = 550
"""Tokens that the records may have together: what the block gives to the model by default."""

# The experiments' own modules on which an answer depends; the others make data, which has a digest
# of its own, or show rows.
_ANSWERING = ("systems/", "measuring.py", "metrics.py", "reading.py", "triples.py", "cooccur")
_NOT_ASKED = ("cli/", "block/", "demo")


class Measurer:
    """Measures setups with one embedder and one model.

    Args:
        embed_model, cache, model, llm: as in ``bench_recall``.
    """

    def __init__(
        self,
        embed_model: Any = None,
        *,
        cache: str | Path | None = None,
        model: Extractor | None = None,
        llm: LLM | None = None,
    ) -> None:
        embedder = embedding.resolve(embed_model)
        self._embedder = embedder if cache is None else CachedEmbedder(embedder, cache)
        self._cache = cache
        self._model = model
        self._llm = llm

    def setups(
        self,
        given: Prepared,
        systems: Sequence[str],
        triples: Sequence[str],
        seeds: Sequence[int],
        variants: Sequence[Variant],
        *,
        depth: int = DEPTH,
        budget: int = BUDGET,
    ) -> list[Setup]:
        """All setups of one data set, those of one system next to each other.

        Raises:
            InvalidInput, MissingDependency: a name is unknown, or something is missing for it.
        """
        if depth < 1 or budget < 1:
            raise InvalidInput("depth and budget must each be at least 1")
        found: list[Setup] = []
        for system in dict.fromkeys(systems):
            # One of your own reads the triples it is given; which constants it has is not known.
            kind = SYSTEMS.get(system)
            has_settings = kind is not None and kind.uses_settings
            for one in dict.fromkeys(triples if kind is None or kind.uses_triples else ("",)):
                made = self._check(system, one, given.data)
                for seed in dict.fromkeys(seeds):
                    for variant in variants if has_settings else (DEFAULTS,):
                        found.append(
                            Setup(
                                data=given.data.name,
                                files=given.files,
                                lookups=given.lookups,
                                sample=given.sample,
                                left_out=given.data.left_out,
                                content=given.content,
                                system=system,
                                triples=one,
                                seed=seed,
                                variant=variant,
                                settings=asdict(variant.settings) if has_settings else None,
                                depth=depth,
                                budget=budget,
                                embedder=self._embedder.name,
                                model=self._model_name(system, one),
                                code=_code(made),
                            )
                        )
        return found

    def measure(
        self, setups: Sequence[Setup], sets: Sequence[Prepared], folder: RowFolder | None = None
    ) -> list[Row]:
        """The rows of these setups, in their order; those that the folder has are taken from it."""
        by_content = {one.content: one for one in sets}
        rows: list[Row] = []
        with progress_steps("rows", len(setups)) as steps:
            for group in _groups(setups):
                known = [folder.find(setup) if folder else None for setup in group]
                missing = [s for s, row in zip(group, known, strict=True) if row is None]
                given = by_content[group[0].content]
                with closing(self._fresh(missing, given, steps)) as fresh:
                    for row in known:
                        if row is None:
                            row = next(fresh)
                            if folder is not None:
                                folder.keep(row)
                        rows.append(row)
                        steps.finish()
        return rows

    def _fresh(
        self, group: Sequence[Setup], given: Prepared, steps: Steps
    ) -> Generator[Row, None, None]:
        """Rows of setups that differ in their variant alone: the records are read in once."""
        left = list(group)
        while left:
            with closing(self._open(left[0])) as system:
                took = self._ingest(system, left[0], given, steps)
                is_first = True
                while left and (is_first or isinstance(system, Retunable)):
                    setup = left.pop(0)
                    if not is_first and isinstance(system, Retunable):
                        system.retune(setup.variant.settings)
                    is_first = False
                    yield self._asked(system, setup, given, took, steps)

    def _check(self, name: str, triples: str, data: DataSet) -> type:
        """Open everything once, so that what is wrong is told before anything runs."""
        parts = self._parts(triples, DEFAULTS, 0)
        if parts.triples is not None:
            parts.triples(data)
        with closing(open_system(name, parts)) as system:
            return type(system)

    def _open(self, setup: Setup) -> System:
        return open_system(setup.system, self._parts(setup.triples, setup.variant, setup.seed))

    def _parts(self, triples: str, variant: Variant, seed: int) -> Parts:
        reading: Source | None = None
        if triples:
            reading = source(triples, model=self._model, cache=self._cache)
        return Parts(self._embedder, reading, variant.settings, self._llm, seed)

    def _ingest(self, system: System, setup: Setup, given: Prepared, steps: Steps) -> Cost:
        data = given.data.shuffled(setup.seed) if setup.seed else given.data
        before, started = system.usage, time.perf_counter()
        system.ingest(data, steps.begin(f"{setup.config}: reading {setup.data}"))
        took = time.perf_counter() - started
        _save(self._embedder)
        return Cost(round(took, 3), {}, system.usage - before, Usage())

    def _asked(
        self, system: System, setup: Setup, given: Prepared, took: Cost, steps: Steps
    ) -> Row:
        before = system.usage
        questions = [question for question in given.data.questions if question.gold]
        tokens = _Tokens(given.data)
        outcomes: list[Outcome] = []
        times: dict[str, list[float]] = {}
        routes: dict[str, int] = {}
        progress = steps.begin(f"{setup.config}: asking {setup.data}")
        for number, question in enumerate(questions, 1):
            answer = system.ask(question, setup.depth)
            ranking = tokens.checked(answer.ranking[: setup.depth], question, setup.system)
            outcomes.append(judge(question, ranking, tokens, setup.budget, text=answer.text))
            for stage, spent in {**answer.stages, "total": answer.milliseconds}.items():
                times.setdefault(stage, []).append(spent)
            if answer.route:
                routes[answer.route] = routes.get(answer.route, 0) + 1
            progress(number, len(questions))
        _save(self._embedder)
        cost = replace(
            took,
            milliseconds={stage: percentiles(spent) for stage, spent in times.items()},
            query=system.usage - before,
        )
        return Row(setup, tuple(outcomes), cost, routes, machine())

    def _model_name(self, system: str, triples: str) -> str:
        names = []
        if triples == "model" and self._model is not None:
            names.append(self._model.name)
        if system in SYSTEMS and SYSTEMS[system].needs_model and self._llm is not None:
            names.append(self._llm.metadata.model_name)
        return ", ".join(names)


def _groups(setups: Sequence[Setup]) -> Iterator[list[Setup]]:
    """Neighbours that differ in their variant alone."""
    group: list[Setup] = []
    for setup in setups:
        if group and replace(setup, variant=DEFAULTS, settings=None) != replace(
            group[0], variant=DEFAULTS, settings=None
        ):
            yield group
            group = []
        group.append(setup)
    if group:
        yield group


class _Tokens:
    """How many tokens each record's text has, counted as LlamaIndex counts by default."""

    def __init__(self, data: DataSet) -> None:
        from llama_index.core.utils import get_tokenizer

        self._tokenize: Callable[[str], list[Any]] = get_tokenizer()
        self._records = {record.id: record for record in data.records}
        self._known: dict[str, int] = {}

    def __call__(self, key: str) -> int:
        if key not in self._known:
            self._known[key] = len(self._tokenize(self._records[key].full_text))
        return self._known[key]

    def checked(self, ranking: Sequence[str], question: Question, system: str) -> Sequence[str]:
        """The ranking, if it holds nothing but records of the question's scope.

        Raises:
            InvalidInput: it holds something else.
        """
        for key in ranking:
            record = self._records.get(key)
            if record is None or record.scope != question.scope:
                raise InvalidInput(
                    f"{system} answered {question.id!r} with {key!r}, which is no record of scope "
                    f"{str(question.scope)!r}: rank ids of records"
                )
        return ranking


def _save(embedder: Embedder) -> None:
    if isinstance(embedder, CachedEmbedder):
        embedder.save()


@cached
def _code(system: type) -> str:
    """Digest of the source that rows depend on: graphmem's, and that of a system of one's own."""
    from graphmem import extractors

    digest = hashlib.sha256(graphmem.__version__.encode())
    for package in (graphmem, extractors):
        for folder in package.__path__:
            for path in sorted(Path(folder).rglob("*.py")):
                if _matters(path.relative_to(folder).as_posix()):
                    digest.update(path.read_bytes())
    file = getattr(sys.modules.get(system.__module__), "__file__", None)
    if file is not None and not system.__module__.startswith("graphmem."):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


def _matters(name: str) -> bool:
    if name.startswith("experiments/"):
        return name.removeprefix("experiments/").startswith(_ANSWERING)
    return not name.startswith(_NOT_ASKED)
