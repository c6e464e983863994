"""One Settings value, and where each of its fields came from.

Precedence: environment (`COPILOT_KERNEL_*`) over the config file (`copilot_kernel.json` in Jupyter's config path)
over defaults; but rules that ask or deny hold wherever they stand, and those that allow in whatever file. A value
that cannot be read is reported in `Settings.problems` and the default stands. While a place that may ask or deny cannot
be read, no mode that allows by itself begins.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .mcp_config import McpServer, parse_servers

CONFIG_FILE = "copilot_kernel.json"
PREFIX = "COPILOT_KERNEL_"
_ENVIRONMENT = "environment"
ANSWER_FORMS = ("nested", "flat")
OPTION_MEMBERS = ("configId", "optionId")
PERMISSION_MODES = ("default", "acceptEdits", "bypassPermissions", "plan")
ON_UNASKED = ("badge", "cancel")


@dataclass(frozen=True)
class Settings:
    """What the user may set. `origins` names the source of each field, `problems` what could not be read."""

    agent: str = ""
    """Command line (shell words), `tcp://host:port`, or `demo`; empty: GitHub Copilot CLI, if it is found."""
    cwd: str = ""
    """Folder of the agent's session; empty: the kernel's working directory, that is the notebook's folder."""
    permission_mode: str = "default"
    """`default` (nothing without a question), `acceptEdits`, `plan` (nothing at all), `bypassPermissions` (all)."""
    allow: tuple[str, ...] = ()
    """Rules for what is allowed without a question, such as `Bash(git status)`, `Read` and `Edit(src/**)`."""
    ask: tuple[str, ...] = ()
    """Rules for what is asked about, whatever else allows it."""
    deny: tuple[str, ...] = ()
    """Rules for what is rejected without a question."""
    on_unasked: str = "badge"
    """When the agent acts without asking: `badge` shows it, `cancel` also cancels the turn."""
    start_timeout: float = 30.0
    """Seconds until the agent must have answered `initialize` and `session/new`."""
    cancel_grace: float = 5.0
    """Seconds that a cancelled turn may take to end before the agent is ended."""
    activity_timeout: float = 28_800.0
    """Seconds that a question counts as activity, so that whoever ends idle kernels and servers does not end it."""
    mcp_servers: tuple[McpServer, ...] = ()
    """Servers of the Model Context Protocol that the agent is to use."""
    fs: bool = False
    """Whether agents may read and write files through this client, inside their folder; writing is asked about."""
    terminal: bool = False
    """Whether agents may run commands through this client; each is asked about."""
    answer_form: str = "nested"
    """How permission requests are answered: `nested` as in the specification, or `flat` for a dialect of it."""
    option_member: str = "configId"
    """How `session/set_config_option` names the option: `configId` as in the specification, or `optionId` before it."""
    state: str = ""
    """Folder that remembers each notebook's session; empty: `copilot_kernel` in Jupyter's data folder."""
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)
    limits_lost: bool = field(default=False, compare=False)
    """What denies or asks could not be read, or not all of it."""

    @property
    def folder(self) -> str:
        """The absolute path of the folder that the agent works in."""
        return str(Path(self.cwd or os.getcwd()).expanduser().absolute())


def load(environ: Mapping[str, str] | None = None, paths: list[Path] | None = None) -> Settings:
    """Settings from the environment and the first config file of `paths` (default: Jupyter's config path)."""
    environ = os.environ if environ is None else environ
    found: dict[str, Any] = {}
    origins = {name: "default" for name in _READERS}
    problems: list[str] = []
    places = (*_files(config_files() if paths is None else paths, problems), _environment(environ))
    is_lost = bool(problems)
    for origin, values in places:
        for name, raw in values.items():
            was_read = _read(name, raw, origin, found, origins, problems)
            is_lost |= name in _JOINED and not was_read
    settings = Settings(**found, origins=origins, problems=tuple(problems), limits_lost=is_lost)
    return in_mode(settings, settings.permission_mode, origins["permission_mode"])


