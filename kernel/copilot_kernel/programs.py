"""Programs: where they are found, which is never in the project, and what they need that may lie in the home folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import site
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parent
MAX_LINKS = 40
_LINE_BYTES = 512


def python_environment() -> Iterator[Path]:
    """The environment of this process, its base, the user's site-packages, and this package."""
    yield from (Path(sys.prefix), Path(sys.base_prefix), PACKAGE)
    if (user := site.getusersitepackages()) in sys.path:
        yield Path(user)


def needed_by(argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """For the command `argv`, run in `cwd`: files and folders, as they are named; `links_of` has where they lead."""
    for at, word in enumerate(argv):
        for name in {word, word.rpartition("=")[2], word.rpartition("@")[2]}:
            path = Path(cwd, name)
            if (at == 0 or "/" in name) and path.exists():
                yield from _needed_by_file(path, environ)


def project_folders(folder: str) -> tuple[Path, ...]:
    """The project and the root of its Git work tree: what lies there is the agent's, or a stranger's.

    Not one that holds the home folder, in which everything of the user's lies. Reads the disk.
    """
    project = real(Path(folder).expanduser().absolute())
    tree = next((each for each in (project, *project.parents) if (each / ".git").exists()), project)
    home = real(Path.home())
    return tuple(each for each in dict.fromkeys((project, tree)) if not home.is_relative_to(each))


def find_outside(name: str, folders: Collection[Path], environ: Mapping[str, str] = os.environ) -> str | None:
    """The first program `name` on PATH that is in none of the `folders`: what an agent puts there must not run."""
    each = (shutil.which(name, path=place) for place in path_outside(folders, environ).split(os.pathsep) if place)
    return next((found for found in each if found and not is_inside(Path(found), folders)), None)


def path_outside(folders: Collection[Path], environ: Mapping[str, str] = os.environ) -> str:
    """PATH without relative folders, which an agent may fill, and without those in `folders`, paths without links."""
    places = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(each for each in places if os.path.isabs(each) and not is_inside(Path(each), folders))


def is_inside(path: Path, folders: Collection[Path]) -> bool:
    """Whether it leads into one of the `folders`, which are paths without links."""
    return any(real(path).is_relative_to(folder) for folder in folders)


def real(path: Path) -> Path:
    """Where `path` leads; unlike `Path.resolve`, this also ends where links lead in a circle."""
    return Path(os.path.realpath(path))


def links_of(path: Path) -> tuple[Path, dict[str, str]]:
    """Where `path` leads, and the symbolic links on the way with what they name. Raises OSError in a loop."""
    links: dict[str, str] = {}
    done, rest, followed = Path("/"), list(path.absolute().parts[1:]), 0
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
            yield from _packages_of(path.absolute())
            yield from _packages_of(target)
            if depth < 2 and (interpreter := _interpreter(target, environ)):
                yield from _needed_by_file(interpreter, environ, depth + 1)


def _interpreter(script: Path, environ: Mapping[str, str]) -> Path | None:
    """By its first line, such as `#!/usr/bin/env node`."""
    with script.open("rb") as file:
        line = file.readline(_LINE_BYTES)
    if not line.startswith(b"#!"):
        return None
    words = shlex.split(line[2:].decode("utf-8", "replace"))
    if words and Path(words[0]).name == "env":
        name = next((word for word in words[1:] if not re.match(r"-|\w+=", word)), "")
        return Path(found) if (found := find_outside(name, (), environ)) else None
    return Path(words[0]) if words else None


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
