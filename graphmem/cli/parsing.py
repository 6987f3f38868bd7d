"""What the commands' parsers have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from graphmem.times import span

__all__ = [
    "TIME_HELP",
    "Command",
    "add_command",
    "add_moments",
    "day_end",
    "day_start",
    "positive",
]

TIME_HELP = "a day or a time (2025-03-01, 2025-03-01T18:00+01:00); here where it names no zone"

_ELSEWHERE = timezone(timedelta(hours=1))

Command = Callable[[argparse.Namespace], int]
"""What runs a command with its options, and returns the exit code."""


def add_command(
    commands: Any, name: str, command: Command | None, about: str, *examples: str
) -> argparse.ArgumentParser:
    """Add a command with its help; the first example is how it is mostly used."""
    shown = "\n".join(f"  {line}".rstrip() for line in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=f"example:\n{shown}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if command is not None:
        parser.set_defaults(command=command)
    return parser


def add_moments(parser: Any) -> None:
    """Add the options ``--as-of`` and ``--known-at``."""
    parser.add_argument(
        "--as-of",
        type=day_end,
        metavar="TIME",
        help=f"only what held in the world then: {TIME_HELP}",
    )
    parser.add_argument(
        "--known-at",
        type=day_end,
        metavar="TIME",
        help="what the store believed then, by the clock of what was stored and read when",
    )


def positive(text: str) -> int:
    """A whole number, at least 1.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


def day_start(text: str) -> datetime:
    """A time; of a day, a month or a year that begins then, its first moment.

    Raises:
        ArgumentTypeError: it is none.
    """
    return _moments(text)[0]


def day_end(text: str) -> datetime:
    """A time; of a day, a month or a year that ends then, its last moment.

    Raises:
        ArgumentTypeError: it is none.
    """
    return _moments(text)[1]


def _moments(text: str) -> tuple[datetime, datetime]:
    found = span(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"must be a day or a time such as 2025-03-01 or 2025-03-01T18:00, not {text!r}"
        )
    if found == span(text, _ELSEWHERE):
        return found  # it names its zone
    first, last = (one.replace(tzinfo=None) for one in found)
    try:
        return first.astimezone(), last.astimezone()  # here, by the clock of that day
    except (OverflowError, ValueError, OSError) as error:
        raise argparse.ArgumentTypeError(f"is out of range: {text!r}") from error
