"""Recall: from a question to ranked passages, a chain of stages over one scope's index.

``chain`` is the whole of it. Its stages: ``question`` (what is asked for), ``candidates`` (who is
looked at), ``sight`` and ``prior`` (how well each answers by itself), ``seeds``, ``walk`` (by
``push``), ``bridge`` (second hops) and ``succession`` (what is up to date).

``why`` explains a passage: it has the chain run again and reads off what it found (``found``) by
which ``ways`` the passage came up, those of the walk by ``paths``, and tells them in ``steps``.
"""

from graphmem.recall.chain import Read, Rows, recall
from graphmem.recall.question import question_text
from graphmem.recall.why import explain

__all__ = ["Read", "Rows", "explain", "question_text", "recall"]
