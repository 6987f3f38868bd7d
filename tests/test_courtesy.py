from __future__ import annotations

import threading

import pytest

from graphmem import courtesy
from graphmem.courtesy import await_recalls, behind_the_scenes, give_way, served_first

LONG = 30.0
SHORT = 0.05


class Passing(threading.Thread):
    """Comes to a point at which it gives way, and says when it is past it."""

    def __init__(self, is_behind):
        super().__init__(daemon=True)
        self.is_behind = is_behind
        self.is_past = threading.Event()
        self.start()

    def run(self):
        if self.is_behind:
            behind_the_scenes()
        sum(range(100_000))
        give_way()
        self.is_past.set()


@pytest.fixture
def patient(monkeypatch):
    monkeypatch.setattr(courtesy, "_MOST_SECONDS", LONG)
    monkeypatch.setattr(courtesy, "_PATIENCE", 1e12)
    monkeypatch.setattr(courtesy, "_LEAST_WORK", 0.0)


def test_work_behind_the_scenes_waits_for_the_last_recall(patient):
    with served_first():
        with served_first():
            behind = Passing(is_behind=True)
            assert Passing(is_behind=False).is_past.wait(LONG), "others do not wait"
        assert not behind.is_past.wait(SHORT), "one recall still runs"
    assert behind.is_past.wait(LONG)


def test_nobody_waits_for_nobody(patient):
    assert Passing(is_behind=True).is_past.wait(LONG)
    await_recalls(LONG)


def test_a_recall_that_fails_is_over(patient):
    with pytest.raises(ValueError, match="bad"), served_first():
        raise ValueError("bad")
    assert Passing(is_behind=True).is_past.wait(LONG)


def test_nobody_waits_for_long(monkeypatch):
    monkeypatch.setattr(courtesy, "_MOST_SECONDS", SHORT)
    monkeypatch.setattr(courtesy, "_PATIENCE", 1e12)
    monkeypatch.setattr(courtesy, "_LEAST_WORK", 0.0)
    with served_first():
        assert Passing(is_behind=True).is_past.wait(LONG)
        await_recalls(SHORT)


def test_who_has_hardly_worked_hardly_waits(monkeypatch):
    monkeypatch.setattr(courtesy, "_MOST_SECONDS", LONG * LONG)
    monkeypatch.setattr(courtesy, "_LEAST_WORK", LONG * LONG)
    with served_first():
        assert Passing(is_behind=True).is_past.wait(LONG)


def test_who_serves_a_recall_behind_the_scenes_does_not_wait_for_itself(patient):
    passed = threading.Event()

    def recalling():
        behind_the_scenes()
        with served_first():
            sum(range(100_000))
            give_way()
        assert courtesy.is_behind_the_scenes()
        passed.set()

    threading.Thread(target=recalling, daemon=True).start()
    assert passed.wait(LONG)
