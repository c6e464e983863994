"""`copilot-kernel install`: a kernelspec that starts this very Python, where the user wants it."""

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
    """Install it and say where it is."""
    note = _check_agent(arguments.agent) if arguments.agent else ""
    place = install(arguments.name, arguments.display_name or "", arguments.agent or "", _place(arguments))
    print(f"Installed {place.name!r} in {place}")
    print(f"To take it away: {_removal(place)}")
    if note:
        print(note, file=sys.stderr)
    return 0


def install(name: str, display_name: str, agent: str, place: dict[str, Any]) -> Path:
    """Write the kernelspec; its folder. `place` is `{"user": True}` or `{"prefix": folder}`. Raises UsageError."""
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
            raise CopilotError(
                f"could not write the kernelspec: {error}", "Use --user or --prefix for another place."
            ) from error


def _removal(place: Path) -> str:
    """Jupyter finds only what is on its own path, and nothing below another one of that name."""
    from jupyter_client.kernelspec import KernelSpecManager

    found = KernelSpecManager().find_kernel_specs().get(place.name)
    is_found = found is not None and Path(found).resolve() == place.resolve()
    return f"jupyter kernelspec remove {place.name}" if is_found else f"rm -r {shlex.quote(str(place))}"


def _place(arguments: argparse.Namespace) -> dict[str, Any]:
    prefix = sys.prefix if arguments.sys_prefix else arguments.prefix
    return {"prefix": prefix} if prefix else {"user": True}


def _check_agent(agent: str) -> str:
    """What is the matter with it, if that may change until the kernel starts. Raises UsageError if it may not."""
    try:
        locate(agent, os.environ)
    except AgentNotFound as error:
        return f"Note: {error}."
    return ""


def _protect_others(specs: Any, name: str, place: dict[str, Any]) -> None:
    """Installing replaces the folder: it must not be somebody else's kernel, such as python3."""
    if "prefix" in place:
        folder = Path(place["prefix"], "share", "jupyter", "kernels", name.lower())
    else:
        folder = Path(specs.user_kernel_dir, name.lower())
    if folder.exists() and not is_ours(_spec(folder)):
        raise UsageError(f"{folder} holds another kernel", "Choose another name with --name.")


def _spec(folder: Path) -> dict[str, Any]:
    try:
        spec = json.loads((folder / "kernel.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return spec if isinstance(spec, dict) else {}
