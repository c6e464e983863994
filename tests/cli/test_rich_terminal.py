"""A terminal that understands escape sequences, in memory: Markdown drawn by rich, and the status line."""

from __future__ import annotations

import re
import sys

import anyio
import pytest
from copilot_kernel.cli import rich_markdown
from copilot_kernel.cli.printer import StreamPrinter
from copilot_kernel.cli.status_line import DIM, PLAIN, StatusLine
from hypothesis import given
from hypothesis import strategies as st

from .screen import Clock, Screen

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
STATUS = re.compile(r"\r\x1b\[K(?:\x1b\[\?7l\x1b\[2m(?P<words>[^\x1b]*)\x1b\[0m\x1b\[\?7h)?")


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "20"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def drawn(source: str) -> str:
    """`source` as rich draws it."""
    render = rich_markdown.renderer(Screen())
    assert render is not None
    return render(source)


def read(text: str) -> str:
    """`text` without colours."""
    return COLOURS.sub("", text)


@pytest.fixture
def printer(screen: Screen, clock: Clock) -> StreamPrinter:
    return StreamPrinter(screen, screen, lambda: pytest.fail("the reader has not gone"), clock)


# -- Markdown --------------------------------------------------------------------------------------------------------


def test_markdown_is_drawn() -> None:
    assert drawn("# One\n\n**two** and `three`") == "\x1b[1;4mOne\x1b[0m\n\n\x1b[1mtwo\x1b[0m and \x1b[36mthree\x1b[0m"
    assert read(drawn("- a\n- b\n\n```\n  c\n```")) == " • a\n • b\n\n\n   c"
    assert "1" in read(drawn("| a |\n|---|\n| 1 |"))


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert drawn("**two** and `three`") == "\x1b[1mtwo\x1b[0m and three"


@pytest.mark.parametrize(("source", "shown"), [
    ("a\x1b[2Jb\x1b]52;c;ZXZpbA==\x07c\x9b1md", "abcd"),
    ("\x1b[1m# a", "a"),
    ("`a\u202eb` c\u200bd &#x202e; &#27;[2J", "a⟨U+202E⟩b c⟨U+200B⟩d ⟨U+202E⟩ �[2J"),
    ("a<!-- b --><script>c", "a<!-- b --><script>c"),
    ("<p hidden>\na", "<p hidden> a"),
    ("[a](https://b.example)", "a (https://b.example)"),
    ("[https://a.example](https://b.example)", "https://a.example (https://b.example)"),
    ("<https://a.example>", "https://a.example"),
    ("![a](https://b.example/c.png)", "[image: a] (https://b.example/c.png)"),
    ("[![a](//b)](https://c.example)", "[image: a] (//b) (https://c.example)"),
    (":smile: [bold]a[/bold]", ":smile: [bold]a[/bold]"),
])  # fmt: skip
def test_nothing_controls_the_terminal_or_hides(source: str, shown: str) -> None:
    assert read(drawn(source)) == shown


PARTS = st.sampled_from(
    (*"\x1b[]()!<>&#;`*_~|-:.\\ \n\t\r\u202e\x9b7a", "\x1b[2J", "&#27;", "&#x202e;", "](", "```", "1. ", "> ")
)


@given(st.lists(PARTS, max_size=60).map("".join) | st.text(max_size=80))
def test_whatever_the_agent_says_only_colours_are_escape_sequences(source: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", read(drawn(source)))


def test_each_block_is_drawn_as_soon_as_it_is_whole(screen: Screen, printer: StreamPrinter) -> None:
    printer.answer(1, "**one", begins=True)
    assert screen.getvalue() == ""
    printer.answer(1, "**\n\ntw", begins=False)
    assert screen.getvalue() == "\x1b[1mone\x1b[0m\n"
    printer.line("row")
    printer.answer(2, "three", begins=True)
    printer.end()
    assert read(screen.getvalue()) == "one\n\ntw\nrow\n\nthree\n"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_escape_sequences_gets_the_text_as_it_is(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, screen: Screen, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    printer = request.getfixturevalue("printer")
    printer.status("Waiting")
    printer.aside(1, "hm")
    printer.answer(2, "**one**", begins=True)
    assert screen.getvalue() == "hm\n**one**"


def test_without_rich_the_text_is_written_as_it_is(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, screen: Screen
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    printer = request.getfixturevalue("printer")
    printer.answer(1, "**one** tw", begins=True)
    assert screen.getvalue() == "**one** tw"


# -- the status line -------------------------------------------------------------------------------------------------


def states(screen: Screen) -> list[str]:
    """Every status line that was drawn; empty where it was removed."""
    return [found["words"] or "" for found in STATUS.finditer(screen.getvalue())]


def test_the_status_line_says_how_long_unless_the_words_do(screen: Screen, clock: Clock) -> None:
    line = StatusLine(screen, clock)
    line.show("Thinking")
    line.draw()
    clock.now = 6
    line.draw()
    line.show("Waiting for the model · 6 s")
    clock.now = 7.25
    line.draw()
    line.show("")
    line.draw()
    assert states(screen) == ["◐ Thinking", "◐ Thinking · 6 s", "◓ Waiting for the model · 6 s", ""]


def test_the_status_line_is_gone_before_anything_is_written(screen: Screen, printer: StreamPrinter) -> None:
    printer.status("Thinking")
    printer.line("row")
    printer.status("Running make")
    printer.end()
    assert screen.getvalue() == (
        f"\r\x1b[K\x1b[?7l{DIM}◐ Thinking{PLAIN}\x1b[?7h\r\x1b[Krow\n"
        f"\r\x1b[K\x1b[?7l{DIM}◐ Running make{PLAIN}\x1b[?7h\r\x1b[K"
    )


def test_the_status_line_does_not_overwrite_a_line_that_has_begun(screen: Screen, printer: StreamPrinter) -> None:
    printer.prompt("Answer: ")
    printer.status("Thinking")
    assert screen.getvalue() == "Answer: "
    printer.entered()
    printer.status("Thinking")
    assert states(screen) == ["◐ Thinking"]


def test_the_status_line_shows_the_end_of_what_is_not_drawn_yet(screen: Screen, printer: StreamPrinter) -> None:
    printer.answer(1, "one\n\ntwo\nthree\x1b[2J " + "x" * 60, begins=True)
    printer.status("")
    assert states(screen) == ["◐ " + "x" * 60]


def test_words_cannot_control_the_terminal(screen: Screen, printer: StreamPrinter) -> None:
    printer.status("Running a\x1b[2J\nb\u202e")
    assert states(screen) == ["◐ Running a⟨U+001B⟩[2J b⟨U+202E⟩"]


def test_the_status_line_is_drawn_again_and_again(screen: Screen, clock: Clock, printer: StreamPrinter) -> None:

    async def sleep(seconds: float) -> None:
        if clock.now >= 1:
            raise StopAsyncIteration
        clock.now += seconds

    printer.status("Thinking")
    with pytest.raises(StopAsyncIteration):
        anyio.run(printer.keep_status, sleep)
    assert states(screen) == ["◐ Thinking", "◓ Thinking", "◑ Thinking", "◒ Thinking", "◐ Thinking · 1 s"]
