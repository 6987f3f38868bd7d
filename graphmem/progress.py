"""Progress on the terminal, for work that takes longer than a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Steps", "progress_bar", "progress_steps", "spinner"]

Advance = Callable[[int, int], None]


@contextmanager
def progress_bar(description: str) -> Iterator[Advance]:
    """A bar on standard error, where that is a terminal; yields a function of (done, total)."""
    with _bars() as progress:
        task = progress.add_task(description, total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield advance


@contextmanager
def progress_steps(description: str, total: int) -> Iterator[Steps]:
    """Two bars on standard error: all steps, and the one under way.

    Where that is no terminal, a line for each finished step instead; in a notebook nothing.
    """
    with _bars() as progress:
        yield Steps(progress, description, total)


class Steps:
    """What ``progress_steps`` shows, told by whoever does the work.

    Args:
        progress: where to show it.
        description: of all steps together.
        total: how many there are.
    """

    def __init__(self, progress: Progress, description: str, total: int) -> None:
        self._progress = progress
        self._all = progress.add_task(description, total=total)
        self._one = progress.add_task("", total=None)

    def begin(self, description: str) -> Advance:
        """Show another thing being done; returns a function of (done, total) of it."""
        self._progress.reset(self._one, description=description, total=None)

        def advance(done: int, total: int) -> None:
            self._progress.update(self._one, completed=done, total=total)

        return advance

    def finish(self, line: str = "") -> None:
        """A step is done; the line says which and how it went, where no bar can."""
        self._progress.advance(self._all)
        console = self._progress.console
        if line and self._progress.disable and not console.is_jupyter:
            console.print(line, soft_wrap=True, markup=False, highlight=False)


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)


@contextmanager
def spinner(description: str) -> Iterator[None]:
    """A moving sign on standard error, where that is a terminal, for work of unknown length."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(description):
            yield
    else:
        yield
