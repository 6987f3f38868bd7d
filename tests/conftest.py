"""What holds for every test: no network, the same run twice, and nothing skipped unseen."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from ipaddress import ip_address

import pytest
from hypothesis import HealthCheck, settings

# One thread for each numeric library, before any of them is loaded: small arrays only get slower
# with more, most of all on a busy machine.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# What a developer has set for a real server must not reach a test.
for variable in [name for name in os.environ if name.startswith("OPENAI_")]:
    del os.environ[variable]

# Deterministic, and without deadlines: a slow machine is no defect.
_COMMON = {
    "deadline": None,
    "derandomize": True,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("fast", max_examples=60, **_COMMON)
settings.register_profile("thorough", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


class NetworkUse(BaseException):
    """A test reached for the network. No ``except Exception`` of the code under test hides it."""


def _is_near(host: object) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    try:
        return ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


def _close_network(event: str, args: tuple[object, ...]) -> None:
    """Refuse connections, datagrams and name look-ups beyond this machine; Unix sockets stay."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0]
    else:
        return
    if not _is_near(host):
        raise NetworkUse(f"{event} to {host}: tests run without a network")


# An audit hook sees the calls of every thread and library, and cannot be undone by one of them.
sys.addaudithook(_close_network)


def _forbid_skips(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI (environment variable ``CI``) a skipped test is a test that did not run: a failure."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} may not be skipped in CI: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _forbid_skips(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _forbid_skips(report)
    return report
