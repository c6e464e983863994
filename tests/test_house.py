"""The project as a whole: what it ships and imports, what no file may contain, and how tests are selected."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions
from pathlib import Path

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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def names_under(folder: Path, pattern: str = "*") -> set[str]:
    files = (path for path in folder.rglob(pattern) if path.is_file())
    return {path.relative_to(folder).as_posix() for path in files if "__pycache__" not in path.parts}


def test_the_wheel_holds_the_packages_the_kernelspec_and_the_tour_and_nothing_else(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
    stem = f"copilot_kernel-{copilot_kernel.__version__}"
    share = f"{stem}.data/data/share"
    expected = {
        *(f"copilot_kernel/{name}" for name in names_under(ROOT / "kernel" / "copilot_kernel")),
        *(f"copilot_widgets/{name}" for name in names_under(ROOT / "widgets" / "copilot_widgets")),
        *(f"{share}/jupyter/kernels/copilot/{name}" for name in names_under(ROOT / "kernelspec")),
        *(f"{share}/copilot_kernel/notebooks/{name}" for name in names_under(ROOT / "notebooks")),
        f"{stem}.data/data/etc/jupyter/jupyter_server_config.d/copilot_kernel.json",
        *(f"{stem}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
        f"{stem}.dist-info/licenses/LICENSE",
    }
    assert names == expected


def test_the_kernelspec_has_what_jupyter_lists(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        shipped = {Path(name).name for name in wheel.namelist() if "share/jupyter/kernels/copilot/" in name}
    assert shipped == {"kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg"}


def test_an_installed_wheel_finds_its_own_kernelspec_and_notebooks(built, tmp_path):
    """Unpacked as an installer does it: data beside the packages, all of it in the record."""
    unpack(next(built.glob("*.whl")), tmp_path)
    code = "from copilot_kernel.cli.shipped import shipped; print(*map(shipped, ('kernelspec', 'notebooks')))"
    done = run(sys.executable, "-P", "-c", code, PYTHONPATH=str(tmp_path))
    share = tmp_path.resolve() / "share"
    found = f"{share / 'jupyter' / 'kernels' / 'copilot'} {share / 'copilot_kernel' / 'notebooks'}\n"
    assert (done.stdout, done.stderr) == (found, "")


def unpack(wheel: Path, target: Path) -> None:
    """Like `pip install --target`."""
    stem = f"copilot_kernel-{copilot_kernel.__version__}"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    (target / f"{stem}.data" / "data" / "share").rename(target / "share")
    record = target / f"{stem}.dist-info" / "RECORD"
    record.write_text(record.read_text("utf-8").replace(f"{stem}.data/data/", ""), "utf-8")


def test_the_change_notes_know_this_version():
    version = copilot_kernel.__version__
    heading = "## [Unreleased]" if "dev" in version else f"## [{version}]"
    assert heading in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()


# -- who may import whom ---------------------------------------------------------------------------------


WALL = """
import importlib, pkgutil, sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise ImportError(f"{{name}} is on the other side of the wall")

sys.meta_path.insert(0, Wall())
for room in {rooms!r}:
    package = importlib.import_module(f"copilot_kernel.{{room}}")
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""
JUPYTER = {"IPython", "ipykernel", "ipywidgets", "jupyter_client", "jupyter_server", "tornado", "traitlets", "zmq"}
LOUD = {"anyio", "asyncio", "subprocess", "socket", "threading"}
MIDDLE = ("acp", "conversation", "permissions", "rendering", "host", "chat", "demo")


@pytest.mark.parametrize("room", MIDDLE)
def test_the_middle_of_the_house_works_where_there_is_no_jupyter(room):
    wall = WALL.format(forbidden=JUPYTER | {"comm", "copilot_widgets"}, rooms=(room,))
    assert run(sys.executable, "-P", "-c", wall).stderr == ""


