"""An LLM of LlamaIndex for any OpenAI-compatible server, without another package.

For the systems that need one when they are run from the command line; an application passes its
own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import CustomLLM

from graphmem.extractors.naming import model_name

__all__ = ["ServedLLM"]

_SECONDS = 600.0


class ServedLLM(CustomLLM):
    """Chats with a model of a server; replies come whole, at temperature 0.

    Attributes:
        model: the model's name.
        base_url: the server; None is OpenAI.
        max_output_tokens: where a reply is stopped; None leaves it to the server.
    """

    model: str
    base_url: str | None = None
    max_output_tokens: int | None = None
    _client: Any = PrivateAttr(default=None)

    @property
    def metadata(self) -> LLMMetadata:
        """The model's name; it chats."""
        return LLMMetadata(model_name=model_name(self.model), is_chat_model=True)

    def chat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponse:
        """The model's reply."""
        limit = {} if self.max_output_tokens is None else {"max_tokens": self.max_output_tokens}
        completion = self._connected().chat.completions.create(
            model=self.model,
            messages=[{"role": one.role.value, "content": one.content or ""} for one in messages],
            temperature=0,
            **limit,
        )
        reply = ChatMessage(
            role=MessageRole.ASSISTANT, content=completion.choices[0].message.content or ""
        )
        return ChatResponse(message=reply, raw=completion)

    async def achat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponse:
        """The same; it blocks the loop."""
        return self.chat(messages, **options)

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        """The model's reply to a prompt alone."""
        response = self.chat([ChatMessage(role=MessageRole.USER, content=prompt)])
        return CompletionResponse(text=response.message.content or "", raw=response.raw)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **options: Any
    ) -> CompletionResponseGen:
        """The reply, in one piece."""
        response = self.complete(prompt)
        response.delta = response.text
        yield response

    def _connected(self) -> Any:
        if self._client is None:
            import openai

            key = os.environ.get("OPENAI_API_KEY") or ("none-needed" if self.base_url else None)
            self._client = openai.OpenAI(api_key=key, base_url=self.base_url, timeout=_SECONDS)
        return self._client
