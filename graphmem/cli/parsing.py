"""What the commands' parsers have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

__all__ = ["Command", "add_command", "positive"]

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


def positive(text: str) -> int:
    """A whole number, at least 1.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)
