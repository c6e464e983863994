"""A kernel in a namespace of processes of its own, as in a container: process 1 starts it, or it is process 1."""

from pathlib import Path

import pytest

from ..jupyter.asked import ALLOW, Asked
from ..jupyter.front_end import ARGV, kernel_process, until
from ..processes import children, gone
from ..real.conftest import isolated

__all__ = ["isolated"]  # a fixture
pytestmark = [pytest.mark.engine, pytest.mark.timeout(60), pytest.mark.usefixtures("isolated")]

NAMESPACE = ("unshare", "--map-root-user", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
PLACES = {"its child": ("sh", "-c", '"$@" & wait', "sh"), "itself": ()}


@pytest.mark.parametrize("starts", PLACES.values(), ids=PLACES.keys())
def test_a_kernel_of_process_1_works_and_leaves_nothing_behind(starts: tuple[str, ...], tmp_path: Path) -> None:
    with kernel_process(tmp_path, {}, (*NAMESPACE, *starts, *ARGV)) as front_end:
        front_end.open_control()
        asked = Asked(front_end, "demo: slow 10 0.2\ncreate made.txt one\nask")
        asked.click(ALLOW)
        asked.look(1)
        everything = [front_end.process, *children(front_end.process.pid)]
        front_end.control("shutdown_request", {"restart": False})
        until(lambda: all(map(gone, everything)), "the end of all processes")
    assert (tmp_path / "work" / "made.txt").read_text() == "one"
