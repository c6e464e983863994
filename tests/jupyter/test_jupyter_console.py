"""jupyter console in a terminal: a front end that can be asked, but has no widgets."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from .terminals import LIMIT, enter, in_terminal, interrupt


@pytest.fixture
def terminal(kernelspec: str, tmp_path: Path) -> Iterator[pexpect.spawn]:
    argv = [sys.executable, "-P", "-m", "jupyter_console", "--kernel", kernelspec, "--simple-prompt"]
    with in_terminal(argv, tmp_path, {**os.environ, "TERM": "dumb"}) as child:
        child.expect(r"In \[1\]:", timeout=LIMIT)
        yield child


def test_questions_are_asked_and_ctrl_c_cancels_the_turn(terminal: pexpect.spawn) -> None:
    enter(terminal, "demo: say Hello from the agent", "Hello from the agent\r\n", r"In \[2\]:")

    question = r"1\) Allow once.*: "
    for number, (doing, sign) in enumerate((("demo: slow 100000 0.05", "3 4 "), ("demo: ask Something", question)), 3):
        enter(terminal, doing, sign)
        (interrupt if sign == question else pexpect.spawn.sendintr)(terminal)
        terminal.expect(r"■ Stopped by you after \d")
        terminal.expect(rf"In \[{number}\]:")

    enter(terminal, "demo: ask Something else", question)
    enter(terminal, "1", "allowed by you", r"In \[5\]:")
