"""The command ``graphmem bench``: its options, and how they become calls of the experiments."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, TypeVar

from graphmem.cli.model import add_model, extractor_of, llm_of
from graphmem.cli.parsing import add_command, positive
from graphmem.display.terminal import open_console
from graphmem.errors import InvalidInput

__all__ = ["add_bench"]

T = TypeVar("T")

_MODEL = (
    "An OpenAI-compatible one, named here or by OPENAI_API_KEY or OPENAI_BASE_URL;\n"
    "it is asked by {}."
)
# What --replay takes from the result file, or has no use for.
_LISTED = (
    *("format", "lookups", "sample", "records", "mix", "seeds", "system", "triples"),
    *("set", "sweep", "ablate", "depth", "budget", "out", "plots", "json"),
)


def add_bench(commands: Any) -> None:
    """Add ``bench`` and what it can measure."""
    bench = add_command(
        commands,
        "bench",
        None,
        "measure recall, explanations, extraction, writing, vectors and trust",
        "graphmem bench recall --help",
    )
    kinds = bench.add_subparsers(required=True)
    _add_recall(kinds)
    _add_explain(kinds)
    _add_extraction(kinds)
    _add_put(kinds)
    _add_speed(kinds)
    _add_trust(kinds)
    _add_vectors(kinds)


def _recall(options: argparse.Namespace) -> int:
    if options.replay is not None:
        return _replay(options)
    from graphmem.experiments import bench_recall, variants_of

    if options.plots and options.out is None:
        raise InvalidInput("--plots draws into the folder of the results: name it with --out")
    model = _needed(extractor_of(options), "--triples model") if _reads(options) else None
    llm = _needed(llm_of(options), "a system of --system") if _asks(options) else None
    ablated = options.ablate if options.ablate != [] else ["all"]
    try:
        bench_recall(
            options.data,
            options.system,
            triples=options.triples,
            seeds=options.seeds,
            variants=variants_of(options.set, options.sweep, ablated or ()),
            format=options.format,
            lookups=options.lookups,
            sample=options.sample,
            records=options.records,
            mix=options.mix,
            depth=options.depth,
            budget=options.budget,
            out=options.out,
            plots=options.plots,
            json_path=options.json,
            cache=options.cache,
            model=model,
            llm=llm,
            console=open_console(),
        )
    except KeyboardInterrupt:
        if options.out is not None:
            open_console(stderr=True).print(
                f"finished rows are in {options.out}: the same command goes on from there",
                soft_wrap=True,
            )
        raise
    return 0


def _needed(model: T | None, who: str) -> T:
    if model is None:
        raise InvalidInput(f"{who} asks a model: name it with --model or --base-url")
    return model


def _reads(options: argparse.Namespace) -> bool:
    return "model" in options.triples


def _asks(options: argparse.Namespace) -> bool:
    from graphmem.experiments import SYSTEMS

    return any(name in SYSTEMS and SYSTEMS[name].needs_model for name in options.system)


def _replay(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_replay

    given = [name for name in _LISTED if getattr(options, name) != options.default_of(name)]
    if given:
        raise InvalidInput(f"--replay measures what the file lists: leave out --{given[0]}")
    drifts = bench_replay(
        options.replay,
        options.data,
        tolerance=options.tolerance / 100,
        cache=options.cache,
        model=extractor_of(options),
        llm=llm_of(options),
        console=open_console(),
    )
    return 1 if drifts else 0


def _explain(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_explain

    found = bench_explain(
        options.data,
        top_k=options.top_k,
        sample=options.sample,
        triples=options.triples,
        cache=options.cache,
        json_path=options.json,
        console=open_console(),
    )
    return 1 if any(one["faults"] for one in found["results"]) else 0


def _extraction(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_extraction

    is_asked = "model" in options.extractor
    model = _needed(extractor_of(options), "--extractor model") if is_asked else None
    bench_extraction(
        options.data,
        options.extractor,
        records=options.records,
        sample=options.sample,
        seed=options.seed,
        model=model,
        cache=options.cache,
        json_path=options.json,
        console=open_console(),
    )
    return 0


def _put(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_put

    bench_put(flushes=options.flushes, json_path=options.json, console=open_console())
    return 0


def _speed(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_speed

    bench_speed(
        options.sizes,
        seed=options.seed,
        json_path=options.json,
        plots=options.plots,
        keep=options.keep,
        quick=options.quick,
        console=open_console(),
    )
    return 0


def _trust(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_trust

    found = bench_trust(triples=options.triples, json_path=options.json, console=open_console())
    gated = [found[matrix] for matrix in ("deletion", "contradiction")]
    # What the rules do not read they cannot pass: their figures are told, and decide nothing.
    is_recorded = options.triples[0] == "recorded"
    return 1 if is_recorded and any(one["passed"] < one["of"] for one in gated) else 0


def _vectors(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_vectors

    bench_vectors(options.data, cache=options.cache, json_path=options.json, console=open_console())
    return 0


def _add_recall(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "recall",
        _recall,
        "measure how many of the right passages a system recalls",
        "graphmem bench recall --data musique100.json.gz --system graphmem hybrid --out results",
        "",
        "# what each part of recall contributes, with pictures",
        "graphmem bench recall --data *.json.gz --ablate --out results --plots",
        "# one constant after the other",
        "graphmem bench recall --data chat.json --sweep damping=0.3,0.5,0.7 seed_k=3,4,5",
        "# other constants, and a system of one's own",
        "graphmem bench recall --data chat.json --set walk_half=0.3 'window=-1:0.5,0:1'",
        "graphmem bench recall --data chat.json --system graphmem my.module:MySystem",
        "# what a model reads, on the first 60 messages of each conversation",
        "graphmem bench recall --data chat.json --triples model rules --records 60 --base-url URL",
        "# does a committed result still hold?",
        "graphmem bench recall --replay results/report.json --data folder_of_data",
    )
    parser.set_defaults(default_of=parser.get_default)
    _add_data(parser)
    asked = parser.add_argument_group("what is asked")
    asked.add_argument(
        "--format",
        metavar="NAME",
        help="of the files: normal, hipporag, musique, hotpot, locomo, longmemeval (default: told "
        "by their content)",
    )
    asked.add_argument(
        "--lookups",
        type=positive,
        default=0,
        metavar="N",
        help="ask N recorded facts back in other words, not the files' questions",
    )
    asked.add_argument(
        "--sample", type=positive, default=0, metavar="N", help="ask N of each file's questions"
    )
    _add_records(asked)
    asked.add_argument("--mix", action="store_true", help="put all files into one memory")
    asked.add_argument(
        "--seeds",
        nargs="+",
        type=int,
        default=[0],
        metavar="N",
        help="orders in which documents arrive; 0 (default) is the file's. Figures are means over "
        "them, their spread is in report.md; messages of a chat keep their order",
    )
    _add_systems(parser)
    measured = parser.add_argument_group("what is measured")
    measured.add_argument(
        "--depth",
        type=positive,
        default=50,
        metavar="N",
        help="records to ask for, at least 10 (50)",
    )
    measured.add_argument(
        "--budget",
        type=positive,
        default=550,
        metavar="N",
        help="tokens for the recall within a budget, and for what in_context holds (550)",
    )
    results = parser.add_argument_group("results")
    results.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write report.md, report.json and finished rows here; a run that was stopped goes on, "
        "and rows that are there are not measured again. A change in what your own "
        "system imports from elsewhere than its folder is not noticed: delete the folder then",
    )
    results.add_argument(
        "--plots", action="store_true", help="draw pictures into that folder (extra: explore)"
    )
    _add_json(results)
    _add_cache(results, "vectors and a model's extractions")
    results.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="measure what this result file lists again; exit code 1 if a figure has moved",
    )
    results.add_argument(
        "--tolerance",
        type=float,
        default=1.0,
        metavar="POINTS",
        help="how far a figure of a replay may move (1)",
    )
    add_model(parser, "a model", _MODEL.format("--triples model and --system fact_block"))


def _add_systems(parser: argparse.ArgumentParser) -> None:
    answers = parser.add_argument_group(
        "what answers",
        "Constants are those of graphmem.RecallSettings, by name. Sweeps and ablations\n"
        "depart from what --set says; the product's defaults are a row as well.",
    )
    answers.add_argument(
        "--system",
        nargs="+",
        default=["graphmem"],
        metavar="NAME",
        help="graphmem (default), ppr, hybrid, dense, bm25, in_context, no_memory, vector_block, "
        "fact_block (asks a model), or package.module:Factory; others are compared with the first",
    )
    answers.add_argument(
        "--triples",
        nargs="+",
        default=["recorded"],
        metavar="SOURCE",
        help="recorded (default), rules, cooccurrence, model, none: a row each",
    )
    for name, value, about in (
        ("--set", "NAME=VALUE", "recall with these constants, e.g. seed_k=5 window=-1:0.5,0:1"),
        ("--sweep", "NAME=V1,V2", "a row for each value; several sweeps one after the other"),
    ):
        answers.add_argument(
            name, nargs="+", action="extend", default=[], metavar=value, help=about
        )
    answers.add_argument(
        "--ablate",
        nargs="*",
        action="extend",
        metavar="PART",
        help="a row without each of these parts of recall; all if none is named: seeds (nothing "
        "walks; words, vectors and facts' vectors rank), walk, bridge, own_sense, later, "
        "fact_prior, near_seeds, names, passage_seeds, synonyms, about, hubs, window, meaning, "
        "facts_in_h, topic, speaker, documents, date, personal, question, time (what each does: "
        "pydoc graphmem.experiments.variants)",
    )


def _add_explain(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "explain",
        _explain,
        "explain all that is recalled, and look up each step of it in the store",
        "graphmem bench explain --data musique100.json.gz --json explain.json",
    )
    _add_data(parser)
    parser.add_argument(
        "--top-k", type=positive, default=5, metavar="N", help="passages of a recall (5)"
    )
    parser.add_argument(
        "--sample", type=positive, default=0, metavar="N", help="ask N of each file's questions"
    )
    parser.add_argument(
        "--triples",
        choices=("recorded", "rules", "cooccurrence"),
        default="recorded",
        help="where they come from (recorded); exit code 1 if a step is not in the store",
    )
    _add_json(parser)
    _add_cache(parser, "vectors")


def _add_extraction(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "extraction",
        _extraction,
        "measure how many of a set's triples an extractor finds, and how many it finds are right",
        "graphmem bench extraction --data chat.json --extractor rules recorded",
    )
    _add_data(parser)
    parser.add_argument(
        "--extractor",
        nargs="+",
        default=["rules"],
        metavar="NAME",
        help="rules (default), recorded, cooccurrence, model",
    )
    _add_records(parser)
    parser.add_argument(
        "--sample",
        type=int,
        default=200,
        metavar="N",
        help="documents of a set that are read (200); 0: all",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of that sample (0)")
    _add_json(parser)
    _add_cache(parser, "a model's extractions")
    add_model(parser, "a model", _MODEL.format("--extractor model"))


def _add_put(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "put",
        _put,
        "measure how long a flush takes, beside a plain fsync",
        "graphmem bench put --json put.json",
    )
    parser.add_argument("--flushes", type=positive, default=100, metavar="N", help="how many (100)")
    _add_json(parser)


def _add_speed(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "speed",
        _speed,
        "measure what recall, writing and opening cost at each size of a store",
        "graphmem bench speed --sizes 1000,10000 --json speed.json --plots",
        "",
        "# larger stores take a while to build: keep them for the next run",
        "graphmem bench speed --sizes 1000,10000,100000 --keep stores --json speed.json",
    )
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=[1_000, 10_000],
        metavar="N,N",
        help="passages of each generated store, at least 100 (1000,10000)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is stored (0)")
    _add_json(parser)
    parser.add_argument(
        "--plots",
        action="store_true",
        help="draw cost against size beside the figures, as PNG (extra: explore)",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep the stores as they were built here; delete it after a change in how they are "
        "written",
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure all a few times only, to see that it works"
    )


def _add_trust(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "trust",
        _trust,
        "see whether what was forgotten stays so, and what is over is told as over",
        "graphmem bench trust --json trust.json",
        "",
        "# as the offline rules read the same words",
        "graphmem bench trust --triples rules",
    )
    parser.add_argument(
        "--triples",
        nargs="+",
        choices=("recorded", "rules"),
        default=["recorded", "rules"],
        metavar="SOURCE",
        help="recorded, rules (both); exit code 1 if a wording fails with recorded ones",
    )
    _add_json(parser)


def _add_vectors(kinds: Any) -> None:
    parser = add_command(
        kinds,
        "vectors",
        _vectors,
        "measure how many of the nearest vectors are found, and how fast, beside other indexes",
        "graphmem bench vectors --data musique100.json.gz hotpot100.json.gz --json vectors.json",
    )
    _add_data(parser)
    _add_json(parser)
    _add_cache(parser, "vectors")


def _sizes(text: str) -> list[int]:
    """Numbers of passages.

    Raises:
        ArgumentTypeError: they are something else.
    """
    try:
        return [positive(size) for size in text.split(",")]
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"must be whole numbers with commas between, such as 1000,10000, not {text!r}"
        ) from None


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        nargs="+",
        required=True,
        type=Path,
        metavar="FILE",
        help='JSON, gzipped or not: {"passages": [{"id", "text"}, …], "queries": [{"id", "text", '
        '"gold": [passage ids]}, …]}, or a set as its authors publish it',
    )


def _add_records(parser: Any) -> None:
    parser.add_argument(
        "--records",
        type=positive,
        default=0,
        metavar="N",
        help="of each file only N documents and the first N messages of each conversation, and the "
        "questions that they answer",
    )


def _add_json(parser: Any) -> None:
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")


def _add_cache(parser: Any, what: str) -> None:
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help=f"keep {what} from one run to the next here"
    )
