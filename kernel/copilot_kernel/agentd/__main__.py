"""`python -m copilot_kernel.agentd FD`: the broker. `FD` listens; a `StartSpec` comes on stdin.

Kernels start it (`client.py`); it has no use for anybody else.
"""

from __future__ import annotations

import os
import signal
import sys

assert sys.platform != "win32"


def main() -> None:
    """Leave the kernel that has started us at once: it must not have to wait for its child."""
    if os.fork():
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _run(int(sys.argv[1]))


def _run(descriptor: int) -> None:
    import json
    import logging
    import shutil
    import socket
    from pathlib import Path

    import anyio

    from ..errors import CopilotError
    from .server import serve
    from .start import StartSpec, restore

    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    spec = restore(json.load(sys.stdin.buffer), StartSpec)
    listener = socket.socket(fileno=descriptor)  # open until it is on stderr why nobody answers there
    try:
        anyio.run(serve, spec, listener)
    except CopilotError as error:
        sys.exit(f"{error} {error.hint}".strip())
    finally:
        shutil.rmtree(spec.folder, ignore_errors=True)
    if not os.fstat(2).st_size:
        Path(spec.socket).with_suffix(".log").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
