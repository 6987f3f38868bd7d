"""Times as texts state them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from graphmem.times import moment, span

NOON = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize("text", ["2025-03-01T12:00:00Z", "2025-03-01T12:00z", "2025-03-01 12:00Z"])
def test_a_closing_z_is_utc(text):
    assert moment(text) == NOON
    assert moment(text).utcoffset() == timedelta()
    assert span(text) == (NOON, NOON)


def test_no_zone_is_guessed_for_a_moment():
    assert moment("2025-03-01T12:00").tzinfo is None
    assert moment("2025-03-01T14:00+02:00") == NOON


@pytest.mark.parametrize("text", ["", "Z", "soon", "2025-13-01T12:00Z", "2025-03-01T12:00ZZ"])
def test_what_states_no_moment_is_an_error(text):
    with pytest.raises(ValueError, match=r"\S"):
        moment(text)
