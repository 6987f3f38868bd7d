"""A process killed in the middle of its work loses nothing that it had acknowledged."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from builders import open_memory
from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from graphmem.types import Passage, Scope

# Puts small batches for ever and says which message is safe; extraction and embedding run beside.
PUTTER = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from test_kill import reading
from builders import open_memory
from graphmem.testing import ScriptedExtractor
memory = open_memory(Path({file!r}), extractor=ScriptedExtractor(reading))
for number in range({start}, 10**9, 3):
    texts = [f"note {{n}} about thing{{n}}" for n in range(number, number + 3)]
    memory.remember(texts, session=f"s{{number % 5}}")
    print(number + 2, flush=True)
"""


def reading(passage: Passage) -> list[tuple[str, str, str]]:
    """Three triples for each note: a passage has all of them or none."""
    number = passage.text.split()[1]
    return [(f"thing{number}", verb, f"note {number}") for verb in ("is", "has", "about")]


def test_twenty_kills_lose_no_acknowledged_message_and_leave_no_half_fact(tmp_path: Path) -> None:
    rng = random.Random(11)
    file = tmp_path / "m.db"
    acknowledged: set[int] = set()
    start = 0
    for _ in range(20):
        script = PUTTER.format(path=sys.path, file=str(file), start=start)
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout
            lines = [child.stdout.readline()]
            time.sleep(rng.uniform(0, 0.8))
            child.send_signal(signal.SIGKILL)
            lines += child.stdout
        assert lines[0], "the process ended before it had put anything"
        last = max(int(line) for line in lines if line.strip().isdigit())
        acknowledged.update(range(start, last + 1))
        start = last + 1
        check(file, acknowledged)
    with open_memory(file, extractor=None) as memory:
        assert memory.stats().facts > 0  # positive control: kills came while facts were written
    assert len(acknowledged) >= 60


def check(file: Path, acknowledged: set[int]) -> None:
    store = Store.open(f"sqlite:///{file}")
    try:
        scope = Scope("default")
        stored = {int(passage.text.split()[1]) for passage in store.passages(scope)}
        assert acknowledged <= stored
        by_passage: dict[str, int] = {}
        for fact in store.facts(scope):
            for passage_id in fact.passages:
                by_passage[passage_id] = by_passage.get(passage_id, 0) + 1
        assert set(by_passage.values()) <= {3}
        assert store.changes(scope, after=None).is_whole
    finally:
        store.close()


def test_what_was_killed_is_done_by_the_next_process(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    script = PUTTER.format(path=sys.path, file=str(file), start=0)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        for _ in range(10):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    with open_memory(file, extractor=ScriptedExtractor(reading)) as memory:
        assert memory.drain(60) == 0
        stats = memory.stats()
        assert (stats.pending, stats.unembedded) == (0, 0)
        assert stats.facts == 3 * stats.passages
        assert stats.passages >= 30
