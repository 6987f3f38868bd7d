"""Recall: from a question to ranked passages, a chain of pure stages over one snapshot.

``chain`` is the whole of it. Its stages: ``prior`` (how well each passage answers by itself),
``seeds``, ``pagerank``, ``bridge`` (second hops) and ``succession`` (what is up to date).
"""

from graphmem.recall.chain import question_text, recall

__all__ = ["question_text", "recall"]
