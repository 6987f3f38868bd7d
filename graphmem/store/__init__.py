"""The store: rows are the truth, everything else is derived from them.

SQLAlchemy Core on SQLite. ``Store`` is the door; behind it ``schema`` has the tables, ``sqlite``
the engine and its transactions, ``files`` the database file, ``arrival`` what a put does,
``extraction`` and ``belief`` how triples become facts, ``queue`` what waits to be done, ``owner``
who does it, ``forgetting`` what goes and ``erasing`` how, ``bans`` and ``refusing`` how it does not
come back, ``judging`` what people rule, ``reading`` what comes out, ``translation`` errors.
"""

from graphmem.store.owner import new_owner
from graphmem.store.queue import Claim, Work
from graphmem.store.reading import Changed
from graphmem.store.records import StoredMessage
from graphmem.store.store import Store

__all__ = ["Changed", "Claim", "Store", "StoredMessage", "Work", "new_owner"]
