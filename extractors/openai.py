"""Triples from any server that speaks OpenAI's chat completions.

That is OpenAI itself and, with ``base_url``, vLLM, Ollama, llama.cpp, LM Studio and many others.
The openai SDK carries the wire; waiting, falling back and counting are done here, where they can be
bounded, interrupted and reported.
"""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from graphmem.errors import ExtractionError, InvalidInput
from graphmem.extractors import batches
from graphmem.extractors.batches import BATCH_TOKENS, Answer, PromptTooLong
from graphmem.extractors.naming import model_name
from graphmem.extractors.prompts import SCHEMA, TEMPLATE, Prompt
from graphmem.types import Extraction, Passage, Usage

if TYPE_CHECKING:
    import openai

__all__ = ["OpenAIExtractor"]

# A server that asks us to wait longer than this gets its peace: the passages stay pending.
_MAX_WAIT = 60.0
# How a reply's format can be asked for, best first; a server that refuses one gets the next.
_FORMATS: tuple[dict[str, Any], ...] = (
    {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "triples", "strict": True, "schema": SCHEMA},
        }
    },
    {"response_format": {"type": "json_object"}},
    {},
)

_NO_KEY = (
    "no API key: pass api_key=…, set OPENAI_API_KEY, or pass base_url=… of a server that needs none"
)


