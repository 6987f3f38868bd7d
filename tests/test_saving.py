"""Snapshots on disk: whole or not there, whatever happens to the file, the process or the disk."""

from __future__ import annotations

import logging
import os
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.errors import InvalidInput, StoreCorrupt
from graphmem.index import container, saving
from graphmem.index.columns import resident
from graphmem.index.saving import Home, Loaded, Refused, Segment, Source, sweep
from graphmem.types import Scope
from saving_parts import ARRAYS, SOURCE, filled, load, new_home, new_segment, save


def loaded(home: Home) -> Loaded:
    found = load(home)
    assert isinstance(found, Loaded), found
    return found


def why(home: Home, source: Source = SOURCE) -> str:
    found = load(home, source)
    assert isinstance(found, Refused)
    return found.why


def container_of(home: Home) -> Path:
    (path,) = home.folder.glob("*.arrays")
    return path


def files(home: Home) -> list[str]:
    return sorted(path.name for path in home.folder.iterdir())


def must_equal(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("<"), name
        np.testing.assert_array_equal(found[name], array, strict=False)
        assert found[name].shape == array.shape


def run(code: str, *args: object) -> subprocess.Popen[str]:
    setup = f"import sys\nsys.path[:0] = {sys.path!r}\nimport os\nfrom saving_parts import *\n"
    command = [sys.executable, "-B", "-c", setup + code, *map(str, args)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


# --- what is saved is what is loaded -------------------------------------------------------------


def test_arrays_of_every_kind_come_back_read_only_and_aligned(tmp_path):
    rng = np.random.default_rng(1)
    kinds = "?,i1,u1,<i2,<u2,<i4,<u4,<i8,<u8,<f2,<f4,<f8,S34,>i4,>f8".split(",")
    arrays = {kind: rng.integers(0, 2, 7).astype(kind) for kind in kinds}
    arrays |= {
        "none": np.zeros(0, np.int32),
        "no rows": np.zeros((0, 384), np.float32),
        "no columns": np.zeros((5, 0), np.uint8),
        "scalar": np.array(7),
        "rows": rng.random((9, 5)),
        "turned": np.asfortranarray(rng.random((6, 4))),
        "every other": np.arange(20)[::-2],
        "not a number": np.array([np.nan, np.inf, -0.0]),
        "ünïcode 名": np.arange(3),
    }
    home = new_home(tmp_path)
    assert save(home, 12, arrays)
    found = loaded(home)
    assert (found.seq, found.segments) == (12, ())
    must_equal(found.arrays, arrays)
    assert resident(*found.arrays.values()) == 0
    for array in found.arrays.values():
        assert not array.flags.writeable
        assert not array.size or array.ctypes.data % container.ALIGNMENT == 0
    with pytest.raises(ValueError, match="read-only"):
        found.arrays["rows"][0] = 1


@pytest.mark.parametrize("count", [0, 1, 3000])
def test_any_number_of_arrays(tmp_path, count):
    arrays = {f"array {n}": np.full(n % 5, n) for n in range(count)}
    home = new_home(tmp_path)
    assert save(home, arrays=arrays)
    must_equal(loaded(home).arrays, arrays)


@pytest.mark.parametrize("size", [-1, 0, 1, container.BLOCK_BYTES + 1])
def test_sizes_around_a_block(tmp_path, size):
    data = np.random.default_rng(2).bytes(container.BLOCK_BYTES + size)
    home = new_home(tmp_path)
    segment = new_segment(home, data)
    assert segment.checksum == container.checksum(data)
    arrays = {"bytes": np.frombuffer(data, np.uint8)}
    assert save(home, arrays=arrays, segments=[segment])
    found = loaded(home)
    must_equal(found.arrays, arrays)
    assert found.segments == (segment,)
    path = home.folder / segment.name
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))  # the last of the last block
    assert "damaged" in why(home)


@pytest.mark.parametrize(
    "array",
    [np.array([{}], object), np.array(["text"]), np.zeros(2, complex), np.zeros(2, "i4,f8")],
)
def test_what_is_no_number_is_refused_and_nothing_is_left(tmp_path, array):
    home = new_home(tmp_path)
    save(home)
    before = files(home)
    with pytest.raises(InvalidInput, match="'odd'"):
        save(home, 2, {"odd": array})
    assert files(home) == before
    assert loaded(home).seq == 1