def in_mode(settings: Settings, mode: str, origin: str) -> Settings:
    """`settings` in this permission mode, unless it allows and what denies or asks could not be read."""
    problems = settings.problems
    if settings.limits_lost and mode in _ALLOWING_MODES:
        problems += (f"{origin}: permission_mode: {mode!r} {_LOST}",)
        mode = "default"
    origins = {**settings.origins, "permission_mode": origin}
    return replace(settings, permission_mode=mode, origins=origins, problems=problems)


def notebook(environ: Mapping[str, str] | None = None) -> str:
    """The path of the notebook whose kernel this is, as Jupyter Server tells it; empty for a console."""
    path = (os.environ if environ is None else environ).get("JPY_SESSION_NAME", "")
    return path if os.path.isabs(path) and os.path.isfile(path) else ""


def config_files() -> list[Path]:
    """Where a config file may stand, the place that counts most first."""
    from jupyter_core.paths import jupyter_config_path

    return [Path(folder) / CONFIG_FILE for folder in jupyter_config_path()]


def user_file() -> Path:
    """The user's own config file, in which rules are saved; it need not exist."""
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir(), CONFIG_FILE)


def state_folder(settings: Settings) -> Path:
    """Where to remember what outlives a kernel; it need not exist."""
    if settings.state:
        return Path(settings.state).expanduser().absolute()
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir(), "copilot_kernel")


def _read(
    name: str, raw: Any, origin: str, found: dict[str, Any], origins: dict[str, str], problems: list[str]
) -> bool:
    """False: nothing of the value could be read."""
    reader = _READERS.get(name)
    if reader is None:
        problems.append(f"{origin}: there is no setting {name!r}")
        return False
    try:
        value = reader(raw)
    except _Partly as partly:
        value = partly.value
        problems += [f"{origin}: {name}: {problem}" for problem in partly.problems]
    except (ValueError, TypeError, RecursionError) as error:
        wanted = f"; write {PREFIX}{name.upper()}='{_EXAMPLE}'" if origin == _ENVIRONMENT and name in _JOINED else ""
        problems.append(f"{origin}: {name}: {error}{wanted}")
        return False
    joins = name in found and (name in _JOINED or (name == "allow" and origin != _ENVIRONMENT))
    found[name] = tuple(dict.fromkeys((*found[name], *value))) if joins else value
    origins[name] = f"{origins[name]}, {origin}" if joins else origin
    return True


