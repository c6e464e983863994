"""What of this process's environment is the user's, and what came with the project.

VS Code, direnv and `uv run --env-file` load a project's `.env` and `.envrc`. What such a file names is the project's,
with whatever value: `${PWD}`, quotes and a later pull change values, so these are not compared. No other module reads
the environment for a place or a setting of the user's. The environment itself stays as it is, for the user's own code.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from .errors import UsageError
from .system.files import account_home, account_path

FILES = (".env", ".envrc")
HOME = "USERPROFILE" if os.name == "nt" else "HOME"
_NAME = re.compile(r"""\s*(?:export\s+)?["']?([\w.-]+)["']?\s*=""")
_MAX_DIFF = 10_000_000
_folded = str.upper if os.name == "nt" else str
"""How the system compares names of variables."""
UNREADABLE = "Nobody knows which variables are the project's, because {} cannot be read ({})."
READABLE = "Make the file readable, or remove it. Then restart the kernel."
NO_FOLDERS = "Jupyter's folders are unknown, because Python does not start without the variables of {} ({})."
START = "Remove from these files what Python needs. Then restart the kernel."
_JUPYTER = ("jupyter_config_dir", "jupyter_config_path", "jupyter_data_dir", "jupyter_path", "jupyter_runtime_dir")
_PRINT = f"import json, jupyter_core.paths as paths; print(json.dumps([getattr(paths, name)() for name in {_JUPYTER}]))"


@dataclass(frozen=True, slots=True)
class VariableFile:
    """A file of the project that sets variables: a digest of its content, and their names, as the system compares them.

    Of values, nothing is kept.
    """

    path: str
    digest: str
    names: frozenset[str]


class JupyterFolders(NamedTuple):
    """Jupyter's folders: where the user's settings and data are, and where else they are looked for."""

    config: str
    config_path: list[str]
    data: str
    data_path: list[str]
    runtime: str


@dataclass(frozen=True, slots=True)
class Environment:
    """The user's home folder and PATH, whatever the project says of them, and the `files` that name variables."""

    home: Path
    path: str
    files: tuple[VariableFile, ...] = ()

    def named(self, given: Collection[str] = (), environ: Mapping[str, str] | None = None) -> dict[str, list[str]]:
        """The variables of `environ` (default: this process's) that came with the project, by the file that names them.

        Those of the files `given` are left out.
        """
        present = sorted(os.environ if environ is None else environ)
        files = [file for file in self.files if file.path not in given]
        found = {file.path: [name for name in present if _folded(name) in file.names] for file in files}
        return {path: names for path, names in found.items() if names}

    def variables(self, given: Collection[str] = (), environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """`environ` (default: this process's) without what came with the project, but for the files `given`."""
        environ, own = os.environ if environ is None else environ, {HOME: str(self.home), "PATH": self.path}
        names = {name for named in self.named(given, environ).values() for name in named}
        return own | {name: value for name, value in environ.items() if name not in names}

    def expanded(self, path: str) -> str:
        """`path`, with `~` as the user's home folder."""
        is_home = path == "~" or path.startswith(("~/", f"~{os.sep}"))
        return str(self.home) + path[1:] if is_home else os.path.expanduser(path)

    @property
    def jupyter(self) -> JupyterFolders:
        """Jupyter's folders, as the user's variables say. Raises UsageError."""
        from jupyter_core import paths

        if not (named := self.named()):
            return JupyterFolders(*(getattr(paths, name)() for name in _JUPYTER))
        try:
            return _jupyter_folders(frozenset(self.variables().items()))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise UsageError(NO_FOLDERS.format(", ".join(named), type(error).__name__), START) from error


@cache
def _jupyter_folders(environ: frozenset[tuple[str, str]]) -> JupyterFolders:
    """Ask another process, since Jupyter reads the environment of its own."""
    command = (sys.executable, "-P", "-c", _PRINT)
    return JupyterFolders(*json.loads(subprocess.check_output(command, env=dict(environ), stdin=subprocess.DEVNULL)))


# -- what came with the project ---------------------------------------------------------------------------------------


def environment_of(folder: str) -> Environment:
    """The environment for a project in `folder`. It is computed once: files that change later do not count.

    Raises UsageError.
    """
    return _environment(folder, *map(os.environ.get, (HOME, "DIRENV_FILE", "DIRENV_DIFF")))


@cache
def _environment(folder: str, stated: str | None, direnv_file: str | None, direnv_diff: str | None) -> Environment:
    """`stated` is the home folder that the environment has; the account's counts if a file names that variable.

    Files count up to below the home folder; up to the root, if the project is not in it.
    """
    start, account = Path(os.path.realpath(folder)), account_home()
    home = Path(os.path.realpath(stated)) if stated and os.path.isabs(stated) else account or Path(start.anchor)
    files = list(_files(start, account))
    if any(HOME in file.names for file in files):
        home = account or home
    elif start.is_relative_to(home):
        files = [file for file in files if not home.is_relative_to(Path(file.path).parent)]
    is_made_up = any("DIRENV_DIFF" in file.names for file in files)
    before: dict[str, str] = {}
    for at, file in enumerate(files):
        if direnv_file and os.path.realpath(direnv_file) == os.path.realpath(file.path):
            before, after = _difference(direnv_diff or "")
            # The difference itself has the values of the others.
            files[at] = replace(file, names=file.names | {"DIRENV_DIFF", *map(_folded, (*before, *after))})
    path = "" if is_made_up else before.get("PATH", "")
    return Environment(home, path or account_path(), tuple(files))


def _files(start: Path, account: Path | None) -> Iterator[VariableFile]:
    """The files of the folders from `start` up to below the account's home folder, or to the root."""
    for path in (
        folder / name for folder in takewhile(lambda each: each != account, (start, *start.parents)) for name in FILES
    ):
        try:
            if not path.is_file():
                continue
            content = path.read_bytes()
        except OSError as error:
            raise UsageError(UNREADABLE.format(path, error.strerror), READABLE) from error
        lines = content.decode("utf-8-sig", "replace").splitlines()
        names = frozenset(_folded(found[1]) for found in map(_NAME.match, lines) if found)
        yield VariableFile(str(path), sha256(content).hexdigest(), names)


def _difference(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """What direnv has changed: the variables before and after; nothing if `text` is not in its form."""
    with suppress(ValueError, TypeError, KeyError, zlib.error, RecursionError):
        found = json.loads(zlib.decompressobj().decompress(urlsafe_b64decode(text), _MAX_DIFF))
        return {**found["p"]}, {**found["n"]}
    return {}, {}
