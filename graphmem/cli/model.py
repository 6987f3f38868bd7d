"""The model that the options or the environment name, of an OpenAI-compatible server."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from graphmem.cli.parsing import positive
from graphmem.errors import InvalidInput

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from graphmem.types import Extractor

__all__ = ["add_model", "extractor_of", "llm_of"]

_OPENAI_MODEL = "gpt-4o-mini"
_LIST_SECONDS = 10.0


def add_model(parser: argparse.ArgumentParser, title: str, about: str) -> Any:
    """Add the options that name a model, as a group that more can be added to."""
    group = parser.add_argument_group(title, about)
    group.add_argument("--base-url", metavar="URL", help="server, e.g. http://localhost:11434/v1")
    group.add_argument(
        "--model",
        metavar="NAME",
        help=f"model to use (default: the server's first, or {_OPENAI_MODEL} of OpenAI)",
    )
    limits = {
        "--batch-tokens": "read about N tokens of messages a call (5000); for a small model 100",
        "--max-output-tokens": "stop a reply at N tokens; a small model may repeat itself",
    }
    for option, what in limits.items():
        group.add_argument(option, type=positive, metavar="N", help=what)
    return group


def extractor_of(options: argparse.Namespace) -> Extractor | None:
    """Reads facts with the model that the options or the environment name, if any."""
    named = _named(options)
    if named is None:
        return None
    from graphmem.extractors.openai import OpenAIExtractor

    model, base_url = named
    given = {name: getattr(options, name) for name in ("batch_tokens", "max_output_tokens")}
    limits = {name: value for name, value in given.items() if value is not None}
    return OpenAIExtractor(model, base_url, **limits)


def llm_of(options: argparse.Namespace) -> LLM | None:
    """The same model as an LLM of LlamaIndex, if any."""
    named = _named(options)
    if named is None:
        return None
    from graphmem.experiments.systems.served import ServedLLM

    model, base_url = named
    limit = options.max_output_tokens
    return ServedLLM(model=model, base_url=base_url, max_output_tokens=limit)


def _named(options: argparse.Namespace) -> tuple[str, str | None] | None:
    """Model and server; None where nothing names one."""
    base_url = options.base_url or os.environ.get("OPENAI_BASE_URL")
    if not (base_url or options.model or os.environ.get("OPENAI_API_KEY")):
        return None
    return options.model or (_served(base_url) if base_url else _OPENAI_MODEL), base_url


def _served(base_url: str) -> str:
    """The first model that a server lists: a local one mostly has one."""
    key = os.environ.get("OPENAI_API_KEY", "none")
    try:
        request = Request(f"{base_url.rstrip('/')}/models")
        request.add_header("Authorization", f"Bearer {key}")
        with urlopen(request, timeout=_LIST_SECONDS) as reply:
            return str(json.load(reply)["data"][0]["id"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InvalidInput(
            f"{base_url} does not say which models it has ({error}): is it running? "
            "Otherwise pass --model NAME"
        ) from error