class OpenAIExtractor:
    """Reads triples with a model behind an OpenAI-compatible server, one call per batch.

    Safe to call from several threads. The client is made on the first call; nothing is sent before.

    Args:
        model: the model's name as the server knows it.
        base_url: the server, usually ending in ``/v1``; OpenAI (or ``OPENAI_BASE_URL``) if absent.
        api_key: the key; ``OPENAI_API_KEY`` if absent. A server named by ``base_url`` needs none.
        template: a prompt of your own, see ``graphmem.extractors.prompts.Prompt``.
        batch_tokens: passages above about so many tokens are read in several calls. The default
            lies well above the flush of 3,000 tokens that the memory hands over at once: few calls.
            A small local model reads better with few messages a call: one of 1.5 billion parameters
            found 16 % of the facts of five pages in one call, and 68 % in five (100 tokens).
            Now and then it repeats itself, until ``max_output_tokens`` stops it.
        max_output_tokens: where the model is stopped (a small model may repeat itself for ever);
            what is complete by then is kept. ``None`` leaves it to the server.
        temperature: 0 for the likeliest reply; ``None`` leaves it to the server.
        timeout: seconds to wait for one reply. A model on a small machine writes for minutes.
        retries: further tries of one call after a 408, 409, 425, 429, 5xx or a broken connection;
            after a time-out one, for it has cost minutes already.
        backoff: seconds before the first of them, doubled for each next, with jitter. A server's
            ``Retry-After`` is honoured instead, up to a minute.

    Raises:
        InvalidInput: no key and no ``base_url``, or a value that makes no sense.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        template: str = TEMPLATE,
        batch_tokens: int = BATCH_TOKENS,
        max_output_tokens: int | None = 8192,
        temperature: float | None = 0.0,
        timeout: float = 600.0,
        retries: int = 4,
        backoff: float = 1.0,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise InvalidInput("OpenAIExtractor needs the model's name as the server knows it")
        if batch_tokens < 1 or timeout <= 0 or retries < 0 or backoff < 0:
            raise InvalidInput("batch_tokens, timeout, retries and backoff must not be negative")
        self._model = model
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._api_key = api_key
        if not self._key():
            raise InvalidInput(_NO_KEY)
        self._prompt = Prompt(template)
        self._batch_tokens = batch_tokens
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._options: dict[str, Any] = {}
        if temperature is not None:
            self._options["temperature"] = temperature
        if max_output_tokens is not None:
            self._options["max_tokens"] = max_output_tokens
        self._format = 0
        self._usage = Usage()
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._client: openai.OpenAI | None = None
        self._retired: list[openai.OpenAI] = []
        self._in_use = 0

    @property
    def name(self) -> str:
        """``openai/<model>/<prompt version>``; of a model's path, its last part."""
        return f"openai/{model_name(self._model)}/{self._prompt.version}"

    @property
    def usage(self) -> Usage:
        """Replies received so far, and the tokens that the server counted for them."""
        with self._lock:
            return self._usage

    def __repr__(self) -> str:
        return f"OpenAIExtractor({self._model!r}, base_url={self._base_url!r})"

    def extract(self, passages: Sequence[Passage]) -> list[Extraction]:
        """One Extraction for each passage, in order. What goes wrong is told in them."""
        return batches.extract(
            passages, prompt=self._prompt, ask=self._ask, batch_tokens=self._batch_tokens
        )

    def close(self) -> None:
        """Close the connections and wake who waits for a retry. The next call opens them anew.

        A request that is on its way may finish; its connection is closed after it.
        """
        with self._lock:
            if self._client is not None:
                self._retired.append(self._client)
                self._client = None
            self._closed.set()
            self._closed = threading.Event()
        self._close_retired()

    def __getstate__(self) -> dict[str, Any]:
        """Without connections, and without a key: a pickle may end in a database."""
        made_here = ("_lock", "_closed", "_client", "_retired", "_in_use", "_usage", "_api_key")
        return {name: value for name, value in vars(self).items() if name not in made_here}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._api_key = None
        self._usage = Usage()
        self._start()

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenAIExtractor:
        copy = object.__new__(type(self))
        copy.__setstate__({**self.__getstate__(), "_options": dict(self._options)})
        copy._api_key = self._api_key
        return copy

    def _key(self) -> str:
        key = self._api_key or os.environ.get("OPENAI_API_KEY")
        return key or ("none-needed" if self._base_url else "")

    @contextmanager
    def _connected(self) -> Iterator[openai.OpenAI]:
        with self._lock:
            if self._client is None:
                import openai

                if not self._key():  # unpickled where none is set
                    raise ExtractionError(_NO_KEY, is_retryable=False)
                self._client = openai.OpenAI(
                    api_key=self._key(),
                    base_url=self._base_url,
                    timeout=self._timeout,
                    max_retries=0,  # retries are made here
                )
            client = self._client
            self._in_use += 1
        try:
            yield client
        finally:
            with self._lock:
                self._in_use -= 1
            self._close_retired()

    def _close_retired(self) -> None:
        with self._lock:
            if self._in_use:
                return
            retired, self._retired = self._retired, []
        for client in retired:
            client.close()

    def _ask(self, system: str, user: str) -> Answer:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        format_index = self._format
        while True:
            options = dict(self._options)
            try:
                answer = self._answer({"messages": messages, **_FORMATS[format_index], **options})
            except _Refused as refusal:
                named = [name for name in options if name in refusal.text]
                if named:
                    self._options = _without(named[0], options, refusal.text)
                elif refusal.may_be_the_format and format_index + 1 < len(_FORMATS):
                    format_index += 1
                else:
                    raise refusal.error from refusal.__cause__
            else:
                self._format = max(self._format, format_index)
                return answer

    def _answer(self, request: Mapping[str, Any]) -> Answer:
        """One reply, after as many tries as are worth it."""
        import openai

        tries_left, delay, closed = self._retries, self._backoff, self._closed
        while True:
            try:
                with self._connected() as client:
                    create: Any = client.chat.completions.create
                    return self._received(create(model=self._model, **request))
            except (openai.OpenAIError, ValueError, _NoCompletion) as caught:
                fault = caught
            if getattr(fault, "code", None) == "content_filter":  # one message's fault: see batches
                return Answer("", refusal=str(fault))
            error, asked = self._explained(fault), _asked_to_wait(fault)
            if isinstance(fault, openai.APITimeoutError):
                tries_left = min(tries_left, 1)
            if tries_left == 0 or not error.is_retryable or (asked or 0) > _MAX_WAIT:
                raise error from fault
            # Jitter keeps several workers from knocking at the same moment again.
            if closed.wait(delay * random.uniform(0.5, 1.0) if asked is None else asked):
                raise ExtractionError("the extractor was closed while it waited for the server")
            tries_left, delay = tries_left - 1, min(2 * delay, _MAX_WAIT)

    def _received(self, completion: Any) -> Answer:
        choices = getattr(completion, "choices", None)
        self._count(getattr(completion, "usage", None))
        if not choices or getattr(choices[0], "message", None) is None:
            raise _NoCompletion("the reply holds no message")
        choice = choices[0]
        text = choice.message.content
        refusal = getattr(choice.message, "refusal", None)
        if choice.finish_reason == "content_filter":
            refusal = "its content filter stopped the reply"
        return Answer(
            text if isinstance(text, str) else "",
            is_cut=choice.finish_reason == "length",
            refusal=refusal if isinstance(refusal, str) else "",
        )

    def _count(self, counted: Any) -> None:
        prompt, completion = (
            value if isinstance(value, int) else 0
            for value in (
                getattr(counted, "prompt_tokens", 0),
                getattr(counted, "completion_tokens", 0),
            )
        )
        with self._lock:
            self._usage += Usage(1, prompt, completion)

    @property
    def _server(self) -> str:
        return self._base_url or "OpenAI"

    def _explained(self, fault: Exception) -> ExtractionError:
        """What went wrong and what to do about it."""
        import openai

        if isinstance(fault, openai.APITimeoutError):
            return ExtractionError(
                f"{self._server} did not answer within {self._timeout:g} s; a slow server needs "
                "a higher timeout=… or fewer batch_tokens=…"
            )
        if isinstance(fault, openai.APIConnectionError):
            return ExtractionError(
                f"cannot reach {self._server} ({fault.__cause__ or fault}): is it running?"
            )
        if isinstance(fault, openai.APIStatusError):
            return self._status_error(fault)
        # A page of a proxy, cut JSON: a server out of order, or no model server at all.
        return ExtractionError(
            f"{self._server} sent no chat completion ({str(fault)[:200]}): does base_url name an "
            "OpenAI-compatible server (it usually ends in /v1)?"
        )

    def _status_error(self, fault: openai.APIStatusError) -> ExtractionError:
        """The error to raise for an HTTP status; raises _Refused where the request is at fault."""
        status, detail = fault.status_code, _detail(fault)
        if status == 413 or (status in (400, 422) and batches.is_too_long(detail)):
            return PromptTooLong(f"the model's context does not hold the messages: {detail}")
        if status in (401, 403):
            return ExtractionError(
                f"{self._server} refused the API key (HTTP {status}): check api_key or "
                f"OPENAI_API_KEY. It says: {detail}",
                is_retryable=False,
            )
        if status == 404:
            return ExtractionError(
                f"{self._server} knows no model {self._model!r} or no such path (HTTP 404): check "
                f"model and base_url, which usually ends in /v1. It says: {detail}",
                is_retryable=False,
            )
        if status in (408, 409, 425, 429) or (status >= 500 and status != 501):
            return ExtractionError(f"{self._server} answered HTTP {status}: {detail}")
        error = ExtractionError(
            f"{self._server} refused the request (HTTP {status}): {detail}", is_retryable=False
        )
        raise _Refused(error, detail, may_be_the_format=status in (400, 422, 501)) from fault


