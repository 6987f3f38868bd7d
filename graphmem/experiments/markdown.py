"""The report as Markdown: figures with intervals, differences, kinds of questions, and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from graphmem.experiments.comparison import ALL, Entry, compare, entries
from graphmem.experiments.metrics import Outcome, mean_figures
from graphmem.experiments.rows import Row
from graphmem.experiments.wording import data_name, interval, percent, points, shift

__all__ = ["markdown"]

_IN_TABLES = {
    "recall@2": "R@2",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "all@5": "all gold @5",
    "ndcg@10": "nDCG@10",
    "mrr": "MRR",
    "within_budget": "within budget",
}
_STALE = "stale first"


def markdown(rows: Sequence[Row]) -> str:
    """The whole report: figures with intervals, differences, parts of the questions, and cost."""
    found = entries(rows)
    if not found:
        return "# Recall\n\nNothing was measured.\n"
    parts = [
        "# Recall",
        _about(found),
        "## Figures",
        *_per_data(found, _figures),
        *_told(found),
        *_seeds(found),
        *_all_differences(found),
        "## Kinds of questions",
        *_per_data(found, _kinds),
        "## Time and cost",
        _cost(found),
        "## Measured with",
        _measured_with(found),
    ]
    if not any(entry.outcomes and _labels(entry) for entry in found):
        start = parts.index("## Kinds of questions")
        del parts[start : parts.index("## Time and cost")]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(found: Sequence[Entry]) -> str:
    setup = found[0].setup
    return (
        "Shares of 100; in brackets the 95 % interval (bootstrap over questions). R@k: share of "
        "the gold records among the first k. Within budget: share of them among the records that "
        f"fit into {setup.budget} tokens, taken whole in the order of the ranking, of which "
        f"{setup.depth} were asked for. Stale first: share of the update questions that rank an "
        "outdated record above all current ones (lower is better)."
    )


def _per_data(found: Sequence[Entry], table: Callable[[Sequence[Entry]], str]) -> list[str]:
    """A heading and a table for each data set."""
    sets: dict[str, list[Entry]] = {}
    for entry in found:
        sets.setdefault(entry.setup.data, []).append(entry)
    parts: list[str] = []
    for data, group in sets.items():
        text = table(group)
        if text:
            parts += [f"### {data_name(data)} ({len(group[0].outcomes)} questions)", text]
    return parts


def _figures(group: Sequence[Entry]) -> str:
    known = [entry.intervals() for entry in group]
    columns = dict(_IN_TABLES)
    if any("stale_first" in one for one in known):
        columns["stale_first"] = _STALE
    return _grid(
        ["system", *columns.values()],
        [
            [entry.setup.config, *(interval(one[name]) if name in one else "" for name in columns)]
            for entry, one in zip(group, known, strict=True)
        ],
    )


def _told(found: Sequence[Entry]) -> list[str]:
    """How often the answer stands in the text of systems that rank no records."""
    lines = []
    for entry in found:
        told = [one.told for row in entry.rows for one in row.outcomes if one.told is not None]
        if told:
            lines.append(
                f"{entry.setup.config} ranks no records of {data_name(entry.setup.data)}: it hands "
                f"over text, in which the answer stands for {percent(sum(told) / len(told))} of "
                "the questions with an answer in words."
            )
    return lines


def _seeds(found: Sequence[Entry]) -> list[str]:
    """How far apart the seeds lie, where there are several."""
    several = [entry for entry in found if len(entry.rows) > 1 and entry.outcomes]
    if not several:
        return []
    rows = [
        [
            data_name(entry.setup.data),
            entry.setup.config,
            str(len(entry.rows)),
            *("{} – {}".format(*map(percent, entry.spread(name))) for name in _IN_TABLES),
        ]
        for entry in several
    ]
    return [
        "## From seed to seed",
        "Figures above are means over the seeds; here the lowest and the highest seed.",
        _grid(["data", "system", "seeds", *_IN_TABLES.values()], rows),
    ]


def _all_differences(found: Sequence[Entry]) -> list[str]:
    compared = compare(found)
    if not compared:
        return []
    rows = [
        [
            f"**{ALL}**" if one.data == ALL else data_name(one.data),
            one.config,
            one.against,
            *(shift(one.figures[name]) for name in _IN_TABLES),
        ]
        for one in compared
    ]
    return [
        "## Differences",
        "A system minus the one it is held against, in points: mean, 95 % interval (paired "
        "bootstrap over the questions that both answered; for all data sets together each set is "
        "drawn from in itself), and the share of resamples above zero.",
        _grid(["data", "system", "against", *_IN_TABLES.values()], rows),
    ]


def _labels(entry: Entry) -> list[tuple[str, Callable[[Outcome], bool]]]:
    """Hop counts and kinds of an entry's questions, each with what belongs to it."""

    def of_hops(hops: int) -> Callable[[Outcome], bool]:
        return lambda one: one.hops == hops

    def of_kind(kind: str) -> Callable[[Outcome], bool]:
        return lambda one: one.kind == kind

    hops = sorted({one.hops for one in entry.outcomes if one.hops})
    kinds = sorted({one.kind for one in entry.outcomes if one.kind})
    return [*((f"{n} hops", of_hops(n)) for n in hops), *((kind, of_kind(kind)) for kind in kinds)]