def test_the_wall_holds():
    wall = WALL.format(forbidden={"ipykernel"}, rooms=("jupyter.dispatch",))
    done = run(sys.executable, "-P", "-c", wall)
    assert "ImportError: ipykernel" in done.stderr
    assert done.stderr.endswith("is on the other side of the wall\n")


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import copilot_kernel; print(sorted(set(sys.modules) - before))"
    done = run(sys.executable, "-P", "-c", code)
    assert (done.stdout, done.stderr) == ("['copilot_kernel']\n", "")


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


@pytest.mark.parametrize(("what", "line"), [
    ("a package registry", "https://{}.org/simple".format("py" + "pi")),
    ("an absolute path of some machine", "see {}/anna/project".format("/ho" + "me")),
    ("an absolute path of some machine", 'open("{}/x")'.format("/ro" + "ot")),
    ("an unsolved merge", "text\n{} main".format("<" * 7)),
])  # fmt: skip
def test_the_search_finds(what, line):
    assert FOREIGN[what].search(line)


def test_lock_files_stay_out_of_git():
    assert [path.name for path in tracked() if path.name in ("uv.lock", "package-lock.json", "yarn.lock")] == []


def test_the_environment_has_the_pinned_versions():
    pins = dict(pin.split("==") for pin in PROJECT["tool"]["uv"]["constraint-dependencies"])
    here = {re.sub(r"[-_.]+", "-", each.name).lower(): each.version for each in distributions()}
    assert {name: version for name, version in here.items() if pins.get(name, version) != version} == {}


def test_everything_that_is_asked_for_by_name_is_pinned():
    project = PROJECT["project"]
    groups = [*project["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()]
    names = {re.match(r"[\w.-]+", each)[0].lower() for asked in (project["dependencies"], *groups) for each in asked}
    pinned = {pin.partition("==")[0] for pin in PROJECT["tool"]["uv"]["constraint-dependencies"]}
    assert names - pinned == set()


# -- the tests themselves -----------------------------------------------------------------------------

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

@pytest.mark.soak
def test_that_needs_nothing():
    pytest.skip("another reason")
"""


def collect(folder: Path, test: str, *options: str, **environment: str) -> list[str]:
    """What pytest prints for one file of tests, with our conftest and settings and no plugin that they do not need."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text("utf-8"), "utf-8")
    (folder / "test_it.py").write_text(test, "utf-8")
    config = (f"--config-file={ROOT / 'pyproject.toml'}", f"--rootdir={folder}", "-n0")
    plugins = ("-p", "pytest_timeout", "-p", "xdist")
    command = (sys.executable, "-m", "pytest", *config, *plugins, str(folder), "-q", *options)
    environment |= {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return run(*command, **environment).stdout.splitlines()


def test_browser_tests_come_last(tmp_path):
    test = "import pytest\n@pytest.mark.browser\ndef test_page(): ...\ndef test_one(): ...\ndef test_two(): ...\n"
    lines = collect(tmp_path, test, "--collect-only", "--all")
    assert [line.rpartition("::")[2] for line in lines if "::" in line] == ["test_one", "test_two", "test_page"]


def test_what_takes_long_runs_only_with_all(tmp_path):
    marked = "".join(f"@pytest.mark.{mark}\ndef test_{mark}(): ...\n" for mark in ("browser", "real_agent", "soak"))
    test = f"import pytest\n{marked}def test_other(): ...\n"
    assert "1 passed, 3 deselected in" in collect(tmp_path, test)[-1]
    assert "4 passed in" in collect(tmp_path, test, "--all")[-1]


@pytest.mark.parametrize(("ci", "outcome"), [("", "3 skipped"), ("true", "1 failed, 1 skipped, 1 error")])
def test_in_ci_a_skipped_browser_or_agent_test_fails(tmp_path, ci, outcome):
    assert f"{outcome} in" in collect(tmp_path, SKIPPED, "--all", CI=ci)[-1]
