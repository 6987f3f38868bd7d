"""Extraction without a model: dependency rules over an English spaCy pipeline."""

from graphmem.extractors.rules.extractor import RulesExtractor

__all__ = ["RulesExtractor"]
