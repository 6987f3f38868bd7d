"""Commands on what a store holds: looking at it, forgetting, rulings. None needs a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, get_args

from graphmem.cli.opening import add_json, add_store, opened, scope_of
from graphmem.cli.parsing import (
    TIME_HELP,
    add_command,
    add_moments,
    day_end,
    day_start,
    positive,
)
from graphmem.cli.values import (
    ban_as_json,
    check_as_json,
    diff_as_json,
    entry_as_json,
    print_json,
    receipt_as_json,
    source_as_json,
)
from graphmem.display import wording
from graphmem.display.data import fact_as_dict, passage_as_dict
from graphmem.display.terminal import (
    complain,
    open_console,
    say,
    show_bans,
    show_candidates,
    show_check,
    show_diff,
    show_facts,
    show_log,
    show_passages,
    show_receipt,
    show_sources,
)
from graphmem.errors import Ambiguous, InvalidInput
from graphmem.types import LogKind, Receipt, Status

if TYPE_CHECKING:
    from graphmem.curating import Curating
    from graphmem.store import Store
    from graphmem.types import Scope

__all__ = ["AMBIGUOUS", "add_memory"]

AMBIGUOUS = 3
"""Exit code where words to forget by may mean several things, or more than was reckoned with."""


def add_memory(commands: Any) -> None:
    """Add the commands."""
    _add_passages(commands)
    _add_facts(commands)
    _add_log(commands)
    _add_diff(commands)
    _add_forget(commands)
    _add_unforget(commands)
    _add_bans(commands)
    _add_rulings(commands)


# -- passages ------------------------------------------------------------------------------------


def _add_passages(commands: Any) -> None:
    parser = add_command(
        commands,
        "passages",
        _passages,
        "list what was said to a store, in order, with the ids that other commands take",
        "graphmem passages --uri sqlite:///demo.db --scope Nell --session hello",
    )
    add_store(parser)
    parser.add_argument("--session", metavar="ID", help="only passages of this conversation")
    add_json(parser)


def _passages(options: argparse.Namespace) -> int:
    scope = scope_of(options)
    with closing(opened(options)) as store:
        found = store.passages(scope, session=options.session)
    if options.json:
        print_json({"scope": str(scope), "passages": list(map(passage_as_dict, found))})
    elif found:
        show_passages(open_console(), found)
    else:
        say(open_console(), "no such passages", style="dim")
    return 0 if found else 1


# -- facts ---------------------------------------------------------------------------------------


def _add_facts(commands: Any) -> None:
    parser = add_command(
        commands,
        "facts",
        _facts,
        "list the facts of a store, or show who said one of them, when and in which words",
        "graphmem facts --uri sqlite:///demo.db --scope Nell --subject 'Aunt Vera'",
        "",
        "# what held at a time, and what was believed at one",
        "graphmem facts --uri sqlite:///demo.db --scope Nell --as-of 2025-03-01",
        "",
        "# where a fact comes from, by the id that the list shows",
        "graphmem facts --uri sqlite:///demo.db --scope Nell --why f-0123456789abcdef",
    )
    add_store(parser)
    parser.add_argument("--subject", metavar="NAME", help="only facts about this one")
    parser.add_argument("--status", choices=get_args(Status), help="only facts of this status")
    add_moments(parser)
    parser.add_argument("--why", metavar="FACT_ID", help="show the sources of this fact")
    add_json(parser)


def _facts(options: argparse.Namespace) -> int:
    asked = {name: getattr(options, name) for name in ("subject", "status", "as_of", "known_at")}
    if options.why is not None and any(value is not None for value in asked.values()):
        raise InvalidInput(
            "--why is about one fact: leave out --subject and --status, --as-of and --known-at"
        )
    scope = scope_of(options)
    with closing(opened(options)) as store:
        if options.why is not None:
            return _show_why(store, scope, options)
        found = store.facts(scope, **asked)
    if options.json:
        print_json({"scope": str(scope), "facts": list(map(fact_as_dict, found))})
    elif found:
        is_past = options.as_of is not None
        show_facts(open_console(), wording.sorted_facts(found), is_past=is_past)
    else:
        say(open_console(), "no such facts", style="dim")
    return 0 if found else 1


def _show_why(store: Store, scope: Scope, options: argparse.Namespace) -> int:
    facts = list(store.by_id(scope, facts=[options.why])[1].values())
    sources = store.sources(scope, options.why)
    if options.json:
        shown = list(map(fact_as_dict, facts)), list(map(source_as_json, sources))
        print_json({"scope": str(scope), "facts": shown[0], "sources": shown[1]})
    else:
        console = open_console()
        show_facts(console, facts)
        show_sources(console, sources)
    return 0


# -- log -----------------------------------------------------------------------------------------


def _add_log(commands: Any) -> None:
    parser = add_command(
        commands,
        "log",
        _log,
        "list what was changed in a store, by whom and why, or check that the list is whole",
        "graphmem log --uri sqlite:///demo.db --scope Nell --since 2025-03-01 --kind fact",
        "",
        "# exit code 1 where an entry was changed, removed, inserted or moved",
        "graphmem log --uri sqlite:///demo.db --scope Nell --verify",
    )
    add_store(parser)
    parser.add_argument(
        "--since", type=day_start, metavar="TIME", help=f"from then on: {TIME_HELP}"
    )
    parser.add_argument("--until", type=day_end, metavar="TIME", help="up to then")
    parser.add_argument(
        "--kind", choices=get_args(LogKind), help="only changes of this kind of row"
    )
    parser.add_argument("--id", metavar="ID", help="only changes of this fact, passage …")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the newest N")
    parser.add_argument("--verify", action="store_true", help="check the log instead")
    parser.add_argument(
        "--noted", metavar="HEAD", help="with --verify: that it still holds this head, noted before"
    )
    add_json(parser)


def _log(options: argparse.Namespace) -> int:
    wanted = {name: getattr(options, name) for name in ("since", "until", "kind", "id", "limit")}
    if options.verify and any(value is not None for value in wanted.values()):
        raise InvalidInput("--verify checks the whole log: leave out what narrows it")
    if options.noted is not None and not options.verify:
        raise InvalidInput("--noted is for --verify")
    scope = scope_of(options)
    with closing(opened(options)) as store:
        if options.verify:
            return _verify(store, scope, options)
        entries = store.log(scope, **wanted)
    if options.json:
        print_json({"scope": str(scope), "entries": list(map(entry_as_json, entries))})
    elif entries:
        show_log(open_console(), entries)
    else:
        say(open_console(), "no such entries", style="dim")
    return 0 if entries else 1


def _verify(store: Store, scope: Scope, options: argparse.Namespace) -> int:
    check = store.verify_log(scope, noted=options.noted)
    if options.json:
        print_json({"scope": str(scope), **check_as_json(check)})
    else:
        is_other = not check.is_intact and store.verify_log(scope).is_intact
        show_check(open_console(), check, is_other=is_other)
    return 0 if check.is_intact else 1


# -- diff ----------------------------------------------------------------------------------------


def _add_diff(commands: Any) -> None:
    parser = add_command(
        commands,
        "diff",
        _diff,
        "show what a store came to believe, and ceased to, between two times",
        "graphmem diff --uri sqlite:///demo.db --scope Nell 2025-03-01",
        "",
        "# by the clock of the store: what was said long ago may have been stored today",
        "graphmem diff --uri sqlite:///demo.db --scope Nell 2025-03-01 2025-04-01",
    )
    parser.add_argument("start", type=day_start, metavar="FROM", help=TIME_HELP)
    parser.add_argument("end", type=day_end, metavar="TO", nargs="?", help="(default: now)")
    add_store(parser)
    add_json(parser)


def _diff(options: argparse.Namespace) -> int:
    scope = scope_of(options)
    with closing(opened(options)) as store, _kept(store, scope) as memory:
        diff = memory.diff(scope, options.start, options.end)
    if options.json:
        print_json({"scope": str(scope), **diff_as_json(diff)})
    else:
        show_diff(open_console(), diff)
    return 0 if diff.added or diff.ended or diff.changed or diff.forgotten else 1


# -- forget --------------------------------------------------------------------------------------


def _add_forget(commands: Any) -> None:
    parser = add_command(
        commands,
        "forget",
        _forget,
        "show what would be forgotten, and with --yes forget it",
        "graphmem forget 'that I live in Oslo' --uri sqlite:///demo.db --scope Nell",
        "",
        "# what the preview shows has ids",
        "graphmem forget --fact f-0123456789abcdef --uri sqlite:///demo.db --scope Nell --yes",
        "",
        f"# exit code 1 where nothing fits the words, {AMBIGUOUS} where several things do, or more",
        "# passages than --most would change",
    )
    parser.add_argument("words", metavar="WORDS", nargs="?", help="what a person would say")
    parser.add_argument("--fact", metavar="ID", help="a fact, whoever states it in whatever words")
    parser.add_argument("--passage", metavar="ID", help="a passage")
    parser.add_argument("--message", metavar="ID", help="a message, with all its passages")
    parser.add_argument("--entity", metavar="NAME", help="whatever names this one")
    parser.add_argument("--session", metavar="ID", help="a conversation")
    parser.add_argument("--everything", action="store_true", help="all of this memory")
    parser.add_argument("--yes", action="store_true", help="do it; without, nothing is changed")
    parser.add_argument(
        "--most", type=positive, default=10, metavar="N", help="passages that WORDS may change (10)"
    )
    _add_signature(parser)
    add_store(parser)
    add_json(parser)


def _forget(options: argparse.Namespace) -> int:
    named = ("fact", "passage", "message", "entity", "session", "everything")
    if len(_given(options, "words", *named)) != 1:
        raise InvalidInput(f"name exactly one of WORDS, {_options(named)}")
    scope = scope_of(options)
    target = {name: getattr(options, name) for name in named}
    with closing(opened(options)) as store, _kept(store, scope) as memory:
        try:
            receipt = memory.forget(
                scope,
                **target,
                query=options.words,
                preview=not options.yes,
                most=options.most,
                actor=options.actor,
                reason=options.reason,
            )
        except Ambiguous as error:
            receipt = Receipt(scope, candidates=error.candidates, unclear=str(error))
    return _show_receipt(receipt, options)


def _show_receipt(receipt: Receipt, options: argparse.Namespace) -> int:
    is_preview = not (receipt.forgotten or receipt.cut or receipt.facts or receipt.bans)
    if options.json:
        print_json(receipt_as_json(receipt))
    elif is_preview and not receipt.candidates:
        say(open_console(), "nothing stored is meant by that", style="dim")
    elif is_preview:
        show_candidates(open_console(), receipt)
        if not receipt.unclear:
            say(open_console(), "nothing was changed; with --yes it is forgotten", style="dim")
    else:
        show_receipt(open_console(), receipt)
    if not is_preview or (receipt.candidates and not receipt.unclear):
        return 0
    if receipt.candidates and not options.json:
        complain(receipt.unclear)
    return AMBIGUOUS if any(one.score >= 1 for one in receipt.candidates) else 1


# -- unforget ------------------------------------------------------------------------------------


def _add_unforget(commands: Any) -> None:
    parser = add_command(
        commands,
        "unforget",
        _unforget,
        "let something be stored again that was forgotten, or believed that was rejected",
        "graphmem unforget --ban b-0123456789abcdef --uri sqlite:///demo.db --scope Nell",
    )
    parser.add_argument("--ban", metavar="ID", help="a ban, as graphmem bans lists it")
    parser.add_argument("--fact", metavar="ID", help="a fact that was found wrong")
    parser.add_argument(
        "--triple", nargs=3, metavar=("SUBJECT", "PREDICATE", "OBJECT"), help="a forgotten fact"
    )
    parser.add_argument("--text", metavar="WORDS", help="a forgotten passage or sentence")
    parser.add_argument("--entity", metavar="NAME", help="a forgotten name")
    _add_signature(parser)
    add_store(parser)
    add_json(parser)


def _unforget(options: argparse.Namespace) -> int:
    named = ("ban", "fact", "triple", "text", "entity")
    if len(_given(options, *named)) != 1:
        raise InvalidInput(
            f"name exactly one of {_options(named)}: graphmem bans lists what there is"
        )
    scope = scope_of(options)
    fact = options.fact if options.triple is None else tuple(options.triple)
    target = {"ban": options.ban, "fact": fact, "text": options.text, "entity": options.entity}
    with closing(opened(options)) as store, _kept(store, scope) as memory:
        receipt = memory.unforget(scope, **target, actor=options.actor, reason=options.reason)
    if options.json:
        print_json(receipt_as_json(receipt))
    else:
        lifted = f"{len(receipt.bans)} bans" if len(receipt.bans) != 1 else "1 ban"
        say(open_console(), f"lifted {lifted}: {', '.join(receipt.bans)}")
    return 0


# -- bans ----------------------------------------------------------------------------------------


def _add_bans(commands: Any) -> None:
    parser = add_command(
        commands,
        "bans",
        _bans,
        "list what is not to be stored again: since when, by whom and why, but not what it is",
        "graphmem bans --uri sqlite:///demo.db --scope Nell",
    )
    add_store(parser)
    add_json(parser)


def _bans(options: argparse.Namespace) -> int:
    scope = scope_of(options)
    with closing(opened(options)) as store:
        found = store.bans(scope)
    if options.json:
        print_json({"scope": str(scope), "bans": list(map(ban_as_json, found))})
    elif found:
        show_bans(open_console(), found)
    else:
        say(open_console(), "nothing is banned", style="dim")
    return 0 if found else 1


# -- rulings -------------------------------------------------------------------------------------


def _add_rulings(commands: Any) -> None:
    abouts = {
        "reject": "rule that a fact is wrong: it is withheld, in whatever words it is stated",
        "verify": "rule that a fact is so: it is believed, whoever stated it",
        "dispute": "rule that a fact is in doubt: it is withheld until it is verified",
    }
    for name, about in abouts.items():
        where = "--uri sqlite:///demo.db --scope Nell --actor Nell"
        example = f"graphmem {name} f-0123456789abcdef {where}"
        parser = add_command(commands, name, _rule, about, example)
        parser.set_defaults(ruling=name)
        parser.add_argument("fact", metavar="FACT_ID", help="as graphmem facts lists it")
        _add_signature(parser)
        add_store(parser)
        add_json(parser)


def _rule(options: argparse.Namespace) -> int:
    scope = scope_of(options)
    with closing(opened(options)) as store, _kept(store, scope) as memory:
        rule = {"reject": memory.reject, "verify": memory.verify, "dispute": memory.dispute}
        receipt = rule[options.ruling](options.fact, actor=options.actor, reason=options.reason)
        ruled = store.by_id(scope, facts=receipt.facts)[1]
    if options.json:
        print_json(receipt_as_json(receipt))
    else:
        show_facts(open_console(), (ruled[id_] for id_ in receipt.facts if id_ in ruled))
    return 0


def _given(options: argparse.Namespace, *names: str) -> list[str]:
    """Those of the options that are set."""
    return [name for name in names if getattr(options, name) not in (None, False)]


def _options(names: Iterable[str]) -> str:
    return ", ".join(f"--{name}" for name in names)


def _add_signature(parser: Any) -> None:
    parser.add_argument("--actor", default="", metavar="NAME", help="who asks for it, for the log")
    parser.add_argument("--reason", default="", metavar="WHY", help="why, for the log")


@contextmanager
def _kept(store: Store, scope: Scope) -> Iterator[Curating]:
    """A store's memory without a model: what is to be read or embedded waits in its queue."""
    from graphmem.curating import Curating
    from graphmem.faults import Faults
    from graphmem.indexes import Indexes
    from graphmem.settings import RecallSettings

    faults = Faults()
    indexes = Indexes(store, RecallSettings(), faults)
    try:
        yield Curating(store, scope, faults, indexes, is_patient=True)
    finally:
        indexes.close()
