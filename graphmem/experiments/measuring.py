"""Measuring: from setups to rows, each system reading a data set once for all its variants."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem.errors import GraphMemError, InvalidInput
from graphmem.experiments.cache import embedder_of, keep
from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.metrics import CUTS, Outcome, judge, percentiles, recall_at
from graphmem.experiments.preparing import Prepared
from graphmem.experiments.provenance import code_of, machine
from graphmem.experiments.report.wording import data_name, percent
from graphmem.experiments.rows import Cost, Row, RowFolder, Setup
from graphmem.experiments.systems import BUDGET, Answer, Parts, Retunable, System, kind_of
from graphmem.experiments.triples import Source, recorded, source
from graphmem.experiments.variants import DEFAULTS, Variant
from graphmem.progress import Steps, progress_steps
from graphmem.types import Extractor, Usage

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

__all__ = ["DEPTH", "Measurer"]

DEPTH = 50
"""How many records a system is asked for."""


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
        self._embedder = embedder_of(embed_model, cache)
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
        if depth < max(CUTS):
            raise InvalidInput(
                f"depth must be at least {max(CUTS)}, for recall among the first {max(CUTS)} is "
                f"told, not {depth}"
            )
        if budget < 1:
            raise InvalidInput(f"the budget must be at least 1 token, not {budget}")
        found: list[Setup] = []
        for system in dict.fromkeys(systems):
            kind = kind_of(system)
            for read in dict.fromkeys(triples if kind.uses_triples else ("",)):
                usual = Setup(
                    data=given.data.name,
                    origin=given.origin,
                    left_out=given.data.left_out,
                    content=given.content,
                    system=system,
                    triples=read,
                    seed=0,
                    variant=DEFAULTS,
                    settings=None,
                    depth=depth,
                    budget=budget,
                    embedder=self._embedder.name,
                    model=self._model_name(system, read),
                    code="",
                )
                usual = replace(usual, code=code_of(system, self._check(usual, given.data)))
                for seed in dict.fromkeys(seeds):
                    ordered = replace(usual, seed=seed)
                    if kind.uses_settings:
                        found += [_varied(ordered, variant) for variant in variants]
                    else:
                        found.append(ordered)
        return found

    def measure(
        self, setups: Sequence[Setup], sets: Sequence[Prepared], folder: RowFolder | None = None
    ) -> Generator[Row, None, None]:
        """The rows of these setups, in their order; those that the folder has are taken from it.

        Whatever ends it, finished rows have been yielded and the cache keeps what was embedded.
        """
        by_content = {one.content: one.data for one in sets}
        try:
            with progress_steps("rows", len(setups)) as steps:
                for group in _groups(setups):
                    data = by_content[group[0].content]
                    known = [folder.find(setup, data) if folder else None for setup in group]
                    missing = [s for s, row in zip(group, known, strict=True) if row is None]
                    with closing(self._fresh(missing, data, steps)) as fresh:
                        for row in known:
                            if row is None:
                                started = time.perf_counter()
                                row = next(fresh)
                                if folder is not None:
                                    folder.keep(row)
                                steps.finish(_line(row, time.perf_counter() - started))
                            else:
                                steps.finish()
                            yield row
        finally:
            keep(self._embedder)

    def _fresh(
        self, group: Sequence[Setup], data: DataSet, steps: Steps
    ) -> Generator[Row, None, None]:
        """Rows of setups that differ in their variant alone: the records are read in once."""
        left = list(group)
        while left:
            setup = left.pop(0)
            with closing(self._open(setup)) as system:
                took = self._ingest(system, setup, data, steps)
                yield self._asked(system, setup, data, took, steps)
                while left and isinstance(system, Retunable):
                    setup = left.pop(0)
                    system.retune(setup.variant.settings)
                    yield self._asked(system, setup, data, took, steps)

    def _check(self, setup: Setup, data: DataSet) -> type:
        """Open everything once, so that what is wrong is told before anything runs."""
        if setup.triples:
            self._parts(setup).triples(data)
        with closing(self._open(setup)) as system:
            return type(system)

    def _open(self, setup: Setup) -> System:
        return kind_of(setup.system).open(self._parts(setup))

    def _parts(self, setup: Setup) -> Parts:
        read: Source = recorded
        if setup.triples:
            read = source(setup.triples, model=self._model, cache=self._cache)
        settings = setup.variant.settings
        return Parts(self._embedder, read, settings, self._llm, setup.seed, setup.budget)

    def _ingest(self, system: System, setup: Setup, data: DataSet, steps: Steps) -> Cost:
        if setup.seed:
            data = data.shuffled(setup.seed)
        before, started = system.usage, time.perf_counter()
        progress = steps.begin(f"{setup.config}: reading {setup.data}")
        with _blaming(setup.system, f"reading {setup.data}"):
            system.ingest(data, progress)
        took = time.perf_counter() - started
        keep(self._embedder)
        return Cost(round(took, 3), {}, system.usage - before, Usage())

    def _asked(self, system: System, setup: Setup, data: DataSet, took: Cost, steps: Steps) -> Row:
        before = system.usage
        questions = data.asked
        records = _Records(data)
        outcomes: list[Outcome] = []
        times: dict[str, list[float]] = {}
        routes: dict[str, int] = {}
        progress = steps.begin(f"{setup.config}: asking {setup.data}")
        for number, question in enumerate(questions, 1):
            answer = _answered(system, question, setup)
            ranking = answer.ranking[: setup.depth]
            records.must_be_ranked_for(question, ranking, setup.system)
            outcomes.append(
                judge(question, ranking, records.tokens, setup.budget, text=answer.text)
            )
            for stage, spent in {**answer.stages, "total": answer.milliseconds}.items():
                times.setdefault(stage, []).append(spent)
            if answer.route:
                routes[answer.route] = routes.get(answer.route, 0) + 1
            progress(number, len(questions))
        keep(self._embedder)
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
        if kind_of(system).needs_model and self._llm is not None:
            names.append(self._llm.metadata.model_name)
        return ", ".join(names)


def _answered(system: System, question: Question, setup: Setup) -> Answer:
    with _blaming(setup.system, f"asked {question.id!r}"):
        answer: Any = system.ask(question, setup.depth)
    if not isinstance(answer, Answer):
        raise InvalidInput(
            f"{setup.system} answered {question.id!r} with a {type(answer).__name__}: return a "
            "graphmem.experiments.Answer"
        )
    return answer


@contextmanager
def _blaming(system: str, doing: str) -> Iterator[None]:
    """Say which system failed at what, and where; graphmem's own errors say what is wrong."""
    try:
        yield
    except GraphMemError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidInput(
            f"{system}, {doing}, raised {type(error).__name__}: {error} "
            f"({Path(place.filename).name}, line {place.lineno})"
        ) from error


