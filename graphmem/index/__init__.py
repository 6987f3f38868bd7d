"""The derived index of one scope: what recall reads, made from rows and brought up to date.

``index`` takes changes in and hands out snapshots; a ``snapshot`` is one scope's memory as arrays,
made by ``building``. Below them one module for each way to find something: ``lexical`` (words),
``dense`` (vectors, FAISS), ``graph`` (what PageRank walks), ``names`` (entities in running text),
``cues`` (speaker, time, manner). Nothing here knows the store: rows come as ``graphmem.types``.
"""

from graphmem.index.index import Index
from graphmem.index.snapshot import Snapshot

__all__ = ["Index", "Snapshot"]