class _NoCompletion(Exception):
    """What came back is not a chat completion."""


class _Refused(Exception):
    """The server does not take the request as it is: something in it may be left out."""

    def __init__(self, error: ExtractionError, text: str, *, may_be_the_format: bool) -> None:
        super().__init__(text)
        self.error = error
        self.text = text
        self.may_be_the_format = may_be_the_format


def _without(name: str, options: Mapping[str, Any], refusal: str) -> dict[str, Any]:
    """The options but the one that the server refuses, or that one by its newer name."""
    kept = {key: value for key, value in options.items() if key != name}
    if name == "max_tokens" and "max_completion_tokens" in refusal:
        kept["max_completion_tokens"] = options[name]
    return kept


def _detail(fault: openai.APIStatusError) -> str:
    """What the server says, on one line and not too long."""
    body = fault.body
    said = body.get("message") if isinstance(body, dict) else None
    code = body.get("code") if isinstance(body, dict) else None
    text = said if isinstance(said, str) else json.dumps(body, ensure_ascii=False, default=str)
    if isinstance(code, str) and code not in text:
        text = f"{text} [{code}]"
    return " ".join(text.split())[:300]


def _asked_to_wait(fault: Exception) -> float | None:
    """Seconds that the server asks to wait, if it does: ``Retry-After`` as a number or a date."""
    response = getattr(fault, "response", None)
    if response is None:
        return None
    if getattr(fault, "code", None) == "insufficient_quota":
        return math.inf  # a 429 that no waiting mends
    asked = response.headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
