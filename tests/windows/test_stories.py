"""Notebooks and servers on Windows: its Python runs the product under wine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VARIABLE = "COPILOT_TEST_WINDOWS"
"""The folder that `setup.sh` has made."""
SECONDS = 1200
"""Only a hang reaches it."""
HERE = Path(__file__).parent


@pytest.mark.engine
@pytest.mark.timeout(SECONDS + 120)
def test_each_story_of_a_notebook_ends_well() -> None:
    folder = os.environ.get(VARIABLE)
    if not folder or shutil.which("wine") is None:
        pytest.skip(f"needs wine; {HERE / 'setup.sh'} makes the folder that {VARIABLE} names")
    place = f"Z:{HERE}".replace("/", "\\")
    words = (HERE / "run.sh", folder, str(SECONDS), place, rf"C:\stories-{os.getpid()}")
    # Other tests' kernelspecs are none of this Python's.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER_")}
    done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, text=True, errors="replace", timeout=SECONDS + 60)
    print(done.stdout)
    failed = [line for line in done.stdout.splitlines() if line.startswith("failed ")]
    assert (done.returncode, failed) == (0, [])
    assert "\nok paths_and_lines_are_judged_as_on_every_platform" in done.stdout  # the last one
