"""However an agent cuts what it sends into chunks, and whenever they come, the cell ends with the same outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from copilot_kernel.acp.messages import Chunk, TextBlock, ToolCallUpdate, Update
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.conversation.reduce import begin_turn, changed, end_turn, reduce
from copilot_kernel.frontend.batch import Batch
from copilot_kernel.frontend.output_area import OutputArea
from hypothesis import given, settings
from hypothesis import strategies as st

from .chunks import parts
from .recording import Loop, RecordingCell

Step = tuple[str, str]
"""Who speaks and what; or a kind of tool call and how it ends."""

WORDS = (
    *("word ", "ab", "\n", "\n\n", "```\n", "```py\n", "    indented\n", "> quoted\n", "- item\n", "1. one\n"),
    *("| a | b |\n|---|---|\n| 1 | 2 |\n", "**bold", "** ", "$x$ ", "<b>", "&amp;", "[x](y)", "é\u202e\r\n", "# "),
)
SHORT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map("".join)
LONG = st.sampled_from(("A paragraph of its own.\n\n" * 700, "- An item.\n\n" * 300))
"""Of several pieces; of one that is drawn in parts while it grows."""
SPEAKING = st.one_of(
    st.tuples(st.sampled_from(("agent", "thought")), SHORT.map("I {}".format)),
    st.tuples(st.just("agent"), st.tuples(SHORT, LONG, SHORT).map("I {0[0]}\n\n{0[1]}{0[2]}".format)),
)
"""What begins like a message of Copilot's own (`Error: `) depends on its chunk, since it comes as one."""
CALLING = st.tuples(st.sampled_from(("read", "execute", "edit")), st.sampled_from(("completed", "failed")))
CUTS = st.tuples(st.lists(st.sampled_from((1, 7, 80)), max_size=6), st.sampled_from((2_000, 9_000)))


def updates(script: Sequence[Step], cuts: Sequence[int], steps: Sequence[str | None]) -> Iterator[Update]:
    """Texts in chunks of these sizes, again and again; calls through these statuses to their end."""
    for number, (what, words) in enumerate(script):
        if what in ("agent", "thought"):
            for part in parts(words, cuts):
                yield Chunk(what, TextBlock(part))
        else:
            call = partial(ToolCallUpdate, f"call {number}")
            yield call(begins=True, title=f"Step {number}", kind=what, status="pending")
            yield from (call(status=status) for status in (*steps, words))


def outputs(said: Iterator[Update], pauses: Sequence[float] | None = None) -> list[dict[str, Any]]:
    """What is left in the cell; with `pauses`, repeated between the updates, somebody watches."""
    loop, cell = Loop(), RecordingCell(live=pauses is not None)
    area = Batch(cell) if pauses is None else OutputArea(cell, loop)
    now = begin_turn(Conversation(), [TextBlock("Go")])
    for number, update in enumerate((*said, None)):
        after = reduce(now, update) if update else end_turn(now, "end_turn")
        for entry in changed(now, after):
            area.put(entry)
        now = after
        if pauses:
            loop.pass_time(pauses[number % len(pauses)])
    area.settle()
    return cell.outputs


@settings(deadline=None, max_examples=25)
@given(
    st.lists(SPEAKING | CALLING, min_size=1, max_size=4),
    CUTS,
    st.lists(st.sampled_from(("pending", "in_progress", None)), max_size=2),
    st.lists(st.sampled_from((0.0, 0.0, 0.01, 0.3, 5.0)), min_size=1, max_size=6),
)
def test_any_chunking_gives_the_same_final_output(
    script: list[Step], cuts: tuple[list[int], int], steps: list[str | None], pauses: list[float]
) -> None:
    sizes = [*cuts[0], cuts[1]]
    whole = outputs(updates(script, [sys.maxsize], []))
    assert outputs(updates(script, sizes, steps), pauses) == whole
    assert outputs(updates(script, sizes, steps)) == whole
