"""The project as a whole: what it ships, what no file may contain, and that CI skips no test that it must run."""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from collections import deque
from graphlib import TopologicalSorter
from importlib.metadata import distributions, packages_distributions
from itertools import chain
from pathlib import Path
from shutil import copy

import copilot_kernel
import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

pytestmark = pytest.mark.skipif(not (ROOT / "kernelspec").is_dir(), reason="these are checks of a checkout")


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | environment
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=110)


def tracked() -> list[Path]:
    """The files that are, or are about to be, in git."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard")
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for path in map(ROOT.joinpath, listed.stdout.splitlines()) if path.is_file()]


# -- what is shipped -------------------------------------------------------------------------------------


def names_under(folder: Path, pattern: str = "*") -> set[str]:
    files = (path for path in folder.rglob(pattern) if path.is_file())
    return {path.relative_to(folder).as_posix() for path in files if "__pycache__" not in path.parts}


def test_the_wheel_holds_the_packages_the_kernelspec_the_front_end_extension_and_the_tour_and_nothing_else(tmp_path):
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        (package,) = (json.loads(wheel.read(name)) for name in names if name.endswith("/copilot-kernel/package.json"))
    stem = f"copilot_kernel-{copilot_kernel.__version__}"
    share = f"{stem}.data/data/share"
    extension = f"{share}/jupyter/labextensions/copilot-kernel"
    source = ROOT / "widgets" / "labextension"
    modules = {
        *(source / "static").iterdir(),
        ROOT / "kernel/copilot_kernel/server/chat/static/answers.js",
    }
    static = package["jupyterlab"]["_build"]["load"].removesuffix("/widgets/labextension/static/remoteEntry.js")
    assert package["version"] == copilot_kernel.__version__
    expected = {
        *(f"copilot_kernel/{name}" for name in names_under(ROOT / "kernel" / "copilot_kernel")),
        *(f"copilot_widgets/{name}" for name in names_under(ROOT / "widgets" / "copilot_widgets")),
        *(f"{share}/jupyter/kernels/copilot/{name}" for name in names_under(ROOT / "kernelspec")),
        *(f"{share}/copilot_kernel/notebooks/{name}" for name in names_under(ROOT / "notebooks")),
        *(f"{extension}/{static}/{path.relative_to(ROOT).as_posix()}" for path in modules),
        *(f"{extension}/schemas/{name}" for name in names_under(source / "schemas")),
        *(f"{extension}/{name}" for name in ("package.json", "install.json")),
        f"{stem}.data/data/etc/jupyter/jupyter_server_config.d/copilot_kernel.json",
        *(f"{stem}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
        f"{stem}.dist-info/licenses/LICENSE",
    }
    assert names == expected


def test_the_address_of_the_front_end_extension_changes_with_its_content(tmp_path):
    content_hash = runpy.run_path(str(ROOT / "hatch_build.py"))["content_hash"]
    addresses = []
    for content in ("one", "two", "one"):
        (tmp_path / "plugin.js").write_text(content, "utf-8")
        addresses.append(content_hash(tmp_path / "plugin.js"))
    assert addresses[0] == addresses[2] != addresses[1]


def test_the_change_notes_know_this_version():
    version = copilot_kernel.__version__
    heading = "## [Unreleased]" if "dev" in version else f"## [{version}]"
    assert heading in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import copilot_kernel; print(sorted(set(sys.modules) - before))"
    done = run(sys.executable, "-P", "-c", code)
    assert (done.stdout, done.stderr) == ("['copilot_kernel']\n", "")


# -- what imports what -----------------------------------------------------------------------------------


def imported(path: Path, package: Path) -> set[Path]:
    """The modules of `package` that one of them imports, also only for types, or when a function is called."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            place = (path.parents[node.level - 1] if node.level else package.parent).joinpath(
                *(node.module or "").split(".")
            )
            for name in node.names:
                places = (place / name.name, place)
                files = (file for each in places for file in (each.with_suffix(".py"), each / "__init__.py"))
                found.add(next(filter(Path.is_file, files), path))
    return found - {path}


