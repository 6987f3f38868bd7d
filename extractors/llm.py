"""Triples from any LLM of LlamaIndex, through its synchronous ``chat``."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphmem.errors import ExtractionError, InvalidInput
from graphmem.extractors import batches
from graphmem.extractors.batches import BATCH_TOKENS, Answer, PromptTooLong
from graphmem.extractors.naming import model_name
from graphmem.extractors.prompts import TEMPLATE, Prompt
from graphmem.types import Extraction, Passage, Usage

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms import LLM

__all__ = ["LLMExtractor", "reply_usage"]

# How providers' raw replies name the two counts.
_PROMPT_TOKENS = ("prompt_tokens", "input_tokens", "prompt_token_count", "prompt_eval_count")
_COMPLETION_TOKENS = (
    "completion_tokens", "output_tokens", "candidates_token_count", "eval_count",
)  # fmt: skip
# Statuses that say: not the moment, but the request, the key or the model's name is wrong.
_HOPELESS = frozenset({400, 401, 403, 404, 422})


class LLMExtractor:
    """Reads triples with a LlamaIndex ``LLM``, one ``chat`` per batch.

    The LLM brings its own key, time-out and retries. Its replies are read by the tolerant parser
    whether or not the model can be held to a schema. Safe to call from several threads as far as
    the LLM is.

    Args:
        llm: any LLM of LlamaIndex, for chat or for completion.
        template: a prompt of your own, see ``graphmem.extractors.prompts.Prompt``.
        batch_tokens: passages above about so many tokens are read in several calls. A small local
            model reads better with few messages a call, see ``OpenAIExtractor``.

    Raises:
        InvalidInput: ``llm`` is not an LLM of LlamaIndex, or a template lacks a placeholder.
    """

    def __init__(
        self, llm: LLM, *, template: str = TEMPLATE, batch_tokens: int = BATCH_TOKENS
    ) -> None:
        from llama_index.core.base.llms.base import BaseLLM

        if not isinstance(llm, BaseLLM):
            raise InvalidInput(
                f"llm must be an LLM of LlamaIndex, not {type(llm).__name__}; for a server's URL "
                "use OpenAIExtractor"
            )
        if batch_tokens < 1:
            raise InvalidInput("batch_tokens must be at least 1")
        self._llm = llm
        self._prompt = Prompt(template)
        self._batch_tokens = batch_tokens
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``llm/<class>/<model>/<prompt version>``, without the model where it has no name."""
        model = model_name(self._llm.metadata.model_name)
        parts = ("llm", self._llm.class_name(), model, self._prompt.version)
        return "/".join(part for part in parts if part and part != "unknown")

    @property
    def usage(self) -> Usage:
        """Replies so far; tokens as the provider reports them, else by LlamaIndex's tokenizer."""
        with self._lock:
            return self._usage

    def __repr__(self) -> str:
        return f"LLMExtractor({self.name!r})"

    def extract(self, passages: Sequence[Passage]) -> list[Extraction]:
        """One Extraction for each passage, in order. What goes wrong is told in them."""
        return batches.extract(
            passages, prompt=self._prompt, ask=self._ask, batch_tokens=self._batch_tokens
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def _ask(self, system: str, user: str) -> Answer:
        from llama_index.core.base.llms.types import ChatMessage, MessageRole

        messages = [
            ChatMessage(role=MessageRole.SYSTEM, content=system),
            ChatMessage(role=MessageRole.USER, content=user),
        ]
        try:
            response = self._llm.chat(messages)
        except Exception as fault:  # every provider raises its own
            raise _as_extraction_error(fault) from fault
        spent = reply_usage(messages, response)
        with self._lock:
            self._usage += spent
        return Answer(response.message.content or "")


def reply_usage(messages: Sequence[ChatMessage], response: ChatResponse) -> Usage:
    """What one call has cost: as the provider reports it, else by LlamaIndex's tokenizer."""
    counts = _counted(response)
    if counts is None:
        from llama_index.core.utils import get_tokenizer

        tokenizer = get_tokenizer()
        asked = "\n".join(message.content or "" for message in messages)
        counts = len(tokenizer(asked)), len(tokenizer(response.message.content or ""))
    return Usage(1, *counts)


def _counted(response: ChatResponse) -> tuple[int, int] | None:
    """(prompt, completion) tokens as the provider reports them, wherever it puts them."""
    raw = response.raw
    places = [response.additional_kwargs, raw]
    places += [_get(raw, name) for name in ("usage", "usage_metadata")]
    for place in places:
        prompt = next((n for key in _PROMPT_TOKENS if isinstance(n := _get(place, key), int)), None)
        completion = next(
            (n for key in _COMPLETION_TOKENS if isinstance(n := _get(place, key), int)), None
        )
        if prompt is not None and completion is not None:
            return prompt, completion
    return None


def _get(place: Any, key: str) -> Any:
    return place.get(key) if isinstance(place, Mapping) else getattr(place, key, None)


def _as_extraction_error(fault: Exception) -> ExtractionError:
    detail = " ".join(f"{type(fault).__name__}: {fault}".split())[:300]
    status = getattr(fault, "status_code", None)
    if batches.is_too_long(detail) and status in (None, 400, 413, 422):
        return PromptTooLong(f"the model's context does not hold the messages: {detail}")
    return ExtractionError(f"the LLM failed: {detail}", is_retryable=status not in _HOPELESS)
