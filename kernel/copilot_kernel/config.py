"""Declarations of settings and permission modes. `config_reader.py` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .environment import Environment, environment_of
from .mcp_config import McpServer, without_own_name
from .programs import is_inside, project_folders, real
from .setting_values import Kind, Setting, common_hosts, common_paths, not_one_of, union

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


def _setting(default: Any, kind: Kind, help: str, *, order: Any, **more: Any) -> Any:
    """Declare a field of `Settings` that the user can set; its variable is named after it."""
    more = {"choices": order, **more} if kind in ("choice", "mode") else more
    return field(default=default, metadata={"setting": Setting(default, kind, help, order, **more)})


@dataclass(frozen=True)
class Settings:
    """Settings of the user. `origins` names the source of each field, `problems` what could not be read.

    `docs/settings.md` is made from the declarations: `python -m tests.docs_lists` regenerates it.
    """

    agent: str = _setting(
        "",
        "text",
        "the agent's command line, `tcp://host:port` or `demo`; default: GitHub Copilot CLI",
        widens=True,
        order="none",
        topic="Agent",
    )
    cwd: str = _setting(
        "",
        "text",
        "the agent's folder; default: [the notebook's](security.md#terms)",
        widens=True,
        kernel_applies=True,  # the folder itself tells agents apart
        order="none",
        topic="Agent",
        title="Folder",
    )
    permission_mode: str = _setting(
        "default",
        "mode",
        "`default`, `acceptEdits`, `sandboxed`, `plan` or `bypassPermissions`; see [modes](permissions.md#modes)",
        order=("plan", "default", "acceptEdits", "sandboxed", "bypassPermissions"),
        widens=True,
        kernel_applies=True,
        topic="Permissions",
    )
    allow: tuple[str, ...] = _setting(
        (),
        "rules",
        'JSON array of [rules](permissions.md#rules) for what runs without a question: `["Read", "Edit(src/**)"]`',
        widens=True,
        kernel_applies=True,
        order="list",
        topic="Permissions",
    )
    ask: tuple[str, ...] = _setting(
        (),
        "rules",
        "rules for what is always asked about, even if a rule or mode allows it",
        join=union,
        kernel_applies=True,
        order="list",
        topic="Permissions",
    )
    deny: tuple[str, ...] = _setting(
        (),
        "rules",
        "rules for what is always rejected",
        join=union,
        kernel_applies=True,
        order="list",
        topic="Permissions",
    )
    on_unasked: str = _setting(
        "badge",
        "choice",
        "when the agent [acts without asking](permissions.md#actions-without-a-question): `badge` marks the action, "
        "`cancel` also cancels the turn",
        order=("cancel", "badge"),
        widens=True,
        kernel_applies=True,
        topic="Permissions",
    )
    start_timeout: float = _setting(
        30.0,
        "number",
        "seconds that the agent may take to start",
        kernel_applies=True,
        between=(0.001, 3600),
        unit="seconds",
        order="none",
    )
    cancel_grace: float = _setting(
        5.0,
        "number",
        "seconds that a cancelled turn may take to stop; then the kernel ends the agent",
        kernel_applies=True,
        between=(0.001, 3600),
        unit="seconds",
        order="lower",
    )
    activity_timeout: float = _setting(
        28_800.0,
        "number",
        "seconds for which an open question keeps JupyterHub from culling the server, at most 604800",
        kernel_applies=True,
        between=(0, 604_800),
        unit="seconds",
        order="lower",
    )
    mcp_servers: tuple[McpServer, ...] = _setting(
        (),
        "json",
        'MCP servers as JSON: `{"name": {"command": "…"}, "other": {"type": "http", "url": "…"}}`, or an array',
        widens=True,
        kernel_applies=True,  # those that are started with the agent tell agents apart
        order="none",
    )
    fs: bool = _setting(
        False,
        "switch",
        "`on` lets agents use files in their folder through the kernel, which asks about each write",
        order=(False, True),
        widens=True,
    )
    terminal: bool = _setting(
        False,
        "switch",
        "`on` lets agents run commands through the kernel, which asks about each one",
        order=(False, True),
        widens=True,
    )
    answer_form: str = _setting(
        "nested",
        "choice",
        "form of answers to permission requests: `nested` as in ACP, `flat` for agents that expect the older form",
        order="none",
        choices=("nested", "flat"),
    )
    option_member: str = _setting(
        "configId",
        "choice",
        "member that names an option: `configId` as in ACP, `optionId` for agents that expect the older name",
        kernel_applies=True,
        order="none",
        choices=("configId", "optionId"),
    )
    state: str = _setting(
        "",
        "text",
        "folder for sessions, trust and snapshots; default: in Jupyter's data folder",
        widens=True,
        order="none",
    )
    notebook_tools: bool = _setting(
        True,
        "switch",
        "`off` gives the agent no [tools for the notebook](notebook-tools.md)",
        kernel_applies=True,
        order=(False, True),
        topic="Notebook",
    )
    undo: bool = _setting(
        True,
        "switch",
        "`off` takes no snapshots, so there is no [`%undo`](undo.md)",
        kernel_applies=True,
        order=(True, False),
        topic="Notebook",
    )
    error_context: bool = _setting(
        True,
        "switch",
        "`off` sends the error of a failed cell only if the prompt [mentions](notebook-tools.md#mentions) it",
        kernel_applies=True,
        order=(False, True),
        topic="Notebook",
    )
    context_chars: int = _setting(
        32_000,
        "number",
        "limit for what a prompt sends along from the notebook, in characters: 1000 to 1000000",
        kernel_applies=True,
        between=(1000, 1_000_000),
        unit="characters",
        order="lower",
    )
    rerun: str = _setting(
        "run",
        "choice",
        "when you [run a prompt again](#running-a-prompt-again) whose last turn changed files: `run` sends it and says "
        "so, `ask` asks first, `keep` shows the recorded answer",
        kernel_applies=True,
        order=("keep", "ask", "run"),
        topic="Notebook",
    )
    warm_start: bool = _setting(
        True,
        "switch",
        "`off` starts the agent with the first prompt, not [before it](#warm-start)",
        kernel_applies=True,
        order=(False, True),
    )
    sandbox: str = _setting(
        "off",
        "choice",
        "`on` runs the agent in a [sandbox](sandbox.md) if the machine has one; `required` only in a sandbox",
        order=("required", "on", "off"),
        widens=True,
        topic="Sandbox",
    )
    sandbox_read: tuple[str, ...] = _setting(
        (),
        "paths",
        'JSON array of more absolute paths that the agent can read in the sandbox: `["~/data"]`',
        join=common_paths,
        widens=True,
        order="list",
        topic="Sandbox",
    )
    sandbox_write: tuple[str, ...] = _setting(
        (),
        "paths",
        "JSON array of more absolute paths that the agent can also write in the sandbox",
        join=common_paths,
        widens=True,
        order="list",
        topic="Sandbox",
    )
    sandbox_hosts: tuple[str, ...] | None = _setting(
        None,
        "hosts",
        "JSON array of the only hosts that the agent can [reach](sandbox.md#network) from the sandbox: "
        '`["api.github.com", "*.example.com:443", "127.0.0.1:11434"]`; default: the network is shared',
        join=common_hosts,
        order="list",
        topic="Sandbox",
    )
    agent_sharing: str = _setting(
        "off",
        "choice",
        "`user` lets your notebooks [share one agent process](agents.md#one-agent-for-several-notebooks)",
        order=("off", "user"),
        topic="Agent",
    )
    trusted_folders: tuple[str, ...] = _setting(
        (),
        "paths",
        "JSON array of absolute paths of folders that you [trust](security.md#files-that-make-an-agent-run-programs)",
        join=common_paths,
        widens=True,
        kernel_applies=True,
        order="list",
        topic="Permissions",
    )
    # The notebook's folder, or that in which the kernel or program was started; what `cwd` is relative to.
    start_folder: str = field(default="", compare=False)
    # Lists of the system and the project that must cover a call, too, by their origin.
    allow_limits: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    # Variables that let the agent do more than the user's files say; a person who can be asked must agree.
    widened: Mapping[str, str] = field(default_factory=dict, compare=False)
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

    @cached_property
    def folder(self) -> str:
        """The project: the folder that the agent works in, whatever the current folder is meanwhile."""
        return str(Path(self.start_folder, self.environment.expanded(self.cwd)))

    @cached_property
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


def in_mode(settings: Settings, mode: str, origin: str) -> Settings:
    """`settings` in this permission mode; in `default` if it is unknown, or allows while rules could not be read."""
    problems, allow = list(settings.problems), settings.allow
    unused = (
        (mode not in PERMISSION_MODES, not_one_of(mode, PERMISSION_MODES)),
        (mode == SANDBOXED and settings.sandbox == "off", f"{mode} needs sandbox (COPILOT_KERNEL_SANDBOX)"),
        (settings.unread and mode in _ALLOWING_MODES, f"{mode} is not used {_UNREAD}"),
    )
    if problem := next((text for is_so, text in unused if is_so), ""):
        problems.append(f"{origin}: permission_mode: {problem}; default is used")
        mode = "default"
    if settings.unread and allow:
        problems.append(f"{settings.origins['allow']}: allow: not used {_UNREAD}")
        allow = ()
    origins = {**settings.origins, "permission_mode": origin}
    return replace(settings, permission_mode=mode, allow=allow, origins=origins, problems=tuple(problems))
