from __future__ import annotations

import copy
import json
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest

from graphmem.errors import InvalidInput
from graphmem.extractors import OpenAIExtractor
from graphmem.extractors.prompts import SCHEMA, VERSION
from graphmem.types import Extraction, Passage, Usage
from model_server import ModelServer, Reply, completion, failure, serving, shown, small_model

ANN = Passage("p1", "m1", "Ann lives in Oslo.", speaker="Zoe")
BOB = Passage("p2", "m2", "Bob lives in Rome.", speaker="Zoe")
HI = Passage("p3", "m3", "Hi!", speaker="Zoe")
DOWN = failure(503, "loading model")


@pytest.fixture
def made() -> Iterator[list[OpenAIExtractor]]:
    """Extractors to close at the end."""
    extractors: list[OpenAIExtractor] = []
    yield extractors
    for extractor in extractors:
        extractor.close()


@pytest.fixture
def connect(made: list[OpenAIExtractor]) -> Any:
    def connect(server: ModelServer, **options: Any) -> OpenAIExtractor:
        options = {"api_key": "k", "backoff": 0.01, **options}
        made.append(OpenAIExtractor("small", server.base_url, **options))
        return made[-1]

    return connect


def subjects(found: list[Extraction]) -> list[list[str]]:
    return [[triple.subject for triple in each.triples] for each in found]


def test_a_flush_is_one_call_with_a_strict_schema(connect: Any) -> None:
    with serving(small_model) as server:
        extractor = connect(server)
        assert subjects(extractor.extract([ANN, BOB, HI])) == [["Ann"], ["Bob"], []]
        assert extractor.usage == Usage(1, 100, 10)
    (request,) = server.requests
    assert request["model"] == "small"
    assert request["temperature"] == 0
    assert request["max_tokens"] == 8192
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["response_format"]["type"] == "json_schema"
    assert request["response_format"]["json_schema"]["strict"] is True
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA
    assert [line["label"] for line in shown(request)] == ["m1", "m2", "m3"]
    assert server.headers[0]["authorization"] == "Bearer k"


def test_nothing_is_sent_before_the_first_call_nor_for_nothing(connect: Any) -> None:
    with serving(small_model) as server:
        assert connect(server).extract([]) == []
        assert server.calls == 0


@pytest.mark.parametrize(
    ("model", "name"),
    [("Qwen/Qwen3-4B", "Qwen/Qwen3-4B"), ("/opt/models/tiny.gguf", "tiny.gguf"), ("/", "/"),
     ("C:\\models\\tiny.gguf", "tiny.gguf"), ("llama3.2:3b", "llama3.2:3b")],
)  # fmt: skip
def test_where_a_models_file_lies_is_no_part_of_its_name(model: str, name: str) -> None:
    assert OpenAIExtractor(model, "http://127.0.0.1:9/v1").name == f"openai/{name}/{VERSION}"


def test_the_name_tells_model_and_prompt(connect: Any) -> None:
    with serving(small_model) as server:
        assert connect(server).name == f"openai/small/{VERSION}"
        custom = connect(server, template="{format}\n{messages}")
        assert custom.name.startswith("openai/small/custom-")
        assert subjects(custom.extract([ANN])) == [["Ann"]]


@pytest.mark.parametrize("reply", ["[]", '{"triples": []}'])
def test_nothing_to_learn_is_no_failure(connect: Any, reply: str) -> None:
    with serving(completion(reply)) as server:
        assert connect(server).extract([HI]) == [Extraction("p3")]


@pytest.mark.parametrize(
    "reply",
    [completion("Sorry, no."), completion(""), completion(None), completion("{}")],
    ids=["prose", "empty", "null", "no list"],
)
def test_what_cannot_be_read_is_a_failure_that_may_be_tried_again(
    connect: Any, reply: Reply
) -> None:
    with serving(reply) as server:
        (found,) = connect(server).extract([ANN])
    assert found.error
    assert found.is_retryable
    assert server.calls == 1


