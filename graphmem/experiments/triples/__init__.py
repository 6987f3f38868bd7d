"""Where triples come from: recorded in the set, a model, the offline rules, or co-occurrence."""

from graphmem.experiments.triples.sources import (
    SOURCES,
    RecordedExtractor,
    Source,
    recorded,
    source,
)

__all__ = ["SOURCES", "RecordedExtractor", "Source", "recorded", "source"]
