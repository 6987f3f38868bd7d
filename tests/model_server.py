"""A real HTTP server on loopback that speaks OpenAI's chat completions and plays a script."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One scripted HTTP reply; ``body`` as it goes over the wire."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hangs_up: bool = False


Turn = Reply | Callable[[dict[str, Any]], Reply]


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> Reply:
    """A chat completion with this text, counted as 100 + 10 tokens."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return _json(200, body)


def failure(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI words it."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return _json(status, {"error": error}, named)


def _json(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, json.dumps(body), {"Content-Type": "application/json", **(headers or {})})


class ModelServer:
    """Plays its turns in order, the last one for ever, and keeps the requests it got."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._turns = list(turns)
        self._lock = threading.Lock()
        self.base_url = ""
        self.port = 0

    @property
    def calls(self) -> int:
        return len(self.requests)

    def play(self, request: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            turn = self._turns[min(len(self.requests), len(self._turns) - 1)]
            self.requests.append(request)
            self.headers.append(headers)
        return turn if isinstance(turn, Reply) else turn(request)


@contextmanager
def serving(*turns: Turn, port: int = 0) -> Iterator[ModelServer]:
    """A server for the time of the block, on a port of its own or one that is named."""
    script = ModelServer(turns)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            reply = script.play(json.loads(body), {k.lower(): v for k, v in self.headers.items()})
            time.sleep(reply.delay)
            self.close_connection = True
            if reply.hangs_up:
                return
            data = reply.body.encode("utf-8", "surrogatepass")
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # the client did not wait

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.port = int(server.server_address[1])
    script.base_url = f"http://127.0.0.1:{script.port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def shown(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines of messages and context in a request's prompt, without the example's."""
    return shown_in(request["messages"][-1]["content"])


def shown_in(prompt: str) -> list[dict[str, Any]]:
    lines = []
    for text in prompt.splitlines():
        if text.startswith(('{"label": "m', '{"context": "')):
            lines.append(json.loads(text))
    start = next((n for n, line in enumerate(lines) if "label" in line), 0)
    # The example's context comes first, before any message: leave it out by its speaker.
    return [
        line for n, line in enumerate(lines) if n >= start or line["speaker"] != "Corvin Ashgrove"
    ]


_LIVES = re.compile(r"\b([A-Z]\w+) lives in ([A-Z]\w+)")


def lives_in(text: str) -> list[tuple[str, str, str]]:
    """What a very small model knows: who lives where."""
    return [(who, "lives in", where) for who, where in _LIVES.findall(text)]


def reply_to(prompt: str) -> str:
    """The reply of that model to a prompt."""
    triples = [
        {"source": line["label"], "subject": s, "predicate": p, "object": o, "polarity": True}
        for line in shown_in(prompt)
        if "label" in line
        for s, p, o in lives_in(line["text"])
    ]
    return json.dumps({"triples": triples})


def small_model(request: dict[str, Any]) -> Reply:
    """That model as a turn of the server."""
    return completion(reply_to(request["messages"][-1]["content"]))
