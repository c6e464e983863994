"""A hostile agent in the sandbox gets nothing out of it; what it tries does work without one."""

import asyncio
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import open_chat
from copilot_kernel.config_reader import load_settings
from copilot_kernel.sandbox import Kind

from ..agent.attempts import ATTEMPTS, FOR_ROOT, HOOKS, SETTINGS
from ..agent.network_attempts import NETWORK_ATTEMPTS, NETWORK_FOR_ROOT
from ..agent.steps import Place
from ..chat.people import Person
from .hostile_place import Outside

ROOT = Path(__file__).parents[2]
SECONDS = 60
Results = dict[str, str]

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def control(bubblewrap: str) -> Results:
    return _results("off")


@pytest.fixture(scope="module")
def sandboxed(bubblewrap: str) -> Results:
    return _results("required")


@pytest.fixture(scope="module")
def filtered(bubblewrap: str, srt_path: str) -> Results:
    """In a sandbox with a list of hosts."""
    return _results("required", has_hosts=True)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_escapes_without_a_sandbox_does_not_escape_from_one(
    name: str, control: Results, sandboxed: Results
) -> None:
    assert sandboxed[name] != "escaped"
    assert name not in HOOKS | SETTINGS or "Error: " in sandboxed[name]  # by a mount
    if name not in FOR_ROOT or os.getuid() == 0:
        assert control[name] == "escaped"


@pytest.mark.parametrize("name", ATTEMPTS | NETWORK_ATTEMPTS)
def test_a_list_of_hosts_holds_the_network_too(name: str, control: Results, filtered: Results) -> None:
    assert filtered[name] != "escaped"
    if name not in FOR_ROOT | NETWORK_FOR_ROOT or os.getuid() == 0:
        assert control[name] == "escaped"


def test_what_did_not_exist_before_ends_in_a_notice(sandboxed: Results) -> None:
    made = ("hook_by_exchange/evil", "work_tree_redirected/evil", "settings_by_common_folder/common")
    assert sandboxed["notices"] == Kind.NEW.value.format(", ".join(f"repositories/{name}" for name in made))


def _results(sandbox: str, *, has_hosts: bool = False) -> Results:
    """By attempt: `escaped`, or what it returned."""
    above = ROOT / ".pytest_cache"  # not below a folder that is hidden anyway
    above.mkdir(exist_ok=True)
    with ExitStack() as stack:
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="hostile-", dir=above))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        outside = Outside(Path(root), stack)
        outside.set_environment(patch)
        returned = asyncio.run(_asked(outside.place, sandbox, has_hosts))
        escaped = outside.marks() | {name for name, value in returned.items() if value == outside.place.secret}
    return {name: "escaped" if name in escaped else value for name, value in returned.items()}


async def _asked(place: Place, sandbox: str, has_hosts: bool) -> Results:
    """What each attempt returned. The agent has ended afterwards."""
    settings = load_settings(
        {
            "COPILOT_KERNEL_AGENT": f"{place.home}/bin/copilot {ROOT}/tests {ROOT}/tests/agent/hostile.py",
            "COPILOT_KERNEL_CWD": str(place.project),
            "COPILOT_KERNEL_SANDBOX": sandbox,
            "COPILOT_KERNEL_STATE": str(place.home / "state"),
            **({"COPILOT_KERNEL_SANDBOX_HOSTS": f'["127.0.0.1:{place.listed}"]'} if has_hosts else {}),
        },
        [],
    )
    place.write(place.project / "place.json")
    async with asyncio.timeout(SECONDS), open_chat(settings) as chat:
        turn = await chat.ask([TextBlock("place.json")], person := Person())
    return {**json.loads(turn.text), "notices": "\n".join(person.notices)}
