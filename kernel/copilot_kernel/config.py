"""Settings, and where each of them came from.

Precedence: environment (`COPILOT_KERNEL_*`) over config files (`copilot_kernel.json` in Jupyter's config path, outside
the project) over defaults. But of what limits the agent, no place loosens what another one says: the stricter value
holds (`ORDER`), `ask` and `deny` add up, and of several lists that allow, each must cover a call. A value that cannot
be read is reported in `Settings.problems` and left out. While a list of rules cannot be read, no permission mode that
allows begins, and no setting allows anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .mcp_config import McpServer, parse_servers, without_own_name
from .programs import is_inside, project_folders
from .setting_values import COMMON, ORDER, PARSERS, RULE_LISTS, common_hosts, common_paths, is_wider, not_one_of, rank

HOSTS_NEED_SANDBOX = "{}: sandbox_hosts needs sandbox (COPILOT_KERNEL_SANDBOX)"
CONFIG_FILE = "copilot_kernel.json"
PREFIX = "COPILOT_KERNEL_"
AGENT_ARGUMENT = "--agent={}"
"""Of a kernelspec."""
LANGUAGE = "markdown"
"""Of the kernel: VS Code runs only cells whose language it knows."""
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
"""What the permission modes are called."""
PERMISSION_MODES = tuple(MODE_NAMES)
_UNREAD = "while a list of rules cannot be read"
_ALLOWING_MODES = ("acceptEdits", "bypassPermissions", SANDBOXED)
BUILT_IN_AGENTS = ("", "copilot", "demo")
"""Names that start only what is installed with this package, or GitHub's CLI."""
AGENT, DEMO_COMMAND = f"{PREFIX}AGENT", f"{PREFIX}DEMO_COMMAND"
IN_PROJECT = "{}: ignored because it is in the project"

_WIDENING = (
    *("agent", "cwd", "state", "mcp_servers", "allow", "sandbox_read", "sandbox_write", "trusted_folders"),
    *ORDER,
)


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


@dataclass(frozen=True)
class Settings:
    """What the user may set. `origins` names the source of each field, `problems` what could not be read."""

    # Command line (shell words), `tcp://host:port`, or `demo`; empty: GitHub Copilot CLI, if it is found.
    agent: str = ""
    # Folder of the agent's session; empty: `start_folder`.
    cwd: str = ""
    # `default` (nothing without a question), `acceptEdits`, `plan` (nothing at all), `bypassPermissions` (all),
    # `sandboxed` (what happens in the sandbox).
    permission_mode: str = "default"
    # Rules for what is allowed without a question, such as `Bash(git status)`, `Read` and `Edit(src/**)`.
    allow: tuple[str, ...] = ()
    # Rules for what is asked about, whatever else allows it.
    ask: tuple[str, ...] = ()
    # Rules for what is rejected without a question.
    deny: tuple[str, ...] = ()
    # When the agent acts without asking: `badge` shows it, `cancel` also cancels the turn.
    on_unasked: str = "badge"
    # Seconds until the agent must have answered `initialize` and `session/new`.
    start_timeout: float = 30.0
    # Seconds that a cancelled turn may take to end before the agent is ended.
    cancel_grace: float = 5.0
    # Seconds that an open question counts as activity, so that idle kernels and servers are not culled meanwhile.
    activity_timeout: float = 28_800.0
    # Servers of the Model Context Protocol that the agent is to use.
    mcp_servers: tuple[McpServer, ...] = ()
    # Whether agents may read and write files through this client, inside their folder; writing is asked about.
    fs: bool = False
    # Whether agents may run commands through this client; each is asked about.
    terminal: bool = False
    # How permission requests are answered: `nested` as in the specification, or `flat` for a dialect of it.
    answer_form: str = "nested"
    # How `session/set_config_option` names the option: `configId` as in the specification, or `optionId` before it.
    option_member: str = "configId"
    # Folder that remembers each notebook's session; empty: `copilot_kernel` in Jupyter's data folder.
    state: str = ""
    # Whether the agent gets tools for the notebook that it is in: its variables and cells.
    notebook_tools: bool = True
    # Whether what the agent is about to change is saved, so that `%undo` can restore it.
    undo: bool = True
    # Whether the error of the notebook's last cell goes with the next prompt, unasked.
    error_context: bool = True
    # Characters of everything from the notebook that goes with one prompt.
    context_chars: int = 32_000
    # Running a prompt again whose last turn changed files: `run` says so, `ask` asks, `keep` shows the old answer.
    rerun: str = "run"
    # Whether the agent of a Copilot notebook starts before the first prompt.
    warm_start: bool = True
    # Whether the agent runs in a sandbox: `off`, `on` (without one, if there can be none), `required`.
    sandbox: str = "off"
    # Files and folders, besides what the agent needs, that can be read or also written in the sandbox.
    sandbox_read: tuple[str, ...] = ()
    sandbox_write: tuple[str, ...] = ()
    # Hosts that are reached from the sandbox, such as `api.github.com`; None: the network is shared.
    sandbox_hosts: tuple[str, ...] | None = None
    # Which notebooks share an agent's process: `off` (none), `user` (all of this user that would start the same one).
    agent_sharing: str = "off"
    # Folders in which, and below which, whatever files make an agent run programs may do so.
    trusted_folders: tuple[str, ...] = ()
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
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)
    # A list of rules could not be read, so what it denies is not known.
    has_unread_rules: bool = field(default=False, compare=False)

    @property
    def folder(self) -> str:
        """The project: the folder that the agent works in, whatever the current folder is meanwhile."""
        return str(Path(self.start_folder, Path(self.cwd).expanduser()))

    @property
    def passed_servers(self) -> tuple[McpServer, ...]:
        """`mcp_servers` under the names that the agent knows them by."""
        return without_own_name(self.mcp_servers) if self.notebook_tools else self.mcp_servers


