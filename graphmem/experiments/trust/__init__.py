"""Whether a memory can be trusted: what was forgotten stays so, what is over is told as over.

``cases`` holds the wordings and their recorded triples. ``deletion`` goes through 13 steps, for
each way of naming what is to be forgotten; ``contradiction`` asks five things of five cases. They
look on the ``paths`` on which a memory shows anything; ``run`` puts both into a result.
"""

from graphmem.experiments.trust.run import bench_trust

__all__ = ["bench_trust"]
