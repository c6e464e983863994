"""A kernel behind Jupyter Kernel Gateway or Enterprise Gateway, which set `KERNEL_GATEWAY`.

It runs on the gateway's machine, in the gateway's folder, with the few variables that the gateway hands over; all
variables `KERNEL_*` come from the Jupyter server of the user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ..config import Settings, notebook, notebook_at_start
from ..errors import AgentError, AgentNotFound, AgentStartFailed, CopilotError

WORKING_DIR = "KERNEL_WORKING_DIR"
_NEEDED = ("HOME", "COPILOT_KERNEL_AGENT")
_WHERE = "This kernel runs behind a gateway: the agent must be installed and signed in on the kernel's machine."
_MISSING = (
    "{} not set here. A gateway passes on what its allow-list names: `--KernelGatewayApp.env_process_whitelist=NAME`, "
    "or `--EnterpriseGatewayApp.inherited_envs=NAME`."
)


def is_behind(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("KERNEL_GATEWAY"))


def notebook_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the kernel's notebook, if the environment names one that can be used on this machine."""
    named = (environ.get(WORKING_DIR, ""), os.path.dirname(notebook_at_start(environ)))
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
    user, named = environ.get("KERNEL_USERNAME", ""), environ.get("JPY_SESSION_NAME", "")
    if user and os.path.isabs(named):
        path = named
    return json.dumps([user, path]) if path else ""


def explain(error: CopilotError, environ: Mapping[str, str]) -> None:
    """Add to the hint of an error that the gateway's environment may have caused."""
    is_signed_out = isinstance(error, AgentError) and error.signed_out
    if not is_behind(environ) or not (is_signed_out or isinstance(error, AgentNotFound | AgentStartFailed)):
        return
    missing = [name for name in _NEEDED if not environ.get(name)]
    what = _MISSING.format(" and ".join(missing) + (" are" if len(missing) > 1 else " is")) if missing else ""
    error.hint = "\n".join(filter(None, (error.hint, _WHERE, what)))


def _is_usable(folder: str) -> bool:
    return os.path.isabs(folder) and "\0" not in folder and os.path.isdir(folder) and os.access(folder, os.X_OK)