def test_what_was_mapped_stays_readable_when_it_is_replaced_or_removed(tmp_path):
    home = new_home(tmp_path)
    save(home)
    old = loaded(home)
    save(home, 2, {"other": np.arange(5)})
    must_equal(old.arrays, ARRAYS)
    new = loaded(home)
    assert home.purge()
    must_equal(old.arrays, ARRAYS)
    must_equal(new.arrays, {"other": np.arange(5)})
    # A snapshot may be saved from arrays that are mapped from the last.
    save(home, 3, old.arrays)
    must_equal(loaded(home).arrays, ARRAYS)


# --- what cannot be trusted ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved():
    """A home with a snapshot and its segment, and their bytes."""
    with tempfile.TemporaryDirectory() as name:
        home = new_home(Path(name))
        save(home, segments=[new_segment(home)])
        yield home, {path: path.read_bytes() for path in home.folder.iterdir()}


def restore(contents: Mapping[Path, bytes]) -> None:
    for path, data in contents.items():
        path.write_bytes(data)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255), which=st.booleans())
def test_a_flipped_byte_is_found_or_harmless(saved, place, mask, which):
    home, contents = saved
    path = max(contents) if which else min(contents)
    data = bytearray(contents[path])
    offset = int(place * len(data))
    data[offset] ^= mask
    restore(contents)
    path.write_bytes(data)
    found = load(home)
    if isinstance(found, Loaded):
        must_equal(found.arrays, ARRAYS)
    else:
        assert found.why
        assert not list(home.folder.glob("*.arrays"))  # and it is gone
        assert why(home) == "there is none"
    restore(contents)
    must_equal(loaded(home).arrays, ARRAYS)


def test_only_padding_is_not_checked(saved):
    home, contents = saved
    restore(contents)
    path = container_of(home)
    data = contents[path]
    with path.open("rb") as file:
        header = container.Header.read(file)
    text_end = 24 + struct.unpack_from("<Q", data, 16)[0]
    held = {*range(text_end)}
    for extent in header.extents(path):
        held |= {*range(extent.start, extent.start + extent.size)}
    padding = {*range(len(data))} - held
    assert 0 < len(padding) < 64 * (len(ARRAYS) + 1)
    for offset in sorted(padding | {*range(0, len(data), 11)}):
        restore(contents)
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 0x55]) + data[offset + 1 :])
        assert isinstance(load(home), Loaded) == (offset in padding)
    restore(contents)


def test_a_file_cut_anywhere_or_grown_is_refused(saved):
    home, contents = saved
    for path, data in contents.items():
        for size in {*range(0, len(data), 9), *range(30), len(data) - 1} & {*range(len(data))}:
            restore(contents)
            path.write_bytes(data[:size])
            assert why(home) != "there is none"
        restore(contents)
        path.write_bytes(data + b"\0")
        assert why(home) != "there is none"
    restore(contents)
    must_equal(loaded(home).arrays, ARRAYS)


