"""The block without a loop, in several loops, in threads, and at the end of a process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from block_parts import (
    Script,
    SlowEmbedder,
    flushing,
    host,
    open_block,
    runs_agents,
    said,
    texts,
)
from builders import until
from graphmem import courtesy, worker
from graphmem.courtesy import served_first
from graphmem.testing import ScriptedExtractor

pytestmark = runs_agents

PLACES = ("Oslo", "Ghent", "Brno", "Porto", "Lisbon")


def told_so_far(memory) -> str:
    return "".join(message.content or "" for message in memory.get())


def fill(memory) -> None:
    for place in PLACES:
        memory.put(said(f"Maja moved to {place}."))
        memory.put(said("Noted.", "assistant"))
    memory.put(said("Where did Maja move?"))


def test_the_hosts_sync_calls_work_outside_a_loop(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    memory = flushing(block)
    fill(memory)
    assert block.drain(30) == 0
    assert f"Maja moved to {PLACES[0]}." in texts(block)
    memory.reset()
    assert "Maja" in told_so_far(with_question(block))
    block.close()


def with_question(block):
    memory = host(block, session="asking")
    memory.put(said("Where did Maja move?"))
    return memory


def test_the_hosts_sync_calls_work_inside_a_loop(tmp_path: Path):
    block = open_block(tmp_path / "m.db")

    async def main() -> str:
        fill(flushing(block))
        block.drain(30)
        return told_so_far(with_question(block))

    assert "Maja moved to" in asyncio.run(main())
    block.close()


def test_a_sync_call_inside_a_loop_with_a_recall_and_a_write_under_way(tmp_path: Path):
    slow = SlowEmbedder()
    block = open_block(tmp_path / "m.db", embed_model=slow)
    block.remember("Maja moved to Oslo.")
    assert block.drain(30) == 0

    async def main() -> tuple[str, str]:
        question = [said("Where did Maja move?")]
        first = asyncio.create_task(block.aget(question, session_id="asking"))
        await asyncio.to_thread(slow.entered.wait, 10)
        writing = asyncio.create_task(block.aput([said("Tomo moved to Porto.")], True, "s"))
        threading.Timer(0.2, slow.gate.set).start()
        # Blocks this loop; the recall that it waits for belongs to a task of this loop.
        second = told_so_far(with_question(block))
        await writing
        return await first, second

    first, second = asyncio.run(main())
    assert "Oslo" in first
    assert first in second
    assert "Tomo moved to Porto." in texts(block)
    block.close()


def test_one_block_in_several_loops_one_after_the_other(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    for place in PLACES:
        asyncio.run(block.aput([said(f"Maja moved to {place}.")], True, "s"))
        assert asyncio.run(block.adrain(30)) == 0
        found = asyncio.run(block.aget([said(f"Did Maja move to {place}?")], session_id="s"))
        assert place in found
    assert block.stats().faults == {}
    block.close()


def test_one_block_in_many_threads_with_a_loop_each(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        async def main() -> None:
            memory = flushing(block, session=f"s{number}")
            script = Script()
            for place in PLACES:
                await script.agent().run(f"Maja {number} moved to {place}.", memory=memory)

        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)
    for number in range(4):
        assert f"Maja {number} moved to Oslo." in texts(block, f"s{number}")
    assert block.stats().faults == {}
    block.close()


def test_a_block_made_in_a_plain_thread_works_there_and_elsewhere(tmp_path: Path):
    made = []

    def work() -> None:
        block = open_block(tmp_path / "m.db")
        block.remember("Maja moved to Oslo.")
        made.append(block)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    (block,) = made
    assert block.drain(30) == 0
    assert "Oslo" in asyncio.run(block.aget([said("Where did Maja move?")], session_id="s"))
    block.close()


def test_a_closed_block_opens_again_when_it_is_used(tmp_path: Path):
    block = open_block(tmp_path / "m.db")
    block.remember("Maja moved to Oslo.")
    block.close()
    block.close()
    asyncio.run(block.aput([said("Tomo moved to Porto.")], True, "s"))
    assert texts(block) == ["Maja moved to Oslo.", "Tomo moved to Porto."]
    block.close()


SCRIPT = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from block_parts import Script, host, open_block, said

async def main():
    block = open_block(Path({path!r}))
    {act}

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (
            'await block.aput([said("Maja moved to Oslo.")], True, "s1")\n'
            '    asyncio.create_task(block.aput([said("Not waited for.")], True, "s1"))\n'
            "    await asyncio.sleep(0)",
            2,
        ),
        (
            "memory = host(block)\n"
            '    for place in ("Oslo", "Ghent", "Brno"):\n'
            '        await Script().agent().run(f"Maja moved to {place}.", memory=memory)\n'
            "    await block.aremember(memory)",
            4,
        ),
    ],
    ids=["put", "end of a short chat"],
)
def test_a_process_that_ends_right_after_a_put_has_stored_it(tmp_path: Path, act, expected):
    root = Path(__file__).parent
    script = SCRIPT.format(tests=str(root), path=str(tmp_path / "m.db"), act=act)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(root.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    block = open_block(tmp_path / "m.db")
    assert len(texts(block, "s1")) == expected
    # What the process left undone is done now.
    assert block.drain(30) == 0
    found = asyncio.run(block.aget([said("Where did Maja move?")], session_id="new"))
    assert "Maja moved to Oslo." in found
    block.close()


def test_what_a_put_gives_to_do_waits_until_it_is_over(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(courtesy, "_MOST_SECONDS", 30.0)
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.0)
    is_read = threading.Event()
    extractor = ScriptedExtractor(lambda _: is_read.set() or ())
    block = open_block(tmp_path / "m.db", extractor=extractor)
    # Whoever looks for work just then has not waited, and takes what comes.
    assert until(lambda: not block.memory._worker._slots)
    with served_first():
        block.remember("Maja moved to Oslo.")
        assert not is_read.wait(0.05), "somebody still waits"
    assert is_read.wait(30)
    block.close()


def test_a_put_comes_before_what_goes_on_behind_the_scenes(tmp_path: Path):
    block = open_block(tmp_path / "m.db")

    async def putting() -> list[int]:
        put = asyncio.create_task(block.aput([said("Maja moved to Oslo.")]))
        await asyncio.sleep(0)
        served = [courtesy._served]
        await put
        return [*served, courtesy._served]

    assert asyncio.run(putting()) == [1, 0]
    block.close()