def _kinds(group: Sequence[Entry]) -> str:
    shown = {name: column for name, column in _IN_TABLES.items() if name != "ndcg@10"}
    rows: list[list[str]] = []
    for label, belongs in _labels(group[0]):
        apart = {one.config: one for one in compare(group, among=belongs)}
        for entry in group:
            outcomes = [[o for o in row.outcomes if belongs(o)] for row in entry.rows]
            means = [mean_figures(some) for some in outcomes]
            other = apart.get(entry.setup.config)
            rows.append(
                [
                    label,
                    str(len(outcomes[0])),
                    entry.setup.config,
                    *(percent(sum(one[name] for one in means) / len(means)) for name in shown),
                    points(other.figures["recall@5"]) if other else "",
                ]
            )
    if not rows:
        return ""
    return _grid(["questions", "n", "system", *shown.values(), "R@5 against the other"], rows)


def _cost(found: Sequence[Entry]) -> str:
    rows = []
    for entry in found:
        cost = entry.rows[0].cost
        stages = [
            f"{stage} {high:.1f}"
            for stage, (_, high) in cost.milliseconds.items()
            if stage != "total" and high >= 0.05
        ]
        rows.append(
            [
                data_name(entry.setup.data),
                entry.setup.config,
                f"{cost.index_seconds:.1f}",
                f"{entry.times[0]:.1f}" if entry.times else "",
                f"{entry.times[1]:.1f}" if entry.times else "",
                ", ".join(stages),
                *(
                    f"{usage.calls:,} / {usage.prompt_tokens + usage.completion_tokens:,}"
                    for usage in (cost.ingest, cost.query)
                ),
                ", ".join(f"{route} {count}" for route, count in entry.rows[0].routes.items()),
            ]
        )
    header = ["data", "system", "index s", "p50 ms", "p95 ms", "stages, p95 ms"]
    header += ["ingest: calls / tokens", "query: calls / tokens", "routes"]
    return (
        "A recall without embedding the question (`embed` is the embedding). Vectors and "
        "extractions that a cache knew took no time to index.\n\n" + _grid(header, rows)
    )


def _measured_with(found: Sequence[Entry]) -> str:
    about = found[0].rows[0].machine
    lines = [", ".join(f"{name} {value}" for name, value in about.items())]
    embedders = dict.fromkeys(entry.setup.embedder for entry in found)
    models = dict.fromkeys(entry.setup.model for entry in found if entry.setup.model)
    seeds = sorted({row.setup.seed for entry in found for row in entry.rows})
    lines.append(f"embedder: {', '.join(embedders)}")
    if models:
        lines.append(f"model: {', '.join(models)}")
    lines.append(f"seeds (order of documents): {', '.join(map(str, seeds))}")
    for entry in found:
        for what, number in entry.setup.left_out.items():
            lines.append(f"{data_name(entry.setup.data)}: left out {number:,} {what}")
        if entry.setup.lookups or len(entry.setup.files) > 1:
            made = "look-ups of" if entry.setup.lookups else "one memory of"
            lines.append(f"{data_name(entry.setup.data)}: {made} {', '.join(entry.setup.files)}")
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines))


def _grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; text columns to the left, figures to the right."""
    words = {"data", "system", "against", "questions", "stages, p95 ms", "routes"}
    marks = ["---" if name in words else "---:" for name in header]
    lines = [header, marks, *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
