"""The guards of this suite work: each is seen to refuse and to let through."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conftest import NetworkUse

SKIPS = """
import pytest

@pytest.mark.skip(reason="not today")
def test_marked():
    pass

def test_inside():
    pytest.skip("not here")

@pytest.mark.xfail(reason="known", strict=True)
def test_known():
    assert False

def test_plain():
    pass
"""


def test_loopback_is_open():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(("localhost", server.getsockname()[1]), timeout=5)
        client.close()
    assert socket.getaddrinfo("127.0.0.1", 80)


def test_unix_sockets_are_open():
    near, far = socket.socketpair(socket.AF_UNIX)
    with near, far:
        near.sendall(b"x")
        assert far.recv(1) == b"x"


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_network_is_closed(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as plain:
        with pytest.raises(NetworkUse, match="without a network"):
            plain.connect((host, 80))
        with pytest.raises(NetworkUse, match="without a network"):
            plain.sendto(b"x", (host, 80))


def test_names_are_not_looked_up():
    with pytest.raises(NetworkUse, match=r"example\.org"):
        socket.getaddrinfo("example.org", 443)


def test_network_is_closed_in_other_threads():
    seen: list[BaseException] = []

    def reach() -> None:
        try:
            socket.create_connection(("192.0.2.1", 80))
        except BaseException as error:
            seen.append(error)

    thread = threading.Thread(target=reach)
    thread.start()
    thread.join()
    assert [type(error) for error in seen] == [NetworkUse]


@pytest.mark.parametrize(
    ("ci", "module", "outcome"),
    [
        ("", SKIPS, "2 passed, 2 skipped, 1 xfailed"),
        ("true", SKIPS, "1 failed, 2 passed, 1 xfailed, 1 error"),
        ("true", "import pytest\npytest.importorskip('no_such_module')", "1 passed, 1 error"),
    ],
)
def test_a_skip_fails_in_ci(tmp_path, ci, module, outcome):
    (tmp_path / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    (tmp_path / "test_some.py").write_text(module)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *options,
            "--continue-on-collection-errors",
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert outcome in run.stdout
    assert (run.returncode == 0) == (ci == "")
