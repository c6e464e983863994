"""The tour without a screen, and the copy of it that JupyterLab opens."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import redirect_stdout
from pathlib import Path

import anyio
import nbformat
import pytest
from copilot_kernel.cli import demo
from copilot_kernel.cli.demo import NO_LAB, environment, free_port, fresh_copy
from copilot_kernel.cli.tour import execute
from copilot_kernel.demo.project import FOLDER
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ..jupyter.front_end import until
from ..limits import LIMIT
from ..processes import children, gone

KNOWN = "That was an update that no client knows."
MAY_FAIL = {"tags": ["raises-exception"]}


@pytest.fixture(autouse=True)
def no_litter(tmp_path, monkeypatch):
    """Copies of the tour are made below the test's own folder, also by programs that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def write(folder: Path, name: str, *cells: object) -> Path:
    folder.mkdir(exist_ok=True)
    kernelspec = {"name": "copilot", "display_name": "Copilot", "language": "copilot"}
    nbformat.write(new_notebook(cells=list(cells), metadata={"kernelspec": kernelspec}), folder / name)
    return folder


def run(folder: Path) -> tuple[int, str]:
    """The exit code of a headless run, and what it printed."""
    copy, printed = fresh_copy(folder), io.StringIO()
    with redirect_stdout(printed):
        code = execute(copy, environment(copy))
    return code, printed.getvalue().rstrip("\n")


def test_a_reader_sees_prose_cells_and_outputs_in_their_order(tmp_path):
    folder = write(
        tmp_path / "tour",
        "01.ipynb",
        new_markdown_cell("# One"),
        new_markdown_cell("Some prose."),
        new_code_cell("What is the weather?\nIs it warm?"),
        new_markdown_cell("The end."),
    )
    write(
        folder, "02.ipynb", new_code_cell("Crash, please", metadata=MAY_FAIL), new_code_cell("What did I say earlier?")
    )
    before = set(children())
    code, text = run(folder)
    assert set(children()) - before == set()
    wanted = ["══ 01.ipynb", "# One", "Some prose.", "┃ What is the weather?\n┃ Is it warm?\n", "weather_update", KNOWN]
    wanted += ["The end.", "══ 02.ipynb", "┃ Crash, please\n", "exited with code 1", "┃ What did I", "This is prompt 2"]
    wanted += ["2 notebooks, no failures; see "]
    places = [text.find(each) for each in wanted]
    assert (code, -1 in places, places) == (0, False, sorted(places))


def test_a_cell_that_fails_fails_the_run_unless_it_may(tmp_path):
    folder = write(
        tmp_path / "tour",
        "01.ipynb",
        new_code_cell("Show me trouble", metadata=MAY_FAIL),
        new_code_cell("Answer with an error"),
        new_code_cell("What is the weather?"),
    )
    code, text = run(folder)
    assert (code, text.splitlines()[-2]) == (1, "FAILED 01.ipynb: cell 1")
    assert text.index("Show me trouble") < text.index("could not be reached") < text.rindex(KNOWN)


def test_settings_of_the_user_do_not_change_the_tour(tmp_path, monkeypatch):
    monkeypatch.setenv("COPILOT_KERNEL_PERMISSION_MODE", "bypassPermissions")
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "another")
    monkeypatch.delenv("COPILOT_KERNEL_DEMO_HOME")
    monkeypatch.setenv("JUPYTER_PATH", "/somewhere")
    environ = environment(tmp_path)
    assert {name: value for name, value in environ.items() if name.startswith(("COPILOT_KERNEL_", "JUPYTER_PATH"))} == {
        "COPILOT_KERNEL_AGENT": "demo",
        "COPILOT_KERNEL_DEMO_HOME": str(tmp_path / ".jupyter" / "demo"),
        "JUPYTER_PATH": f"{tmp_path / '.jupyter'}{os.pathsep}/somewhere",
    }


HEADLESS = """
import sys
from pathlib import Path
from copilot_kernel.cli.demo import environment, fresh_copy
from copilot_kernel.cli.tour import execute
from copilot_kernel.demo.project import FOLDER
copy = fresh_copy(Path(sys.argv[1]))
sys.exit(execute(copy, environment(copy)))
"""


def test_ctrl_c_ends_the_headless_tour_with_all_its_processes(tmp_path):
    folder = write(
        tmp_path / "tour",
        "01.ipynb",
        new_code_cell("What is the weather?"),
        new_code_cell("Count slowly to 1000"),
        new_code_cell("Refuse this"),
    )
    command = [sys.executable, "-u", "-c", HEADLESS, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        seen = next(line for line in process.stdout if KNOWN in line)
        family = children(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, "Refuse" in seen + out, err) == (130, False, "")
    until(lambda: all(map(gone, family)), "the end of all processes")


# -- JupyterLab -----------------------------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_passed_over(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = taken.getsockname()[1]
        monkeypatch.setattr(demo, "FIRST_PORT", first)
        assert free_port() > first


def test_without_jupyterlab_one_line_says_what_to_install(monkeypatch, capsys):
    from copilot_kernel.cli import main

    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == (f"copilot-kernel: {NO_LAB}\npip install 'copilot-kernel[lab]'\n")


OPEN = """
import sys
from pathlib import Path
from copilot_kernel.cli import demo
sys.exit(demo.open_lab(demo.fresh_copy(Path(sys.argv[1])), demo.free_port(), browser=False))
"""


async def fetch(address: str) -> bytes:
    """The answer of a server that may be starting."""
    with anyio.fail_after(LIMIT):
        while True:
            try:
                return await anyio.to_thread.run_sync(lambda: urllib.request.urlopen(address, timeout=LIMIT).read())
            except (ConnectionError, urllib.error.URLError):
                await anyio.sleep(0.1)


async def test_jupyterlab_serves_the_copy_with_this_kernel_and_ends_on_ctrl_c(tmp_path, no_litter, environ):
    folder = write(tmp_path / "tour", "01.ipynb", new_code_cell("Hello"))
    command = [sys.executable, "-c", OPEN, str(folder)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        copy, address, last = (process.stdout.readline() for _ in range(3))
        assert last == "Press Ctrl-C to stop.\n"
        match = re.search(r"(http://127\.0\.0\.1:\d+)/lab/tree/01\.ipynb\?(token=\w+)", address)
        listed = json.loads(await fetch(f"{match[1]}/api/kernelspecs?{match[2]}"))
        contents = json.loads(await fetch(f"{match[1]}/api/contents?{match[2]}"))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert listed["kernelspecs"]["copilot"]["spec"]["argv"][0] == sys.executable
    assert [each["name"] for each in contents["content"]] == ["01.ipynb", FOLDER]
    assert copy.startswith("Your copy of the tour: ")
    assert (process.returncode, "Traceback" in errors) == (0, False)
