"""Fresh processes to measure in: nothing is left in them from before, and one thread computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from graphmem.errors import GraphMemError

__all__ = ["fresh"]

# Read when the libraries are loaded (OpenMP for FAISS, and what numpy may be built with), so they
# must be set before the process starts.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
_CODE = """
import json, sys
from {module} import {name} as call
print(json.dumps(call(**json.loads(sys.argv[1]))))
"""


def fresh(call: Callable[..., Any], **arguments: Any) -> tuple[Any, float]:
    """Run a function of a module in another process; what goes in and comes out is JSON.

    Returns:
        Its result, and the seconds from the start of the process to its end.

    Raises:
        GraphMemError: it failed; what it said is on standard error.
    """
    code = _CODE.format(module=call.__module__, name=call.__name__)
    paths = os.pathsep.join(filter(None, sys.path))
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
        env=os.environ | _ONE_THREAD | {"PYTHONPATH": paths},
    )
    spent = time.perf_counter() - start
    if done.returncode:
        raise GraphMemError(
            f"the measuring process ended with code {done.returncode}: why stands above"
        )
    return json.loads(done.stdout.splitlines()[-1]), spent
