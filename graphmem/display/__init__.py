"""How values are shown: as ``plain`` text, in words, as ``markup`` in notebooks, on a ``terminal``.

The values show themselves (``str(explanation)``, a recall in a notebook) and so import from here;
``wording`` and ``markup`` know no class of theirs. Pictures are in ``graphmem.explore``, lists as
tables in ``graphmem.tables``.
"""