def load(
    environ: Mapping[str, str] | None = None,
    paths: list[Path] | None = None,
    *,
    own_agent: str = "",
    start_folder: str = "",
) -> Settings:
    """Settings from the environment and the config files `paths`, the most personal first (default: Jupyter's).

    `own_agent`: that of the user's kernelspec, which goes before all others. `start_folder`: by default, the current
    one, as a command line means it.
    """
    environ = os.environ if environ is None else environ
    start_folder = start_folder or os.getcwd()  # noqa: TID251
    reader, folders = _Reader(), _folders(start_folder, environ)
    for path in reversed(config_files() if paths is None else paths):
        if path.exists() and is_inside(path, folders):
            reader.problems.append(IN_PROJECT.format(path))
        else:
            reader.read_file(path)
    own = reader.settings()
    names = {PREFIX + name.upper(): name for name in PARSERS}
    reader.read(ENVIRONMENT, {names[key]: value for key, value in environ.items() if key in names})
    if own_agent:
        reader.found["agent"], reader.origins["agent"] = own_agent, KERNELSPEC
    settings = reader.settings()
    widened = tuple(_widened(own, settings, environ))
    settings = replace(settings, start_folder=start_folder, widened=widened, own_state=own.state)
    if settings.sandbox == "off" and settings.sandbox_hosts is not None:
        problem = HOSTS_NEED_SANDBOX.format(settings.origins["sandbox_hosts"])
        settings = replace(settings, problems=(*settings.problems, problem))
    return in_mode(settings, settings.permission_mode, settings.origins["permission_mode"])


def _widened(own: Settings, settings: Settings, environ: Mapping[str, str]) -> Iterator[Widening]:
    for name in _WIDENING:
        before, after, variable = getattr(own, name), getattr(settings, name), PREFIX + name.upper()
        if settings.origins[name] == ENVIRONMENT and before != after and _is_widening(name, own, after):
            yield Widening(variable, environ[variable].strip())
    if command := environ.get(DEMO_COMMAND):
        yield Widening(DEMO_COMMAND, command)


def _is_widening(name: str, own: Settings, after: Any) -> bool:
    if name in ORDER:
        return is_wider(name, getattr(own, name), after)
    if name == "agent":
        return after not in BUILT_IN_AGENTS
    is_new = own.origins[name] == "default"  # a second list only limits the first one
    return is_new if name in ("allow", *COMMON) else True


