"""Chat messages of LlamaIndex as messages of ours: pure functions, no state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timezone

from llama_index.core.llms import ChatMessage, MessageRole, TextBlock

from graphmem.block.turns import Turn
from graphmem.errors import InvalidInput
from graphmem.times import moment
from graphmem.types import Message, Role

__all__ = ["as_chat", "as_message", "newest_turn", "own_copy", "sorted_out", "text_of"]

_ROLES: dict[MessageRole, Role] = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}


def sorted_out(messages: object) -> tuple[list[ChatMessage], str]:
    """The chat messages in whatever a host passed, and what is wrong with the rest (or ``""``)."""
    if not isinstance(messages, Sequence) or isinstance(messages, (str, bytes)):
        return [], f"expected a list of ChatMessage, not {type(messages).__name__}"
    found = [message for message in messages if isinstance(message, ChatMessage)]
    if len(found) == len(messages):
        return found, ""
    other = next(type(item).__name__ for item in messages if not isinstance(item, ChatMessage))
    return found, f"expected ChatMessage, not {other}"


def as_chat(messages: object) -> list[ChatMessage]:
    """What an application passed as chat messages; a plain text is the user's.

    Raises:
        InvalidInput: something in it is neither a chat message nor a string.
    """
    if isinstance(messages, (str, ChatMessage)):
        messages = [messages]
    if not isinstance(messages, Iterable) or isinstance(messages, (bytes, Mapping, Set)):
        raise InvalidInput(
            "pass a Memory, a ChatMessage, a text, or a list of them, not "
            f"{type(messages).__name__}"
        )
    found: list[ChatMessage] = []
    for item in messages:
        if isinstance(item, str):
            found.append(ChatMessage(role=MessageRole.USER, content=item))
        elif isinstance(item, ChatMessage):
            found.append(item)
        else:
            raise InvalidInput(f"expected a ChatMessage or a text, not {type(item).__name__}")
    return found


def own_copy(chat: ChatMessage) -> ChatMessage:
    """The message with keyword arguments of its own: blocks share the host's and write to them."""
    return chat.model_copy(update={"additional_kwargs": dict(chat.additional_kwargs or {})})


def text_of(chat: ChatMessage) -> str:
    """Its words: text blocks by line; thinking, tool calls, pictures and files are none."""
    return "\n".join(block.text or "" for block in chat.blocks if isinstance(block, TextBlock))


def as_message(chat: ChatMessage, names: Mapping[Role, str | None]) -> tuple[Message, str]:
    """The message as we keep it, and why its time counts as unknown (``""`` when it does not).

    The speaker is ``additional_kwargs["speaker"]`` or ``["name"]``, the time ``["timestamp"]``.

    Args:
        chat: the message.
        names: who speaks, by role, where the message names nobody.
    """
    extra = chat.additional_kwargs or {}
    role = _ROLES[chat.role]
    given = (extra.get("speaker"), extra.get("name"), names.get(role))
    speaker = next((name for name in given if isinstance(name, str) and name.strip()), None)
    said_at, doubt = _said_at(extra.get("timestamp"))
    return Message(text_of(chat), role, speaker, said_at), doubt


def newest_turn(messages: Sequence[ChatMessage]) -> Turn | None:
    """The last user message of a list, which the host repeats in tool rounds; None without one."""
    last = len(messages) - 1
    while last >= 0 and messages[last].role != MessageRole.USER:
        last -= 1
    if last < 0:
        return None
    query = text_of(messages[last])
    first = last
    while first and _says(messages[first - 1], query):
        first -= 1
    return Turn(query, first, is_answered=last < len(messages) - 1)


def _says(chat: ChatMessage, query: str) -> bool:
    return chat.role == MessageRole.USER and text_of(chat) == query


def _said_at(value: object) -> tuple[datetime | None, str]:
    """A message's time, and what is wrong with it (``""`` when nothing is).

    A time without a zone is unknown: guessing one could be half a day off, and "now" is wrong.
    """
    if value is None:
        return None, ""
    said_at: datetime | None = None
    # What cannot be read is reported below.
    with contextlib.suppress(ValueError, OverflowError, OSError):
        if isinstance(value, datetime):
            said_at = value
        elif isinstance(value, str):
            said_at = moment(value.strip())
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            said_at = datetime.fromtimestamp(value, timezone.utc)
    if said_at is None:
        return None, f"timestamp {value!r:.80} is no datetime, ISO 8601 time or seconds since 1970"
    if said_at.utcoffset() is None:
        return None, f"timestamp {value!r:.80} has no time zone: add one, e.g. +00:00"
    return said_at, ""
