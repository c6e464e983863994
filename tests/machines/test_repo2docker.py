"""The image that Binder builds of this repository, as repo2docker describes it; it is not built."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(60),
    pytest.mark.skipif(not (ROOT / "binder").is_dir(), reason="this is a check of a checkout"),
]

STEP = re.compile(r"^(COPY --chown=0:0 src/ .*|RUN .*pip install .*|ENV R2D_ENTRYPOINT.*)$", re.MULTILINE)


def test_repo2docker_installs_the_whole_checkout_on_the_python_of_binder_and_starts_with_its_script(
    tmp_path: Path,
) -> None:
    command = (sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(ROOT))
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=tmp_path)
    python = (ROOT / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert (done.returncode, f"python={python}\n" in done.stderr) == (0, True)
    assert STEP.findall(done.stdout) == [
        "COPY --chown=0:0 src/ ${REPO_DIR}/",
        'RUN ${KERNEL_PYTHON_PREFIX}/bin/pip install --no-cache-dir -r "binder/requirements.txt"',
        'ENV R2D_ENTRYPOINT="${REPO_DIR}/binder/start"',
    ]