@pytest.mark.parametrize("package", [ROOT / "kernel" / "copilot_kernel", ROOT / "widgets" / "copilot_widgets"])
def test_no_modules_import_one_another_in_a_circle_not_even_for_types(package):
    TopologicalSorter({path: imported(path, package) for path in package.rglob("*.py")}).prepare()  # raises CycleError


# What only POSIX has, in modules of the standard library that exist everywhere; and modules that only it has.
POSIX_ONLY = re.compile(
    r"^\s*(?:import|from) (?:fcntl|pwd|grp|termios|tty|pty|resource)\b|\bos\.(?:fork|forkpty|killpg|getpgid|getsid|"
    r"getpgrp|setsid|getuid|geteuid|getgid|getegid|getppid|fchmod|fchown|chown|set_blocking|mkfifo|register_at_fork|"
    r"posix_spawnp?|wait|O_(?:DIRECTORY|NOFOLLOW|NONBLOCK|NOCTTY|CLOEXEC))\b|\bdir_fd\b|\bstart_new_session=|"
    r"\bsignal\.(?:SIGKILL|SIGHUP|SIGALRM|SIGPIPE|pthread_kill|setitimer)\b|\.add_signal_handler\(|"
    r"\bwait_(?:readable|writable)\b|\banyio\.open_process\b|\bAF_UNIX\b|\bmsvcrt\b|\bctypes\b",
    re.MULTILINE,
)


def test_what_one_platform_lacks_stands_in_one_package():
    """The others are POSIX as a whole, or a script that imports nothing of ours."""
    package = ROOT / "kernel" / "copilot_kernel"
    elsewhere = (path.relative_to(package) for path in package.rglob("*.py"))
    kept = ("system", "sandbox", "agentd")
    named = {
        (path.as_posix(), found[0].strip())
        for path in elsewhere
        if path.parts[0] not in kept
        for found in POSIX_ONLY.finditer((package / path).read_text("utf-8"))
    }
    assert named == {("notebook/bridge.py", "os.getuid")}


OURS = {"copilot_kernel", "copilot_widgets"}
ON_WINDOWS = {"win32job": ["pywin32"], "pywintypes": ["pywin32"]}


def distribution_names(requirements):
    return {re.match(r"[\w.-]+", each)[0].lower() for each in requirements} - {"copilot-kernel"}


def distributions_imported(paths):
    """Distributions that the modules import at run time, besides the standard library."""
    found, known = set(), {**packages_distributions(), **ON_WINDOWS}
    for path in paths:
        nodes = deque([ast.parse(path.read_text("utf-8"))])
        while nodes:
            node = nodes.popleft()
            is_typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            nodes.extend(node.orelse if is_typing else ast.iter_child_nodes(node))
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            modules = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OURS
            found |= {re.sub(r"[-_.]+", "-", known[each][0]).lower() for each in modules}
    return found


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    """Only the server and the command line need the extras."""
    project = PROJECT["project"]
    paths = [path for folder in ("kernel", "widgets") for path in (ROOT / folder).rglob("*.py")]
    optional = [path for path in paths if path.relative_to(ROOT).parts[2] in ("server", "cli")]
    always = distributions_imported({*paths} - {*optional})
    assert always - {"numpy"} == distribution_names(project["dependencies"])  # numpy comes with the user's values
    extras = distribution_names(chain.from_iterable(project["optional-dependencies"].values()))
    assert distributions_imported(optional) - always == extras


# What says where the user's files are, or what the user wants: only `environment.py` knows what of it is a project's.
USERS = re.compile(r"\bos\.(?:environ|getenv)\b|\bPath\.home\(|\bexpanduser\(|\bjupyter_core\.paths\b")
READ_ELSEWHERE = {
    *(
        "agentd/server.py",
        "demo/files.py",
        "demo/demo_session.py",
        "demo/stage.py",
    ),  # processes that were started without it
    *("cli/demo.py", "cli/doctor.py", "cli/install.py", "cli/parser.py", "cli/serve.py"),  # of whoever typed a command
    *("places.py", "prompts/kernel_session.py", "jupyter/kernel.py"),  # the notebook's path; what is filtered later
    *("system/apart.py", "system/windows.py", "system/windows_files.py"),  # what the system needs
    "redaction.py",  # a project's secrets are secrets, too
}


