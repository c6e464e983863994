"""Stories of a notebook on Windows, told to kernels with the test agent. Runs in Windows' Python: `stories.py FOLDER`.

Prints a line for each story: `ok NAME`, or `failed NAME` with the reason.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

LIMIT = 60.0
COPILOT = (sys.executable, "-P", "-m", "copilot_kernel", "-f", "{connection_file}")
PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
STILL_ACTIVE, QUERY = 259, 0x1000
FIRST = "demo: say hello there, whoever you are"
STORIES: list[Callable[[Path], None]] = []


def story(tell: Callable[[Path], None]) -> Callable[[Path], None]:
    STORIES.append(tell)
    return tell


class Notebook:
    """A kernel in the folder `project`; questions are answered with `answer`."""

    def __init__(self, project: Path, argv: tuple[str, ...] = COPILOT, answer: str = "1") -> None:
        self.answer, self.asked = answer, list[str]()
        cell = {"cell_type": "code", "source": FIRST, "metadata": {}, "outputs": [], "execution_count": None}
        saved = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
        (project / "book.ipynb").write_text(json.dumps(saved), "utf-8")
        self.manager = KernelManager()
        self.manager._kernel_spec = KernelSpec(
            argv=list(argv), display_name="", language="", interrupt_mode="message" if argv is COPILOT else "signal"
        )
        environ = {**os.environ, "JPY_SESSION_NAME": str(project / "book.ipynb")}
        self.manager.start_kernel(cwd=str(project), env=environ)
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, code: str, seen: Callable[[str], None] = lambda text: None) -> tuple[str, str]:
        """The status of the reply, and everything that was shown."""
        shown: list[str] = []

        def on_output(message: dict[str, Any]) -> None:
            content = message["content"]
            text = content.get("text") or content.get("data", {}).get("text/plain") or content.get("evalue", "")
            shown.append(str(text))
            seen(str(text))

        def on_question(message: dict[str, Any]) -> None:
            self.asked.append(message["content"]["prompt"])
            self.client.input(self.answer)

        reply = self.client.execute_interactive(
            code, timeout=LIMIT, allow_stdin=True, output_hook=on_output, stdin_hook=on_question
        )
        return reply["content"]["status"], "\n".join(shown)

    @property
    def pid(self) -> int:
        return int(self.manager.provisioner.process.pid)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()


@contextmanager
def notebook(project: Path, **options: Any) -> Iterator[Notebook]:
    book = Notebook(project, **options)
    try:
        yield book
    finally:
        book.close()


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def has_ended(pid: int) -> bool:
    kernel32, code = ctypes.WinDLL("kernel32"), ctypes.c_ulong()
    kernel32.OpenProcess.restype = ctypes.c_void_p
    if not (handle := kernel32.OpenProcess(QUERY, False, pid)):
        return True
    kernel32.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(code))
    kernel32.CloseHandle(ctypes.c_void_p(handle))
    return code.value != STILL_ACTIVE


def command_line(*words: str, code: int = 0, **environ: str) -> str:
    """What a command of `copilot-kernel` prints."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from copilot_kernel.cli import main; sys.exit(main())", *words],
        capture_output=True, text=True, encoding="utf-8", timeout=LIMIT, stdin=subprocess.DEVNULL,
        env={**os.environ, **environ}, errors="replace",
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def started(book: Notebook, project: Path, then: Callable[[], None]) -> tuple[str, str, int]:
    """Run a command that does not end, and do something once it runs: how the cell ends, and the command's pid."""
    (noted := project / "pid.txt").unlink(missing_ok=True)
    code = "import os, time; open('pid.txt', 'w').write(str(os.getpid())); time.sleep(600)"

    def wait() -> None:
        until(lambda: noted.exists() and bool(noted.read_text()), "the command")
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        status, text = book.run(f'demo: shell "{sys.executable}" -c "{code}"')
    finally:
        thread.join()
    return status, text, int(noted.read_text())


# -- the stories ----------------------------------------------------------------------------------------------------


@story
def a_turn_a_question_an_interrupt_and_a_restart(project: Path) -> None:
    with notebook(project) as book:
        status, text = book.run(FIRST)
        assert (status, "hello there" in text) == ("ok", True), text
        (project / "notes.txt").write_text("gone")
        status, text = book.run("demo: delete notes.txt")
        assert (status, (project / "notes.txt").exists()) == ("ok", False), text
        assert str(project / "notes.txt") in text, text  # as Windows writes it
        book.answer = "3"  # deny
        (project / "kept.txt").write_text("kept")
        status, text = book.run("demo: delete kept.txt")
        assert (project / "kept.txt").exists(), text
        book.answer = "1"
        status, text, pid = started(book, project, book.manager.interrupt_kernel)
        assert status == "error", text
        until(lambda: has_ended(pid), "the end of the command")
        book.manager.restart_kernel(now=False)
        book.client.wait_for_ready(timeout=LIMIT)
        assert book.run("demo: say again")[0] == "ok"
    listed = command_line("sessions", "--json", "--here")
    (session,) = set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", listed))  # the conversation has continued
    command_line("export", session, "-o", str(project / "chat.ipynb"))
    exported = (project / "chat.ipynb").read_text("utf-8")
    assert ("hello there" in exported, "again" in exported) == (True, True)


