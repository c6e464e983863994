"""`copilot-kernel demo`: the tour in JupyterLab, or headless, with the demo agent.

JupyterLab runs in this very process, so that nothing of ours can be left behind.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import secrets
import shutil
import signal
import socket
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ..errors import UsageError
from .kernelspec import write
from .shipped import shipped

FIRST_PORT, PORTS = 8888, 100
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def run(arguments: argparse.Namespace) -> int:
    """Prepare a fresh copy of the tour, then show it."""
    _need_lab()
    folder = fresh_copy(shipped("notebooks"))
    if arguments.execute:
        from .tour import execute

        return execute(folder)
    return open_lab(folder, arguments.port or free_port(), not arguments.no_browser)


def fresh_copy(notebooks: Path) -> Path:
    """A new folder with the notebooks, and beside them, hidden, what makes Jupyter find this kernel and no other."""
    folder = Path(tempfile.mkdtemp(prefix="copilot-kernel-tour-")).resolve()
    shutil.copytree(notebooks, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "README.md"))
    write(folder / ".jupyter" / "kernels" / "copilot")
    settings = folder / ".jupyter" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(NO_NEWS), "utf-8")
    return folder


def environment(folder: Path) -> dict[str, str]:
    """The user's, with the demo agent, which remembers nothing elsewhere, and without other settings of this kernel."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COPILOT_KERNEL_")}
    own = str(folder / ".jupyter")
    paths = {
        name: os.pathsep.join(filter(None, [own, kept.get(name)])) for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
    }
    return kept | paths | {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": os.path.join(own, "demo")}


def free_port() -> int:
    """The first port of loopback, from 8888 on, that nobody listens on. Raises UsageError."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if _binds(probe, port):
                return port
    raise UsageError(f"no port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free", "Name another one with --port.")


def _binds(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind(("127.0.0.1", port))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        return False
    return True


def can_encrypt() -> bool:
    """Whether the messages of a kernel can be encrypted here; ipykernel warns of kernels whose messages are not."""
    import zmq
    from jupyter_client.manager import KernelManager

    return bool(zmq.has("curve")) and KernelManager.class_traits().get("transport_encryption") is not None


def _need_lab() -> None:
    if find_spec("jupyterlab") is None:
        raise UsageError("JupyterLab is not installed here.", "pip install 'copilot-kernel[lab]'")


def open_lab(folder: Path, port: int, browser: bool) -> int:
    """Run JupyterLab in `folder`, on its first notebook, until Ctrl-C or SIGTERM."""
    from jupyterlab.labapp import LabApp

    first, token = min(folder.glob("*.ipynb")).name, secrets.token_hex(24)
    print(f"The tour is a copy of its own, in {folder}")
    print(f"JupyterLab: http://127.0.0.1:{port}/lab/tree/{first}?token={token}")
    print("Ctrl-C ends it.", flush=True)
    signal.signal(signal.SIGINT, _end)
    _become(environment(folder) | {"JUPYTER_TOKEN": token})
    LabApp.launch_instance(_options(folder, port, first, browser))  # type: ignore[no-untyped-call]
    return 0


def _end(*_: object) -> None:
    """Where there is no terminal, Jupyter would let Ctrl-C interrupt it anywhere, also while it ends."""
    os.kill(os.getpid(), signal.SIGTERM)


def _become(environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)


def _options(folder: Path, port: int, first: str, browser: bool) -> list[str]:
    options = [
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{first}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.answer_yes=True",
        "--Application.log_level=ERROR",
    ]
    encrypted = ["--KernelManager.transport_encryption=auto"] if can_encrypt() else []
    silent = [] if browser else ["--no-browser"]
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    return [*options, *encrypted, *silent, *as_root]
