"""`copilot-kernel install`: a kernelspec that starts this Python interpreter, where the user wants it.

For a gateway it is two: one for kernels beside it, one for kernels on other hosts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..acp.locate import locate
from ..errors import AgentNotFound, CopilotError, UsageError
from .kernelspec import is_ours, local_spec, remote_spec, write

NEEDS_PYCRYPTODOMEX = "remote kernels need pycryptodomex in this environment: pip install pycryptodomex"
DIFFERS = "{} exists and differs."
ANOTHER_KERNEL = "{} holds another kernel."


def run(arguments: argparse.Namespace) -> int:
    """Install it and print where it is."""
    names = (arguments.name, arguments.display_name or "", arguments.agent or "")
    notes = _notes(names[-1], for_gateway=bool(arguments.gateway))
    if arguments.gateway:
        folders = install_for_gateway(*names, arguments.gateway)
    else:
        prefix = sys.prefix if arguments.sys_prefix else arguments.prefix
        folders = [install(*names, {"prefix": prefix} if prefix else {"user": True})]
    for folder in folders:
        print(f"Installed {folder.name!r} in {folder}\nTo uninstall, delete this folder.")
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)
    return 0


def _notes(agent: str, *, for_gateway: bool) -> list[str]:
    """Say what is missing here, but may be there when the kernel starts. Raises UsageError for an invalid `agent`."""
    notes = []
    if agent:
        try:
            locate(agent, os.environ)
        except AgentNotFound as error:
            notes.append(f"{error}.")
    if for_gateway and find_spec("Cryptodome") is None:
        notes.append(NEEDS_PYCRYPTODOMEX)
    return notes


def install(name: str, display_name: str, agent: str, place: dict[str, Any]) -> Path:
    """Write the kernelspec; its folder. `place` is `{"user": True}` or `{"prefix": folder}`. Raises CopilotError."""
    from jupyter_client.kernelspec import KernelSpecManager

    specs = KernelSpecManager()
    _protect_others(specs, name, place)
    return _write(specs, name, local_spec(display_name, agent), place)


def install_for_gateway(name: str, display_name: str, agent: str, place: Path) -> list[Path]:
    """Write the local and the remote kernelspec into the folder `place`; their folders. Raises CopilotError."""
    from jupyter_client.kernelspec import KernelSpecManager

    both = {name: local_spec(display_name, agent), f"{name}_remote": remote_spec(display_name, agent)}
    for each, spec in both.items():
        folder = place / each.lower()
        if os.path.exists(folder) and _read(folder) != spec:  # somebody may have edited it
            raise UsageError(DIFFERS.format(folder), "Remove it, or choose another name with --name.")
    specs = KernelSpecManager(user_kernel_dir=str(place))
    return [_write(specs, each, spec, {"user": True}) for each, spec in both.items()]


def _write(specs: Any, name: str, spec: dict[str, Any], place: dict[str, Any]) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder) / "spec", spec)
        try:
            return Path(specs.install_kernel_spec(str(source), name, **place))
        except ValueError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            hint = "Choose another place with --user, --prefix or --gateway."
            raise CopilotError(f"The kernelspec cannot be written: {error}", hint) from error


def _protect_others(specs: Any, name: str, place: dict[str, Any]) -> None:
    """Installing replaces the folder: it must not hold another kernel, such as python3."""
    if "prefix" in place:
        folder = Path(place["prefix"], "share", "jupyter", "kernels", name.lower())
    else:
        folder = Path(specs.user_kernel_dir, name.lower())
    if os.path.exists(folder) and not is_ours(_read(folder)):
        raise UsageError(ANOTHER_KERNEL.format(folder), "Choose another name with --name.")


def _read(folder: Path) -> dict[str, Any]:
    """The kernel.json of `folder`; empty if it cannot be read."""
    try:
        spec = json.loads((folder / "kernel.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return spec if isinstance(spec, dict) else {}
