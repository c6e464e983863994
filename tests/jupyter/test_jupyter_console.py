"""jupyter console in a terminal: a front end that can be asked, but has no widgets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pexpect
import pytest


@pytest.fixture
def terminal(kernelspec: str) -> Iterator[pexpect.spawn]:
    argv = ["-P", "-m", "jupyter_console", "--kernel", kernelspec, "--simple-prompt"]
    environ = dict(os.environ, TERM="dumb")
    child = pexpect.spawn(sys.executable, argv, encoding="utf-8", timeout=15, env=environ, dimensions=(50, 200))
    try:
        child.expect(r"In \[1\]:", timeout=30)
        yield child
    finally:
        child.close(force=True)


def test_questions_are_asked_and_ctrl_c_cancels_the_turn(terminal: pexpect.spawn) -> None:
    terminal.sendline("demo: say Hello from the agent")
    terminal.expect("Hello from the agent\r\n")
    terminal.expect(r"In \[2\]:")

    question = r"1\) Allow once.*: "
    for number, (doing, sign) in enumerate((("demo: slow 1000 0.05", "3 4 "), ("demo: ask Something", question)), 3):
        terminal.sendline(doing)
        terminal.expect(sign)
        terminal.sendintr()
        terminal.expect(r"■ Stopped by you after \d")
        terminal.expect(rf"In \[{number}\]:")

    terminal.sendline("demo: ask Something else")
    terminal.expect(question)
    terminal.sendline("1")
    terminal.expect("Allowed: Allow once")
    terminal.expect(r"In \[5\]:")