BUSY = [
    failure(429, "slow down"),
    failure(500, "oops"),
    failure(502, "bad gateway"),
    DOWN,
    failure(408, "time-out"),
    failure(409, "conflict"),
    Reply(hangs_up=True),
    Reply(200, "<html>busy</html>", {"Content-Type": "text/html"}),
    Reply(200, '{"choices": [', {"Content-Type": "application/json"}),
    Reply(200, '{"choices": []}', {"Content-Type": "application/json"}),
    Reply(200, "{}", {"Content-Type": "application/json"}),
    Reply(503, "plain text", {"Content-Type": "text/plain"}),
]


@pytest.mark.parametrize("reply", BUSY, ids=range(len(BUSY)))
def test_passing_troubles_are_waited_out(connect: Any, reply: Reply) -> None:
    with serving(reply, reply, small_model) as server:
        assert subjects(connect(server).extract([ANN, HI])) == [["Ann"], []]
    assert server.calls == 3


@pytest.mark.parametrize("reply", BUSY, ids=range(len(BUSY)))
def test_lasting_troubles_fail_the_passages_after_a_few_tries(connect: Any, reply: Reply) -> None:
    with serving(reply) as server:
        found = connect(server, retries=2).extract([ANN, HI])
    assert server.calls == 3
    assert all(each.error and each.is_retryable for each in found)


def test_replies_are_counted_and_failures_are_not(connect: Any) -> None:
    with serving(DOWN, DOWN, small_model) as server:
        extractor = connect(server)
        extractor.extract([ANN])
        extractor.extract([BOB])
        assert extractor.usage == Usage(2, 200, 20)


def test_a_rate_limit_costs_only_what_is_still_unread(connect: Any) -> None:
    limit = failure(429, "slow down")
    with serving(small_model, small_model, limit, limit, small_model) as server:
        extractor = connect(server, batch_tokens=5, retries=1)
        five = [Passage(f"q{n}", f"m{n}", f"N{n} lives in Oslo.") for n in range(5)]
        found = extractor.extract(five)
        assert [each.error is None for each in found] == [True, True, False, False, False]
        left = [passage for passage, each in zip(five, found, strict=True) if each.error]
        assert subjects(extractor.extract(left)) == [["N2"], ["N3"], ["N4"]]
        assert extractor.usage.calls == 5
    assert server.calls == 7


def test_retry_after_is_honoured(connect: Any) -> None:
    for header in ("0.3", formatdate(time.time() + 2, usegmt=True)):
        with serving(failure(429, "slow", Retry_After=header), small_model) as server:
            started = time.monotonic()
            assert subjects(connect(server).extract([ANN])) == [["Ann"]]
            assert 0.25 <= time.monotonic() - started < 10


@pytest.mark.parametrize(
    "reply", [failure(429, "slow", Retry_After="3600"), failure(429, "pay", "insufficient_quota")]
)
def test_nobody_sits_through_an_hour(connect: Any, reply: Reply) -> None:
    with serving(reply) as server:
        (found,) = connect(server).extract([ANN])
    assert server.calls == 1
    assert found.error
    assert found.is_retryable


def test_back_off_grows(connect: Any) -> None:
    with serving(DOWN, DOWN, DOWN, small_model) as server:
        started = time.monotonic()
        connect(server, backoff=0.1).extract([ANN])
        assert time.monotonic() - started >= 0.05 + 0.1 + 0.2
    assert server.calls == 4


def test_a_slow_server_is_given_up_after_one_more_try(connect: Any) -> None:
    slow = Reply(delay=1.5)
    with serving(slow) as server:
        (found,) = connect(server, timeout=0.1).extract([ANN])
        assert server.calls == 2
    assert "0.1 s" in (found.error or "")
    assert found.is_retryable
    with serving(slow, small_model) as server:
        assert subjects(connect(server, timeout=1.0).extract([ANN])) == [["Ann"]]


