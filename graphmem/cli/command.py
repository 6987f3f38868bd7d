"""Commands and their options: parsing and exit codes; the work is done elsewhere."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from graphmem import __version__
from graphmem.cli.bench import add_bench
from graphmem.cli.model import add_model, extractor_of
from graphmem.cli.parsing import Command, add_command
from graphmem.errors import GraphMemError, InvalidInput, NotFound
from graphmem.terminal import (
    open_console,
    plain,
    say,
    show_facts,
    show_recall,
    show_sources,
    show_stats,
)
from graphmem.types import Status

if TYPE_CHECKING:
    from graphmem.store import Store
    from graphmem.types import Fact, RankedPassage, Recall, Scope, Source

__all__ = ["main"]

_URI_HELP = "the store: sqlite:///memory.db, or a plain path"
_SCOPES_SHOWN = 5


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
        open_console(stderr=True).print("graphmem: stopped")
        return 130
    except BrokenPipeError:
        # The reader (a pager, head) has seen enough; keep the interpreter's last flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _demo(options: argparse.Namespace) -> int:
    from graphmem.demo import run

    extractor = None if options.offline else extractor_of(options)
    run(open_console(), uri=options.uri, extractor=extractor)
    return 0


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


def _facts(options: argparse.Namespace) -> int:
    from graphmem.store import Store

    if options.why is not None and (options.subject, options.status) != (None, None):
        raise InvalidInput("--why is about one fact: leave out --subject and --status")
    scope = _scope(options)
    _must_hold(options.uri, scope)
    with closing(Store.open(options.uri)) as store:
        if options.why is not None:
            return _show_why(store, scope, options)
        found = store.facts(scope, subject=options.subject, status=options.status)
    if options.json:
        _print_json({"scope": str(scope), "facts": list(map(_fact_as_json, found))})
    elif found:
        show_facts(open_console(), found)
    else:
        say(open_console(), "no such facts", style="dim")
    return 0 if found else 1


def _show_why(store: Store, scope: Scope, options: argparse.Namespace) -> int:
    facts = list(store.by_id(scope, facts=[options.why])[1].values())
    sources = store.sources(scope, options.why)
    if options.json:
        shown = list(map(_fact_as_json, facts)), list(map(_source_as_json, sources))
        _print_json({"scope": str(scope), "facts": shown[0], "sources": shown[1]})
    else:
        console = open_console()
        show_facts(console, facts)
        show_sources(console, sources)
    return 0


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
        "recorded_at": fact.recorded_at and fact.recorded_at.isoformat(),
        "retired_at": fact.retired_at and fact.retired_at.isoformat(),
        "status": fact.status,
        "replaced_by": fact.replaced_by,
        "passages": list(fact.passages),
    }


def _source_as_json(source: Source) -> dict[str, Any]:
    return {
        **asdict(source),
        "said_at": [at.isoformat() for at in source.said_at],
        "recorded_at": source.recorded_at.isoformat(),
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
    _add_facts(commands)
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


def _add_recall(commands: Any) -> None:
    parser = add_command(
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


def _add_facts(commands: Any) -> None:
    parser = add_command(
        commands,
        "facts",
        _facts,
        "list the facts of a store, or show who said one of them, when and in which words",
        "graphmem facts --uri sqlite:///demo.db --scope Nell --subject 'Aunt Vera'",
        "",
        "# where a fact comes from, by the id that the list shows",
        "graphmem facts --uri sqlite:///demo.db --scope Nell --why f-0123456789abcdef",
    )
    _add_store(parser, is_scope_required=True)
    parser.add_argument("--subject", metavar="NAME", help="only facts about this one")
    parser.add_argument("--status", choices=get_args(Status), help="only facts of this status")
    parser.add_argument("--why", metavar="FACT_ID", help="show the sources of this fact")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_stats(commands: Any) -> None:
    parser = add_command(
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
