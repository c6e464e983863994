"""Recorded conversations in their cells: the same however they are cut into chunks, and nothing in them is markup."""

import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from sys import maxsize
from typing import Any

import nh3
import pytest
from copilot_kernel.rendering.question import DECIDED
from copilot_widgets.base import STYLE, WIDGET_VIEW

from ..agent.replay import read
from ..real.turns import TRANSCRIPTS
from ..rendering.allowed import TAGS, lines_of, problems
from ..rendering.hostile import HOSTILE
from .chunks import cut
from .replaying import Cell, Records, played

KINDS = {"text/plain", "text/html", WIDGET_VIEW}
PROTOCOL = {
    *("currentValue", "currentModeId", "data", "id", "jsonrpc", "kind", "method", "mimeType", "modeId", "optionId"),
    *("sessionId", "sessionUpdate", "status", "stopReason", "toolCallId", "type", "value"),
}
"""Members whose words are not the agent's own."""
_UNDO = re.compile(r'<span class="copilot-undo copilot-undo-\d+-[0-9a-f]+"></span>')
_MARK = "¤"
_WORD = re.compile(r"\w+")
_NAMES = re.compile(r"^(?:Command\b.*|Change to .*):$|^  (?:---|\+\+\+|@@) .*$", re.MULTILINE)
"""In a question's plain text, what its look says in HTML."""

recorded = pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)


@recorded
def test_any_chunking_gives_the_same_questions_and_final_outputs(path: Path) -> None:
    records = read(path)
    first = seen(records)
    for sizes in ([maxsize], [1]):
        assert seen(cut(records, sizes)) == first


def seen(records: Records) -> list[Any]:
    return [(cell.questions, cell.outputs) for cell in played(records)]


@recorded
def test_whatever_the_agent_puts_in_nothing_of_it_is_markup(path: Path) -> None:
    cells = played(hostile(read(path), TRANSCRIPTS.index(path)))
    assert any(_MARK in output["text/plain"] for cell in cells for output in cell.outputs)
    assert {kind for cell in cells for bundle in cell.sent for kind in bundle} <= KINDS
    assert [found for cell in cells for html in html_of(cell) if (found := problems(html))] == []


def html_of(cell: Cell) -> Iterator[str]:
    """All that was ever shown, also in widgets."""
    yield from (_UNDO.sub("", bundle.get("text/html", "")) for bundle in cell.sent)
    yield from (label.replace(STYLE, "") for label in cell.labels)


def hostile(records: Records, first: int) -> Records:
    """With one of the hostile texts at the end of whatever the agent says, beginning with number `first`."""
    texts = cycle((*HOSTILE[first:], *HOSTILE[:first]))

    def spoilt(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            is_own = value.get("name") == "Copilot"  # what is peculiar to it depends on that
            return {key: inner if is_own and key == "name" else spoilt(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [spoilt(inner, name) for inner in value]
        return f"{value}{_MARK}{next(texts)}" if isinstance(value, str) and name not in PROTOCOL else value

    return [{**each, "message": spoilt(each["message"])} if each["from"] == "agent" else each for each in records]


@recorded
def test_without_styles_scripts_and_classes_every_output_still_reads_in_order(path: Path) -> None:
    """As GitHub shows it: the words of the plain text, in their order, and nothing that only a style would hide."""
    for output in (output for cell in played(read(path)) for output in cell.outputs):
        assert missing_words(output["text/plain"], " ".join(bare(output))) == []
        assert "display:none" not in output["text/html"]


@recorded
def test_so_does_every_question_that_was_saved_open(path: Path) -> None:
    """First what is asked, last that it was not answered, and between them all that the plain text has."""
    for asked in (asked.bundle for cell in played(read(path)) for asked in cell.questions):
        plain, lines = asked["text/plain"], bare(asked)
        assert lines[0].startswith(f"? {plain.partition('?')[0]}?")
        assert lines[-1] == DECIDED
        assert set(_WORD.findall(_NAMES.sub("", plain))) <= set(_WORD.findall(" ".join(lines)))
        assert "display:none" not in asked["text/html"]


def bare(bundle: dict[str, Any]) -> list[str]:
    """The lines of its HTML, of which nothing but the tags is left."""
    return lines_of(nh3.clean(bundle["text/html"], tags=TAGS, attributes={}))


@recorded
def test_no_summary_holds_a_link_or_a_button(path: Path) -> None:
    """It is a control itself: assistive technology would not reach one inside."""
    for output in (output for cell in played(read(path)) for output in cell.outputs):
        for summary in re.findall("<summary.*?</summary>", output["text/html"], re.DOTALL):
            assert not re.search('<a |<button|class="copilot-undo', summary)


def missing_words(plain: str, html: str) -> list[str]:
    """What of `plain` does not follow in `html` on what comes before it; marks, fences and images look otherwise."""
    words = iter(_WORD.findall(html))
    return [word for word in _WORD.findall(re.sub(r"```\w*|\[image/.*?\]", "", plain)) if word not in words]
