"""Experiments: measure what a memory recalls on sets of questions, and how fast it writes.

``bench_recall`` and ``bench_put`` are what the command ``graphmem bench`` runs.
"""

from graphmem.experiments.bench import bench_recall
from graphmem.experiments.datasets import DataSet, Question, Record, load_dataset
from graphmem.experiments.metrics import Score, mean_scores, score
from graphmem.experiments.putting import bench_put
from graphmem.experiments.systems import SYSTEMS, Answer, System

__all__ = [
    "SYSTEMS",
    "Answer",
    "DataSet",
    "Question",
    "Record",
    "Score",
    "System",
    "bench_put",
    "bench_recall",
    "load_dataset",
    "mean_scores",
    "score",
]
