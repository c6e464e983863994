"""The folders that come with the package but are no code: `kernelspec` and `notebooks`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from ..errors import UsageError

_INSTALLED = {"kernelspec": "share/jupyter/kernels/copilot", "notebooks": "share/copilot_kernel/notebooks"}


def shipped(name: str) -> Path:
    """The folder `name`: at the top of the checkout, else where the installer put it. Raises UsageError."""
    package = Path(__file__).parents[1]
    checkout = package.parents[1] / name
    if package.parent.name == "kernel" and checkout.is_dir():
        return checkout
    found = _installed(_INSTALLED[name])
    if found is None:
        raise UsageError(
            f"this installation has lost its {name}", "Install again: pip install --force-reinstall copilot-kernel"
        )
    return found


def _installed(ending: str) -> Path | None:
    """Where pip, uv or conda put it is in their record: it depends on --user, --target and --prefix."""
    try:
        recorded = files("copilot-kernel") or []
    except PackageNotFoundError:
        return None
    folders = (Path(str(file.locate())).resolve().parent for file in recorded if str(file.parent).endswith(ending))
    return next((folder for folder in folders if folder.is_dir()), None)
