"""Programs: where they are found, which is never in the project, what they need, and what of all this is our own."""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from .environment import HOME, Environment
from .system.files import which

PACKAGE = Path(__file__).parent
MAX_LINKS = 40
_LINE_BYTES = 512
_OFF_PATH = (
    ".nvm/versions/node/*/bin", ".asdf/shims", ".volta/bin", ".local/share/mise/shims", ".nodenv/shims", ".local/bin",
    ".local/share/fnm/node-versions/*/installation/bin", ".npm-global/bin", ".bun/bin", "n/bin",
)  # fmt: skip


def python_environment() -> tuple[Path, ...]:
    """The environment of this process, its base, the user's site-packages, and this package."""
    user = site.getusersitepackages()
    return (Path(sys.prefix), Path(sys.base_prefix), PACKAGE, *([Path(user)] if user in sys.path else ()))


def own_paths(folder: str, environment: Environment, argv: Sequence[str] = ()) -> tuple[Path, ...]:
    """Our own code, and the programs that start us or that we start, of an agent that works in the project `folder`.

    Computed from the running process, not by names: its Python environment, the agent's program with what it needs
    (`argv`), the folders of kernelspecs and those of PATH. All without links. Reads the disk.
    """
    project, environ = real(Path(folder)), environment.variables()
    searched = filter(None, path_outside(project_folders(folder, environment.home), environ).split(os.pathsep))
    named = (*(Path(each, "kernels") for each in environment.jupyter.data_path), *map(Path, searched))
    found = map(real, (*python_environment(), *needed_by(argv, folder, environ), *named))
    return tuple(dict.fromkeys(chain.from_iterable(_parts_beside(each, project) for each in found)))


def _parts_beside(path: Path, project: Path) -> Iterator[Path]:
    """`path`; of an environment that is or holds the project, what Python itself has put there."""
    if not project.is_relative_to(path):
        yield path
    elif path in (real(Path(sys.prefix)), real(Path(sys.base_prefix))):
        bases = {"base": str(path), "platbase": str(path), "installed_base": str(path)}
        installed = map(Path, sysconfig.get_paths(vars=bases).values())
        found = map(real, (*installed, path / "share" / "jupyter", path / "etc", path / "pyvenv.cfg"))
        yield from (each for each in found if not project.is_relative_to(each))


