"""The kernel's process: `python -P -m copilot_kernel -f {connection_file}`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run until the kernel is shut down."""
    if not sys.flags.safe_path:
        del sys.path[0]  # `-m` puts the notebook's folder there, whose files could pass for modules
    from .jupyter.app import CopilotKernelApp

    CopilotKernelApp.launch_instance()


if __name__ == "__main__":
    main()
