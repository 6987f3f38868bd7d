"""The console command ``graphmem``: argument parsing and exit codes; the work is done elsewhere.

Exit codes: 0 done, 1 nothing found, 2 wrong use or an error of graphmem's, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from graphmem import __version__
from graphmem.errors import GraphMemError, InvalidInput, NotFound
from graphmem.terminal import open_console, plain, show_recall, show_stats

if TYPE_CHECKING:
    from graphmem.types import Extractor, Fact, RankedPassage, Recall, Scope

__all__ = ["main"]

_URI_HELP = "the store: sqlite:///memory.db, or a plain path"
_DATA_HELP = (
    'JSON, gzipped or not: {"passages": [{"id", "text"}, …], '
    '"queries": [{"id", "text", "gold": [passage ids]}, …]}'
)
_OPENAI_MODEL = "gpt-4o-mini"
_SCOPES_SHOWN = 5
_LIST_SECONDS = 10.0
Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; ``arguments`` default to the process's own."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except GraphMemError as error:
        open_console(stderr=True).print(
            f"graphmem: {plain(str(error))}", style="red", soft_wrap=True
        )
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (a pager, head) has seen enough; keep the interpreter's last flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _demo(options: argparse.Namespace) -> int:
    from graphmem.demo import run

    extractor = None if options.offline else _model(options)
    run(open_console(), uri=options.uri, extractor=extractor)
    return 0


def _model(options: argparse.Namespace) -> Extractor | None:
    """The model that the options or the environment name, if any."""
    base_url = options.base_url or os.environ.get("OPENAI_BASE_URL")
    if not (base_url or options.model or os.environ.get("OPENAI_API_KEY")):
        return None
    from graphmem.extractors.openai import OpenAIExtractor

    model = options.model or (_served_model(base_url) if base_url else _OPENAI_MODEL)
    return OpenAIExtractor(model, base_url=base_url)


def _served_model(base_url: str) -> str:
    """The first model that a server lists: a local one mostly has one."""
    key = os.environ.get("OPENAI_API_KEY", "none")
    try:
        request = Request(f"{base_url.rstrip('/')}/models")
        request.add_header("Authorization", f"Bearer {key}")
        with urlopen(request, timeout=_LIST_SECONDS) as reply:
            return str(json.load(reply)["data"][0]["id"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InvalidInput(
            f"{base_url} does not say which models it has ({error}): is it running? "
            "Otherwise pass --model NAME"
        ) from error


def _recall(options: argparse.Namespace) -> int:
    from graphmem.memory import GraphMemory
    from graphmem.progress import spinner

    _must_hold(options.uri, _scope(options))
    with (
        spinner("opening and asking"),
        GraphMemory.open(options.uri, scope=_scope(options)) as memory,
    ):
        found = memory.recall(options.question, top_k=options.top_k, session=options.session)
    if options.json:
        _print_json(_recall_as_json(found))
    else:
        show_recall(open_console(), found)
    return 0 if found.passages else 1


def _stats(options: argparse.Namespace) -> int:
    from graphmem.store import Store

    if options.agent and not options.scope:
        raise InvalidInput("--agent is an agent of one user: name the user with --scope")
    scope = _scope(options) if options.scope else None
    _must_hold(options.uri, scope)
    with closing(Store.open(options.uri)) as store:
        counts = store.stats(scope)
    if options.json:
        _print_json(asdict(counts))
    else:
        show_stats(open_console(), counts)
    return 0


def _bench_recall(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_recall

    bench_recall(options.data, options.system, json_path=options.json, console=open_console())
    return 0


def _bench_put(options: argparse.Namespace) -> int:
    from graphmem.experiments import bench_put

    bench_put(flushes=options.flushes, json_path=options.json, console=open_console())
    return 0


def _must_hold(uri: str, scope: Scope | None) -> None:
    """Reading makes no store and no scope: a mistyped one is an error."""
    from graphmem.store import Store
    from graphmem.store.location import Location

    path = Location.of(uri).path
    if path is None or not path.is_file():
        raise NotFound(f"there is no store at {uri!r}: check --uri")
    with closing(Store.open(uri)) as store:
        scopes = store.scopes()
    if scope is not None and scope not in scopes:
        known = ", ".join(map(str, scopes[:_SCOPES_SHOWN])) or "nobody's"
        more = "" if len(scopes) <= _SCOPES_SHOWN else f" and {len(scopes) - _SCOPES_SHOWN} more"
        raise NotFound(f"the store holds no memory of {str(scope)!r}, only of: {known}{more}")


def _scope(options: argparse.Namespace) -> Scope:
    from graphmem.types import Scope

    return Scope(options.scope, options.agent)


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=2, default=str) + "\n")


def _recall_as_json(found: Recall) -> dict[str, Any]:
    return {
        "query": found.query,
        "scope": str(found.scope),
        "route": found.route,
        "reason": found.reason,
        "passages": [_passage_as_json(ranked) for ranked in found.passages],
        "facts": [{**_fact_as_json(hit.fact), "score": hit.score} for hit in found.facts],
        "seeds": [
            {"entity": seed.entity.name, "weight": seed.weight, "reason": seed.reason}
            for seed in found.seeds
        ],
        "withheld": dict(found.withheld),
        "timings": dict(found.timings),
    }


def _passage_as_json(ranked: RankedPassage) -> dict[str, Any]:
    passage = ranked.passage
    return {
        "id": passage.id,
        "score": ranked.score,
        "text": passage.text,
        "title": passage.title,
        "role": passage.role,
        "speaker": passage.speaker,
        "session": passage.session,
        "said_at": passage.said_at and passage.said_at.isoformat(),
        "facts": [_fact_as_json(fact) for fact in ranked.facts],
    }


def _fact_as_json(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "polarity": fact.polarity,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "passages": list(fact.passages),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphmem",
        description="Long-term memory for LlamaIndex agents that thinks in a knowledge graph.",
    )
    parser.add_argument("--version", action="version", version=f"graphmem {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_recall(commands)
    _add_stats(commands)
    _add_bench(commands)
    return parser


def _add(commands: Any, name: str, command: Command | None, about: str, example: str) -> Any:
    parser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if command is not None:
        parser.set_defaults(command=command)
    return parser


def _add_demo(commands: Any) -> None:
    parser = _add(
        commands,
        "demo",
        _demo,
        "play a conversation of half a year into a memory and ask it questions",
        "graphmem demo --uri sqlite:///demo.db",
    )
    parser.add_argument("--uri", help="keep the memory in this store (default: a temporary one)")
    model = parser.add_argument_group(
        "reading facts with a model",
        "Given a server or a model, here or by OPENAI_API_KEY or OPENAI_BASE_URL, that\n"
        "model (OpenAI-compatible) reads the facts; otherwise offline English rules do.",
    )
    model.add_argument("--base-url", metavar="URL", help="server, e.g. http://localhost:11434/v1")
    model.add_argument(
        "--model",
        metavar="NAME",
        help=f"model to use (default: the server's first, or {_OPENAI_MODEL} of OpenAI)",
    )
    model.add_argument("--offline", action="store_true", help="use the rules, whatever is set")


def _add_recall(commands: Any) -> None:
    parser = _add(
        commands,
        "recall",
        _recall,
        "print the passages of a store that answer a question",
        "graphmem recall 'Where does Aunt Vera live?' --uri sqlite:///demo.db --scope Nell",
    )
    parser.add_argument("question", metavar="QUESTION")
    _add_store(parser, is_scope_required=True)
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="at most this many (5)")
    parser.add_argument("--session", metavar="ID", help="only passages of this conversation")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_stats(commands: Any) -> None:
    parser = _add(
        commands,
        "stats",
        _stats,
        "count what a store holds and what still waits to be read",
        "graphmem stats --uri sqlite:///demo.db",
    )
    _add_store(parser, is_scope_required=False)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_store(parser: Any, *, is_scope_required: bool) -> None:
    whole = " ('default' if none was named)" if is_scope_required else " (default: the whole store)"
    parser.add_argument("--uri", required=True, help=_URI_HELP)
    parser.add_argument(
        "--scope", required=is_scope_required, metavar="USER", help=f"whose memory{whole}"
    )
    parser.add_argument(
        "--agent", default="", metavar="NAME", help="the memory that this agent of the user keeps"
    )


def _add_bench(commands: Any) -> None:
    bench = _add(
        commands, "bench", None, "measure recall and writing", "graphmem bench recall --help"
    )
    kinds = bench.add_subparsers(metavar="KIND", required=True)
    parser = _add(
        kinds,
        "recall",
        _bench_recall,
        "measure how many of the right passages a system recalls",
        "graphmem bench recall --data musique100.json.gz --system graphmem --json out.json",
    )
    parser.add_argument(
        "--data", nargs="+", required=True, type=Path, metavar="FILE", help=_DATA_HELP
    )
    parser.add_argument(
        "--system",
        nargs="+",
        default=["graphmem"],
        metavar="NAME",
        help="graphmem (default), dense, bm25, hybrid",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")
    parser = _add(
        kinds,
        "put",
        _bench_put,
        "measure how long a flush takes, beside a plain fsync",
        "graphmem bench put --json put.json",
    )
    parser.add_argument("--flushes", type=int, default=100, metavar="N", help="how many (100)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")
