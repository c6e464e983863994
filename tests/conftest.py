"""What all rooms' tests share."""

import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

NEVER_SKIPPED_IN_CI = ("browser", "real_agent")
PLAYED = "tests/real/"
WITH_PROCESSES = tuple(f"tests/{room}/" for room in ("browser", "cli", "ipython", "jupyter", "real", "server"))
MOST_OF_A_FAILURE = 3000
"""Characters."""

# A busy machine is no fault of what is tested.
settings.register_profile("calm", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")

# What this run of pytest was told is not meant for those that tests start.
os.environ.pop("PYTEST_ADDOPTS", None)


@pytest.fixture
def anyio_backend() -> str:
    """The product runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Nothing that the demo agent remembers outlives the tests; one that counts or lists takes a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path_factory.mktemp("demo-home")))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright keeps an event loop running in the main thread until the session's end.

    In CI, what waits for other processes is tried a second time, with a word about the first.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    for item in items:
        if os.environ.get("CI") and item.nodeid.startswith(WITH_PROCESSES):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a test failed with that passed when it was tried again is a failure to be looked at."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.write_line(report.longreprtext[-MOST_OF_A_FAILURE:])


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
    """In CI, where everything is installed, a test that needs a browser or a real agent must not be skipped."""
    report = yield
    if os.environ.get("CI") and report.skipped and any(map(item.get_closest_marker, NEVER_SKIPPED_IN_CI)):
        report.outcome = "failed"
        report.longrepr = f"skipped, which it must not be in CI: {report.longrepr}"
    return report
