"""`copilot-kernel doctor`: check all that a cell needs, and print the settings."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from .. import __version__, sandbox
from ..acp.locate import located, start_advice
from ..acp.messages import AgentInfo
from ..agentd.key import DIGEST_CHARS
from ..agentd.sockets import socket_path
from ..chat import Chat
from ..config import ENVIRONMENT, KERNELSPEC, LANGUAGE, SETTINGS, Settings
from ..config_reader import load_settings
from ..errors import CopilotError
from ..jupyter.dispatch import changed_internals
from ..mcp_config import describe
from ..permissions.rulebook import Rulebook
from ..rendering.plain import clean, one_line
from .error_text import FAILED, next_steps
from .kernelspec import Installed, installed
from .sessions import with_chat

PROBE_SECONDS = 5.0
"""Time that another program may take to answer."""
MANAGER, EXTENSION = "@jupyter-widgets/jupyterlab-manager", "copilot-kernel"
VS_CODE = "prompts, questions, ■ and %undo work; the agent sees cells as they were saved last, and cannot change them"
MARKS = {"ok": "✓", "broken": "✗", "unknown": "–"}


@dataclass(frozen=True)
class Check:
    """One finding, with a `hint` how to fix it. `unknown`: it could not be, or need not be, found out.

    `public` is what a bug report says of it: versions, and nothing that the user has chosen.
    """

    name: str
    state: Literal["ok", "broken", "unknown"]
    message: str
    hint: str = ""
    public: str = ""


def run(arguments: argparse.Namespace) -> int:
    """Check and print; 1 if something that is needed is broken."""
    settings = load_settings()
    checks = examine(settings, start=not arguments.no_start)
    ok = all(check.state != "broken" for check in checks)
    write = _report if arguments.report else _json if arguments.json else _text
    print(write(checks, settings))
    return 0 if ok else FAILED


def examine(settings: Settings, *, start: bool) -> list[Check]:
    """Every check, in the order in which a user would fix things. `start`: start the agent, too."""
    checks = [*check_kernelspecs(), check_internals(), check_widgets(), check_agent(settings)]
    if checks[-1].state != "broken":
        checks.append(check_sign_in(settings) if start else Check("sign-in", "unknown", "not checked (--no-start)"))
    more = (
        check_extension(),
        check_endpoint(),
        check_sandbox(settings),
        check_sharing(settings),
        Check("VS Code", "unknown", VS_CODE),
    )
    return [*checks, *more, *check_settings(settings)]


def _report(checks: list[Check], settings: Settings) -> str:
    """For a bug report: text of the user's (paths, command lines, rules) is left out, whatever it says."""
    lines = [f"copilot-kernel {__version__}, Python {platform.python_version()}, {platform.system()}"]
    lines += [f"{MARKS[check.state]} {check.name}{check.public and f': {check.public}'}" for check in checks]
    for name, origin in settings.origins.items():
        if origin != "default":
            is_text = SETTINGS[name].kind not in ("choice", "mode", "switch", "number")
            place = origin if origin in (ENVIRONMENT, KERNELSPEC) else "file"
            lines.append(f"{name} ({place}): {'set' if is_text else json.dumps(getattr(settings, name))}")
    return "\n".join(lines)


def _json(checks: list[Check], settings: Settings) -> str:
    ok = all(check.state != "broken" for check in checks)
    values = {name: {"value": _value(settings, name), "origin": origin} for name, origin in settings.origins.items()}
    found = [{key: value for key, value in asdict(check).items() if key != "public"} for check in checks]
    return json.dumps({"ok": ok, "version": __version__, "checks": found, "settings": values}, indent=2)


def _text(checks: list[Check], settings: Settings) -> str:
    lines = [f"copilot-kernel {__version__}", ""]
    for check in checks:
        first, *more = f"{check.name}: {check.message}\n{check.hint}".splitlines()
        lines += [f"{MARKS[check.state]} {first}", *(f"    {line}" for line in more)]
    lines += ["", "settings"]
    width = max(map(len, settings.origins))
    for name, origin in settings.origins.items():
        lines.append(f"  {name:{width}}  {json.dumps(_value(settings, name), ensure_ascii=False)}  ({origin})")
    return "\n".join(lines)


def _value(settings: Settings, name: str) -> Any:
    """A setting without its secrets."""
    if name == "mcp_servers":
        return {server.name: describe(server) for server in settings.mcp_servers}
    return getattr(settings, name)


# -- the checks -----------------------------------------------------------------------------------------------------


def check_kernelspecs() -> list[Check]:
    """One finding for each kernelspec of ours that Jupyter finds from here."""
    found = installed()
    if not found:
        return [Check("kernelspec", "broken", "Jupyter does not find this kernel", "copilot-kernel install --user")]
    return [_check_kernelspec(spec) for spec in found]


def _check_kernelspec(spec: Installed) -> Check:
    where = f"{spec.name} in {spec.folder}, starts {spec.python}"
    package = output([spec.python, "-P", "-c", "import copilot_kernel; print(copilot_kernel.__version__)"])
    if package is None:
        again = f"copilot-kernel install --user --name {shlex.quote(spec.name)}"
        return Check("kernelspec", "broken", f"{where}, which cannot import copilot_kernel", again)
    if spec.language != LANGUAGE:
        set_it = f'In its kernel.json, set "language" to "{LANGUAGE}".'
        return Check("kernelspec", "broken", f"{where}: VS Code runs no cell in the language {spec.language}", set_it)
    return Check("kernelspec", "ok", f"{where} (copilot_kernel {package})")


