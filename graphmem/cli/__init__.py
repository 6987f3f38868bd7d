"""The console command ``graphmem``.

Exit codes: 0 done, 1 nothing found or a committed result that no longer holds, 2 wrong use or an
error of graphmem's, 130 interrupted.
"""

from graphmem.cli.command import main

__all__ = ["main"]
