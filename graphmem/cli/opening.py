"""Options that name a store and whose memory in it is meant; what is not there is not made."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from graphmem.display import wording
from graphmem.errors import NotFound
from graphmem.types import Scope

if TYPE_CHECKING:
    from graphmem.store import Store

__all__ = ["add_json", "add_store", "must_hold", "opened", "scope_of"]

_URI_HELP = "the store: sqlite:///memory.db, or a plain path"
_SCOPES_SHOWN = 5


def add_store(parser: Any, *, is_scope_required: bool = True) -> None:
    """Add the options ``--uri``, ``--scope`` and ``--agent``."""
    whole = " ('default' if none was named)" if is_scope_required else " (default: the whole store)"
    parser.add_argument("--uri", required=True, help=_URI_HELP)
    parser.add_argument(
        "--scope", required=is_scope_required, metavar="USER", help=f"whose memory{whole}"
    )
    parser.add_argument(
        "--agent", default="", metavar="NAME", help="the memory that this agent of the user keeps"
    )


def add_json(parser: Any) -> None:
    """Add the option ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def scope_of(options: argparse.Namespace) -> Scope:
    """The scope that the options name."""
    return Scope(options.scope, options.agent)


def opened(options: argparse.Namespace) -> Store:
    """The store that the options name.

    Raises:
        NotFound: there is none, or it holds nothing of the scope.
    """
    return _holding(options.uri, scope_of(options))


def must_hold(uri: str, scope: Scope | None) -> None:
    """Check that there is a store, and such a scope in it: a mistyped one is an error.

    Raises:
        NotFound: there is not.
    """
    _holding(uri, scope).close()


def _holding(uri: str, scope: Scope | None) -> Store:
    from graphmem.store import Store
    from graphmem.store.location import Location

    path = Location.of(uri).path
    # Unlike the path's own method this one says no to names that are too long as well.
    if path is None or not os.path.isfile(path):  # noqa: PTH113
        raise NotFound(f"there is no store at {uri!r:.200}: check --uri")
    store = Store.open(uri)
    try:
        if scope is not None:
            _check_holds(store, scope)
    except BaseException:
        store.close()
        raise
    return store


def _check_holds(store: Store, scope: Scope) -> None:
    scopes = store.scopes()
    if scope not in scopes:
        known = wording.listed(list(map(str, scopes)), _SCOPES_SHOWN) or "nobody's"
        raise NotFound(f"the store holds no memory of {str(scope)!r}, only of: {known}")