def _environment(environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    names = {PREFIX + name.upper(): name for name in _READERS}
    return _ENVIRONMENT, {names[key]: value for key, value in environ.items() if key in names}


def _files(paths: list[Path], problems: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Jupyter's path begins with the most personal folder: read it last, so that it wins."""
    read = []
    for path in reversed(paths):
        try:
            values = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            problems.append(f"{path}: {error}")
            continue
        if isinstance(values, dict):
            read.append((str(path), values))
        else:
            problems.append(f"{path}: must hold one JSON object")
    return read


class _Partly(Exception):
    """Some of a value could be read, and the rest need not cost it."""

    def __init__(self, value: Any, problems: tuple[str, ...]) -> None:
        super().__init__(*problems)
        self.value, self.problems = value, problems


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueError("must be text")
    return raw.strip()


def _switch(raw: Any) -> bool:
    if raw not in ("on", "off", True, False):
        raise ValueError(f"{raw!r} is neither on nor off; off is used")
    return raw in ("on", True)


def _mode(raw: Any) -> str:
    """One that nobody knows is `default`, also where a place that counts less says another."""
    try:
        return _one_of(PERMISSION_MODES)(raw)
    except ValueError as error:
        raise _Partly("default", (str(error),)) from error


def _one_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    """The first name is the default."""

    def read(raw: Any) -> str:
        if raw not in names:
            raise ValueError(f"{raw!r} is not one of {', '.join(names)}; {names[0]} is used")
        return str(raw)

    return read


def _words(raw: Any) -> tuple[str, ...]:
    """What allows: a list that is not wholly understood allows nothing."""
    value = _json(raw)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(_NO_LIST.format('["Read", "Edit"]'))
    return tuple(value)


def _limits(raw: Any) -> tuple[str, ...]:
    """What asks or denies: whatever can be understood of it holds, also of a text that only looks like a list."""
    value = _json(raw)
    if isinstance(value, str) and not value.strip():
        return ()
    pieces = _pieces(value) if isinstance(value, str) else []
    if rules := tuple(filter(_ONE_RULE.fullmatch, pieces)):
        return _known(rules, [piece for piece in pieces if piece not in rules])
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.80} matches nothing; it {_NO_LIST.format(_EXAMPLE)}")
    texts = tuple(item for item in value if isinstance(item, str))
    return _known(texts, [item for item in value if not isinstance(item, str)])


def _known(rules: tuple[str, ...], strange: list[Any]) -> tuple[str, ...]:
    if strange:
        told = (
            f"{item!r:.80} is not a rule and matches nothing{'' if isinstance(item, str) else _NO_TEXT}"
            for item in strange
        )
        raise _Partly(rules, tuple(told))
    return rules


def _pieces(text: str) -> list[str]:
    """Cut at what may stand between rules, but not in their brackets; each piece without the quotes around it."""
    found = (piece.strip().strip("\"'").strip() for piece in _PIECE.findall(text.strip().strip("[]")))
    return [piece for piece in found if piece]


def _json(raw: Any) -> Any:
    """What a text says as JSON; if it is none, the text."""
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


def _servers(raw: Any) -> tuple[McpServer, ...]:
    servers, problems = parse_servers(json.loads(raw) if isinstance(raw, str) else raw)
    if problems:
        raise _Partly(servers, problems)
    return servers


def _seconds(raw: Any) -> float:
    value = float(raw)
    if not 0 < value <= 3600:
        raise ValueError("must be a number of seconds between 0 and 3600")
    return value


def _up_to_a_week(raw: Any) -> float:
    value = float(raw)
    if not 0 <= value <= 604_800:
        raise ValueError("must be a number of seconds between 0 and 604800")
    return value


_NO_LIST = "must be a JSON array of strings, such as {}"
_EXAMPLE = '["Bash(rm *)", "Edit(data/**)"]'
_LOST = "does not begin while what denies or asks cannot be read; default is used"
_NO_TEXT = "; rules are strings"
_PIECE = re.compile(r"(?:[^,;\n()]|\([^()]*\)?|\))+")
"""Between commas, semicolons and ends of lines; a bracket that is not closed ends with the text or at the next one."""
_ONE_RULE = re.compile(r"\w[\w.*-]*(\([^()]*\))?")
"""The shape of a rule; whether it is one is found out with the others."""

_READERS: dict[str, Callable[[Any], Any]] = {
    "agent": _text,
    "cwd": _text,
    "permission_mode": _mode,
    "allow": _words,
    "ask": _limits,
    "deny": _limits,
    "on_unasked": _one_of(ON_UNASKED),
    "start_timeout": _seconds,
    "cancel_grace": _seconds,
    "activity_timeout": _up_to_a_week,
    "mcp_servers": _servers,
    "fs": _switch,
    "terminal": _switch,
    "answer_form": _one_of(ANSWER_FORMS),
    "option_member": _one_of(OPTION_MEMBERS),
    "state": _text,
}

_ALLOWING_MODES = ("acceptEdits", "bypassPermissions")
"""They allow without a rule, so that a rule that is lost would be one that is lifted."""

_JOINED = ("ask", "deny")
"""What one place asks about or denies, no other place lifts."""

assert set(_READERS) == {f.name for f in fields(Settings)} - {"origins", "problems", "limits_lost"}
