"""What the sandbox costs at the start of an agent: putting it together, and starting a program in it.

With a list of hosts only if `srt` and `socat` are on PATH.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median

from copilot_kernel.config import Settings
from copilot_kernel.sandbox import Sandbox, SandboxUnavailable, raise_sandbox
from copilot_kernel.sandbox.probe import try_bubblewrap

from .report import Report

PROGRAM = ("/bin/true",)
FOLDERS, FILES = 300, 10
"""Of the project, and in each folder."""


@contextmanager
def _project() -> Iterator[Settings]:
    with tempfile.TemporaryDirectory() as root:
        project = Path(root, "project")
        for number in range(FOLDERS):
            folder = project / f"package{number % 20}" / f"module{number}"
            folder.mkdir(parents=True)
            for name in range(FILES):
                (folder / f"file{name}.py").touch()
        (project / "AGENTS.md").touch()
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        yield Settings(cwd=str(project), state=str(Path(root, "state")), sandbox="required")


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _run(command: tuple[str, ...], cwd: str, sandbox: Sandbox | None = None) -> None:
    """In the sandbox, if there is one."""
    words, environ = (sandbox.command(command, cwd), sandbox.environment()) if sandbox else (command, dict(os.environ))
    subprocess.run(words, cwd=cwd, env=environ, check=True)


def run(scale: float = 1.0) -> Report:
    """Each round starts the program with and without, so that a busy machine slows both."""
    rounds = max(5, round(30 * scale))
    making, inside, plain, filtered = [], [], [], []
    with _project() as settings, tempfile.TemporaryDirectory() as handover:

        def make() -> Sandbox:
            """As the first time in a process."""
            try_bubblewrap.cache_clear()
            return raise_sandbox(settings, [PROGRAM], Path(handover))

        sandbox, cwd = make(), settings.folder
        for _ in range(rounds):
            making.append(_milliseconds(make))
            plain.append(_milliseconds(lambda: _run(PROGRAM, cwd)))
            inside.append(_milliseconds(lambda: _run(PROGRAM, cwd, sandbox)))
        with suppress(SandboxUnavailable):
            hosts = raise_sandbox(replace(settings, sandbox_hosts=()), [PROGRAM], Path(handover))
            filtered = [_milliseconds(lambda: _run(PROGRAM, cwd, hosts)) for _ in range(rounds)]
    cost = [made + started - without for made, started, without in zip(making, inside, plain, strict=True)]
    report = Report("sandbox", f"a program in the sandbox of a project of {FOLDERS * FILES:,} files, {rounds} starts")
    report.add("the program without a sandbox, median", median(plain), "ms")
    report.add("put the sandbox together and try bubblewrap, median", median(making), "ms")
    report.add("the program in the sandbox, median", median(inside), "ms")
    if filtered:
        report.add("the program in the sandbox with a list of hosts, median", median(filtered), "ms")
    report.add("cost at the start, median", median(cost), "ms", bound=50)
    return report
