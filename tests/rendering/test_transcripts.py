"""What real agents said, recorded: all of it can be shown, and their words are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.messages import Chunk, TextBlock, ToolCallUpdate
from copilot_kernel.acp.parse import parse_update
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.conversation.reduce import begin_turn, reduce
from copilot_kernel.rendering.entry import render, render_group
from copilot_kernel.rendering.raw import commands

from .allowed import problems

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))


def updates(path: Path) -> list[Any]:
    said = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    messages = [each["message"] for each in said if each.get("from") == "agent"]
    return [parse_update(each["params"]["update"]) for each in messages if each.get("method") == "session/update"]


def conversation(path: Path) -> Conversation:
    told = begin_turn(Conversation(), [TextBlock("Please.")])
    for update in updates(path):
        told = reduce(told, update)
    return told


def test_there_are_recordings_of_several_agents():
    assert len({path.name.split("-")[0] for path in TRANSCRIPTS}) >= 3


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_conversation_can_be_shown(path):
    told = conversation(path)
    assert [found for entry in told.entries if (found := problems(render(entry).get("text/html", "")))] == []
    words = render_group(told.entries)["text/plain"]
    texts = [u.block.text for u in updates(path) if isinstance(u, Chunk) and isinstance(u.block, TextBlock)]
    assert [text for text in texts if squeezed(text) not in squeezed(words)] == []
    ran = [command for u in updates(path) if isinstance(u, ToolCallUpdate) for command in commands(u.raw_input)]
    assert [command for command in ran if command not in words] == []


def squeezed(text: str) -> str:
    """Without white space: a thought is indented, a chunk may end in the middle of a line."""
    return "".join(text.split())
