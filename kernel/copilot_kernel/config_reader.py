"""Read settings, and note where each of them comes from.

The environment (`COPILOT_KERNEL_*`, but for what came with the project) overrides the user's config files
(`copilot_kernel.json` in Jupyter's config path), and these override the system's, and the defaults. What the system's
files and those in the project say more strictly holds (`Setting.limit`); the project's say nothing else. All rules for
what is asked about or denied hold, and each list of others than the user that allows must cover a call. A value that
cannot be read is reported in `Settings.problems` and left out. While a list of rules cannot be read, no call is allowed
without a question; while a file of the system cannot be read, the mode is `plan`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .config import (
    AGENT,
    BUILT_IN_AGENTS,
    CWD,
    DEMO_COMMAND,
    ENVIRONMENT,
    KERNELSPEC,
    PLAN,
    SETTINGS,
    Settings,
    in_mode,
    variable,
)
from .environment import Environment, environment_of
from .kept_files import UnknownVersion, read_file
from .mcp_config import parse_servers
from .places import came_with_project, config_files, user_file
from .setting_values import union

Owner = Literal["user", "system", "project"]
"""Whose a place is: what others than the user say is a limit, too; what came with the project is only that."""
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
    place = Settings(cwd=environ.get(CWD, ""), start_folder=start_folder)
    of_project = [path for path in files if path.exists() and came_with_project(path, place)]
    reader = _Reader(start_folder, environment)
    for path in reversed(files):
        if path not in of_project:
            reader.read_file(path, "user" if path in users else "system")
    if own_agent:
        reader.read(KERNELSPEC, {"agent": own_agent}, "user")
    own = reader.settings()
    names = {variable(name): name for name in SETTINGS}
    given = {key: value for key, value in environ.items() if key in names and not (own_agent and key == AGENT)}
    reader.read(ENVIRONMENT, {names[key]: value for key, value in given.items()}, "user")
    widened = dict(_widened(reader, own, given))  # whatever the project's files say
    if command := environ.get(DEMO_COMMAND):
        widened[DEMO_COMMAND] = command
    for path in of_project:
        reader.problems.append(IN_PROJECT.format(path))
        reader.read_file(path, "project")
    settings = replace(reader.settings(), widened=widened, own_state=own.state)
    if settings.sandbox == "off" and settings.sandbox_hosts is not None:
        problem = HOSTS_NEED_SANDBOX.format(settings.origins["sandbox_hosts"])
        settings = replace(settings, problems=(*settings.problems, problem))
    return in_mode(settings, settings.permission_mode, settings.origins["permission_mode"])


def _widened(reader: _Reader, own: Settings, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables that let the agent do more than `own` settings, unless a file says the same."""
    settings, (*files, last) = reader.settings(), reader.places
    for name, value in last.values.items():
        setting, after = SETTINGS[name], getattr(settings, name)
        is_wider = setting.allows_more(getattr(own, name), after)
        is_known = (name == "agent" and after in BUILT_IN_AGENTS) or any(
            each.values.get(name) == value for each in files
        )
        if is_wider and not is_known:
            yield variable(name), given[variable(name)].strip()


@dataclass(frozen=True, slots=True)
class _Place:
    """What one place says, and whose it is."""

    origin: str
    values: dict[str, Any]
    owner: Owner


class _Reader:
    """Collects what `places` say, the one that counts most last."""

    def __init__(self, start_folder: str, environment: Environment) -> None:
        self._start_folder, self._environment = start_folder, environment
        self.places, self.problems, self._unread = list[_Place](), list[str](), list[str]()

    def read_file(self, path: Path, owner: Owner) -> None:
        try:
            values = read_file(path)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self._note_unread(str(error) if isinstance(error, UnknownVersion) else f"{path}: {error}")
            if path == user_file(self._environment):
                return
            values, owner = {"permission_mode": PLAN}, "system"  # it may hold any limit
        self.read(str(path), values, owner)

    def read(self, origin: str, raw: Mapping[str, Any], owner: Owner) -> None:
        self.places.append(_Place(origin, found := {}, owner))
        for name, value in raw.items():
            if name not in SETTINGS:
                self.problems.append(f"{origin}: unknown setting {name!r}")
                continue
            setting = SETTINGS[name]
            try:
                found[name] = setting.parse(value)
                if setting.kind == "paths":
                    found[name] = tuple(os.path.normpath(self._environment.expanded(each)) for each in found[name])
            except (ValueError, TypeError, RecursionError) as error:
                problem = f"{origin}: {name}: {error}"
                if setting.kind == "rules":
                    self._note_unread(problem)
                    continue
                self.problems.append(problem)
                if setting.join:  # nothing is the strictest of lists
                    found[name] = ()

    def _note_unread(self, problem: str) -> None:
        self.problems.append(problem)
        self._unread.append(problem)

    def settings(self) -> Settings:
        """Return the settings that were read up to now."""
        found = {name: self._value(name) for name in SETTINGS}
        values: dict[str, Any] = {name: value for name, (value, _) in found.items()}
        origins = {name: origin for name, (_, origin) in found.items()}
        servers, problems = parse_servers(values["mcp_servers"] or [])
        limits = (each for each in self.places if each.owner != "user" and "allow" in each.values)
        return Settings(
            **{**values, "mcp_servers": servers},
            start_folder=self._start_folder,
            allow_limits={each.origin: each.values["allow"] for each in limits},
            origins=origins,
            problems=(*self.problems, *(f"{origins['mcp_servers']}: mcp_servers: {problem}" for problem in problems)),
            unread=tuple(self._unread),
        )

    def _value(self, name: str) -> tuple[Any, str]:
        """A value, and its origin: the last that is stated, within the limits."""
        setting, stated = SETTINGS[name], [each for each in self.places if name in each.values]
        own = next((each for each in reversed(stated) if each.owner != "project"), None)
        value, origin = (own.values[name], own.origin) if own else (setting.default, "default")
        limits = [each for each in stated if each.owner != "user" or setting.join is union]
        for each in limits if name != "allow" else ():
            bound = each.values[name]
            if each is not own and (limited := setting.limit(value, bound)) != value:
                value, origin = limited, each.origin if limited == bound else f"{each.origin}, {origin}"
        return value, origin
