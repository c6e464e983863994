"""Declarations of settings, permission modes, and the places of files. `config_reader.py` reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .environment import Environment, environment_of
from .mcp_config import McpServer, without_own_name
from .programs import is_foreign, is_inside, project_folders, real
from .setting_values import (
    Parse,
    Setting,
    common_hosts,
    common_paths,
    host_list,
    json_value,
    not_one_of,
    number,
    one_of,
    path_list,
    rule_list,
    switch,
    text,
    union,
)
from .system.launcher import own_variable

CONFIG_FILE = "copilot_kernel.json"
PREFIX = "COPILOT_KERNEL_"
AGENT_ARGUMENT = "--agent={}"
"""Argument of a kernelspec."""
LANGUAGE = "markdown"
"""Language of the kernel: VS Code runs only cells whose language it knows."""
ENVIRONMENT = "environment"
KERNELSPEC = "kernelspec"
SANDBOXED = "sandboxed"
MODE_NAMES = {
    "default": "Ask first",
    "acceptEdits": "Edit freely",
    "bypassPermissions": "Allow everything",
    "plan": "Plan only",
    SANDBOXED: "Sandboxed",
}
"""Names of the permission modes."""
PERMISSION_MODES = tuple(MODE_NAMES)
PLAN = "plan"
UNREAD = "{}. While settings cannot be read, every call asks. Correct them, then restart the kernel."
_UNREAD = "while a list of rules cannot be read"
_ALLOWING_MODES = ("acceptEdits", "bypassPermissions", SANDBOXED)
BUILT_IN_AGENTS = ("", "copilot", "demo")
"""Names that start only what is installed with this package, or GitHub's CLI."""
AGENT, CWD, DEMO_COMMAND = f"{PREFIX}AGENT", f"{PREFIX}CWD", f"{PREFIX}DEMO_COMMAND"


@dataclass(frozen=True, slots=True)
class AllowList:
    """A list of rules that must cover a call. What the user allows by a click adds to one that `is_own`."""

    rules: tuple[str, ...]
    origin: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class Widening:
    """A variable of the environment that lets the agent do more than the user's files say."""

    variable: str
    value: str


def _setting(default: Any, parse: Parse, help: str, *, order: Any, **more: Any) -> Any:
    """Declare a field of `Settings` that the user can set; its variable is named after it."""
    return field(default=default, metadata={"setting": Setting(parse, help, order, **more)})


