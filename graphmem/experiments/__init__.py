"""Experiments: measure what a memory recalls, how fast it writes, and whether one can trust it.

``bench_recall``, ``bench_replay``, ``bench_explain``, ``bench_extraction``, ``bench_put``,
``bench_speed``, ``bench_trust`` and ``bench_vectors`` are what the command ``graphmem bench`` runs.

``formats`` read files as a ``dataset``; ``lookups``, ``mixing`` and ``shrinking`` make others of
it. ``systems`` take it in, some with ``triples`` from one source or another and with ``variants``
of recall. ``measuring`` asks them; ``metrics`` judge what they rank; ``rows`` keep it, ``report``
shows it.
"""

from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.explained import bench_explain
from graphmem.experiments.extraction import Readings, bench_extraction
from graphmem.experiments.formats import load_dataset
from graphmem.experiments.metrics import FIGURES, Outcome
from graphmem.experiments.nearest import bench_vectors
from graphmem.experiments.putting import bench_put
from graphmem.experiments.replay import bench_replay
from graphmem.experiments.report import Results, Table
from graphmem.experiments.run import bench_recall
from graphmem.experiments.samples import SAMPLES, load_sample
from graphmem.experiments.speed import bench_speed
from graphmem.experiments.systems import SYSTEMS, Answer, Parts, System
from graphmem.experiments.triples import SOURCES, recorded
from graphmem.experiments.trust import bench_trust
from graphmem.experiments.variants import PARTS, Variant, variants_of

__all__ = [
    "FIGURES",
    "PARTS",
    "SAMPLES",
    "SOURCES",
    "SYSTEMS",
    "Answer",
    "DataSet",
    "Outcome",
    "Parts",
    "Question",
    "Readings",
    "Record",
    "Results",
    "System",
    "Table",
    "Variant",
    "bench_explain",
    "bench_extraction",
    "bench_put",
    "bench_recall",
    "bench_replay",
    "bench_speed",
    "bench_trust",
    "bench_vectors",
    "load_dataset",
    "load_sample",
    "recorded",
    "variants_of",
]
