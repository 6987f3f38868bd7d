from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.llms import ChatMessage, MessageRole

from graphmem.block.chat import as_message, newest_turn, own_copy, sorted_out
from graphmem.block.turns import Turn

ROLES = st.sampled_from(list(MessageRole))
MESSAGES = st.lists(
    st.builds(
        lambda role, text: ChatMessage(role=role, content=text),
        ROLES,
        st.sampled_from(["", "a", "b"]),
    )
)


def chat(*told: tuple[str, str]) -> list[ChatMessage]:
    return [ChatMessage(role=role, content=text) for role, text in told]


def test_the_newest_turn_is_the_last_user_message_and_its_repetitions():
    user, reply = ("user", "hi"), ("assistant", "yes")
    assert newest_turn([]) is None
    assert newest_turn(chat(reply)) is None
    assert newest_turn(chat(user)) == Turn("hi", 0, False)
    assert newest_turn(chat(user, user)) == Turn("hi", 0, False)
    assert newest_turn(chat(user, reply, user, user)) == Turn("hi", 2, False)
    assert newest_turn(chat(user, reply, user, reply, reply)) == Turn("hi", 2, True)
    assert newest_turn(chat(("user", "ho"), user)) == Turn("hi", 1, False)


@given(MESSAGES, MESSAGES)
def test_what_stands_before_the_turn_moves_its_index_and_nothing_else(
    before: list[ChatMessage], told: list[ChatMessage]
) -> None:
    alone = newest_turn(told)
    gap = ChatMessage(role="assistant", content="between")
    whole = newest_turn([*before, gap, *told])
    if alone is not None:
        assert whole == Turn(alone.query, alone.index + len(before) + 1, alone.is_answered)


@given(MESSAGES)
def test_every_message_of_the_host_becomes_one_of_ours(told: list[ChatMessage]) -> None:
    assert sorted_out(told) == (told, "")
    for one in told:
        message, doubt = as_message(one, {"user": "Ana"})
        assert (message.text, doubt) == (one.content or "", "")
        assert message.speaker == ("Ana" if one.role == MessageRole.USER else None)


def test_a_copy_shares_no_keyword_arguments():
    told = ChatMessage(role="user", content="x", additional_kwargs={"speaker": "Zoe"})
    copy = own_copy(told)
    copy.additional_kwargs["session_id"] = "s"
    assert told.additional_kwargs == {"speaker": "Zoe"}
    told.additional_kwargs = None  # type: ignore[assignment]
    assert own_copy(told).additional_kwargs == {}
    assert as_message(told, {})[0].text == "x"
