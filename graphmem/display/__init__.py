"""How values are shown: as ``plain`` text, in words, as ``markup`` in notebooks, on a ``terminal``.

``data`` is what programs get of them. The values show themselves (``str(explanation)``, a recall in
a notebook) and so import from here: all but ``terminal`` know no class of theirs. Pictures are in
``graphmem.explore``, lists as tables in ``graphmem.tables``.
"""
