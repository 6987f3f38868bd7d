"""Experiments: measure how many of the right passages a memory recalls, on sets of questions.

``bench_recall`` is what the command ``graphmem bench recall`` runs.
"""

from graphmem.experiments.bench import bench_recall
from graphmem.experiments.datasets import DataSet, Question, Record, load_dataset
from graphmem.experiments.metrics import Score, mean_scores, score
from graphmem.experiments.systems import SYSTEMS, Answer, System

__all__ = [
    "SYSTEMS",
    "Answer",
    "DataSet",
    "Question",
    "Record",
    "Score",
    "System",
    "bench_recall",
    "load_dataset",
    "mean_scores",
    "score",
]
