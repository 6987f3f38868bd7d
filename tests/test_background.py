from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from graphmem.block.background import start, wait

ROOT = Path(__file__).parent.parent


async def test_a_result_and_an_error_come_back():
    assert await wait(start("read", lambda: 7)) == 7

    def broken() -> None:
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        await wait(start("write", broken))


async def test_a_cancelled_waiter_leaves_the_call_running():
    gate = threading.Event()
    running = start("write", gate.wait, 10)
    waiter = asyncio.create_task(wait(running))
    await asyncio.sleep(0.01)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert not running.done()
    gate.set()
    assert await wait(running) is True


async def test_an_impatient_waiter_leaves_it_running_too():
    gate = threading.Event()
    running = start("read", gate.wait, 10)
    with pytest.raises(TimeoutError, match=r"0\.01 seconds"):
        await wait(running, 0.01)
    gate.set()
    assert await wait(running, 10) is True


def test_a_loop_that_closed_meanwhile_does_no_harm():
    gate = threading.Event()
    running = start("read", gate.wait, 10)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await wait(running, 0.01)

    asyncio.run(give_up())
    gate.set()
    assert asyncio.run(wait(running)) is True


async def test_one_kind_of_work_does_not_hold_up_another():
    gate = threading.Event()
    busy = [start("drain", gate.wait, 10) for _ in range(40)]
    assert await wait(start("read", lambda: "read"), 5) == "read"
    assert await wait(start("write", lambda: "written"), 5) == "written"
    gate.set()
    for one in busy:
        await wait(one)


async def test_the_call_sees_the_callers_context():
    name = contextvars.ContextVar("name", default="nobody")
    name.set("ana")
    assert await wait(start("read", name.get)) == "ana"


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        # Work that is under way when the program ends is finished.
        ("start('write', lambda: (time.sleep(0.2), print('done')))", "done"),
        # When no thread can be started any more, the call runs where it stands.
        ("atexit.register(lambda: print(start('write', lambda: 'late').result()))", "late"),
        # A child has no threads of its parent's.
        (
            "start('read', int).result()\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    print(start('read', lambda: 'child').result(5), flush=True)\n"
            "    os._exit(0)\n"
            "os.waitpid(child, 0)",
            "child",
        ),
    ],
    ids=["end", "after the end", "fork"],
)
def test_at_the_edges_of_a_process(code: str, printed: str):
    head = "import atexit, os, time\nfrom graphmem.block.background import start\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == (printed, "", 0)
