"""Writing and reading our kernelspecs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .shipped import shipped

MODULE = "copilot_kernel"


@dataclass(frozen=True)
class Installed:
    """A kernelspec of ours that Jupyter finds here; `python` is what it starts."""

    name: str
    folder: str
    python: str
    agent: str


def write(folder: Path, display_name: str = "", environ: Mapping[str, str] | None = None) -> Path:
    """Fill `folder` with a kernelspec that starts this interpreter; returns it."""
    shutil.copytree(shipped("kernelspec"), folder, dirs_exist_ok=True)
    file = folder / "kernel.json"
    spec = json.loads(file.read_text("utf-8"))
    spec["argv"] = [sys.executable, *spec["argv"][1:]]
    spec["display_name"] = display_name or spec["display_name"]
    if environ:
        spec["env"] = dict(environ)
    file.write_text(json.dumps(spec, indent=2) + "\n", "utf-8")
    return folder


def is_ours(spec: Mapping[str, Any]) -> bool:
    """Whether a kernel.json starts this kernel."""
    return MODULE in spec.get("argv", [])


def installed() -> list[Installed]:
    """The kernelspecs of ours that Jupyter finds from this environment."""
    from jupyter_client.kernelspec import KernelSpecManager

    found = KernelSpecManager().get_all_specs()
    return [
        _read(name, each["resource_dir"], each["spec"]) for name, each in sorted(found.items()) if is_ours(each["spec"])
    ]


def _read(name: str, folder: str, spec: Mapping[str, Any]) -> Installed:
    first = spec["argv"][0]
    python = sys.executable if first.startswith("python") else first  # Jupyter puts its own interpreter there
    return Installed(name, folder, python, spec.get("env", {}).get("COPILOT_KERNEL_AGENT", ""))