def test_an_absent_server_is_named(made: list[OpenAIExtractor]) -> None:
    with serving(small_model) as gone:
        pass
    made.append(OpenAIExtractor("m", gone.base_url, retries=1, backoff=0.01))
    (found,) = made[0].extract([ANN])
    assert gone.base_url in (found.error or "")
    assert "running" in (found.error or "")
    assert found.is_retryable


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "base_url"),
                         (405, "refused the request")]
)  # fmt: skip
def test_hopeless_errors_are_final_and_say_what_to_do(connect: Any, status: int, hint: str) -> None:
    with serving(failure(status, "no way")) as server:
        found = connect(server, batch_tokens=5).extract([ANN, BOB])
    assert server.calls == 1
    for each in found:
        assert hint in (each.error or "")
        assert "no way" in (each.error or "")
        assert not each.is_retryable


REFUSALS = [
    failure(400, "response_format json_schema is not supported"),
    failure(422, "extra fields not permitted"),
    failure(501, "not implemented"),
    Reply(400, "bad request", {"Content-Type": "text/plain"}),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=range(len(REFUSALS)))
@pytest.mark.parametrize("accepted", ["json_object", None])
def test_a_server_without_schemas_is_asked_for_less_and_remembered(
    connect: Any, refusal: Reply, accepted: str | None
) -> None:
    def old_server(request: dict[str, Any]) -> Reply:
        form = request.get("response_format", {}).get("type")
        return small_model(request) if form == accepted else refusal

    with serving(old_server) as server:
        extractor = connect(server)
        assert subjects(extractor.extract([ANN])) == [["Ann"]]
        tried = server.calls
        assert tried == (2 if accepted else 3)
        assert subjects(extractor.extract([BOB])) == [["Bob"]]
        assert server.calls == tried + 1
        assert extractor.usage.calls == 2


def test_a_request_that_is_refused_in_every_form_is_final(connect: Any) -> None:
    with serving(failure(400, "model is retired")) as server:
        extractor = connect(server)
        (found,) = extractor.extract([ANN])
        assert "model is retired" in (found.error or "")
        assert not found.is_retryable
        assert server.calls == 3
        extractor.extract([ANN])  # nothing was learnt from it
        assert server.calls == 6
        assert "response_format" in server.requests[3]


