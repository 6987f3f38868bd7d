"""The services a block was given: objects of the application, where its fields are values."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM

from graphmem.types import Embedder, Extractor

__all__ = ["Services"]

logger = logging.getLogger("graphmem")


@dataclass(frozen=True, slots=True)
class Services:
    """What only the block's constructor takes; see ``GraphMemoryBlock`` for each."""

    embed_model: Embedder | BaseEmbedding | str | None = None
    llm: LLM | None = None
    extractor: Extractor | None = None
    tokenizer_fn: Callable[[str], Sequence[Any]] | None = None

    def picklable(self) -> Services:
        """The same, without what cannot be pickled."""
        kept: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            try:
                pickle.dumps(value)
            except Exception as error:
                logger.warning(
                    "%s cannot be pickled (%s): the copy will use the default", one.name, error
                )
            else:
                kept[one.name] = value
        return Services(**kept)
