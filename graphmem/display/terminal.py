"""Printing for people: recalls, facts and counts, to be read at 80 columns, on a terminal or piped.

Stored words are other people's: nothing in them may colour, move or hide what the terminal shows,
and none of it is read as markup.
"""

from __future__ import annotations

import codecs
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import get_args

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from graphmem.display import wording
from graphmem.display.plain import plain
from graphmem.explanation import Explanation
from graphmem.types import (
    Ban,
    Diff,
    Fact,
    LogCheck,
    LogEntry,
    Passage,
    Recall,
    Receipt,
    Source,
    Stats,
    Status,
)

__all__ = [
    "complain",
    "open_console",
    "say",
    "show_bans",
    "show_candidates",
    "show_check",
    "show_diff",
    "show_explanation",
    "show_facts",
    "show_log",
    "show_recall",
    "show_receipt",
    "show_sources",
    "show_stats",
]

_MAX_NAME = 12
_LEAST_BODY = 20
_STATUS_WIDTH = max(map(len, get_args(Status)))
_ACTION_WIDTH = len("supersede")
_KIND_WIDTH = len("sentence")
# By depth: what became of it, its score, paths and their words, the steps.
_EXPLAINED = ("bold", "", "cyan")
_FOR_NARROW_ENCODINGS = {"✓": "*", "→": "->", "·": "-", "…": "...", "—": "-", "\u2019": "'"}


class _Console(Console):
    """A console that leaves it to the command what a reader that has seen enough means."""

    def on_broken_pipe(self) -> None:
        """Say so, where rich would leave the process as if nothing had been found."""
        raise BrokenPipeError


def open_console(*, stderr: bool = False) -> Console:
    """A console that never fails on a character that the stream's encoding lacks."""
    codecs.register_error("graphmem.narrow", _spell)
    stream = sys.stderr if stderr else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="graphmem.narrow")
    return _Console(stderr=stderr, highlight=False, emoji=False, markup=False)


def say(console: Console, text: str, *, style: str = "") -> None:
    """Print a paragraph, wrapped, without trailing spaces."""
    _print_hanging(console, Text(), Text(text, style=style))


def complain(text: str) -> None:
    """Print what went wrong where errors go, on one line."""
    open_console(stderr=True).print(f"graphmem: {plain(text)}", style="red", soft_wrap=True)


def show_recall(console: Console, recall: Recall, *, gold: Collection[str] = ()) -> None:
    """Print a recall: its route, its passages with a mark on those in ``gold``, and its facts.

    Below a passage stands what it says that is no longer so, or was found wrong.

    Args:
        console: where to print.
        recall: what to print.
        gold: ids of the passages to mark with a tick.
    """
    say(console, wording.how(recall), style="dim")
    names = [plain(ranked.passage.speaker) for ranked in recall.passages]
    width = min(max(map(cell_len, names), default=0), _MAX_NAME)
    for ranked, name in zip(recall.passages, names, strict=True):
        is_gold = ranked.passage.id in gold
        head = Text.assemble(
            ("✓ " if is_gold else "  ", "bold green"),
            (f"{ranked.score:.3f} ", "bold" if is_gold else ""),
            (f"{wording.day(ranked.passage.said_at):10} {set_cell_size(name, width)} ", "dim"),
        )
        _print_hanging(console, head, Text(plain(ranked.passage.full_text)))
        for line in wording.outdated(ranked.outdated):
            _print_hanging(console, Text(" " * head.cell_len), Text(line, style="yellow"))
    label = "  facts on the way  "
    for fact in recall.statements:
        _print_hanging(console, Text(label, style="dim"), Text(wording.triple(fact), style="cyan"))
        label = " " * len(label)


def show_explanation(console: Console, explanation: Explanation) -> None:
    """Print why a passage was recalled, or why not: a step a line, the words behind them below."""
    console.print()
    for depth, line in explanation.lines():
        style = _EXPLAINED[depth]
        if depth == 0:
            style = "bold green" if explanation.is_recalled else "bold yellow"
        _print_hanging(console, Text("  " * depth), Text(line, style=style))


def show_facts(console: Console, facts: Iterable[Fact], *, is_past: bool = False) -> None:
    """Print facts: their status, what they say and when it holds, and below it their id.

    Args:
        console: where to print.
        facts: what to print.
        is_past: whether they held at another time, whatever replaced them since.
    """
    for fact in facts:
        is_so = fact.is_trusted if is_past else fact.is_live
        status = fact.status if is_past else wording.status(fact)
        head = Text(f"{status:{_STATUS_WIDTH}}  ", style="" if is_so else "yellow")
        body = Text.assemble((wording.triple(fact), "cyan"), (wording.validity(fact), "dim"))
        _print_hanging(console, head, body)
        _print_hanging(console, Text(" " * head.cell_len), Text(plain(fact.id), style="dim"))


def show_sources(console: Console, sources: Iterable[Source]) -> None:
    """Print where a fact comes from: who said it and when, the words, and what read them."""
    for source in sources:
        _print_hanging(console, Text("  "), Text(wording.who(source), style="bold"))
        _print_hanging(console, Text("    "), Text(plain(source.quote)))
        for line in wording.origin(source):
            _print_hanging(console, Text("    "), Text(line, style="dim"))