def test_options_that_a_model_does_not_know_are_dropped_or_renamed(connect: Any) -> None:
    def reasoning_model(request: dict[str, Any]) -> Reply:
        if "max_tokens" in request:
            return failure(400, "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in request:
            return failure(400, "Unsupported value: 'temperature' does not support 0.")
        return small_model(request)

    with serving(reasoning_model) as server:
        extractor = connect(server)
        assert subjects(extractor.extract([ANN])) == [["Ann"]]
        assert server.calls == 3
        assert server.requests[-1]["max_completion_tokens"] == 8192
        assert server.requests[-1]["response_format"]["type"] == "json_schema"
        extractor.extract([BOB])
        assert server.calls == 4


def test_options_may_be_left_to_the_server(connect: Any) -> None:
    with serving(small_model) as server:
        connect(server, temperature=None, max_output_tokens=None).extract([ANN])
    assert not {"temperature", "max_tokens"} & set(server.requests[0])


def test_a_reply_cut_by_its_length_is_finished_in_halves(connect: Any) -> None:
    def short(request: dict[str, Any]) -> Reply:
        whole = json.loads(small_model(request).body)["choices"][0]["message"]["content"]
        return completion(whole[:250], finish="length" if len(whole) > 250 else "stop")

    with serving(short) as server:
        found = connect(server).extract([ANN, BOB, HI])
        assert subjects(found) == [["Ann"], ["Bob"], []]
        assert not any(each.error for each in found)


def test_a_prompt_above_the_context_is_halved(connect: Any) -> None:
    def narrow(request: dict[str, Any]) -> Reply:
        if len(shown(request)) > 1:
            return failure(400, "maximum context length is 10 tokens", "context_length_exceeded")
        return small_model(request)

    with serving(narrow) as server:
        assert subjects(connect(server).extract([ANN, BOB])) == [["Ann"], ["Bob"]]
        assert server.calls == 3


@pytest.mark.parametrize(
    "reply", [completion(None, refusal="I can't"), completion("", finish="content_filter")]
)
def test_a_refusal_is_final(connect: Any, reply: Reply) -> None:
    with serving(reply) as server:
        (found,) = connect(server).extract([ANN])
    assert "refused" in (found.error or "")
    assert not found.is_retryable


def test_a_message_that_a_filter_refuses_does_not_fail_the_others(connect: Any) -> None:
    def filtered(request: dict[str, Any]) -> Reply:
        if any("Bob" in line["text"] for line in shown(request)):
            return failure(400, "The prompt was filtered", "content_filter")
        return small_model(request)

    with serving(filtered) as server:
        found = connect(server).extract([ANN, BOB, HI])
    assert subjects(found) == [["Ann"], [], []]
    assert [each.error is None for each in found] == [True, False, True]
    assert not found[1].is_retryable


def test_many_threads_share_one_extractor(connect: Any) -> None:
    with serving(small_model) as server:
        extractor = connect(server)
        batches = [[Passage(f"q{n}", f"m{n}", f"N{n} lives in Oslo.")] for n in range(24)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(extractor.extract, batches))
        assert [subjects(each) for each in found] == [[[f"N{n}"]] for n in range(24)]
        assert extractor.usage == Usage(24, 2400, 240)


def test_closing_wakes_who_waits_and_the_next_call_connects_anew(connect: Any) -> None:
    with serving(failure(429, "slow", Retry_After="50"), small_model) as server:
        extractor = connect(server)
        found: list[Extraction] = []
        waiting = threading.Thread(target=lambda: found.extend(extractor.extract([ANN])))
        waiting.start()
        while server.calls < 1:
            time.sleep(0.01)
        extractor.close()  # whether the request is on its way or waits for the next
        waiting.join(20)
        assert "closed" in (found[0].error or "")
        assert found[0].is_retryable
        assert subjects(extractor.extract([ANN])) == [["Ann"]]


def test_copies_work_and_pickles_carry_no_key(
    connect: Any, made: list[OpenAIExtractor], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(small_model) as server:
        extractor = connect(server, api_key="secret-key")
        extractor.extract([ANN])
        data = pickle.dumps(extractor)
        assert b"secret-key" not in data
        assert "secret-key" not in repr(extractor)
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-place")
        made += [pickle.loads(data), copy.deepcopy(extractor)]
        for other, key in zip(made[-2:], ("key-of-the-place", "secret-key"), strict=True):
            assert other.name == extractor.name
            assert other.usage == Usage()
            assert subjects(other.extract([BOB])) == [["Bob"]]
            assert server.headers[-1]["authorization"] == f"Bearer {key}"


def test_a_pickle_opened_where_no_key_is_says_so(
    made: list[OpenAIExtractor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made.append(pickle.loads(pickle.dumps(OpenAIExtractor("gpt", api_key="k"))))
    (found,) = made[0].extract([ANN])
    assert "OPENAI_API_KEY" in (found.error or "")
    assert not found.is_retryable


def test_without_key_and_server_it_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAIExtractor("gpt")
    assert OpenAIExtractor("gpt", api_key="k").name
    assert OpenAIExtractor("gpt", "http://127.0.0.1:9/v1").name
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert OpenAIExtractor("gpt").name


@pytest.mark.parametrize(
    "options",
    [{"model": ""}, {"model": None}, {"batch_tokens": 0}, {"timeout": 0}, {"retries": -1},
     {"backoff": -1.0}, {"template": "no placeholders"}],
)  # fmt: skip
def test_senseless_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAIExtractor(**{"model": "m", "base_url": "http://127.0.0.1:9/v1", **options})
