"""The derived index of one scope: what recall reads, made from rows and kept up to date in place.

``index`` takes changes in. Below it one module for each thing that it knows: ``passages`` (who said
what when; with ``threads`` and ``speakers``), ``facts``, ``entities`` (with ``names`` in running
text), ``lexicon`` (words), ``senses`` (vectors), ``graph`` (what a walk goes over). These are made
of ``columns``, ``keys``, ``relations``, ``vectors`` and ``search`` (FAISS). Nothing here knows the
store: rows come as ``graphmem.types``.
"""

from graphmem.index.index import Index

__all__ = ["Index"]
