"""The project stays what it was when the kernel started, whatever becomes of the current folder: whole turns."""

from pathlib import Path

import pytest

from ..jupyter.conftest import StartKernel as StartCopilot
from ..jupyter.conftest import start_kernel as start_copilot  # noqa: F401 - a fixture
from ..jupyter.front_end import FrontEnd
from .conftest import StartKernel

LEFT = {
    "left": "import os; os.chdir('/')",
    "deleted": "import os; os.makedirs('gone'); os.chdir('gone'); os.rmdir(os.getcwd())",
}
SANDBOXES = ["off", pytest.param("required", marks=pytest.mark.sandbox)]
EDITS = {"COPILOT_KERNEL_PERMISSION_MODE": "acceptEdits"}


def check(kernel: FrontEnd, work: Path, run: str = "") -> None:
    """Turns and commands work in `work`, and nowhere else."""
    done = kernel.run(f"{run}demo: create made.txt text", live=False)
    assert (done.status, (work / "made.txt").read_text()) == ("ok", "text")
    outside = work.parent / "outside.txt"
    refused = kernel.run(f"{run}demo: create {outside} text", live=False).text
    assert (outside.exists(), "reject" in refused) == (False, True)
    assert f"Folder {work}" in " ".join(kernel.run(f"{run}%status").text.split())
    for command in ("%sessions", "%attach made.txt", "demo: say see @made.txt"):
        assert kernel.run(f"{run}{command}").status == "ok", command
    assert "bug in Copilot Kernel" not in "".join(str(message["content"]) for message in kernel.published)


@pytest.mark.parametrize(
    ("how", "sandbox", "turn_before"),
    [
        ("left", "off", True),
        ("deleted", "off", False),
        pytest.param("left", "required", False, marks=pytest.mark.sandbox),
        pytest.param("deleted", "required", False, marks=pytest.mark.sandbox),
    ],
)
def test_python_code_that_leaves_the_folder_moves_no_project(
    start_kernel: StartKernel, how: str, sandbox: str, turn_before: bool
) -> None:
    kernel = start_kernel(COPILOT_KERNEL_SANDBOX=sandbox, **EDITS)
    work = Path(kernel.process.cwd())
    if turn_before:
        assert kernel.run("%copilot demo: say one").status == "ok"
    assert kernel.run(LEFT[how]).status == "ok"
    said = kernel.run("%copilot demo: say two").text
    words = "the current folder no longer exists" if how == "deleted" else "the current folder is /;"
    assert (words in said) is not turn_before
    check(kernel, work, "%copilot ")
    assert words in kernel.run("%copilot %status").text


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_copilot_notebook_keeps_its_folder_if_the_kernels_is_deleted(
    start_copilot: StartCopilot,  # noqa: F811
    tmp_path: Path,
    sandbox: str,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    named = {"JPY_SESSION_NAME": str(project / "book.ipynb")}
    kernel = start_copilot(COPILOT_KERNEL_SANDBOX=sandbox, **named, **EDITS)
    Path(kernel.process.cwd()).rmdir()
    (project / "other.ipynb").touch()  # under its new name
    check(kernel, project)