@story
def a_kernel_that_is_killed_leaves_nothing_behind(project: Path) -> None:
    book = Notebook(project)
    noted = project / "pid.txt"
    code = "import os, time; open('pid.txt', 'w').write(str(os.getpid())); time.sleep(600)"
    book.client.execute(f'demo: shell "{sys.executable}" -c "{code}"', allow_stdin=True)
    message = book.client.get_stdin_msg(timeout=LIMIT)
    assert message["msg_type"] == "input_request"
    book.client.input("1")
    until(lambda: noted.exists() and bool(noted.read_text()), "the command")
    book.manager.provisioner.process.kill()
    until(lambda: has_ended(int(noted.read_text())), "the end of the command")
    book.client.stop_channels()


@story
def a_kernel_ends_with_the_program_that_started_it(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, __file__, "--orphan", str(project)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    until(lambda: has_ended(int(done.stdout.split()[-1])), "the end of the kernel")


@story
def a_python_notebook_asks_the_agent_and_the_agent_runs_code(project: Path) -> None:
    with notebook(project, argv=PYTHON) as book:
        assert book.run("%load_ext copilot_kernel\nnumber = 42")[0] == "ok"
        status, text = book.run("%%copilot\ndemo: say hello there")
        assert (status, "hello there" in text) == ("ok", True), text
        status, text = book.run('%%copilot\ndemo: notebook run_python {"code": "number += 1"}')
        assert status == "ok", text
        assert "43" in book.run("print(number)")[1], text


@story
def the_command_line_works(project: Path) -> None:
    assert "copilot" in command_line("install", "--user")
    found = json.loads(command_line("doctor", "--json"))
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["sign-in"]["state"] == "ok", checks
    assert "Linux or macOS" in checks["sandbox"]["message"], checks["sandbox"]
    assert "settings" in command_line("doctor", "--no-start", PYTHONUTF8="0", PYTHONIOENCODING="cp1252")
    os.environ["COPILOT_KERNEL_AGENT_SHARING"] = "user"
    assert "Agents cannot be shared on Windows" in command_line("doctor", "--no-start", code=1)
    del os.environ["COPILOT_KERNEL_AGENT_SHARING"]


@story
def no_argument_passes_through_cmd(project: Path) -> None:
    from copilot_kernel.acp.locate import locate
    from copilot_kernel.errors import AgentNotFound

    environ = {**os.environ, "PATH": f"{project};{os.environ['PATH']}"}
    (project / "Copilot.cmd").write_text('"%_prog%"  "%dp0%\\agent\\index.js" %*')
    (project / "other.bat").write_text("@echo %*")
    (project / "agent").mkdir()
    for file in (node := project / "node.exe", script := project / "agent" / "index.js"):
        file.touch()
    found = locate("", environ)
    assert (found.is_copilot, [word.lower() for word in found.argv[:2]]) == (
        True,
        [str(node).lower(), str(script).lower()],
    )
    assert locate(f'"{project}\\copilot.cmd" C:\\a', environ).argv[1:] == (str(script), "C:\\a", "--acp")
    assert locate("other --acp", environ).argv[1:] == ("--acp",)
    for argument in ("%OS%", "a&b", '"x | y"'):
        with contextlib.suppress(AgentNotFound):
            raise AssertionError(locate(f"other {argument}", environ))


@story
def paths_and_lines_are_judged_as_on_every_platform(project: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent / "permissions"))
    import windows_corpus

    assert list(windows_corpus.wrong()) == []


def main(folder: Path, names: list[str]) -> int:
    os.environ |= {
        "COPILOT_KERNEL_DEMO": "mcp-http",
        "COPILOT_KERNEL_DEMO_HOME": str(folder / "demo"),
        "APPDATA": str(folder / "data"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    (folder / "config").mkdir(parents=True, exist_ok=True)
    agent = f'"{sys.executable}" -P "{Path(__file__).parents[1] / "agent"}"'
    (folder / "config" / "copilot_kernel.json").write_text(json.dumps({"agent": agent}), "utf-8")
    failures = 0
    for number, tell in enumerate(STORIES):
        if names and tell.__name__ not in names:
            continue
        (project := folder / f"project {number}").mkdir(parents=True, exist_ok=True)
        os.chdir(project)
        began = time.monotonic()
        try:
            tell(project)
            print(f"ok {tell.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except BaseException:
            failures += 1
            print(f"failed {tell.__name__}\n{traceback.format_exc()}", flush=True)
    return failures


if __name__ == "__main__":
    if sys.argv[1] == "--orphan":
        print(Notebook(Path(sys.argv[2])).pid, flush=True)
        os._exit(0)
    sys.stdout.reconfigure(encoding="utf-8")
    number = main(Path(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(bool(number))