def test_other_files_in_its_place_are_refused(saved):
    home, contents = saved
    path = min(contents)
    for data in [
        b"",
        b"\0" * 5000,
        b"SQLite format 3\0" * 300,
        np.random.default_rng(3).bytes(999),
    ]:
        restore(contents)
        path.write_bytes(data)
        assert why(home) != "there is none"
    restore(contents)
    path.unlink()
    path.mkdir()
    assert why(home) == "there is none"
    path.rmdir()
    (home.folder / "elsewhere").write_bytes(contents[path])
    path.symlink_to("elsewhere")
    assert why(home) == "there is none"
    path.unlink()
    (home.folder / "elsewhere").rename(path)
    assert isinstance(load(home), Loaded)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"<i8"', b'">i8"'),
        (b'"<i8"', b'"|O8"'),
        (b'"<i8"', b'"<M8"'),
        (b'"<i8"', b"17"),
        (b"[40]", b"[-1]"),
        (b"[40]", b"[4000000]"),
        (b"[40]", b"[4.5]"),
        (b"[40]", b"40"),
        (b'"arrays"', b'"others"'),
        (b'"about"', b'"other"'),
        (b'"seq":1', b'"seq":"1"'),
        (b'"segments":[[', b'"segments":[[1,'),
        (b".segment", b".arrays"),
        (b"{", b"["),
        (b"{", b"[" * 5000),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(saved, old, new):
    home, contents = saved
    restore(contents)
    path = container_of(home)
    data = contents[path]
    magic, version, _, length = struct.unpack_from("<8sIIQ", data)
    text = data[24 : 24 + length]
    assert old in text

    def with_header(text: bytes) -> bytes:
        prefix = struct.pack("<8sIIQ", magic, version, zlib.crc32(text), len(text))
        start = -(-(24 + length) // 64) * 64
        return (prefix + text).ljust(-(-(24 + len(text)) // 64) * 64, b"\0") + data[start:]

    path.write_bytes(with_header(text))
    assert isinstance(load(home), Loaded)
    path.write_bytes(with_header(text.replace(old, new, 1)))
    assert why(home) != "there is none"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Source("store-2", "settings-1", 1), "store"),
        (Source("store-1", "settings-2", 1), "settings"),
        (Source("store-1", "settings-1", 2), "version"),
    ],
)
def test_a_snapshot_of_something_else_is_removed(tmp_path, caplog, source, reason):
    home = new_home(tmp_path)
    save(home)
    caplog.set_level(logging.INFO, "graphmem")
    assert why(home, source) == f"it is of another {reason}"
    assert files(home) == []
    assert [one.levelname for one in caplog.records] == ["INFO"], "nothing to warn of"


def test_a_snapshot_of_another_scope_is_refused(tmp_path):
    home, other = new_home(tmp_path), new_home(tmp_path, Scope("ana", "agent"))
    save(home)
    assert other.make()
    shutil.copy(container_of(home), other.folder)
    assert why(other) == "it is of another scope"
    assert isinstance(load(home), Loaded)


def test_a_snapshot_of_another_history_is_removed(tmp_path):
    home = new_home(tmp_path)
    asked = []
    save(home, 7, segments=[new_segment(home)])
    found = home.load(SOURCE, lambda seq, digest: not asked.append((seq, digest)))
    assert isinstance(found, Loaded)
    assert asked == [(7, "row 7")]
    found = home.load(SOURCE, lambda seq, digest: False)
    assert found == Refused("it is of another history of the store")
    assert files(home) == []


@pytest.mark.parametrize("error", [StoreCorrupt("the store's"), KeyError("any")])
def test_what_the_caller_raises_is_passed_on_and_removes_nothing(tmp_path, error):
    home = new_home(tmp_path)
    save(home)

    def fail(seq: int, digest: str) -> bool:
        raise error

    with pytest.raises(type(error)):
        home.load(SOURCE, fail)
    assert isinstance(load(home), Loaded)


def test_behind_a_damaged_snapshot_an_older_one_serves(tmp_path):
    home = new_home(tmp_path)
    save(home, 9)
    newest = container_of(home)
    save(home, 5, {"old": np.arange(3)})  # a slower process: the newer one stays
    assert loaded(home).seq == 9
    newest.write_bytes(newest.read_bytes()[:-1])
    assert loaded(home).seq == 5
    assert not newest.exists()


def test_a_snapshot_that_cannot_be_read_is_left(tmp_path):
    """Too many open files say nothing about the file."""
    home = new_home(tmp_path)
    save(home)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    # A few more than this process holds already.
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 64, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        os.close(held.pop())  # one to list the folder by, and to open the file, not its blocks
        refused = load(home)
        assert isinstance(refused, Refused)
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert isinstance(load(home), Loaded)


# --- segments ------------------------------------------------------------------------------------


def test_segments_go_with_the_last_snapshot_that_names_them(tmp_path):
    home = new_home(tmp_path)
    one, two, three = (new_segment(home, bytes([n]) * 99) for n in range(3))
    save(home, 1, segments=[one, two])
    assert loaded(home).segments == (one, two)
    save(home, 2, segments=[three, two])
    assert loaded(home).segments == (three, two)
    assert not (home.folder / one.name).exists()
    assert (home.folder / two.name).exists()
    save(home, 3)
    assert files(home) == [container_of(home).name]


