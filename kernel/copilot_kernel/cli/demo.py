"""`copilot-kernel demo`: the tour in JupyterLab, or headless, with the demo agent.

JupyterLab runs in this very process, so that no process of ours can outlive it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import shutil
import signal
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ..demo import project
from ..errors import UsageError
from .kernelspec import package_data, write
from .serve import bind_error

FIRST_PORT, PORTS = 8888, 100
NO_LAB = "JupyterLab is not installed here."
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def run(arguments: argparse.Namespace) -> int:
    """Make a fresh copy of the tour, then show it."""
    if find_spec("jupyterlab") is None:
        raise UsageError(NO_LAB, "pip install 'copilot-kernel[lab]'")
    folder = fresh_copy(package_data("notebooks"))
    if arguments.execute:
        from .tour import execute

        return execute(folder, environment(folder))
    return open_lab(folder, arguments.port or free_port(), browser=not arguments.no_browser)


def fresh_copy(notebooks: Path) -> Path:
    """A new folder with the notebooks and the demo project; a hidden one makes Jupyter find this kernel only."""
    folder = Path(tempfile.mkdtemp(prefix="copilot-kernel-tour-")).resolve()
    shutil.copytree(notebooks, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "*.md", "*.py"))
    for path in folder.glob("*.ipynb"):
        _set_python_version(path)
    project.reset(folder)  # else the first turn would seem to have made it
    write(folder / ".jupyter" / "kernels" / "copilot")
    settings = folder / ".jupyter" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(NO_NEWS), "utf-8")
    return folder


def _set_python_version(path: Path) -> None:
    """JupyterLab marks a notebook as changed that another Python has saved."""
    notebook = json.loads(path.read_text("utf-8"))
    language = notebook["metadata"].get("language_info", {})
    if language.get("name") == "python":
        language["version"] = platform.python_version()
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def environment(folder: Path) -> dict[str, str]:
    """The user's environment with the demo agent, its state in `folder`, and no other settings of this kernel."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COPILOT_KERNEL_")}
    own = str(folder / ".jupyter")
    for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH"):
        kept[name] = os.pathsep.join(filter(None, [own, kept.get(name)]))
    return kept | {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": os.path.join(own, "demo")}


def free_port() -> int:
    """The first free port of loopback, from 8888 on. Raises UsageError."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        if bind_error(port) is None:
            return port
    raise UsageError(f"No port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free.", "Choose another with --port.")


def open_lab(folder: Path, port: int, *, browser: bool) -> int:
    """Run JupyterLab in `folder`, on its first notebook, until Ctrl-C or SIGTERM."""
    from jupyterlab.labapp import LabApp

    first, token = min(folder.glob("*.ipynb")).name, secrets.token_hex(24)
    print(f"Your copy of the tour: {folder}")
    print(f"JupyterLab: http://127.0.0.1:{port}/lab/tree/{first}?token={token}")
    print("Press Ctrl-C to stop.", flush=True)
    signal.signal(signal.SIGINT, _end)
    environ = environment(folder) | {"JUPYTER_TOKEN": token}
    os.environ.clear()
    os.environ.update(environ)
    LabApp.launch_instance(_options(folder, port, first, browser))  # type: ignore[no-untyped-call]
    return 0


def _end(*_: object) -> None:
    """End Jupyter; without a terminal, it would let Ctrl-C interrupt it anywhere, also while it ends."""
    os.kill(os.getpid(), signal.SIGTERM)


def _options(folder: Path, port: int, first: str, browser: bool) -> list[str]:
    from .tour import can_encrypt

    options = [
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{first}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.answer_yes=True",
        "--ServerApp.allow_root=True",
        "--Application.log_level=ERROR",
    ]
    encrypted = ["--KernelManager.transport_encryption=auto"] if can_encrypt() else []
    silent = [] if browser else ["--no-browser"]
    return [*options, *encrypted, *silent]