@dataclass(frozen=True)
class Settings:
    """Settings of the user. `origins` names the source of each field, `problems` what could not be read.

    `docs/settings.md` is made from the declarations: `python -m tests.docs_lists` regenerates it.
    """

    agent: str = _setting(
        "",
        text,
        "the agent's command line, `tcp://host:port` or `demo`; default: GitHub Copilot CLI",
        widens=True,
        order="none",
    )
    cwd: str = _setting(
        "",
        text,
        "the agent's folder; default: [the notebook's](security.md#terms)",
        widens=True,
        kernel_applies=True,  # the folder itself tells agents apart
        order="none",
    )
    permission_mode: str = _setting(
        "default",
        lambda raw: raw,  # checked when it is set
        "`default`, `acceptEdits`, `sandboxed`, `plan` or `bypassPermissions`; see [modes](permissions.md#modes)",
        order=("plan", "default", "acceptEdits", "sandboxed", "bypassPermissions"),
        widens=True,
        kernel_applies=True,
    )
    allow: tuple[str, ...] = _setting(
        (),
        rule_list,
        'JSON array of [rules](permissions.md#rules) for what runs without a question: `["Read", "Edit(src/**)"]`',
        widens=True,
        kernel_applies=True,
        order="list",
    )
    ask: tuple[str, ...] = _setting(
        (),
        rule_list,
        "rules for what is always asked about, even if a rule or mode allows it",
        join=union,
        kernel_applies=True,
        order="list",
    )
    deny: tuple[str, ...] = _setting(
        (),
        rule_list,
        "rules for what is always rejected",
        join=union,
        kernel_applies=True,
        order="list",
    )
    on_unasked: str = _setting(
        "badge",
        one_of("badge", "cancel"),
        "when the agent [acts without asking](permissions.md#actions-without-a-question): `badge` marks the action, "
        "`cancel` also cancels the turn",
        order=("cancel", "badge"),
        widens=True,
        kernel_applies=True,
    )
    start_timeout: float = _setting(
        30.0,
        number(0.001, 3600, "seconds"),
        "seconds that the agent may take to start",
        kernel_applies=True,
        order="none",
    )
    cancel_grace: float = _setting(
        5.0,
        number(0.001, 3600, "seconds"),
        "seconds that a cancelled turn may take to stop; then the kernel ends the agent",
        kernel_applies=True,
        order="lower",
    )
    activity_timeout: float = _setting(
        28_800.0,
        number(0, 604_800, "seconds"),
        "seconds for which an open question keeps JupyterHub from culling the server, at most 604800",
        kernel_applies=True,
        order="lower",
    )
    mcp_servers: tuple[McpServer, ...] = _setting(
        (),
        json_value,
        'MCP servers as JSON: `{"name": {"command": "…"}, "other": {"type": "http", "url": "…"}}`, or an array',
        widens=True,
        kernel_applies=True,  # those that are started with the agent tell agents apart
        order="none",
    )
    fs: bool = _setting(
        False,
        switch,
        "`on` lets agents use files in their folder through the kernel, which asks about each write",
        order=(False, True),
        widens=True,
    )
    terminal: bool = _setting(
        False,
        switch,
        "`on` lets agents run commands through the kernel, which asks about each one",
        order=(False, True),
        widens=True,
    )
    answer_form: str = _setting(
        "nested",
        one_of("nested", "flat"),
        "form of answers to permission requests: `nested` as in ACP, `flat` for agents that expect the older form",
        order="none",
    )
    option_member: str = _setting(
        "configId",
        one_of("configId", "optionId"),
        "member that names an option: `configId` as in ACP, `optionId` for agents that expect the older name",
        kernel_applies=True,
        order="none",
    )
    state: str = _setting(
        "",
        text,
        "folder for sessions, trust and snapshots; default: in Jupyter's data folder",
        widens=True,
        order="none",
    )
    notebook_tools: bool = _setting(
        True,
        switch,
        "`off` gives the agent no [tools for the notebook](notebook-tools.md)",
        kernel_applies=True,
        order=(False, True),
    )
    undo: bool = _setting(
        True,
        switch,
        "`off` takes no snapshots, so there is no [`%undo`](undo.md)",
        kernel_applies=True,
        order=(True, False),
    )
    error_context: bool = _setting(
        True,
        switch,
        "`off` sends the error of a failed cell only if the prompt [mentions](notebook-tools.md#mentions) it",
        kernel_applies=True,
        order=(False, True),
    )
    context_chars: int = _setting(
        32_000,
        number(1000, 1_000_000, "characters", int),
        "limit for what a prompt sends along from the notebook, in characters: 1000 to 1000000",
        kernel_applies=True,
        order="lower",
    )
    rerun: str = _setting(
        "run",
        one_of("run", "ask", "keep"),
        "when you [run a prompt again](#running-a-prompt-again) whose last turn changed files: `run` sends it and says "
        "so, `ask` asks first, `keep` shows the recorded answer",
        kernel_applies=True,
        order=("keep", "ask", "run"),
    )
    warm_start: bool = _setting(
        True,
        switch,
        "`off` starts the agent with the first prompt, not [before it](#warm-start)",
        kernel_applies=True,
        order=(False, True),
    )
    sandbox: str = _setting(
        "off",
        one_of("off", "on", "required"),
        "`on` runs the agent in a [sandbox](sandbox.md) if the machine has one; `required` only in a sandbox",
        order=("required", "on", "off"),
        widens=True,
    )
    sandbox_read: tuple[str, ...] = _setting(
        (),
        path_list,
        'JSON array of more absolute paths that the agent can read in the sandbox: `["~/data"]`',
        join=common_paths,
        widens=True,
        order="list",
    )
    sandbox_write: tuple[str, ...] = _setting(
        (),
        path_list,
        "the same for paths that it can also write",
        join=common_paths,
        widens=True,
        order="list",
    )
    sandbox_hosts: tuple[str, ...] | None = _setting(
        None,
        host_list,
        "JSON array of the only hosts that the agent can [reach](sandbox.md#network) from the sandbox: "
        '`["api.github.com", "*.example.com:443", "127.0.0.1:11434"]`; default: the network is shared',
        join=common_hosts,
        order="list",
    )
    agent_sharing: str = _setting(
        "off",
        one_of("off", "user"),
        "`user` lets your notebooks [share one agent process](agents.md#one-agent-for-several-notebooks)",
        order=("off", "user"),
    )
    trusted_folders: tuple[str, ...] = _setting(
        (),
        path_list,
        "JSON array of absolute paths of folders that you [trust](security.md#files-that-make-an-agent-run-programs)",
        join=common_paths,
        widens=True,
        kernel_applies=True,
        order="list",
    )
    # The notebook's folder, or that in which the kernel or program was started; what `cwd` is relative to.
    start_folder: str = field(default="", compare=False)
    # Lists of other places than `allow` is from.
    allow_limits: tuple[AllowList, ...] = field(default=(), compare=False)
    # What the environment widens; a person who can be asked must agree.
    widened: tuple[Widening, ...] = field(default=(), compare=False)
    # `state` as the user's files have it: what the user trusts is remembered there.
    own_state: str = field(default="", compare=False)
    # Files of the project that do not exist in the sandbox, since the user does not trust what they run.
    absent: tuple[str, ...] = field(default=(), compare=False)
    # Files whose variables the user gives to the agent.
    given: tuple[str, ...] = field(default=(), compare=False)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)
    # Those of the problems for which it is not known what is denied: nothing is allowed without a question.
    unread: tuple[str, ...] = field(default=(), compare=False)

    @property
    def folder(self) -> str:
        """The project: the folder that the agent works in, whatever the current folder is meanwhile."""
        return str(Path(self.start_folder, self.environment.expanded(self.cwd)))

    @property
    def environment(self) -> Environment:
        """What of the process's environment is the user's, for a notebook in `start_folder`."""
        return environment_of(self.start_folder)

    @property
    def project_folders(self) -> tuple[Path, ...]:
        """See `programs.project_folders`."""
        return project_folders(self.folder, self.environment.home)

    @property
    def environ(self) -> dict[str, str]:
        """The user's variables, without what came with the project."""
        return self.environment.variables()

    @property
    def agent_environ(self) -> dict[str, str]:
        """The variables that the agent is started with."""
        return self.environment.variables(self._given)

    @property
    def withheld(self) -> dict[str, list[str]]:
        """Names of the variables that the agent is not given, by the file of the project that names them."""
        return self.environment.named(self._given)

    @property
    def _given(self) -> set[str]:
        folders = [real(Path(self.environment.expanded(each))) for each in self.trusted_folders]
        return {*self.given, *(each.path for each in self.environment.files if is_inside(Path(each.path), folders))}

    @property
    def passed_servers(self) -> tuple[McpServer, ...]:
        """`mcp_servers` under the names that the agent knows them by."""
        return without_own_name(self.mcp_servers) if self.notebook_tools else self.mcp_servers


