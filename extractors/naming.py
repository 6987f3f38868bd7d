"""Names of models, as they are kept with facts and in results."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

__all__ = ["model_name"]


def model_name(model: str) -> str:
    """The model's name, of a whole path its last part.

    llama.cpp's server lists a model by the path of its file: where that lies is the machine's
    business, and the same model elsewhere is the same model.
    """
    is_path = PurePosixPath(model).is_absolute() or PureWindowsPath(model).is_absolute()
    return PureWindowsPath(model).name or model if is_path else model
