"""Run tests of what touches Jupyter with the oldest and the newest dependencies that `pyproject.toml` allows.

    python .ci/versions.py                      a part of them, the oldest on the oldest Python, and those
                                                that are pinned on 3.12 and 3.13, where uv finds them
    python .ci/versions.py --all                all of FOLDERS, oldest and newest, on each Python that uv finds
    python .ci/versions.py --all newest 3.14    these alone

Needs uv, which downloads no Python. Prints what did not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = {"oldest": "lowest-direct", "pinned": "highest", "newest": "highest"}
TOOLS = (
    *("hypothesis", "httpx", "jsonschema", "jupyter-console", "jupyter-kernel-test", "matplotlib", "nbval", "numpy"),
    *("openai", "pandas", "papermill", "pexpect", "psutil", "pytest", "pytest-timeout"),
    *("pytest-xdist", "websockets"),
)
OF_OTHER_PROGRAMS = ("server/test_clients.py", "acp/test_peers.py", "chat/test_notebook_tools.py")
"""What they need is not in TOOLS."""
FOLDERS = (
    *("tests/commands", "tests/output", "tests/pages", "tests/prompts", "tests/views"),
    *("tests/jupyter", "tests/ipython", "tests/widgets", "tests/server", "tests/rendering"),
    *("tests/permissions/test_rules.py", "tests/cli", "tests/acp", "tests/chat", "tests/agentd"),
    *(f"--ignore=tests/{name}" for name in OF_OTHER_PROGRAMS),
)
PART = (
    *("tests/jupyter/test_kernel.py", "tests/jupyter/test_dispatch.py", "tests/jupyter/test_questions.py"),
    *("tests/jupyter/test_conformance.py", "tests/jupyter/test_nbclient.py", "tests/jupyter/test_jupyter_console.py"),
    *("tests/ipython/test_asking.py", "tests/ipython/test_front_end.py", "tests/ipython/test_notebook.py"),
    *("tests/commands", "tests/output", "tests/pages", "tests/prompts", "tests/views"),
    *("tests/widgets", "tests/server/test_socket_turns.py", "tests/server/test_completions.py"),
    *("tests/permissions/test_rules.py", "tests/cli/test_export.py", "tests/cli/test_tour.py"),
    *("tests/acp/test_transport.py", "tests/acp/test_process.py", "tests/acp/test_connection.py"),
    *("tests/chat/test_agent.py", "tests/chat/test_sessions.py"),
    *("tests/agentd/test_broker.py", "tests/agentd/test_leaving.py", "tests/agentd/test_full_pipes.py"),
    "tests/agentd/test_sockets.py",
)


def main(arguments: list[str]) -> int:
    """The number of combinations that failed."""
    pythons = {version: path for version in PYTHONS if (path := found(version))}
    tests, failed = FOLDERS if "--all" in arguments else PART, 0
    for version, name in combinations(arguments, list(pythons)):
        with tempfile.TemporaryDirectory(prefix="versions-") as folder:
            succeeded = tested(pythons[version], name, Path(folder), tests)
        print(f"Python {version}, {name} dependencies: {'passed' if succeeded else 'FAILED'}", flush=True)
        failed += not succeeded
    for version in PYTHONS:
        if version not in pythons:
            print(f"Python {version}: not run, uv does not find it")
        elif version not in {each for each, _ in combinations(arguments, list(pythons))}:
            print(f"Python {version}: not run, only with --all")
    return failed


def combinations(arguments: list[str], pythons: list[str]) -> list[tuple[str, str]]:
    """Of a Python and its dependencies: what is to be run. All other tests run with the pinned ones on the oldest."""
    if "--all" not in arguments:
        return [(pythons[0], "oldest"), *((version, "pinned") for version in pythons[1:] if version != "3.14")]
    versions = [version for version in pythons if version in arguments] or pythons
    names = [name for name in RESOLUTIONS if name in arguments] or ["oldest", "newest"]
    return [(version, name) for version in versions for name in names]


def found(version: str) -> str | None:
    """The path of that Python. pyenv's own commands run a version only where it is selected."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    path = os.pathsep.join([*(str(each / "bin") for each in pyenv.glob(f"{version}.*")), os.environ["PATH"]])
    command = ("uv", "python", "find", "--no-project", "--no-python-downloads", version)
    asked = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    return asked.stdout.strip() or None


def tested(python: str, name: str, folder: Path, tests: tuple[str, ...]) -> bool:
    """Whether the tests pass in an environment of their own, made in `folder`."""
    environment = folder / "environment"
    try:
        install(python, name, folder, environment)
    except subprocess.CalledProcessError:
        return False
    options = ["-p", "no:cacheprovider", "-q", "-n", "2"]
    if name == "oldest":
        options += ["-o", "filterwarnings="]  # what an old version warns of may have changed since
    command = (environment / "bin" / "python", "-m", "pytest", *options, *tests)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def install(python: str, name: str, folder: Path, environment: Path) -> None:
    """Make the environment. Raises CalledProcessError.

    Only with the newest does a run depend on more than this checkout: else, what need not be old is the pinned version,
    where that fits.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    direct = direct_names(project["project"])
    pins = [] if name == "newest" else project["tool"]["uv"]["constraint-dependencies"]
    compiling = ("pip", "compile", "--python", python, "--no-annotate", "--no-header", "--output-file")
    ours, everything, wanted = (folder / each for each in ("ours.txt", "everything.txt", "wanted.in"))
    ours.write_text("\n".join(pin for pin in pins if name == "pinned" or pin.partition("==")[0] not in direct))
    uv(*compiling, ours, "--resolution", RESOLUTIONS[name], "--extra", "lab", "pyproject.toml")
    wanted.write_text("\n".join((*TOOLS, ours.read_text())))
    everything.write_text("\n".join(pins))
    uv(*compiling, everything, wanted)
    uv("venv", "--python", python, environment)
    into = ("--python", environment / "bin" / "python")
    uv("pip", "install", *into, "--no-deps", "--requirement", everything, "--editable", ".")
    uv("pip", "check", *into)
    print(*(line for line in ours.read_text().splitlines() if line.partition("==")[0] in direct), sep="  ", flush=True)


def direct_names(project: dict) -> set[str]:
    """What the project itself depends on, with the extras."""
    groups = (project["dependencies"], *(project["optional-dependencies"].values()))
    return {re.match(r"[\w.-]+", each)[0].lower() for group in groups for each in group}


def uv(*arguments: object) -> None:
    """Run uv with none of the project's settings."""
    subprocess.run(("uv", "--no-config", "--quiet", *map(str, arguments)), cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
