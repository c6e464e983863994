"""A kernel behind Jupyter Kernel Gateway or Enterprise Gateway, which set `KERNEL_GATEWAY`.

It runs on the gateway's machine, in the gateway's folder, with the few variables that the gateway hands over; all
variables `KERNEL_*` come from the Jupyter server of the user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ..config import Settings
from ..places import notebook, notebook_at_start
from ..system.launcher import own_variable

WORKING_DIR = "KERNEL_WORKING_DIR"


def is_behind(environ: Mapping[str, str]) -> bool:
    return bool(own_variable("KERNEL_GATEWAY", environ))


def notebook_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the kernel's notebook, if the environment names one that can be used on this machine."""
    named = (own_variable(WORKING_DIR, environ), os.path.dirname(notebook_at_start(environ)))
    return next(filter(_is_usable, named), "")


def notices(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """Return notices for the first cell: rules for paths mean another project than the user may think."""
    if settings.cwd or not is_behind(environ) or notebook_folder(environ):
        return []
    folder = environ.get(WORKING_DIR, "")
    why = f"where {folder} cannot be used" if folder else "which does not say where the notebook is"
    return [
        f"This kernel runs behind a gateway, {why}. The agent works in {settings.folder} instead, and rules for paths "
        "hold there. To choose another folder, set cwd (COPILOT_KERNEL_CWD).\n"
    ]


def notebook_key(environ: Mapping[str, str]) -> str:
    """Return the key by which a notebook's session is remembered; empty where it is not.

    Behind a gateway the notebook may be on another machine, and its users share one home folder. So paths of two users
    can be alike, and a path that is not of this machine counts only together with `KERNEL_USERNAME`.
    """
    path = notebook(environ)
    if not is_behind(environ):
        return path
    if user := environ.get("KERNEL_USERNAME", ""):
        path = notebook_at_start(environ) or path
    return json.dumps([user, path]) if path else ""


def _is_usable(folder: str) -> bool:
    return os.path.isabs(folder) and "\0" not in folder and os.path.isdir(folder) and os.access(folder, os.X_OK)
