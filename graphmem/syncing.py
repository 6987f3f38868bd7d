"""Making sure that what was written survives a power cut."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync"]


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk. Folders cannot wait on Windows."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