def _line(row: Row, seconds: float) -> str:
    """A finished row in a line of a log."""
    setup = row.setup
    recall = sum(recall_at(one, 5) for one in row.outcomes) / len(row.outcomes)
    order = f", seed {setup.seed}" if setup.seed else ""
    return f"{data_name(setup.data)}: {setup.config}{order}: R@5 {percent(recall)}, {seconds:.1f} s"


def _varied(setup: Setup, variant: Variant) -> Setup:
    return replace(setup, variant=variant, settings=asdict(variant.settings))


def _groups(setups: Sequence[Setup]) -> Iterator[list[Setup]]:
    """Neighbours that differ in their variant alone."""
    group: list[Setup] = []
    for setup in setups:
        if group and _without_variant(setup) != _without_variant(group[0]):
            yield group
            group = []
        group.append(setup)
    if group:
        yield group


def _without_variant(setup: Setup) -> Setup:
    return replace(setup, variant=DEFAULTS, settings=None)


class _Records:
    """The records of a set by id: how many tokens each has, and whose it is."""

    def __init__(self, data: DataSet) -> None:
        from llama_index.core.utils import get_tokenizer

        self._tokenize: Callable[[str], list[Any]] = get_tokenizer()
        self._records = {record.id: record for record in data.records}
        self._tokens: dict[str, int] = {}

    def tokens(self, key: str) -> int:
        """Tokens of a record's text, counted as LlamaIndex counts by default."""
        if key not in self._tokens:
            self._tokens[key] = len(self._tokenize(self._records[key].full_text))
        return self._tokens[key]

    def must_be_ranked_for(self, question: Question, ranking: Sequence[str], system: str) -> None:
        """Check that a ranking holds records of the question's scope, each once.

        Raises:
            InvalidInput: it holds something else.
        """
        seen: set[str] = set()
        for key in ranking:
            record = self._records.get(key)
            if record is None or record.scope != question.scope:
                raise InvalidInput(
                    f"{system} answered {question.id!r} with {key!r}, which is no record of scope "
                    f"{str(question.scope)!r}: rank ids of records"
                )
            if key in seen:
                raise InvalidInput(
                    f"{system} answered {question.id!r} with {key!r} twice: rank each record once"
                )
            seen.add(key)
