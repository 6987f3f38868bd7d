"""Experiments: measure what a memory recalls on sets of questions, and how fast it writes.

``bench_recall``, ``bench_replay``, ``bench_extraction`` and ``bench_put`` are what the command
``graphmem bench`` runs.
"""

from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.extraction import bench_extraction
from graphmem.experiments.formats import load_dataset
from graphmem.experiments.metrics import FIGURES, Outcome
from graphmem.experiments.putting import bench_put
from graphmem.experiments.replay import bench_replay
from graphmem.experiments.run import bench_recall
from graphmem.experiments.systems import SYSTEMS, Answer, System
from graphmem.experiments.variants import PARTS, Variant, variants_of

__all__ = [
    "FIGURES",
    "PARTS",
    "SYSTEMS",
    "Answer",
    "DataSet",
    "Outcome",
    "Question",
    "Record",
    "System",
    "Variant",
    "bench_extraction",
    "bench_put",
    "bench_recall",
    "bench_replay",
    "load_dataset",
    "variants_of",
]