def show_passages(console: Console, passages: Iterable[Passage]) -> None:
    """Print passages: when, who, their words, and below them conversation and id."""
    for passage in passages:
        head = Text(f"{wording.day(passage.said_at):10}  ", style="dim")
        who = plain(passage.speaker or passage.title)
        words = Text.assemble((f"{who}: " if who else "", "bold"), plain(passage.text))
        _print_hanging(console, head, words)
        session = f"{plain(passage.session)} · " if passage.session else ""
        _print_hanging(console, Text(" " * 12), Text(session + plain(passage.id), style="dim"))


def show_log(console: Console, entries: Iterable[LogEntry]) -> None:
    """Print entries of a log: number, time, action, what changed, and below it who and why.

    What was embedded one after the other is counted in one line: it says nothing of its own.
    """
    for _, run in groupby(entries, lambda one: one.actor if one.action == "embed" else one.seq):
        entry, *more = run
        head = f"{entry.seq:>5}  {wording.local(entry.at)}  {plain(entry.action):{_ACTION_WIDTH}}  "
        change = _kinds([entry, *more]) if more else wording.change(entry)
        _print_hanging(console, Text(head, style="dim"), Text(change, style="cyan"))
        by = wording.by(entry.actor, entry.actor_kind, entry.reason)
        if by:
            _print_hanging(console, Text(" " * cell_len(head)), Text(by, style="dim"))


def show_check(console: Console, check: LogCheck, *, is_other: bool = False) -> None:
    """Print whether a log is what was written.

    Args:
        console: where to print.
        check: the result.
        is_other: whether nothing is wrong but that the log lacks the head that was noted.
    """
    style = "" if check.is_intact else "red"
    say(console, wording.verdict(check, is_other=is_other), style=style)
    if check.head:
        say(console, f"head {check.head}", style="dim")


def show_diff(console: Console, diff: Diff) -> None:
    """Print what was believed newly, no longer and otherwise."""
    for sign, facts, style in (("+", diff.added, "green"), ("-", diff.ended, "yellow")):
        for fact in wording.sorted_facts(facts):
            _print_hanging(console, Text(f"{sign} "), Text(wording.stated(fact), style=style))
    for before, after in diff.changed:
        _print_hanging(console, Text("~ "), Text(wording.stated(before), style="dim"))
        _print_hanging(console, Text("  "), Text(wording.stated(after), style="cyan"))
    if diff.forgotten:
        say(console, f"and {diff.forgotten:,} that were forgotten", style="dim")
    elif not (diff.added or diff.ended or diff.changed):
        say(console, "nothing changed", style="dim")


def show_candidates(console: Console, receipt: Receipt) -> None:
    """Print what would be forgotten, or may be meant, each with why and its id."""
    for one in receipt.candidates:
        head = Text(f"{one.kind:{_KIND_WIDTH}}  ", style="" if one.score >= 1 else "dim")
        _print_hanging(console, head, Text(plain(one.text), style="cyan"))
        why = Text(f"{plain(one.reason)} · {plain(one.id)}", style="dim")
        _print_hanging(console, Text(" " * head.cell_len), why)


def show_receipt(console: Console, receipt: Receipt) -> None:
    """Print what was forgotten, whether its words are gone, and where they may still be."""
    parts = (
        wording.counted("passage", len(receipt.forgotten)),
        wording.counted("passage", len(receipt.cut), " that lost sentences"),
        wording.counted("fact", len(receipt.facts)),
        wording.counted("ban", len(receipt.bans)),
    )
    say(console, f"forgotten: {', '.join(filter(None, parts))}")
    for line in receipt.deferred:
        say(console, f"not yet: {plain(line)}", style="yellow")
    for line in receipt.outside:
        say(console, f"out of reach: {plain(line)}", style="dim")


def show_bans(console: Console, bans: Iterable[Ban]) -> None:
    """Print what is not to be stored again: not its words, but since when, by whom and why."""
    for ban in bans:
        head = Text(f"{ban.kind:{_KIND_WIDTH}}  {ban.cause:6}  {wording.local(ban.at)}  ")
        _print_hanging(console, head, Text(plain(ban.id), style="cyan"))
        by = wording.by(ban.actor, ban.actor_kind, ban.reason)
        _print_hanging(console, Text(" " * head.cell_len), Text(by, style="dim"))


def show_stats(console: Console, stats: Stats, extra: Sequence[tuple[str, str]] = ()) -> None:
    """Print counts as a small table, rows that are zero by good fortune left out.

    Args:
        console: where to print.
        stats: the counts.
        extra: more rows (name, value) for the end of the table.
    """
    rows = [*wording.counts(stats), *extra]
    width = max(cell_len(name) for name, _ in rows)
    for name, value in rows:
        _print_hanging(console, Text(f"{name:{width}}  ", style="dim"), Text(plain(value)))


def _print_hanging(console: Console, head: Text, body: Text) -> None:
    """Print ``body`` wrapped to the right of ``head``, without trailing spaces."""
    indent = head.cell_len
    for line in body.wrap(console, max(console.width - indent, _LEAST_BODY)):
        line.rstrip()
        console.print(head + line, soft_wrap=True)
        head = Text(" " * indent)


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: the nearest ASCII spelling of the signs printed here, else ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_FOR_NARROW_ENCODINGS.get(char, "?") for char in lost), error.end


def _kinds(entries: Sequence[LogEntry]) -> str:
    counts = Counter(entry.kind for entry in entries)
    words = (wording.counted(plain(kind), count) for kind, count in sorted(counts.items()))
    return f"{', '.join(words)}, up to number {entries[-1].seq}"