def needed_by(argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Return files and folders that the command `argv`, run in `cwd`, needs, as they are named."""
    for at, word in enumerate(argv):
        for name in {word, word.rpartition("=")[2], word.rpartition("@")[2]}:
            path = Path(cwd, name)
            if (at == 0 or "/" in name) and path.exists():
                yield from _needed_by_file(path, environ)


def project_folders(folder: str, home: Path) -> tuple[Path, ...]:
    """The project and the root of the outermost Git work tree: what lies there is the agent's, or a stranger's.

    Nothing that the project holds, such as a `.git` of its own, makes it smaller. Not a folder that holds the home
    folder, in which everything of the user's lies. Reads the disk.
    """
    project = real(Path(folder))
    below = [each for each in (project, *project.parents) if not real(home).is_relative_to(each)]
    trees = [each for each in below if (each / ".git").exists()]
    return tuple(dict.fromkeys((*below[:1], *trees[-1:])))


def find_outside(name: str, folders: Collection[Path], environ: Mapping[str, str]) -> str | None:
    """The first program `name` on PATH that is not foreign: what an agent puts into `folders` must not run."""
    each = (which(name, path=place) for place in path_outside(folders, environ).split(os.pathsep) if place)
    return next((found for found in each if found and not is_foreign(Path(found), folders)), None)


def path_outside(folders: Collection[Path], environ: Mapping[str, str]) -> str:
    """PATH without relative folders, which an agent may fill, and without foreign ones."""
    places = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(each for each in places if os.path.isabs(each) and not is_foreign(Path(each), folders))


def find_off_path(name: str, folders: Collection[Path], environ: Mapping[str, str]) -> str | None:
    """Return the path where installers and version managers have put the program `name`; only shells find it there."""
    places = chain.from_iterable(map(Path(environ.get(HOME, os.devnull)).glob, _OFF_PATH))
    return find_outside(name, folders, {"PATH": os.pathsep.join(sorted(map(str, places), reverse=True))})


def is_foreign(path: Path, folders: Collection[Path]) -> bool:
    """Return True if a path leads into one of the `folders`, and not into what this Python has put there."""
    own = (part for each in python_environment() for folder in folders for part in _parts_beside(real(each), folder))
    return is_inside(path, folders) and not is_inside(path, tuple(own))


def is_inside(path: Path, folders: Collection[Path]) -> bool:
    """Return True if a path leads into one of the `folders`, which are paths without links."""
    return any(real(path).is_relative_to(folder) for folder in folders)


def real(path: Path) -> Path:
    """Resolve `path`; unlike `Path.resolve`, this also ends where links lead in a circle."""
    return Path(os.path.realpath(path))


def links_of(path: Path) -> tuple[Path, dict[str, str]]:
    """Resolve the absolute `path`; return the result, and the symbolic links on the way with their targets.

    Raises OSError in a loop.
    """
    links: dict[str, str] = {}
    done, rest, followed = Path("/"), list(path.parts[1:]), 0
    while rest:
        name = rest.pop(0)
        if name == "..":
            done = done.parent
        elif (step := done / name).is_symlink():
            if (followed := followed + 1) > MAX_LINKS:
                raise OSError(f"too many symbolic links: {path}")
            named = os.readlink(step)
            links[str(step)] = named
            done, rest = (Path("/") if named.startswith("/") else done), [*Path(named.lstrip("/")).parts, *rest]
        else:
            done = step
    return done, links


def _needed_by_file(path: Path, environ: Mapping[str, str], depth: int = 0) -> Iterator[Path]:
    yield path
    with suppress(OSError):
        target = real(path)
        if target.is_file():
            yield from _packages_of(path)
            yield from _packages_of(target)
            if depth < 2 and (found := interpreter(target, environ)):
                yield from _needed_by_file(found, environ, depth + 1)


def interpreter(script: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the interpreter that the first line names, such as `#!/usr/bin/env node`."""
    words = _first_line(script)[2:].split()
    if words and Path(words[0]).name == "env":
        name = next((word for word in words[1:] if not re.match(r"-|\w+=", word)), "")
        return Path(found) if (found := find_outside(name, (), environ)) else None
    return Path(words[0]) if words else None


def missing_interpreter(script: Path, environ: Mapping[str, str]) -> str:
    """Return the interpreter that the first line names, if it is certainly missing; else an empty string."""
    found = re.match(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?([^-=\s][^=\s]*)(?=\s|\Z)", _first_line(script))
    return found[1] if found and not which(found[1], path=environ.get("PATH", os.defpath)) else ""


def _first_line(script: Path) -> str:
    line = b""
    with suppress(OSError), script.open("rb") as file:
        line = file.readline(_LINE_BYTES)
    return line.decode("utf-8", "replace") if line.startswith(b"#!") else ""


def _packages_of(file: Path) -> Iterator[Path]:
    """The `node_modules` that it is in, its virtual environment with the base, or the packages beside its `bin`."""
    outermost = next((at for at, name in enumerate(file.parts) if name == "node_modules"), None)
    if outermost is not None:
        yield Path(*file.parts[: outermost + 1])
    if file.parent.name != "bin":
        return
    prefix = file.parent.parent
    if (prefix / "pyvenv.cfg").is_file():
        yield prefix
        if base := re.search(r"^home\s*=\s*(.+)$", (prefix / "pyvenv.cfg").read_text("utf-8"), re.MULTILINE):
            yield real(Path(base[1].strip())).parent
    elif (prefix / "lib" / "node_modules").is_dir() or any((prefix / "lib").glob("python3*")):
        yield prefix / "lib"
