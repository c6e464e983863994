"""How long a broker lives, and which notebooks may share an agent."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.child_processes import guarded, of_no_kernel
from copilot_kernel.acp.locate import Launch
from copilot_kernel.agentd import hub
from copilot_kernel.agentd.hub import Hub
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.agentd.start import Welcome, dump, restore
from copilot_kernel.config import Settings
from copilot_kernel.mcp_config import McpServer
from copilot_kernel.sandbox import Comparison, Sandbox

from .brokers import LIMIT
from .wires import OneThreadAgent


async def test_it_ends_when_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "CONNECT_SECONDS", 0.01)
    agent = OneThreadAgent()
    with agent.pipe, anyio.fail_after(LIMIT):
        await Hub(agent, Welcome(), idle=0.0).run()


def test_the_sandbox_is_the_same_in_another_process(tmp_path: Path) -> None:
    sandbox = Sandbox(("bwrap",), tmp_path, Comparison(tmp_path, {"a": "b"}), "one host", {"PATH": "/bin"})
    found = restore(json.loads(json.dumps(dump(Welcome(sandbox)))), Welcome).sandbox
    assert replace(found, comparison=sandbox.comparison) == sandbox
    assert found.comparison.states == sandbox.comparison.states


# -- the key ------------------------------------------------------------------------------------------------------

SPEC = AgentSpec(Settings(cwd="/"), Launch(("/bin/agent", "--acp")), (), frozenset(), {"PATH": "/bin"})


def with_settings(**more: Any) -> AgentSpec:
    return replace(SPEC, settings=replace(SPEC.settings, **more))


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace(SPEC, launch=Launch((*SPEC.launch.argv, "--deny-tool=shell(rm:*)"))),
        lambda: replace(SPEC, launch=replace(SPEC.launch, is_copilot=True)),
        lambda: replace(SPEC, environ={"PATH": "/bin", "VIRTUAL_ENV": "/venv"}),
        lambda: replace(SPEC, offers=frozenset({"elicitation"})),
        lambda: replace(SPEC, servers=(McpServer("files", "stdio", "serve"),)),
        lambda: with_settings(cwd="/usr"),
        lambda: with_settings(fs=True),
        lambda: with_settings(terminal=True),
        lambda: with_settings(sandbox="required"),
        lambda: with_settings(answer_form="flat"),
    ],
)
def test_whoever_would_start_another_agent_has_another_key(make: Callable[[], AgentSpec]) -> None:
    assert make().digest != SPEC.digest


def test_a_sandbox_that_would_be_made_otherwise_is_another_one() -> None:
    made: tuple[dict[str, Any], ...] = ({}, {"sandbox_write": ("/data",)}, {"state": "/data"}, {"absent": ("/a",)})
    assert len({with_settings(sandbox="on", **each).digest for each in made}) == len(made)


def test_the_folder_itself_is_in_the_key_and_not_its_name(tmp_path: Path) -> None:
    one, other, link = (tmp_path / name for name in ("one", "other", "link"))

    def digest(folder: Path) -> str:
        return with_settings(cwd=str(folder)).digest

    one.mkdir()
    link.symlink_to(one)
    first = digest(link)
    assert first == digest(one)
    one.rename(other)
    one.mkdir()
    assert len({first, digest(one), digest(other)}) == 3


def test_rules_and_modes_of_a_kernel_are_not_in_the_key() -> None:
    assert with_settings(permission_mode="plan", allow=("Read",), cancel_grace=1.0).digest == SPEC.digest


def test_a_variable_that_is_no_text_has_a_key_too() -> None:
    assert replace(SPEC, environ={"PATH": "/\udcff"}).digest


def test_variables_of_one_kernel_are_not_the_agents() -> None:
    environ = {"PATH": "/bin", "JPY_SESSION_NAME": "a", "KERNEL_ID": "b", "COPILOT_KERNEL_AGENT": "demo"}
    assert of_no_kernel(environ) == {"PATH": "/bin", "COPILOT_KERNEL_AGENT": "demo"}
    assert guarded({**environ, "GIT_CONFIG_COUNT": "x"}) == {**of_no_kernel(environ), "GIT_CONFIG_COUNT": "x"}
