"""Printing for people: recalls, facts and counts, to be read at 80 columns, on a terminal or piped.

Stored words are other people's: nothing in them may colour, move or hide what the terminal shows,
and none of it is read as markup.
"""

from __future__ import annotations

import codecs
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import get_args

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from graphmem.types import Fact, Passage, Recall, Source, Stats, Status

__all__ = [
    "open_console",
    "plain",
    "say",
    "show_facts",
    "show_recall",
    "show_sources",
    "show_stats",
]

# A zero-width (non-)joiner is spelling in some scripts and inside emoji; it moves nothing.
_HARMLESS_FORMAT = "\u200c\u200d\u00ad"
_MAX_NAME = 12
_LEAST_BODY = 20
_STATUS_WIDTH = max(map(len, get_args(Status)))
_FOR_NARROW_ENCODINGS = {"✓": "*", "→": "->", "·": "-", "…": "...", "—": "-", "\u2019": "'"}


def open_console(*, stderr: bool = False) -> Console:
    """A console that never fails on a character that the stream's encoding lacks."""
    codecs.register_error("graphmem.narrow", _spell)
    stream = sys.stderr if stderr else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="graphmem.narrow")
    return Console(stderr=stderr, highlight=False, emoji=False, markup=False)


def plain(text: str) -> str:
    """The text on one line, with every character that could steer a terminal made visible.

    White space of any kind becomes one space; control characters, direction overrides, other
    invisible format characters and lone surrogates become U+FFFD.
    """
    return "".join(_visible(char) for char in " ".join(text.split()))


def say(console: Console, text: str, *, style: str = "") -> None:
    """Print a paragraph, wrapped, without trailing spaces."""
    _print_hanging(console, Text(), Text(text, style=style))


def show_recall(console: Console, recall: Recall, *, gold: Collection[str] = ()) -> None:
    """Print a recall: its route, its passages with a mark on those in ``gold``, and its facts.

    Args:
        console: where to print.
        recall: what to print.
        gold: ids of the passages to mark with a tick.
    """
    say(console, _how(recall), style="dim")
    names = [plain(ranked.passage.speaker) for ranked in recall.passages]
    width = min(max(map(cell_len, names), default=0), _MAX_NAME)
    for ranked, name in zip(recall.passages, names, strict=True):
        is_gold = ranked.passage.id in gold
        head = Text.assemble(
            ("✓ " if is_gold else "  ", "bold green"),
            (f"{ranked.score:.3f} ", "bold" if is_gold else ""),
            (f"{_date(ranked.passage):10} {set_cell_size(name, width)} ", "dim"),
        )
        _print_hanging(console, head, Text(plain(ranked.passage.full_text)))
    label = "  facts on the way  "
    for fact in recall.statements:
        _print_hanging(console, Text(label, style="dim"), Text(_fact(fact), style="cyan"))
        label = " " * len(label)


def show_facts(console: Console, facts: Iterable[Fact]) -> None:
    """Print facts: their status, what they say and when it holds, and below it their id."""
    for fact in facts:
        status = "replaced" if fact.replaced_by else fact.status
        head = Text(f"{status:{_STATUS_WIDTH}}  ", style="" if fact.is_live else "yellow")
        body = Text.assemble((_fact(fact), "cyan"), (_validity(fact), "dim"))
        _print_hanging(console, head, body)
        _print_hanging(console, Text(" " * head.cell_len), Text(plain(fact.id), style="dim"))


def show_sources(console: Console, sources: Iterable[Source]) -> None:
    """Print where a fact comes from: who said it and when, the words, and what read them."""
    for source in sources:
        _print_hanging(console, Text("  "), Text(_who(source), style="bold"))
        _print_hanging(console, Text("    "), Text(plain(source.quote)))
        for line in _origin(source):
            _print_hanging(console, Text("    "), Text(line, style="dim"))


def show_stats(console: Console, stats: Stats, extra: Sequence[tuple[str, str]] = ()) -> None:
    """Print counts as a small table, rows that are zero by good fortune left out.

    Args:
        console: where to print.
        stats: the counts.
        extra: more rows (name, value) for the end of the table.
    """
    rows = [*_counts(stats), *extra]
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


def _visible(char: str) -> str:
    if unicodedata.category(char) in ("Cc", "Cs", "Cf") and char not in _HARMLESS_FORMAT:
        return "\ufffd"
    return char


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: the nearest ASCII spelling of the signs printed here, else ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_FOR_NARROW_ENCODINGS.get(char, "?") for char in lost), error.end


def _how(recall: Recall) -> str:
    how = f"{recall.route} route · {_time(recall.timings)}"
    return how if recall.route == "graph" else f"{how} · {plain(recall.reason)}"


def _time(timings: Mapping[str, float]) -> str:
    total = timings.get("total", sum(timings.values()))
    return f"{total:.1f} ms ({timings.get('embed', 0.0):.1f} to embed the question)"


def _date(passage: Passage) -> str:
    return f"{passage.said_at:%Y-%m-%d}" if passage.said_at else ""


def _fact(fact: Fact) -> str:
    predicate = fact.predicate if fact.polarity else f"not: {fact.predicate}"
    return " → ".join(plain(part) for part in (fact.subject, predicate, fact.object))


def _validity(fact: Fact) -> str:
    ends = (("since", fact.valid_from), ("until", fact.valid_to))
    return "".join(f" · {name} {plain(value)}" for name, value in ends if value)


def _who(source: Source) -> str:
    who = f"{plain(source.speaker)} ({source.role})" if source.speaker else source.role
    session = f" · session {plain(source.session)}" if source.session else ""
    times = ", ".join(at.isoformat(" ") for at in source.said_at) or "time unknown"
    return f"{who}{session} · {times}"


def _origin(source: Source) -> list[str]:
    lines = [
        f"read by {plain(source.extractor)} on {source.recorded_at.isoformat(' ', 'seconds')}",
        f"passage {plain(source.passage_id)}",
        f"message {plain(source.message_id)}",
    ]
    if source.claimed_by:
        lines.insert(0, f"claimed by {plain(source.claimed_by)}")
    if not source.grounded:
        lines.insert(0, "these words do not name both ends")
    return lines


def _counts(stats: Stats) -> list[tuple[str, str]]:
    always = [
        ("messages", stats.messages),
        ("passages", stats.passages),
        ("facts", stats.facts),
        ("entities", stats.entities),
        ("pending", stats.pending),
    ]
    sometimes = [
        ("facts withheld", stats.withheld),
        ("failed, will be retried", stats.failed),
        ("without a vector yet", stats.unembedded),
        ("in memory, disk refused", stats.spilled),
    ]
    rows = [*always, *((name, count) for name, count in sometimes if count)]
    lines = [(name, f"{count:,}") for name, count in rows]
    if stats.last_error:
        lines.append(("last error", stats.last_error))
    return lines
