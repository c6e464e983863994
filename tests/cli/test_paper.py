"""Who writes where, and that no line begins in the middle of another."""

import io

import pytest
from copilot_kernel.cli.paper import StreamPrinter


class Screen(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def written(out_tty: bool, err_tty: bool) -> tuple[str, str]:
    out, err = Screen(out_tty), Screen(err_tty)
    paper = StreamPrinter(out, err, on_lost=lambda: pytest.fail("nobody left"))
    paper.aside(1, "let me ")
    paper.aside(1, "see")
    paper.answer(2, "one ", begins=True)
    paper.line("… Read a.txt")
    paper.answer(2, "two", begins=False)
    paper.answer(3, "three", begins=True)
    paper.prompt("Answer 1-2: ")
    paper.entered()
    paper.line("done")
    paper.end()
    return out.getvalue(), err.getvalue()


def test_in_files_the_answer_stands_alone_and_whole():
    assert written(False, False) == ("one two\n\nthree\n", "let me see\n… Read a.txt\nAnswer 1-2: done\n")


def test_on_one_screen_every_writer_begins_a_line():
    assert written(True, True) == (
        "one \ntwo\n\nthree\n",
        "\x1b[2mlet me \x1b[0m\x1b[2msee\x1b[0m\n… Read a.txt\nAnswer 1-2: done\n",
    )


def test_control_characters_of_the_agent_do_not_reach_the_terminal():
    out, err = Screen(True), Screen(True)
    paper = StreamPrinter(out, err, on_lost=lambda: pytest.fail("nobody left"))
    paper.answer(1, "a\x1b[2Jb\x1b]52;c;ZXZpbA==\x07c\x08\x9b1md\r\n\ud800e\x1b", begins=True)
    paper.answer(1, "[2Jf", begins=False)
    assert (out.getvalue(), err.getvalue()) == ("abcd\n\ufffde[2Jf", "")


def test_a_reader_that_leaves_is_noticed_once():
    class Closed(Screen):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    lost: list[str] = []
    paper = StreamPrinter(Closed(False), Screen(False), on_lost=lambda: lost.append("lost"))
    paper.answer(1, "one", begins=True)
    paper.answer(1, "two", begins=False)
    assert lost == ["lost"]
