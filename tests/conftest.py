"""What all rooms' tests share."""

import os
from collections.abc import Generator

import pytest

NEVER_SKIPPED_IN_CI = ("browser", "real_agent")


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

    Where several processes run them, a file is for one of them, and so are all plays with real agents.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    for item in items:
        is_played = item.get_closest_marker("real_agent") is not None
        item.add_marker(pytest.mark.xdist_group("real_agent" if is_played else item.path.as_posix()))


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
