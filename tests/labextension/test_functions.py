"""The front-end extension, and the guard of questions: functions that need no page, tested in Node; its files."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import jupyterlab
import pytest
from copilot_kernel.config import LANGUAGE
from copilot_kernel.server.chat.page import STATIC
from jupyter_core.paths import jupyter_path

from ..limits import LIMIT

HERE = Path(__file__).parent


@pytest.mark.parametrize("topic", sorted(path.name.removesuffix(".test.mjs") for path in HERE.glob("*.test.mjs")))
def test_in_node(topic: str) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node: install it")
    command = [node, "--test", "--test-reporter=tap", str(HERE / f"{topic}.test.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout


def test_a_console_for_a_markdown_file_does_not_choose_our_kernel_by_its_language() -> None:
    """JupyterLab compares the names as they are."""
    bundles = Path(jupyterlab.__file__).parents[4].glob("share/jupyter/lab/static/jlab_core.*.js")
    named = re.compile(r'name:"([^"]+)",displayName:\w+\.__\("[^"]+"\),mime:"text/x-markdown"')
    names = [name for bundle in bundles for name in named.findall(bundle.read_text("utf-8"))]
    assert names == ["Markdown"] != [LANGUAGE]


def test_the_installed_files_are_those_of_the_source() -> None:
    source = HERE.parents[1] / "widgets" / "labextension" / "static"
    installed = next(path for each in jupyter_path("labextensions") if (path := Path(each, "copilot-kernel")).is_dir())
    package = json.loads((installed / "package.json").read_text("utf-8"))
    static = (installed / package["jupyterlab"]["_build"]["load"]).parent
    for path in (*source.iterdir(), STATIC / "answers.js"):
        theirs = static / os.path.relpath(path, source)
        assert theirs.read_text("utf-8") == path.read_text("utf-8"), "run `uv sync`"
    assert len([*static.iterdir()]) == len([*source.iterdir()])
