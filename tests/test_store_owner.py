"""Owners of leases: who lives, and who is gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from graphmem.store.owner import is_dead, new_owner


def test_owners_of_a_living_process_differ_and_live():
    first, second = new_owner(), new_owner()
    assert first != second
    assert not is_dead(first)
    assert not is_dead(second)


def test_an_owner_is_dead_when_its_process_is_gone():
    code = "from graphmem.store.owner import new_owner; print(new_owner())"
    gone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert is_dead(gone.stdout.strip())


def test_an_older_process_of_the_same_number_is_dead():
    host, now = socket.gethostname(), time.time_ns()
    assert is_dead(f"{host}:{os.getpid()}:{now - 10**15}")
    assert not is_dead(f"{host}:{os.getpid()}:{now}")


@pytest.mark.parametrize("owner", ["", "me", "host:pid:0", "host:1", "elsewhere:999999999:0"])
def test_nothing_is_known_of_other_hosts_and_other_names(owner):
    assert not is_dead(owner)
