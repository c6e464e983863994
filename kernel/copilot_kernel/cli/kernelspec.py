"""Our kernelspecs, written and found, and the other files that come with the package."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from ..config import AGENT, AGENT_ARGUMENT
from ..errors import UsageError

MODULE = "copilot_kernel"
DATA = {"kernelspec": "share/jupyter/kernels/copilot", "notebooks": "share/copilot_kernel/notebooks"}
"""Places where the installer puts data folders."""

KERNEL_CLASS = "copilot_kernel.jupyter.kernel.CopilotKernel"
LAUNCHER = "/usr/local/bin/kernel-launchers/python/scripts/launch_ipykernel.py"
"""Place of the launcher in the images and the documentation of Enterprise Gateway."""
PROCESS_PROXY = "enterprise_gateway.services.processproxies.distributed.DistributedProcessProxy"


@dataclass(frozen=True)
class Installed:
    """A kernelspec of ours that Jupyter finds here; `python` is what it starts."""

    name: str
    folder: str
    python: str
    language: str


def write(folder: Path, spec: Mapping[str, Any] | None = None) -> Path:
    """Fill `folder` with the kernelspec `spec`, by default `local_spec()`; returns it."""
    shutil.copytree(package_data("kernelspec"), folder, dirs_exist_ok=True)
    (folder / "kernel.json").write_text(json.dumps(spec or local_spec(), indent=2) + "\n", "utf-8")
    return folder


def local_spec(display_name: str = "", agent: str = "") -> dict[str, Any]:
    """A kernel.json that starts this interpreter."""
    spec: dict[str, Any] = json.loads((package_data("kernelspec") / "kernel.json").read_text("utf-8"))
    spec["argv"] = [sys.executable, *spec["argv"][1:]]
    spec["display_name"] = display_name or spec["display_name"]
    spec["argv"] += [AGENT_ARGUMENT.format(agent)] if agent else []
    return spec


def remote_spec(display_name: str = "", agent: str = "") -> dict[str, Any]:
    """A kernel.json with which Enterprise Gateway's launcher starts our kernel on another host, with the same Python.

    The language is `python`, because Enterprise Gateway's scripts know no other that is ours.
    """
    spec = local_spec()
    arguments = [
        *("--kernel-id", "{kernel_id}"),
        *("--port-range", "{port_range}"),
        *("--response-address", "{response_address}"),
        *("--public-key", "{public_key}"),
        *("--spark-context-initialization-mode", "none"),
        *("--kernel-class-name", KERNEL_CLASS),
    ]
    return spec | {
        "argv": [sys.executable, LAUNCHER, *arguments],
        "display_name": f"{display_name or spec['display_name']} (remote)",
        "language": "python",
        **({"env": {AGENT: agent}} if agent else {}),  # the launcher passes no argument on
        "metadata": {"process_proxy": {"class_name": PROCESS_PROXY}},
    }


def is_ours(spec: Mapping[str, Any]) -> bool:
    """Return True if a kernel.json starts this kernel."""
    return MODULE in spec.get("argv", [])


def installed() -> list[Installed]:
    """The kernelspecs of ours that Jupyter finds from this environment."""
    from jupyter_client.kernelspec import KernelSpecManager

    found: list[Installed] = []
    for name, each in sorted(KernelSpecManager().get_all_specs().items()):
        if is_ours(each["spec"]):
            program = each["spec"]["argv"][0]
            python = sys.executable if program.startswith("python") else program  # as Jupyter does
            found.append(Installed(name, each["resource_dir"], python, each["spec"]["language"]))
    return found


def package_data(name: str) -> Path:
    """The folder `kernelspec` or `notebooks`: in the checkout, else where the installer put it. Raises UsageError."""
    package = Path(__file__).parents[1]
    checkout = package.parents[1] / name
    if package.parent.name == "kernel" and checkout.is_dir():
        return checkout
    for folder in _recorded(DATA[name]):
        if folder.is_dir():
            return folder
    hint = "Install again: pip install --force-reinstall copilot-kernel"
    raise UsageError(f"The {name} of this installation are missing.", hint)


def _recorded(ending: str) -> list[Path]:
    """Folders in the installer's record: where they are depends on --user, --target and --prefix."""
    try:
        recorded = files("copilot-kernel") or []
    except PackageNotFoundError:
        return []
    return [Path(str(file.locate())).resolve().parent for file in recorded if str(file.parent).endswith(ending)]