def test_a_missing_segment_fails_the_save_and_refuses_the_snapshot(tmp_path):
    home = new_home(tmp_path)
    save(home, 1, segments=[new_segment(home)])
    gone = new_segment(home)
    (home.folder / gone.name).unlink()
    assert not save(home, 2, segments=[gone])
    assert loaded(home).seq == 1
    (home.folder / loaded(home).segments[0].name).unlink()
    assert "missing" in why(home)
    assert files(home) == []


def test_what_another_process_is_about_to_name_is_left_for_a_while(tmp_path):
    home = new_home(tmp_path)
    fresh, forgotten = new_segment(home), new_segment(home)
    draft = home.folder / ".x.arrays.part"
    draft.touch()
    old = time.time() - saving._GRACE - 10
    os.utime(home.folder / forgotten.name, (old, old))
    save(home, 1)
    assert files(home) == sorted([container_of(home).name, fresh.name, draft.name])
    os.utime(draft, (old, old))
    save(home, 2, segments=[fresh])
    assert files(home) == sorted([container_of(home).name, fresh.name])
    os.utime(home.folder / fresh.name, (old, old))  # named: age does not matter
    save(home, 3, segments=[fresh])
    assert loaded(home).segments == (fresh,)


@pytest.mark.parametrize("name", ["../m.db", "x.segment", "a/b.segment", ".segment", ""])
def test_a_segment_from_elsewhere_is_an_error(tmp_path, name):
    with pytest.raises(InvalidInput, match="segment"):
        save(new_home(tmp_path), segments=[Segment(name, 0, 0)])


# --- the folder ----------------------------------------------------------------------------------

NAMES = ["ana", "José Ñandú", "京都の人", "../../etc", "a/b\\c", "x" * 5000, "🦊", "CON", " . "]


def test_every_scope_has_its_own_folder_and_no_name_is_on_the_disk(tmp_path):
    scopes = [Scope(name) for name in NAMES] + [Scope("ana", name) for name in NAMES]
    homes = [new_home(tmp_path, scope) for scope in scopes]
    for number, home in enumerate(homes):
        assert save(home, number)
    assert [loaded(home).seq for home in homes] == list(range(len(homes)))
    assert len({home.folder for home in homes}) == len(homes)
    assert {home.folder.parent for home in homes} == {tmp_path / "m.db.index"}
    names = [name for name in NAMES if name.strip(" .")]
    for path in (tmp_path / "m.db.index").rglob("*"):
        written = str(path.relative_to(tmp_path)).encode()
        written += path.read_bytes() if path.is_file() else b""
        assert not [name for name in names if name.encode() in written]
        assert b"store-1" in written or path.is_dir()


@pytest.mark.parametrize(
    ("mode", "folder_mode", "file_mode"),
    [(0o600, 0o700, 0o600), (0o640, 0o750, 0o640), (0o644, 0o755, 0o644), (0o660, 0o770, 0o660)],
)
def test_files_are_as_private_as_the_store(tmp_path, mode, folder_mode, file_mode):
    home = new_home(tmp_path, mode=0o644 if mode == 0o600 else 0o600)
    save(home, 1)
    home.store.chmod(mode)  # the folder follows the store
    save(home, 2, segments=[new_segment(home)])
    found = {stat.S_IMODE(path.stat().st_mode) for path in home.folder.iterdir()}
    assert found == {file_mode}
    assert stat.S_IMODE(home.folder.stat().st_mode) == folder_mode
    assert stat.S_IMODE(home.folder.parent.stat().st_mode) == folder_mode


@pytest.mark.parametrize("which", ["root", "folder"])
def test_a_link_in_place_of_the_folder_is_refused(tmp_path, which):
    home = new_home(tmp_path)
    save(home)
    linked = home.folder.parent if which == "root" else home.folder
    elsewhere = tmp_path / "elsewhere"
    linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    assert home.make() is None
    assert home.new_segment() is None
    assert not save(home, 2)
    assert why(home) == "there is none"
    assert not home.purge()
    sweep(home.store, [])
    assert sorted(elsewhere.rglob("*")) == before
    linked.unlink()
    elsewhere.rename(linked)
    assert loaded(home).seq == 1


