"""`copilot-kernel install`: a kernelspec that starts this Python interpreter, where the user wants it."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..acp.locate import locate
from ..errors import AgentNotFound, CopilotError, UsageError
from .kernelspec import is_ours, write


def run(arguments: argparse.Namespace) -> int:
    """Install it and print where it is."""
    agent, note = arguments.agent or "", ""
    if agent:
        try:
            locate(agent, os.environ)
        except AgentNotFound as error:  # it may be there when the kernel starts
            note = f"Note: {error}."
    prefix = sys.prefix if arguments.sys_prefix else arguments.prefix
    place = {"prefix": prefix} if prefix else {"user": True}
    folder = install(arguments.name, arguments.display_name or "", agent, place)
    print(f"Installed {folder.name!r} in {folder}\nTo uninstall: {_removal(folder)}")
    if note:
        print(note, file=sys.stderr)
    return 0


def install(name: str, display_name: str, agent: str, place: dict[str, Any]) -> Path:
    """Write the kernelspec; its folder. `place` is `{"user": True}` or `{"prefix": folder}`. Raises CopilotError."""
    from jupyter_client.kernelspec import KernelSpecManager

    specs = KernelSpecManager()
    _protect_others(specs, name, place)
    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder) / "spec", display_name, {"COPILOT_KERNEL_AGENT": agent} if agent else None)
        try:
            return Path(specs.install_kernel_spec(str(source), name, **place))
        except ValueError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            hint = "Choose another place with --user or --prefix."
            raise CopilotError(f"The kernelspec cannot be written: {error}", hint) from error


def _removal(folder: Path) -> str:
    """Jupyter finds only what is on its own path, and not what another kernelspec of that name hides."""
    from jupyter_client.kernelspec import KernelSpecManager

    found = KernelSpecManager().find_kernel_specs().get(folder.name)
    is_found = found is not None and Path(found).resolve() == folder.resolve()
    return f"jupyter kernelspec remove {folder.name}" if is_found else f"rm -r {shlex.quote(str(folder))}"


def _protect_others(specs: Any, name: str, place: dict[str, Any]) -> None:
    """Installing replaces the folder: it must not hold another kernel, such as python3."""
    if "prefix" in place:
        folder = Path(place["prefix"], "share", "jupyter", "kernels", name.lower())
    else:
        folder = Path(specs.user_kernel_dir, name.lower())
    try:
        spec = json.loads((folder / "kernel.json").read_text("utf-8"))
    except (OSError, ValueError):
        spec = {}
    if folder.exists() and not (isinstance(spec, dict) and is_ours(spec)):
        raise UsageError(f"{folder} holds another kernel.", "Choose another name with --name.")
