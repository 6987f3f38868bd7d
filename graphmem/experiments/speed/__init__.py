"""How fast a memory is at each size, what it holds in memory and on disk, beside others.

``world`` tells what is in a store of so many passages, ``models`` read it, ``building`` stores it.
``recalling``, ``writing``, ``opening`` and ``vector_block`` measure one thing each, ``measuring``
all of them at one size, in one of the ``processes`` that use a single thread; ``run`` goes through
the sizes and shows the figures. Only ``inside`` knows what a memory looks like inside.
"""

from graphmem.experiments.speed.run import bench_speed

__all__ = ["bench_speed"]
