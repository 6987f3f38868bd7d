"""What callers pass, checked at the public door."""

from __future__ import annotations

from datetime import datetime, timezone

from graphmem.errors import InvalidInput
from graphmem.identity import clean_text
from graphmem.types import Fact

__all__ = ["check_target", "fact_id", "instant", "now", "text", "whole_number"]

# More than this counts nothing here, and does not fit into a row.
_MOST = 2**63 - 1


def text(name: str, value: object) -> str | None:
    """A name or id, as it is stored; None where none was passed.

    Raises:
        InvalidInput: it is no string.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
    return clean_text(value)


def fact_id(value: object) -> str:
    """The id of a fact that was passed itself or by its id.

    Raises:
        InvalidInput: neither a ``Fact`` nor a string.
    """
    if not isinstance(value, (str, Fact)):
        raise InvalidInput(f"fact must be a Fact or its id, not {type(value).__name__}")
    return value.id if isinstance(value, Fact) else clean_text(value)


def instant(name: str, value: object) -> datetime | None:
    """A time with a zone; None where none was passed.

    Raises:
        InvalidInput: no time, or one without a zone.
    """
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{name} has no time zone: pass {name}=….astimezone(), or with tzinfo=timezone.utc"
        )
    return value


def whole_number(name: str, value: object, least: int, most: int = _MOST) -> int:
    """A whole number from ``least`` to ``most``.

    Raises:
        InvalidInput: something else.
    """
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    up_to = "" if most == _MOST else f" to {most}"
    raise InvalidInput(f"{name} must be a whole number from {least}{up_to}, not {value!r:.80}")


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(timezone.utc)


def check_target(**named: object) -> None:
    """Check that exactly one of several things is named.

    Raises:
        InvalidInput: none, or more than one.
    """
    if sum(value is not None and value is not False for value in named.values()) != 1:
        options = (f"{name}=True" if name == "everything" else f"{name}=" for name in named)
        raise InvalidInput(f"name exactly one of {', '.join(options)}")
