"""One-hop look-ups made from recorded triples: facts asked back in other words.

``questions`` draws them, ``rewording`` says the facts in other words, ``english`` is the grammar.
"""

from graphmem.experiments.lookups.questions import lookups

__all__ = ["lookups"]
