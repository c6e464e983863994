"""Run a turn in the Copilot kernel and a `%%copilot` cell, with the demo agent: what an install without extras does.

Needs the Python of an environment that holds nothing but the wheel and its dependencies.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import distributions

from jupyter_client.manager import start_new_kernel

LIMIT = 60.0
"""Seconds for each cell."""
MAX_PACKAGES = 42


def main() -> int:
    """Raise AssertionError if there are too many packages, or if a cell fails or does not show the answer."""
    packages = {distribution.name for distribution in distributions()}
    assert len(packages) <= MAX_PACKAGES, sorted(packages)
    print(f"{len(packages)} packages")
    check("copilot", ["demo: say Hello from the kernel"], "Hello from the kernel")
    check("python3", ["%load_ext copilot_kernel", "%%copilot\ndemo: say Hello from a cell"], "Hello from a cell")
    return 0


def check(kernel: str, cells: list[str], answer: str) -> None:
    """Run `cells`; the last one shows `answer`."""
    manager, client = start_new_kernel(kernel_name=kernel, startup_timeout=LIMIT)
    shown: list[str] = []
    try:
        for cell in cells:
            reply = client.execute_interactive(
                cell,
                timeout=LIMIT,
                allow_stdin=False,
                output_hook=lambda message: shown.append(str(message["content"])),
            )
            assert reply["content"]["status"] == "ok", reply["content"]
        assert answer in "".join(shown), shown
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    print(f"{kernel}: ok", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(COPILOT_KERNEL_AGENT="demo", COPILOT_KERNEL_STATE=folder)
        os.chdir(folder)
        sys.exit(main())
