"""What `doctor` looks at: each check is a function from the settings to a line, and to what mends it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import anyio

from ..acp.handlers import ClientHandlers
from ..acp.locate import Launch, locate
from ..acp.messages import AgentInfo
from ..chat.agent import Agent
from ..config import Settings
from ..errors import CopilotError
from ..jupyter.dispatch import changed_internals
from ..permissions.rulebook import Rulebook
from ..rendering.plain import clean, one_line
from .advice import next_steps
from .kernelspec import Installed, installed

PROBE_LIMIT = 5.0
"""Seconds that another program may take to answer."""

MANAGER = "@jupyter-widgets/jupyterlab-manager"


@dataclass(frozen=True)
class Check:
    """One finding. `unknown` is for what could not be, or need not be, found out."""

    name: str
    state: Literal["ok", "broken", "unknown"]
    message: str
    hint: str = ""


def check_kernelspecs() -> list[Check]:
    """One line for each kernelspec of ours that Jupyter finds from here."""
    found = installed()
    if not found:
        return [Check("kernelspec", "broken", "Jupyter finds none of this kernel", "copilot-kernel install --user")]
    return [_kernelspec(each) for each in found]


def _kernelspec(spec: Installed) -> Check:
    where = f"{spec.name} in {spec.folder}, starts {spec.python}"
    said = output([spec.python, "-P", "-c", "import copilot_kernel; print(copilot_kernel.__version__)"])
    if said is None:
        again = f"copilot-kernel install --user --name {shlex.quote(spec.name)}"
        return Check("kernelspec", "broken", f"{where}, which cannot import copilot_kernel", again)
    return Check("kernelspec", "ok", f"{where} (copilot_kernel {said})")


def check_internals() -> Check:
    """The ipykernel that is here, and whether what we override in it is there."""
    here = f"ipykernel {version('ipykernel')}"
    if gone := changed_internals():
        lost = f"{here} has changed {', '.join(gone)}: questions are asked as text, not with buttons"
        return Check("ipykernel", "broken", lost, "pip install 'ipykernel>=7.4,<8'")
    return Check("ipykernel", "ok", here)


def check_widgets() -> Check:
    """Whether the JupyterLab of this environment can show buttons."""
    lab = installed_version("jupyterlab")
    if lab is None:
        text = "JupyterLab is not in this environment; the one you use needs jupyterlab_widgets 3 for the buttons"
        return Check("widgets", "unknown", text, "pip install 'copilot-kernel[lab]'")
    manager, here = lab_extension(), f"JupyterLab {lab}, ipywidgets {version('ipywidgets')}"
    if manager is None:
        return Check(
            "widgets", "broken", f"{here}, but no {MANAGER}", "pip install --force-reinstall jupyterlab_widgets"
        )
    found = f"{here}, jupyterlab-manager {manager}"
    if _majors(lab, version("ipywidgets"), manager) != ("4", "8", "5"):
        return Check(
            "widgets", "broken", f"{found} do not go together", "pip install -U 'jupyterlab>=4' 'ipywidgets>=8'"
        )
    return Check("widgets", "ok", found)


def check_agent(settings: Settings) -> Check:
    """Whether the agent of the settings can be found, and its version."""
    try:
        launch = locate(settings.agent, os.environ)
    except CopilotError as error:
        return Check("agent", "broken", str(error), error.hint)
    return Check("agent", "ok", f"{launch.label}: {_command(launch)}" if launch.argv else launch.label)


def _command(launch: Launch) -> str:
    """Only Copilot is asked for its version: we do not know what the word would mean to another program."""
    line = shlex.join(launch.argv)
    said = output([launch.argv[0], "--version"]) if launch.is_copilot else None
    return f"{line} ({said.splitlines()[0]})" if said else line


def check_sign_in(settings: Settings) -> Check:
    """Start the agent, open a session, and end it again."""
    try:
        info = anyio.run(_start, settings)
    except CopilotError as error:
        return Check("sign-in", "broken", clean(error), next_steps(error))
    name = one_line(f"{info.title or info.name or 'the agent'} {info.version}")
    return Check("sign-in", "ok", f"{name} opened a session")


async def _start(settings: Settings) -> AgentInfo:
    outcome: AgentInfo | CopilotError
    async with Agent(settings, ClientHandlers(_ignore, _refuse)) as agent:
        try:
            outcome = (await (await agent.ready()).new(agent.cwd)).info
        except CopilotError as error:
            outcome = error  # not raised here: a task group would wrap it in a group
    if isinstance(outcome, CopilotError):
        raise outcome
    return outcome


def _ignore(*_: Any) -> None:
    """Nothing is shown of this session."""


async def _refuse(_: Any) -> None:
    """Nothing is allowed in this session."""


def check_settings(settings: Settings) -> list[Check]:
    """A line for each value that could not be read, and each rule that matches nothing or allows more than it seems."""
    book = Rulebook.of(settings)
    unread = [Check("settings", "broken", problem, "The default is used.") for problem in settings.problems]
    rules = [Check("settings", "broken", problem) for problem in book.problems]
    return unread + rules + [Check("settings", "unknown", f"careful: {warning}") for warning in book.warnings]


def output(command: list[str]) -> str | None:
    """What a program prints, or None if it fails or is too slow."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_LIMIT, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def installed_version(distribution: str) -> str | None:
    """Its version in this environment, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def lab_extension() -> str | None:
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("labextensions"):
        try:
            return str(json.loads(Path(folder, MANAGER, "package.json").read_text("utf-8"))["version"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _majors(*versions: str) -> tuple[str, ...]:
    return tuple(each.partition(".")[0] for each in versions)
