from __future__ import annotations

import subprocess
import sys

import pytest

from bench_parts import bench, write_chat, write_documents
from graphmem.experiments import variants_of


@pytest.fixture
def chat(tmp_path):
    return write_chat(tmp_path)


@pytest.fixture
def documents(tmp_path):
    return write_documents(tmp_path)


def test_pictures_are_drawn_of_recall_time_and_parts(chat, documents, tmp_path):
    out = tmp_path / "out"
    bench(
        [chat, documents],
        ["graphmem", "bm25"],
        variants=variants_of(ablated=["bridge", "walk"]),
        out=out,
        plots=True,
    )
    pictures = sorted(path.name for path in out.glob("*.png"))
    assert pictures == ["parts.png", "recall-by-k.png", "recall-by-time.png"]
    for name in pictures:
        data = (out / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        width, height = (int.from_bytes(data[place : place + 4], "big") for place in (16, 20))
        assert min(width, height) > 300
    assert {path.suffix for path in out.iterdir() if path.is_file()} == {".png", ".md", ".json"}


def test_without_matplotlib_the_fix_is_named_before_anything_runs(chat, tmp_path):
    command = ["bench", "recall", "--data", str(chat), "--out", str(tmp_path / "out"), "--plots"]
    code = f"""
import sys
sys.modules["matplotlib"] = None
from graphmem.cli import main
sys.exit(main({command!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'graphmem[explore]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
