"""Read settings, and note where each of them comes from.

Precedence: environment (`COPILOT_KERNEL_*`, but for what came with the project) over config files
(`copilot_kernel.json` in Jupyter's config path) over defaults. But what others than the user say more strictly holds
(`Setting.order`): administrators' files, and those in the project, which say nothing else. Of what lets the agent do
more, no place at all loosens what another one says: the stricter value applies (`Setting.widens`), lists are joined
(`Setting.join`), and of several lists that allow, each must cover a call. A value that cannot be read is reported in
`Settings.problems` and left out. While a list of rules cannot be read, no call is allowed without a question; while a
file of the system cannot be read, the mode is `plan`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .config import (
    BUILT_IN_AGENTS,
    CWD,
    DEMO_COMMAND,
    ENVIRONMENT,
    KERNELSPEC,
    PLAN,
    SETTINGS,
    AllowList,
    Settings,
    Widening,
    in_mode,
    variable,
)
from .environment import environment_of
from .kept_files import UnknownVersion, read_file
from .mcp_config import parse_servers
from .places import came_with_project, config_files, user_file
from .setting_values import Setting, common_paths

HOSTS_NEED_SANDBOX = "{}: sandbox_hosts needs sandbox (COPILOT_KERNEL_SANDBOX)"
IN_PROJECT = "{}: what allows more, because the file came with the project"


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
    start_folder = start_folder or os.getcwd()  # noqa: TID251
    environment = environment_of(start_folder)
    environ = environment.variables(environ=environ)
    files, user = config_files(environment) if paths is None else paths, user_file(environment)
    users = files[: files.index(user) + 1 if user in files else 1]
    reader = _Reader(start_folder, {*map(str, users), ENVIRONMENT})
    place = Settings(cwd=environ.get(CWD, ""), start_folder=start_folder)
    of_project = [path for path in files if path.exists() and came_with_project(path, place)]
    for path in reversed(files):
        if path not in of_project:
            reader.read_file(path)
    own = reader.settings()
    names = {variable(name): name for name in SETTINGS}
    reader.read(ENVIRONMENT, {names[key]: value for key, value in environ.items() if key in names})
    if own_agent:
        reader.found["agent"], reader.origins["agent"] = own_agent, KERNELSPEC
    widened = tuple(_widened(reader, own, reader.settings(), environ))  # whatever the project's files say
    reader.only_restricts = True
    for path in of_project:
        reader.problems.append(IN_PROJECT.format(path))
        reader.read_file(path)
    settings = replace(reader.settings(), widened=widened, own_state=own.state)
    if settings.sandbox == "off" and settings.sandbox_hosts is not None:
        problem = HOSTS_NEED_SANDBOX.format(settings.origins["sandbox_hosts"])
        settings = replace(settings, problems=(*settings.problems, problem))
    return in_mode(settings, settings.permission_mode, settings.origins["permission_mode"])


def _widened(reader: _Reader, own: Settings, settings: Settings, environ: Mapping[str, str]) -> Iterator[Widening]:
    for name, setting in SETTINGS.items():
        is_new = settings.origins[name] == ENVIRONMENT and (name, reader.found[name]) not in reader.stated
        if is_new and _is_widening(name, setting, own, getattr(settings, name)):
            yield Widening(variable(name), environ[variable(name)].strip())
    if command := environ.get(DEMO_COMMAND):
        yield Widening(DEMO_COMMAND, command)


def _is_widening(name: str, setting: Setting, own: Settings, after: Any) -> bool:
    if name == "agent":
        return after not in BUILT_IN_AGENTS
    before = getattr(own, name)
    if setting.order == "none":
        return setting.widens and before != after
    if setting.order == "list":  # a second list only limits the first one
        return setting.widens and before != after and own.origins[name] == "default"
    return setting.widens and setting.is_wider(before, after)


class _Reader:
    """Collects values. Later ones override earlier ones, except for limits. `own`: origins that are the user's."""

    def __init__(self, start_folder: str, own: Collection[str]) -> None:
        self._start_folder, self._own = start_folder, own
        self._user_file = str(user_file(environment_of(start_folder)))
        self.only_restricts = False
        """What is read comes with the project."""
        self.found: dict[str, Any] = {}
        self.origins = dict.fromkeys(SETTINGS, "default")
        self.stated: list[tuple[str, Any]] = []
        """The values of files that are not the project's."""
        # The strictest that others than the user say; of what widens, that anyone says.
        self._bounds: dict[str, tuple[Any, str]] = {}
        self.problems: list[str] = []
        self.limits: list[AllowList] = []
        self.unread: list[str] = []

    def read_file(self, path: Path) -> None:
        try:
            values = read_file(path)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self._note_unread(str(error) if isinstance(error, UnknownVersion) else f"{path}: {error}")
            if str(path) != self._user_file:  # the system's: it may hold any limit
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
                value = setting.parse(raw)
                # Of the project's lists, those that only allow are empty without others.
                takes_away = setting.join and (name in self.found or setting.join is not common_paths)
                if not self.only_restricts or takes_away:
                    self._add(name, value, origin)
                elif name == "allow":
                    self.limits.append(AllowList(value, origin, is_own=False))
                else:
                    self._bound(name, value, origin)
            except (ValueError, TypeError, RecursionError) as error:
                problem = f"{origin}: {name}: {error}"
                if setting.kind == "rules":
                    self._note_unread(problem)
                    continue
                self.problems.append(problem)
                if setting.join:  # nothing is the strictest of lists
                    self._add(name, (), origin)

    def _note_unread(self, problem: str) -> None:
        self.problems.append(problem)
        self.unread.append(problem)

    def _bound(self, name: str, value: Any, origin: str) -> None:
        setting = SETTINGS[name]
        if setting.order not in ("list", "none") and (self.only_restricts or setting.widens or origin not in self._own):
            bound = self._bounds.get(name)
            if bound is None or setting.rank(value) < setting.rank(bound[0]):
                self._bounds[name] = value, origin

    def _add(self, name: str, value: Any, origin: str) -> None:
        """No place loosens what another one says."""
        setting = SETTINGS[name]
        self._bound(name, value, origin)
        if origin != ENVIRONMENT:
            self.stated.append((name, value))
        if name in self.found:
            before, stated = self.found[name], self.origins[name]
            if name == "allow":
                self.limits.append(
                    AllowList(before, stated, is_own=not os.path.isabs(stated) or stated == self._user_file)
                )
            elif setting.join:
                expanded = environment_of(self._start_folder).expanded
                lists = (tuple(map(expanded, each)) for each in (before, value))
                value, origin = setting.join(*lists), f"{stated}, {origin}"
        self.found[name], self.origins[name] = value, origin

    def settings(self) -> Settings:
        """Return the settings that were read up to now."""
        for name, (value, origin) in self._bounds.items():
            if SETTINGS[name].rank(value) < SETTINGS[name].rank(self.found.get(name, getattr(Settings, name))):
                self.found[name], self.origins[name] = value, origin
        servers, problems = parse_servers(self.found.get("mcp_servers", []))
        own = [f"{self.origins['mcp_servers']}: mcp_servers: {problem}" for problem in problems]
        return Settings(
            **{**self.found, "mcp_servers": servers},
            start_folder=self._start_folder,
            allow_limits=tuple(self.limits),
            origins=dict(self.origins),
            problems=(*self.problems, *own),
            unread=tuple(self.unread),
        )
