from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
)
from llama_index.core.llms import MockLLM
from llama_index.core.llms.callbacks import llm_chat_callback
from pydantic import Field

from graphmem.errors import InvalidInput
from graphmem.extractors import LLMExtractor
from graphmem.extractors.prompts import SYSTEM, VERSION
from graphmem.types import Extraction, Passage, Usage
from llm_parts import Completing

ANN = Passage("p1", "m1", "Ann lives in Oslo.", speaker="Zoe")
HI = Passage("p2", "m2", "Hi!", speaker="Zoe")


class Chatting(MockLLM):
    """A chat model that plays: a text, a whole response, or an error."""

    plays: Any = ""
    asked: list[Sequence[ChatMessage]] = Field(default_factory=list)

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        self.asked.append(messages)
        if isinstance(self.plays, Exception):
            raise self.plays
        if isinstance(self.plays, ChatResponse):
            return self.plays
        return ChatResponse(message=ChatMessage(role="assistant", content=self.plays))


def chatting(plays: Any) -> Chatting:
    llm = Chatting()
    llm.plays = plays
    return llm


class StatusFault(Exception):
    def __init__(self, status_code: int, text: str = "no") -> None:
        super().__init__(text)
        self.status_code = status_code


def test_a_completion_model_reads_a_flush_in_one_call() -> None:
    llm = Completing()
    extractor = LLMExtractor(llm)
    found = extractor.extract([ANN, HI])
    assert [[t.subject for t in each.triples] for each in found] == [["Ann"], []]
    assert len(llm.prompts) == 1
    assert SYSTEM in llm.prompts[0]
    assert extractor.usage.calls == 1
    assert extractor.usage.prompt_tokens > 300  # by LlamaIndex's tokenizer
    assert 10 < extractor.usage.completion_tokens < 100


def test_a_chat_model_gets_a_system_and_a_user_message() -> None:
    llm = chatting('```json\n[["Ann", "lives in", "Oslo"]]\n```')
    found = LLMExtractor(llm).extract([ANN])
    assert [t.object for t in found[0].triples] == ["Oslo"]
    assert [message.role.value for message in llm.asked[0]] == ["system", "user"]


@pytest.mark.parametrize(
    ("raw", "extra"),
    [
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, {}),
        ({"usage": {"input_tokens": 7, "output_tokens": 3}}, {}),
        ({"prompt_eval_count": 7, "eval_count": 3}, {}),
        ({"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3}}, {}),
        (None, {"prompt_tokens": 7, "completion_tokens": 3}),
    ],
)
def test_the_providers_own_counts_are_used(raw: Any, extra: dict[str, int]) -> None:
    message = ChatMessage(role="assistant", content="[]")
    extractor = LLMExtractor(
        chatting(ChatResponse(message=message, raw=raw, additional_kwargs=extra))
    )
    assert extractor.extract([HI]) == [Extraction("p2")]
    assert extractor.usage == Usage(1, 7, 3)


@pytest.mark.parametrize("reply", ["", "No facts, sorry.", "{}", None])
def test_what_cannot_be_read_is_a_failure(reply: str | None) -> None:
    message = ChatMessage(role="assistant", content=reply)
    (found,) = LLMExtractor(chatting(ChatResponse(message=message))).extract([ANN])
    assert found.error
    assert found.is_retryable


@pytest.mark.parametrize(
    ("fault", "is_retryable"),
    [(TimeoutError("slow"), True), (StatusFault(429), True), (StatusFault(500), True),
     (StatusFault(401), False), (StatusFault(404), False), (KeyError("x"), True),
     (StatusFault(400, "maximum context length"), False)],
)  # fmt: skip
def test_an_error_of_the_llm_fails_the_passages(fault: Exception, is_retryable: bool) -> None:
    found = LLMExtractor(chatting(fault)).extract([ANN, HI])
    for each in found:
        assert type(fault).__name__ in (each.error or "")
        assert each.is_retryable is is_retryable


def test_the_name_tells_class_model_and_prompt() -> None:
    assert LLMExtractor(Completing()).name == f"llm/{Completing.class_name()}/tiny/{VERSION}"
    assert LLMExtractor(MockLLM()).name == f"llm/MockLLM/{VERSION}"
    assert "custom-" in LLMExtractor(MockLLM(), template="{format} {messages}").name


def test_it_survives_pickle_and_deepcopy() -> None:
    extractor = LLMExtractor(Completing())
    for other in (pickle.loads(pickle.dumps(extractor)), copy.deepcopy(extractor)):
        assert other.name == extractor.name
        assert [len(each.triples) for each in other.extract([ANN, HI])] == [1, 0]


@pytest.mark.parametrize("llm", [None, "gpt", "http://127.0.0.1/v1", object()])
def test_what_is_no_llm_is_refused(llm: Any) -> None:
    with pytest.raises(InvalidInput, match="LLM of LlamaIndex"):
        LLMExtractor(llm)


@pytest.mark.parametrize("options", [{"template": "x"}, {"batch_tokens": 0}])
def test_senseless_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        LLMExtractor(MockLLM(), **options)
