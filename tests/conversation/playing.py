"""Updates of a tool call in few words, and what becomes of them."""

from functools import reduce as fold
from typing import Any

from copilot_kernel.acp.messages import TextBlock, ToolCallUpdate, Update
from copilot_kernel.conversation.model import Conversation, Notice, ToolCall
from copilot_kernel.conversation.reduce import begin_turn, reduce


def play(*updates: Update, start: Conversation | None = None) -> Conversation:
    return fold(reduce, updates, turn() if start is None else start)


def turn(before: Conversation | None = None, text: str = "Go") -> Conversation:
    return begin_turn(before or Conversation(), [TextBlock(text)])


def status(value: str, **more: Any) -> ToolCallUpdate:
    return ToolCallUpdate("t", status=value, **more)


def calls(conversation: Conversation) -> list[ToolCall]:
    return [entry for entry in conversation.entries if isinstance(entry, ToolCall)]


def call(conversation: Conversation) -> ToolCall:
    (only,) = calls(conversation)
    return only


def notices(conversation: Conversation) -> list[Notice]:
    return [entry for entry in conversation.entries if isinstance(entry, Notice)]


BEGIN = ToolCallUpdate("t", True, "Run", kind="execute", status="pending", raw_input={"command": "ls"})
ASK = ToolCallUpdate("t")
