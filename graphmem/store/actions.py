"""What a change of a row amounts to: the word for it in the log."""

from __future__ import annotations

from graphmem.types import Fact, Status

__all__ = ["change_of", "gone"]

# Withheld by nobody's ruling, and how far believed.
_TRUST: tuple[Status, ...] = ("candidate", "asserted", "verified")
# The rulings that withhold a fact, as what is done.
_WITHHOLD: dict[Status, str] = {"disputed": "dispute", "rejected": "reject"}


def change_of(before: Fact | None, after: Fact | None, *, cause: str) -> str:
    """What happened to a fact that is not as it was.

    Of several things at once the one that says most of what is believed now: whether the fact is
    there, what people ruled on it, how far it is trusted, whether another replaces it, who states
    it, how it is worded.

    Args:
        before: as it was; ``None`` where it was not there.
        after: as it is; ``None`` where it is gone.
        cause: what was done that led to it, as one of the log's actions.

    Returns:
        ``add``, ``forget`` (it is gone because something was forgotten) or ``remove``, ``reject``,
        ``dispute``, ``restore`` (it counts again), ``verify`` (a person said so) or ``promote`` (it
        is trusted more), ``supersede``, ``merge`` (more passages state it), ``edit``.
    """
    if before is None:
        return "add"
    if after is None:
        return gone(cause)
    return (
        _change_of_trust(before.status, after.status, cause)
        or _change_of_place(before.replaced_by, after.replaced_by)
        or ("merge" if set(before.passages) < set(after.passages) else "edit")
    )


def gone(cause: str) -> str:
    """What happened to a row that is gone: it was forgotten, or nothing states it any more."""
    return "forget" if cause == "forget" else "remove"


def _change_of_trust(before: Status, after: Status, cause: str) -> str:
    if before == after:
        return ""
    if after in _WITHHOLD:
        return _WITHHOLD[after]
    if before in _WITHHOLD:
        return "verify" if after == "verified" and cause == "verify" else "restore"
    if _TRUST.index(after) < _TRUST.index(before):
        return "edit"
    return "verify" if after == "verified" and cause == "verify" else "promote"


def _change_of_place(before: str | None, after: str | None) -> str:
    if before == after:
        return ""
    return "restore" if after is None else "supersede"
