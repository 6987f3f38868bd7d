"""Commands and their options: parsing and exit codes; the work is done elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graphmem import __version__
from graphmem.cli.bench import add_bench
from graphmem.cli.graph import add_graph
from graphmem.cli.memory import AMBIGUOUS, add_memory
from graphmem.cli.model import add_model, extractor_of
from graphmem.cli.opening import add_json, add_store, must_hold, scope_of
from graphmem.cli.parsing import Command, add_command, add_moments
from graphmem.cli.values import print_json, recall_as_json
from graphmem.display.terminal import (
    complain,
    open_console,
    show_explanation,
    show_recall,
    show_stats,
)
from graphmem.errors import GraphMemError, InvalidInput

if TYPE_CHECKING:
    from graphmem.demo import Answer

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; ``arguments`` default to the process's own."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except GraphMemError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        open_console(stderr=True).print("graphmem: stopped")
        return 130
    except BrokenPipeError:
        # The reader (a pager, head) has seen enough; keep the interpreter's last flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _demo(options: argparse.Namespace) -> int:
    from graphmem.demo import run

    extractor = None if options.offline else extractor_of(options)
    console = open_console()
    console.quiet = options.json
    answers = run(console, uri=options.uri, extractor=extractor)
    if options.json:
        print_json({"questions": list(map(_answer_as_json, answers))})
    return 0


def _answer_as_json(answer: Answer) -> dict[str, Any]:
    return {
        "hops": answer.question.hops,
        "needed": sorted(answer.gold),
        "share": answer.share,
        "recall": recall_as_json(answer.recall),
    }


def _recall(options: argparse.Namespace) -> int:
    from graphmem.memory import GraphMemory
    from graphmem.progress import spinner

    must_hold(options.uri, scope_of(options))
    asked = {name: getattr(options, name) for name in ("top_k", "session", "as_of", "known_at")}
    explained = []
    with (
        spinner("opening and asking"),
        GraphMemory.open(options.uri, scope=scope_of(options)) as memory,
    ):
        found = memory.recall(options.question, **asked)
        shown = [one.passage.id for one in found] if options.explain else []
        for passage_id in dict.fromkeys([*shown, *options.why_not]):
            explained.append(memory.explain(options.question, passage_id, **asked))
    if options.json:
        is_asked = options.explain or options.why_not
        print_json(recall_as_json(found, explained if is_asked else None))
    else:
        console = open_console()
        show_recall(console, found)
        for one in explained:
            show_explanation(console, one)
    is_known = all(one.outcome != "not in this scope" for one in explained)
    return 0 if found.passages and is_known else 1


def _stats(options: argparse.Namespace) -> int:
    from graphmem.store import Store

    if options.agent and not options.scope:
        raise InvalidInput("--agent is an agent of one user: name the user with --scope")
    scope = scope_of(options) if options.scope else None
    must_hold(options.uri, scope)
    with closing(Store.open(options.uri)) as store:
        counts = store.stats(scope)
    if options.json:
        print_json(asdict(counts))
    else:
        show_stats(open_console(), counts)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphmem",
        description="Long-term memory for LlamaIndex agents that thinks in a knowledge graph.",
        epilog="exit codes: 0 done or found; 1 nothing found, or a check failed; 2 wrong use or an "
        f"error; {AMBIGUOUS} words to forget by may mean several things; 130 stopped",
    )
    parser.add_argument("--version", action="version", version=f"graphmem {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_recall(commands)
    add_memory(commands)
    add_graph(commands)
    _add_stats(commands)
    add_bench(commands)
    return parser


def _add_demo(commands: Any) -> None:
    parser = add_command(
        commands,
        "demo",
        _demo,
        "play a conversation of half a year into a memory and ask it questions",
        "graphmem demo --uri sqlite:///demo.db",
    )
    parser.add_argument("--uri", help="keep the memory in this store (default: a temporary one)")
    model = add_model(
        parser,
        "reading facts with a model",
        "Given a server or a model, here or by OPENAI_API_KEY or OPENAI_BASE_URL, that\n"
        "model (OpenAI-compatible) reads the facts; otherwise offline English rules do.",
    )
    model.add_argument("--offline", action="store_true", help="use the rules, whatever is set")
    add_json(parser)


def _add_recall(commands: Any) -> None:
    parser = add_command(
        commands,
        "recall",
        _recall,
        "print the passages of a store that answer a question",
        "graphmem recall 'Where does Aunt Vera live?' --uri sqlite:///demo.db --scope Nell",
        "",
        "# by what held at a time",
        "graphmem recall 'Where does Vera live?' --uri demo.db --scope Nell --as-of 2025-04-01",
        "",
        "# why these passages, and why not that one",
        "graphmem recall 'Where does Vera live?' --uri demo.db --scope Nell --explain",
        "graphmem recall 'Where does Vera live?' --uri m.db --scope Nell --why-not p-0123456789ab",
    )
    parser.add_argument("question", metavar="QUESTION")
    add_store(parser)
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="at most this many (5)")
    parser.add_argument("--session", metavar="ID", help="only passages of this conversation")
    add_moments(parser)
    parser.add_argument(
        "--explain", action="store_true", help="say of each passage what brought it up"
    )
    parser.add_argument(
        "--why-not",
        action="append",
        default=[],
        metavar="PASSAGE_ID",
        help="say why this passage was not found (may be given several times)",
    )
    add_json(parser)


def _add_stats(commands: Any) -> None:
    parser = add_command(
        commands,
        "stats",
        _stats,
        "count what a store holds and what still waits to be read",
        "graphmem stats --uri sqlite:///demo.db",
    )
    add_store(parser, is_scope_required=False)
    add_json(parser)