def test_places_and_settings_of_the_user_are_read_in_one_module():
    package = ROOT / "kernel" / "copilot_kernel"
    found = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if USERS.search(path.read_text("utf-8"))
    }
    assert found - {"environment.py"} == READ_ELSEWHERE


# -- what no file may hold -------------------------------------------------------------------------------

REGISTRIES = "|".join(
    ["pypi", "files.pythonhosted", "registry.npmjs", "registry.yarnpkg", "npm.pkg.github", "conda.anaconda"]
)
FOREIGN = {
    "a package registry": re.compile(rf"\b(?:{REGISTRIES})\.(?:org|com)\b"),
    "an absolute path of some machine": re.compile(
        r"(?<![\w.~$})-])/(?:work|root|opt|Users|home/(?!(?:user|runner|me)\b)\w+)/\w"
    ),
    "an unsolved merge": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_names(what):
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path.suffix not in (".png", ".lock")
        for match in FOREIGN[what].finditer(path.read_text("utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize("transcript", sorted((ROOT / "tests/transcripts").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_transcript_is_small_and_names_no_machine(transcript):
    text = transcript.read_text("utf-8")
    assert len(text) < 60_000
    assert re.findall(r"/(?:tmp|root|var|home/(?!user))[^ \"]*", text) == []


def test_lock_files_stay_out_of_git():
    assert [path.name for path in tracked() if path.name in ("uv.lock", "package-lock.json", "yarn.lock")] == []


def test_the_environment_has_the_pinned_versions():
    pins = dict(pin.split("==") for pin in PROJECT["tool"]["uv"]["constraint-dependencies"])
    here = {re.sub(r"[-_.]+", "-", each.name).lower(): each.version for each in distributions()}
    assert {name: version for name, version in here.items() if pins.get(name, version) != version} == {}


def test_each_direct_dependency_is_pinned():
    project = PROJECT["project"]
    groups = [*project["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()]
    names = {re.match(r"[\w.-]+", each)[0].lower() for group in (project["dependencies"], *groups) for each in group}
    pinned = {pin.partition("==")[0] for pin in PROJECT["tool"]["uv"]["constraint-dependencies"]}
    assert names - pinned == {project["name"]}


# -- the tests themselves --------------------------------------------------------------------------------

SKIPPED = """
import pytest

@pytest.fixture
def browser():
    pytest.skip("install one")

@pytest.mark.browser
def test_that_needs_a_browser(browser): ...

@pytest.mark.real_agent
def test_that_needs_an_agent():
    pytest.skip("install one")

@pytest.mark.engine
def test_that_needs_an_engine():
    pytest.skip("install one")

@pytest.mark.long
def test_that_needs_nothing():
    pytest.skip("another reason")

def test_quick(): ...
"""


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ([], "1 passed, 4 deselected"),
        (["--all"], "2 failed, 1 passed, 1 deselected, 1 error"),
        (["--long"], "1 skipped, 4 deselected"),
    ],
)
def test_in_ci_all_tests_run_and_those_for_browsers_agents_and_engines_are_not_skipped(tmp_path, options, outcome):
    folder = tmp_path / "tests"
    folder.mkdir()
    for name in ("conftest.py", "limits.py", "trusting.py"):
        copy(ROOT / "tests" / name, folder)
    (folder / "test_it.py").write_text(SKIPPED, "utf-8")
    config = (
        f"--config-file={ROOT / 'pyproject.toml'}",
        f"--rootdir={tmp_path}",
        "-n0",
        "-p",
        "pytest_timeout",
        "-p",
        "xdist",
    )
    environment = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "true"}
    done = run(sys.executable, "-m", "pytest", *config, str(tmp_path), "-q", *options, **environment)
    assert f"{outcome} in" in done.stdout