SETTINGS: Mapping[str, Setting] = {
    each.name: each.metadata["setting"] for each in fields(Settings) if "setting" in each.metadata
}


def variable(name: str) -> str:
    """The variable of the environment for the setting `name`."""
    return PREFIX + name.upper()


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


def in_mode(settings: Settings, mode: str, origin: str) -> Settings:
    """`settings` in this permission mode; in `default` if it is unknown, or allows while rules could not be read."""
    problems, allow = list(settings.problems), settings.allow
    if mode not in PERMISSION_MODES:
        problems.append(f"{origin}: permission_mode: {not_one_of(mode, PERMISSION_MODES)}; default is used")
        mode = "default"
    if mode == SANDBOXED and settings.sandbox == "off":
        problems.append(f"{origin}: permission_mode: {mode} needs sandbox (COPILOT_KERNEL_SANDBOX); default is used")
        mode = "default"
    if settings.unread and mode in _ALLOWING_MODES:
        problems.append(f"{origin}: permission_mode: {mode} is not used {_UNREAD}; default is used")
        mode = "default"
    if settings.unread and allow:
        problems.append(f"{settings.origins['allow']}: allow: not used {_UNREAD}")
        allow = ()
    origins = {**settings.origins, "permission_mode": origin}
    return replace(settings, permission_mode=mode, allow=allow, origins=origins, problems=tuple(problems))


def allow_lists(settings: Settings) -> tuple[AllowList, ...]:
    """Return the lists that are stated anywhere, also empty ones. A user may add rules to one, not of the system's."""
    origin = settings.origins.get("allow", "default")
    is_stated = bool(settings.allow or settings.allow_limits) or origin != "default"
    own = AllowList(settings.allow, origin, not os.path.isabs(origin) or origin == str(user_file(settings.environment)))
    return (*([own] if is_stated else ()), *settings.allow_limits)


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
