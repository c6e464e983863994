"""Read settings, and note where each of them comes from.

Precedence: environment (`COPILOT_KERNEL_*`) over config files (`copilot_kernel.json` in Jupyter's config path, outside
the project) over defaults. But of what limits the agent, no place loosens what another one says: the stricter value
applies (`Setting.order`), lists are joined (`Setting.join`), and of several lists that allow, each must cover a call. A
value that cannot be read is reported in `Settings.problems` and left out. While a list of rules cannot be read, no
call is allowed without a question; while a file of the system cannot be read, the mode is `plan`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .config import (
    BUILT_IN_AGENTS,
    DEMO_COMMAND,
    ENVIRONMENT,
    KERNELSPEC,
    PLAN,
    SETTINGS,
    AllowList,
    Settings,
    Widening,
    allow_list,
    config_files,
    in_mode,
    project_places,
    user_file,
    variable,
)
from .mcp_config import parse_servers
from .programs import is_inside
from .setting_values import Setting, rule_list

HOSTS_NEED_SANDBOX = "{}: sandbox_hosts needs sandbox (COPILOT_KERNEL_SANDBOX)"
IN_PROJECT = "{}: ignored because it is in the project"


def load_settings(
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
    reader, folders = _Reader(), project_places(start_folder, environ)
    for path in reversed(config_files() if paths is None else paths):
        if path.exists() and is_inside(path, folders):
            reader.problems.append(IN_PROJECT.format(path))
        else:
            reader.read_file(path)
    own = reader.settings()
    names = {variable(name): name for name in SETTINGS}
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
    for name, setting in SETTINGS.items():
        before, after = getattr(own, name), getattr(settings, name)
        if settings.origins[name] == ENVIRONMENT and before != after and _is_widening(name, setting, own, after):
            yield Widening(variable(name), environ[variable(name)].strip())
    if command := environ.get(DEMO_COMMAND):
        yield Widening(DEMO_COMMAND, command)


def _is_widening(name: str, setting: Setting, own: Settings, after: Any) -> bool:
    if setting.order:
        return setting.is_wider(getattr(own, name), after)
    if name == "agent":
        return after not in BUILT_IN_AGENTS
    is_limit = name == "allow" or setting.join is not None  # a second list only limits the first one
    return setting.widens and (own.origins[name] == "default" or not is_limit)


class _Reader:
    """Collects values. Later ones override earlier ones, except for limits."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.origins = dict.fromkeys(SETTINGS, "default")
        self.problems: list[str] = []
        self.limits: list[AllowList] = []
        self.unread: list[str] = []

    def read_file(self, path: Path) -> None:
        try:
            values = json.loads(path.read_text("utf-8-sig"))
            if not isinstance(values, dict):
                raise ValueError("must contain a JSON object")
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self._note_unread(f"{path}: {error}")
            if path != user_file():  # the system's: it may hold any limit
                self._add("permission_mode", PLAN, str(path))
            return
        self.read(str(path), values)

    def read(self, origin: str, values: Mapping[str, Any]) -> None:
        for name, raw in values.items():
            if name not in SETTINGS:
                self.problems.append(f"{origin}: unknown setting {name!r}")
                continue
            setting = SETTINGS[name]
            try:
                self._add(name, setting.parse(raw), origin)
            except (ValueError, TypeError, RecursionError) as error:
                problem = f"{origin}: {name}: {error}"
                if setting.parse is rule_list:
                    self._note_unread(problem)
                    continue
                self.problems.append(problem)
                if setting.join:  # nothing is the strictest of lists
                    self._add(name, (), origin)

    def _note_unread(self, problem: str) -> None:
        self.problems.append(problem)
        self.unread.append(problem)

    def _add(self, name: str, value: Any, origin: str) -> None:
        """No place loosens what another one says."""
        setting = SETTINGS[name]
        if name in self.found:
            before, stated = self.found[name], self.origins[name]
            if name == "allow":
                self.limits.append(allow_list(before, stated))
            elif setting.join:
                value, origin = setting.join(before, value), f"{stated}, {origin}"
            elif setting.order and setting.rank(before) <= setting.rank(value):
                return
        self.found[name], self.origins[name] = value, origin

    def settings(self) -> Settings:
        """Return the settings that were read up to now."""
        servers, problems = parse_servers(self.found.get("mcp_servers", []))
        own = [f"{self.origins['mcp_servers']}: mcp_servers: {problem}" for problem in problems]
        return Settings(
            **{**self.found, "mcp_servers": servers},
            allow_limits=tuple(self.limits),
            origins=dict(self.origins),
            problems=(*self.problems, *own),
            unread=tuple(self.unread),
        )