def _folders(start_folder: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where an agent, or whoever has written the project, may have put a file."""
    named = Settings(cwd=environ.get(f"{PREFIX}CWD", ""), start_folder=start_folder).folder
    return tuple({*project_folders(start_folder), *project_folders(named)})


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
    if settings.has_unread_rules and mode in _ALLOWING_MODES:
        problems.append(f"{origin}: permission_mode: {mode} is not used {_UNREAD}; default is used")
        mode = "default"
    if settings.has_unread_rules and allow:
        problems.append(f"{settings.origins['allow']}: allow: not used {_UNREAD}")
        allow = ()
    origins = {**settings.origins, "permission_mode": origin}
    return replace(settings, permission_mode=mode, allow=allow, origins=origins, problems=tuple(problems))


def allow_lists(settings: Settings) -> tuple[AllowList, ...]:
    """Those that are stated anywhere, also empty ones."""
    origin = settings.origins.get("allow", "default")
    is_stated = bool(settings.allow) or origin != "default"
    return (*([_allow_list(settings.allow, origin)] if is_stated else ()), *settings.allow_limits)


def _allow_list(rules: tuple[str, ...], origin: str) -> AllowList:
    """What the system's files allow is not for a user to extend."""
    return AllowList(rules, origin, not os.path.isabs(origin) or origin == str(user_file()))


def notebook(environ: Mapping[str, str] | None = None) -> str:
    """The path of the notebook whose kernel this is, as Jupyter Server names it; empty for a console."""
    path = notebook_at_start(environ)
    return path if os.path.isfile(path) else ""


def notebook_at_start(environ: Mapping[str, str] | None = None) -> str:
    """Where `notebook` was when the kernel began: it may have been renamed since. Empty if that is unknown."""
    path = (os.environ if environ is None else environ).get("JPY_SESSION_NAME", "")
    return path if os.path.isabs(path) else ""


def config_files() -> list[Path]:
    """Where a config file may stand, the place that counts most first."""
    from jupyter_core.paths import jupyter_config_path

    return [Path(folder) / CONFIG_FILE for folder in jupyter_config_path()]


def user_file() -> Path:
    """The user's own config file, in which rules are saved; it need not exist."""
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir(), CONFIG_FILE)


def is_in_own_kernelspec(agent: str, start_folder: str) -> bool:
    """Whether a kernelspec outside the project names this agent, as `copilot-kernel install` writes it."""
    from jupyter_core.paths import jupyter_path

    folders = _folders(start_folder, os.environ)
    for folder in map(Path, jupyter_path("kernels")):
        for file in folder.glob("*/kernel.json") if not is_inside(folder, folders) else ():
            with suppress(OSError, ValueError, AttributeError):
                if AGENT_ARGUMENT.format(agent) in json.loads(file.read_text("utf-8")).get("argv", ()):
                    return True
    return False


def state_folder(settings: Settings) -> Path:
    """Where to remember what outlives a kernel; it need not exist."""
    if settings.state:
        return Path(settings.start_folder, Path(settings.state).expanduser())
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir(), "copilot_kernel")


def made_state_folder(settings: Settings) -> Path:
    """The state folder, made with the mode 0700 if it is missing and can be made.

    Those who write below it would give a missing one the default mode.
    """
    folder = state_folder(settings)
    with suppress(OSError):  # who writes into it says what that costs
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


class _Reader:
    """Collects values; what is read later counts more, unless it is about limits."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.origins = dict.fromkeys(PARSERS, "default")
        self.problems: list[str] = []
        self.limits: list[AllowList] = []
        self.has_unread_rules = False

    def read_file(self, path: Path) -> None:
        try:
            values = json.loads(path.read_text("utf-8"))
            if not isinstance(values, dict):
                raise ValueError("must contain a JSON object")
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self.problems.append(f"{path}: {error}")
            self.has_unread_rules = True
            return
        self.read(str(path), values)

    def read(self, origin: str, values: Mapping[str, Any]) -> None:
        for name, raw in values.items():
            if name not in PARSERS:
                self.problems.append(f"{origin}: unknown setting {name!r}")
                continue
            try:
                self._add(name, PARSERS[name](raw), origin)
            except (ValueError, TypeError, RecursionError) as error:
                self.problems.append(f"{origin}: {name}: {error}")
                self.has_unread_rules |= name in RULE_LISTS
                if name == "sandbox_hosts":
                    self._add(name, (), origin)

    def _add(self, name: str, value: Any, origin: str) -> None:
        """No place loosens what another one says."""
        if name in self.found:
            before, stated = self.found[name], self.origins[name]
            if name in ("ask", "deny"):
                value, origin = tuple(dict.fromkeys((*before, *value))), f"{stated}, {origin}"
            elif name == "allow":
                self.limits.append(_allow_list(before, stated))
            elif name in COMMON:
                both = common_hosts if name == "sandbox_hosts" else common_paths
                value, origin = both(before, value), f"{stated}, {origin}"
            elif name in ORDER and rank(name, before) <= rank(name, value):
                return
        self.found[name], self.origins[name] = value, origin

    def settings(self) -> Settings:
        """What was read up to now."""
        servers, problems = parse_servers(self.found.get("mcp_servers", []))
        own = [f"{self.origins['mcp_servers']}: mcp_servers: {problem}" for problem in problems]
        return Settings(
            **{**self.found, "mcp_servers": servers},
            allow_limits=tuple(self.limits),
            origins=dict(self.origins),
            problems=(*self.problems, *own),
            has_unread_rules=self.has_unread_rules,
        )


assert set(PARSERS) == {f.name for f in fields(Settings)} - {
    *("origins", "problems", "has_unread_rules", "allow_limits", "widened", "own_state", "absent", "start_folder")
}
