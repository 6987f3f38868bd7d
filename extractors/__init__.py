"""Extractors: passages in, triples out.

Three that satisfy ``graphmem.types.Extractor``, each loading what it needs when it is first used:
``OpenAIExtractor`` (any OpenAI-compatible server), ``LLMExtractor`` (any LLM of LlamaIndex) and
``RulesExtractor`` (English, offline, no model server).
"""

from graphmem.extractors.llm import LLMExtractor
from graphmem.extractors.openai import OpenAIExtractor
from graphmem.extractors.rules import RulesExtractor

__all__ = ["LLMExtractor", "OpenAIExtractor", "RulesExtractor"]