def test_without_a_folder_all_stays_in_memory_and_one_record_says_so(tmp_path, caplog):
    home = new_home(tmp_path)
    (tmp_path / "m.db.index").write_text("in the way")
    caplog.set_level(logging.INFO, "graphmem")
    for _ in range(3):
        assert home.make() is None
        assert not save(home)
        assert not save(Home(home.store, Scope("bo")))
    assert why(home) == "there is none"
    assert home.purge()
    assert [one.name for one in caplog.records] == ["graphmem.index.saving"]
    assert (tmp_path / "m.db.index").read_text() == "in the way"
    (tmp_path / "m.db.index").unlink()
    assert save(home)


def test_a_folder_that_another_user_owns_is_read_at_most():
    with tempfile.TemporaryDirectory() as name:
        home = new_home(Path(name), mode=0o644)
        save(home)
        Path(name).chmod(0o755)
        code = """
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
home = Home(Path(sys.argv[1]), ANA)
print(home.make(), save(home, 2), isinstance(load(home), Loaded), home.purge())
print(isinstance(home.load(Source("other", "", 0), current), Refused))
"""
        with run(code, home.store) as child:
            out, err = child.communicate(timeout=60)
        expected = "None False True False\nTrue\n" if os.geteuid() == 0 else "True"
        assert expected in out, err
        assert isinstance(load(home), Loaded)


# --- purge and sweep -----------------------------------------------------------------------------


def test_purge_removes_one_scope_and_its_traces(tmp_path):
    home, other = new_home(tmp_path), new_home(tmp_path, Scope("bo"))
    assert home.purge()  # nothing there
    for one in (home, other):
        save(one, segments=[new_segment(one)])
    (home.folder / "anything").touch()
    assert home.purge()
    assert not home.folder.exists()
    assert why(home) == "there is none"
    assert isinstance(load(other), Loaded)
    assert other.purge()
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]
    assert save(home)  # and it may begin again
    assert isinstance(load(home), Loaded)


def test_sweep_removes_what_nobody_needs(tmp_path):
    homes = [new_home(tmp_path, Scope(name)) for name in ("ana", "bo", "cy", "di")]
    ana, gone, young, _ = homes
    sweep(ana.store, [])  # nothing there
    for home in homes:
        save(home)
    kept, stray = new_segment(ana), new_segment(ana)
    save(ana, 2, segments=[kept])
    (ana.folder / ".y.arrays.part").touch()
    (ana.folder.parent / ".removed-0").mkdir()
    (ana.folder.parent / "readme").touch()
    old = time.time() - saving._GRACE - 10
    for path in (*ana.folder.iterdir(), gone.folder):
        os.utime(path, (old, old))
    sweep(ana.store, [ana.scope, Scope("di")])
    assert files(ana) == sorted([container_of(ana).name, kept.name])
    assert stray.name not in files(ana)
    left = {path.name for path in ana.folder.parent.iterdir()}
    assert left == {home.folder.name for home in homes if home != gone} | {"readme"}
    assert isinstance(load(young), Loaded)
    (ana.folder.parent / "readme").unlink()
    for home in homes:
        home.purge()
    assert not ana.folder.parent.exists()


def test_purge_while_others_save_and_load(tmp_path):
    home = new_home(tmp_path)
    stop = threading.Event()
    faults: list[BaseException] = []
    counts = {"saved": 0, "loaded": 0}

    def repeat(name: str, work: Any) -> None:
        try:
            while not stop.is_set():
                counts[name] += bool(work())
        except BaseException as error:
            faults.append(error)

    def add() -> bool:
        path = home.new_segment()
        try:
            path and path.write_bytes(b"x" * 100)
            segments = [Segment.of(path)] if path else []
        except FileNotFoundError:  # purged
            return False
        return save(home, counts["saved"], segments=segments)

    threads = [
        threading.Thread(target=repeat, args=("saved", add)),
        threading.Thread(target=repeat, args=("loaded", lambda: isinstance(load(home), Loaded))),
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while min(counts.values()) < 20 and not faults and time.monotonic() < deadline:
        time.sleep(0.01)
        home.purge()
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults
    assert min(counts.values()) >= 20
    assert home.purge()
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]