def check_internals() -> Check:
    """Check the version of ipykernel, and that it has what we override in it."""
    ipykernel = f"ipykernel {version('ipykernel')}"
    if changed := changed_internals():
        text = f"{ipykernel} has changed {', '.join(changed)}: questions are asked as text, not with buttons"
        return Check("ipykernel", "broken", text, "pip install 'ipykernel>=7.4,<8'")
    return Check("ipykernel", "ok", ipykernel, public=ipykernel)


def check_widgets() -> Check:
    """Check that the JupyterLab of this environment can show buttons."""
    try:
        lab = version("jupyterlab")
    except PackageNotFoundError:
        text = "JupyterLab is not in this environment; the one you use needs jupyterlab_widgets 3 for the buttons"
        return Check("widgets", "unknown", text, "pip install 'copilot-kernel[lab]'")
    manager, found = lab_extension(MANAGER), f"JupyterLab {lab}, ipywidgets {version('ipywidgets')}"
    if manager is None:
        hint = "pip install --force-reinstall jupyterlab_widgets"
        return Check("widgets", "broken", f"{found}, but no {MANAGER}", hint)
    found += f", jupyterlab-manager {manager}"
    if [each.partition(".")[0] for each in (lab, version("ipywidgets"), manager)] != ["4", "8", "5"]:
        hint = "pip install -U 'jupyterlab>=4' 'ipywidgets>=8'"
        return Check("widgets", "broken", f"{found} are not compatible", hint)
    return Check("widgets", "ok", found, public=found)


def check_extension() -> Check:
    """Check that JupyterLab finds the front-end extension, which works in the notebook that the page shows."""
    if (found := lab_extension(EXTENSION)) is None:
        text = "the front-end extension is not in this environment; the one with JupyterLab needs it"
        return Check("extension", "unknown", text, "pip install copilot-kernel")
    return Check("extension", "ok", f"the front-end extension {found}", public=found)


def check_endpoint() -> Check:
    """Check that Jupyter Server loads the server extension: chat, API and the settings page."""
    from jupyter_core.paths import jupyter_config_path

    missing = [name for name in ("jupyter_server", "prometheus_client", "pydantic") if find_spec(name) is None]
    if missing:
        text = f"no chat and no settings page: {', '.join(missing)} missing"
        return Check("server extension", "unknown", text, "pip install 'copilot-kernel[server]'")
    if not any(
        Path(each, "jupyter_server_config.d", "copilot_kernel.json").is_file() for each in jupyter_config_path()
    ):
        return Check("server extension", "broken", "not enabled", "jupyter server extension enable copilot_kernel")
    return Check("server extension", "ok", "enabled", public="enabled")


def check_agent(settings: Settings) -> Check:
    """Check that the agent of the settings can be found. Only Copilot is asked for its version."""
    try:
        launch = located(settings)
    except CopilotError as error:
        return Check("agent", "broken", str(error), error.hint)
    if not launch.argv:
        return Check("agent", "ok", launch.label)
    program = list(takewhile(lambda word: word[:1] != "-", launch.argv))  # on Windows, Node and a script
    answer = output([*program, "--version"]) if launch.is_copilot else ""
    if answer is None:
        return Check("agent", "unknown", f"{launch.label}: {shlex.join(program)} --version fails", start_advice(launch))
    number = f" ({answer.splitlines()[0]})" if answer else ""
    public = f"{launch.label}{number}" if launch.is_copilot else "another program"
    return Check("agent", "ok", f"{launch.label}: {shlex.join(launch.argv)}{number}", public=public)


def check_sign_in(settings: Settings) -> Check:
    """Start the agent, open a session, and end it again."""
    late = f"The agent did not open a session within {settings.start_timeout:g} s."
    try:
        info = with_chat(settings, settings.start_timeout, late, _open_session)
    except CopilotError as error:
        return Check("sign-in", "broken", clean(error), next_steps(error))
    name = one_line(f"{info.title or info.name or 'the agent'} {info.version}")
    return Check("sign-in", "ok", f"{name} opened a session")


def check_sandbox(settings: Settings) -> Check:
    """Try one in the project's folder, whether the settings want one or not."""
    problem, is_off = sandbox.unavailable(settings), settings.sandbox == "off"
    if problem is None:
        how = "possible here, but off (COPILOT_KERNEL_SANDBOX)" if is_off else f"the agent {sandbox.summary(settings)}"
        return Check("sandbox", "ok", how)
    return Check("sandbox", "broken" if settings.sandbox == "required" else "unknown", f"none: {problem}", problem.hint)


def check_sharing(settings: Settings) -> Check:
    """Check that there can be a socket, if notebooks share an agent."""
    if settings.agent_sharing == "off":
        return Check("sharing", "ok", "each notebook has an agent of its own (COPILOT_KERNEL_AGENT_SHARING)")
    try:
        path = socket_path(Path(settings.environment.jupyter.runtime), "x" * DIGEST_CHARS)
    except CopilotError as error:
        return Check("sharing", "broken", clean(error), next_steps(error))
    return Check("sharing", "ok", f"notebooks share an agent, by sockets in {path.parent}")


async def _open_session(chat: Chat) -> AgentInfo:
    await chat.ready()
    assert chat.info is not None
    return chat.info


def check_settings(settings: Settings) -> list[Check]:
    """A finding for each invalid value, and each rule that matches nothing or allows more than it seems."""
    book = Rulebook.of(settings)
    invalid = [Check("settings", "broken", problem, "The default is used.") for problem in settings.problems]
    rules = [Check("settings", "broken", problem) for problem in book.problems]
    return invalid + rules + [Check("settings", "unknown", f"careful: {warning}") for warning in book.warnings]


def output(command: list[str]) -> str | None:
    """Return the output of a program, or None if it fails or is too slow."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def lab_extension(name: str) -> str | None:
    """The version of an extension of JupyterLab, or None."""
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("labextensions"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads(Path(folder, name, "package.json").read_text("utf-8"))["version"])
    return None
