"""What all tests share: which of them run, and in which order."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Generator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from .limits import examples
from .trusting import trust_environment

NEVER_SKIPPED_IN_CI = ("browser", "real_agent", "engine", "sandbox")
PLAYED = "tests/real/"
LONG_FIRST = (
    *(PLAYED, "tests/windows/", "tests/test_chaos.py", "tests/jupyter/", "tests/ipython/", "tests/server/"),
    *("tests/browser/test_missed_turns.py", "tests/browser/test_measurements.py"),
)
"""Files that take long come first, in this order: the quick ones then fill all workers to the end."""

# A busy machine is no fault of what is tested.
settings.register_profile(
    "calm", settings(), max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("calm")

# `demo` is the test agent (`agent/command.py`), which streams without pauses.
os.environ["COPILOT_KERNEL_DEMO_COMMAND"] = shlex.join([sys.executable, "-P", str(Path(__file__).with_name("agent"))])
os.environ["COPILOT_DEMO_PACE"] = "0"

# A shell without job control ignores SIGINT in what it runs in the background, and what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Kernels, servers and agents that tests start would compile all that they import, each time anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# jsonschema builds a grammar for addresses that nobody checks here: more than a second in each process.
pytest.MonkeyPatch().setitem(sys.modules, "rfc3987_syntax", None)

# The options of this run of pytest are not meant for those that tests start.
os.environ.pop("PYTEST_ADDOPTS", None)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The product runs on asyncio alone."""
    return "asyncio"


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(name: str, obj: Any) -> None:
    """A test that is a coroutine function needs no mark: anyio runs it."""
    if name.startswith("test_") and iscoroutinefunction(obj):
        pytest.mark.anyio(obj)


@pytest.fixture(scope="session", autouse=True)
def state_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Nothing that a kernel or the demo agent remembers outlives the tests, or is found by them in the user's folders.

    A test that counts or lists takes a folder of its own.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COPILOT_KERNEL_DEMO_HOME", "COPILOT_KERNEL_STATE", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        trust_environment({})
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all` and `--long`, which replace the selection by markers in `pyproject.toml`."""
    parser.addoption("--all", action="store_true", help="also run tests with a browser, real agents or engines")
    parser.addoption("--long", action="store_true", help="run only long and random variants of tests")


def pytest_configure(config: pytest.Config) -> None:
    """Apply `--all` and `--long`."""
    if config.option.all:
        config.option.markexpr = "not long"
    if config.option.long:
        config.option.markexpr = "long"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files and folders of which `pyproject.toml` leaves out each test are not even imported: that takes seconds."""
    expression = config.option.markexpr
    return True if expression in config.getini("addopts") and _has_only(expression, collection_path) else None


def _has_only(marks: str, path: Path) -> bool:
    """Return True if each test in a file, or in each file of a folder, has one of the marks."""
    if path.is_dir():
        files = [*path.glob("test_*.py")]
        return bool(files) and all(_has_only(marks, file) for file in files)
    if not path.match("test_*.py"):
        return False
    found = re.search(r"^pytestmark = (\[\s*)?pytest\.mark\.(\w+)", path.read_text("utf-8"), re.MULTILINE)
    return found is not None and found[2] in re.findall(r"\w+", marks)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright keeps an event loop running in the main thread until the session's end.

    A test with a real agent may wait for all that is played before it.
    """
    for item in items:
        if item.nodeid.startswith(PLAYED):
            item.add_marker(pytest.mark.timeout(3600))
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[bool, int]:
    places = (place for place, prefix in enumerate(LONG_FIRST) if item.nodeid.startswith(prefix))
    return item.get_closest_marker("browser") is not None, next(places, len(LONG_FIRST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Kernels and agents are waited for most of the time: more processes than cores keep these busy."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of several processes one takes a whole file, and one all that is played with real agents, once for all tests.

    In the order of the files, so that those for the browser come last here too. Whoever asks for another distribution
    gets that.
    """
    from xdist.scheduler import LoadFileScheduling

    if config.option.dist != "load":
        return None
    config.option.loadscopereorder = False

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return PLAYED if nodeid.startswith(PLAYED) else super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, where everything is installed, a test that needs a browser, an agent or an engine must not be skipped."""
    report = yield
    if os.environ.get("CI") and report.skipped and any(map(item.get_closest_marker, NEVER_SKIPPED_IN_CI)):
        report.outcome = "failed"
        report.longrepr = f"skipped, which it must not be in CI: {report.longrepr}"
    return report