# --- processes that die, race, or have no room ----------------------------------------------------

SAVER = """
home = Home(Path(sys.argv[1]), ANA)
seq = int(sys.argv[2])
print("ready", flush=True)
while True:
    seq += 1
    segment = new_segment(home, bytes([seq % 256]) * 1000)
    print(seq, save(home, seq, filled(seq), [segment]), flush=True)
"""


def must_be_whole(found: Loaded, home: Home) -> None:
    for array in found.arrays.values():
        assert (array == found.seq).all()
    for segment in found.segments:
        assert set((home.folder / segment.name).read_bytes()) == {found.seq % 256}


def test_a_kill_in_the_middle_of_a_save_leaves_the_last_snapshot(tmp_path):
    home = new_home(tmp_path)
    save(home, 1, filled(1), [new_segment(home, b"\1" * 1000)])
    rng = random.Random(5)
    seq, torn, kills = 1, 0, 0
    while kills < 6 or (not torn and kills < 60):
        kills += 1
        with run(SAVER, home.store, seq) as child:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0.01, 0.15))
            child.send_signal(signal.SIGKILL)
            lines = [line.split() for line in child.stdout if line.endswith("e\n")]
        assert all(done == "True" for _, done in lines)
        torn += len(list(home.folder.glob("*.part")))
        found = loaded(home)
        assert found.seq in (done := max([seq, *(int(line[0]) for line in lines)]), done + 1)
        must_be_whole(found, home)
        seq = found.seq
    assert torn  # positive control: kills came in the middle
    assert seq > 1
    old = time.time() - saving._GRACE - 10
    for path in home.folder.iterdir():
        os.utime(path, (old, old))
    assert save(home, seq + 1)  # takes away what the dead have left
    assert files(home) == [container_of(home).name]


RACER = """
home = Home(Path(sys.argv[1]), ANA)
print("ready", flush=True)
sys.stdin.readline()
for seq in range(1, 16):
    segment = new_segment(home, bytes([seq % 256]) * 1000)
    print(seq, save(home, seq, filled(seq, 20_000), [segment]))
"""


def test_savers_at_the_same_time_leave_the_newest_and_no_reader_sees_a_mixture(tmp_path):
    home = new_home(tmp_path)
    seen = []
    with run(RACER, home.store) as one, run(RACER, home.store) as two:
        for child in (one, two):
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in (one, two):
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        while one.poll() is None or two.poll() is None:
            found = load(home)
            if isinstance(found, Loaded):
                assert all((array == found.seq).all() for array in found.arrays.values())
                seen.append(found.seq)
        ends = [child.communicate() for child in (one, two)]
    for out, err in ends:
        assert len(out.splitlines()) == 15, err
        assert "Traceback" not in err
    assert "15 True\n" in ends[0][0] + ends[1][0]
    assert len(set(seen)) > 3
    found = loaded(home)
    assert found.seq == 15
    must_be_whole(found, home)
    stray = len(list(home.folder.iterdir())) - 1 - len(found.segments)
    lost = sum(out.count("False") for out, _ in ends)
    assert stray <= lost  # segments of the saves that came too late


FULL = """
import logging, resource
home = Home(Path(sys.argv[1]), ANA)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
logging.basicConfig(format="%(levelname)s %(message)s")
print(save(home, 2, filled(2, 100_000)))
"""


@pytest.mark.parametrize("limit", [0, 10, 5_000, 799_000])
def test_a_full_disk_keeps_the_last_snapshot_and_says_so(tmp_path, limit):
    home = new_home(tmp_path)
    save(home)
    before = files(home)
    with run(FULL, home.store, limit) as child:
        out, err = child.communicate(timeout=60)
    assert out == "False\n", err
    assert "WARNING no snapshot of an index saved" in err
    assert "Traceback" not in err
    assert files(home) == before
    must_equal(loaded(home).arrays, ARRAYS)
    with run(FULL, home.store, 10**7) as child:
        assert child.communicate(timeout=60)[0] == "True\n"
    assert loaded(home).seq == 2
