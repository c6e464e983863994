"""Places: of the user's settings and state, of the notebook, and whether a file came with the project."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .config import AGENT_ARGUMENT, CWD, Settings
from .environment import Environment, environment_of
from .programs import is_foreign, is_inside, project_folders
from .system.launcher import own_variable

CONFIG_FILE = "copilot_kernel.json"


def came_with_project(path: Path, settings: Settings) -> bool:
    """Return True if an agent, or whoever has written the project, may have put a file at `path`.

    It lies in the project, its work tree or, in the home folder, beside them: what was downloaded has no marks that
    say where it begins. Python's own environment is in a project only if that holds it.
    """
    home = settings.environment.home
    places = (*project_folders(settings.start_folder or settings.folder, home), *settings.project_folders)
    above = {each for place in places for each in place.parents if home in each.parents}
    return is_inside(path, places) or is_foreign(path, above)


def folder_beside(settings: Settings) -> str:
    """The current folder, in words, if that is not the agent's and no setting chose that; else empty."""
    try:
        current = os.getcwd()  # noqa: TID251
    except FileNotFoundError:
        return "the current folder no longer exists"
    is_same = os.path.realpath(current) == os.path.realpath(settings.folder)
    return "" if settings.cwd or is_same else f"the current folder is {current}; to change this, set COPILOT_KERNEL_CWD"


def notebook(environ: Mapping[str, str] | None = None) -> str:
    """The path of the notebook whose kernel this is, as Jupyter Server names it; empty for a console."""
    path = notebook_at_start(environ)
    return path if os.path.isfile(path) else ""


def notebook_at_start(environ: Mapping[str, str] | None = None) -> str:
    """Return the path of the notebook when the kernel began: it may have been renamed since. Empty if unknown."""
    path = own_variable("JPY_SESSION_NAME", os.environ if environ is None else environ)
    return path if os.path.isabs(path) else ""


def config_files(environment: Environment) -> list[Path]:
    """Return the places of config files, the one that counts most first."""
    return [Path(folder) / CONFIG_FILE for folder in environment.jupyter.config_path]


def user_file(environment: Environment) -> Path:
    """The user's own config file, in which rules are saved; it need not exist."""
    return Path(environment.jupyter.config, CONFIG_FILE)


def is_in_own_kernelspec(agent: str, start_folder: str) -> bool:
    """Return True if a kernelspec outside the project names this agent, as `copilot-kernel install` writes it."""
    settings = Settings(cwd=environment_of(start_folder).variables().get(CWD, ""), start_folder=start_folder)
    for folder in (Path(each, "kernels") for each in settings.environment.jupyter.data_path):
        for file in folder.glob("*/kernel.json") if not came_with_project(folder, settings) else ():
            with suppress(OSError, ValueError, AttributeError):
                if AGENT_ARGUMENT.format(agent) in json.loads(file.read_text("utf-8")).get("argv", ()):
                    return True
    return False


def state_folder(settings: Settings) -> Path:
    """Return the folder of what outlives a kernel; it need not exist."""
    if settings.state:
        return Path(settings.start_folder, settings.environment.expanded(settings.state))
    return Path(settings.environment.jupyter.data, "copilot_kernel")


def made_state_folder(settings: Settings) -> Path:
    """The state folder, made with the mode 0700 if it is missing and can be made.

    Those who write below it would give a missing one the default mode.
    """
    folder = state_folder(settings)
    with suppress(OSError):  # who writes into it says what that costs
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
