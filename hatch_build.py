"""Puts the JupyterLab extension into the wheel, under an address that changes with its content.

Beneath that address its modules lie as in the source tree, from where they import what they share with the chat page.
Jupyter's server lets browsers keep an extension's files for a year, so an upgrade must not use the same address again.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "copilot-kernel"
SHARE = f"share/jupyter/labextensions/{NAME}"
STATIC = "widgets/labextension/static"
SHARED = "kernel/copilot_kernel/server/chat/static/answers.js"
"""The module that the extension has in common with the chat page."""


def content_hash(*paths: Path) -> str:
    """Hash the names and the content of all files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class LabExtensionHook(BuildHookInterface[Any]):
    """For wheels and editable installs alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, with the address and the project's version in `package.json`."""
        source = Path(self.root, "widgets", "labextension")
        shared = Path(self.root, SHARED)
        static = f"static/{content_hash(*(source / 'static').iterdir(), shared)}"
        package = json.loads((source / "package.json").read_text("utf-8"))
        package["version"] = self.metadata.version
        package["jupyterlab"]["_build"]["load"] = f"{static}/{STATIC}/remoteEntry.js"
        self._generated = tempfile.TemporaryDirectory()
        generated = Path(self._generated.name, "package.json")
        generated.write_text(json.dumps(package, indent=2) + "\n", "utf-8")
        build_data["shared_data"] |= {
            str(source / "install.json"): f"{SHARE}/install.json",
            str(source / "schemas"): f"{SHARE}/schemas",
            str(source / "static"): f"{SHARE}/{static}/{STATIC}",
            str(shared): f"{SHARE}/{static}/{SHARED}",
            str(generated): f"{SHARE}/package.json",
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was generated."""
        self._generated.cleanup()
