"""Settings to launches, with programs in a folder of the test's own."""

import os
import sys

import pytest
from copilot_kernel.acp.locate import INSTALL, Launch, denying, locate
from copilot_kernel.errors import AgentNotFound, UsageError


@pytest.fixture
def program(tmp_path):
    """Make an executable file and return its path."""

    def make(path):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        return str(file)

    return make


@pytest.fixture
def environ(tmp_path):
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}


def copilot(path, *arguments):
    return Launch((path, *arguments), label="GitHub Copilot CLI", is_copilot=True)


@pytest.mark.parametrize("agent", ["", "  "])
def test_without_a_setting_it_is_the_copilot_on_the_path(program, environ, agent):
    path = program("bin/copilot")
    program("home/.local/share/gh/copilot/copilot")
    assert locate(agent, environ) == copilot(path, "--acp")


def test_then_the_copilot_that_the_github_cli_installed(program, environ):
    path = program("home/.local/share/gh/copilot/copilot")
    assert locate("", environ) == copilot(path, "--acp")


def test_the_data_folder_may_be_elsewhere(program, environ, tmp_path):
    program("home/.local/share/gh/copilot/copilot")
    path = program("data/gh/copilot/copilot")
    assert locate("", environ | {"XDG_DATA_HOME": str(tmp_path / "data")}) == copilot(path, "--acp")


def test_a_copilot_that_may_not_run_is_none(program, environ):
    os.chmod(program("home/.local/share/gh/copilot/copilot"), 0o644)
    with pytest.raises(AgentNotFound):
        locate("", environ)


def test_without_copilot_the_card_says_how_to_get_it_and_no_other_agent_is_taken(program, environ):
    program("bin/opencode")
    with pytest.raises(AgentNotFound) as caught:
        locate("", environ)
    assert (str(caught.value), caught.value.hint) == ("GitHub Copilot CLI is not installed here", INSTALL)
    for command in (
        "npm install -g @github/copilot",
        "copilot login",
        "COPILOT_KERNEL_AGENT=demo",
        "copilot-kernel demo",
    ):
        assert command in INSTALL


def test_the_demo_agent_is_ours(environ):
    assert locate("demo", environ) == Launch((sys.executable, "-P", "-m", "copilot_kernel.demo"), label="demo agent")


def test_a_command_is_shell_words(program, environ):
    path = program("bin/agent")
    assert locate("agent --name 'a b' \"c\" d\\ e", environ) == Launch(
        (path, "--name", "a b", "c", "d e"), label="agent"
    )


def test_nothing_in_a_command_is_expanded_but_the_home_folder_of_its_program(program, environ):
    path = program("home/my/agent")
    assert locate("~/my/agent $HOME `id` *", environ) == Launch((path, "$HOME", "`id`", "*"), label="agent")


def test_a_path_with_a_blank_can_be_quoted(program, environ):
    path = program("my tools/agent")
    assert locate(f"'{path}' acp", environ) == Launch((path, "acp"), label="agent")


def test_a_relative_path_becomes_absolute(program, environ, monkeypatch, tmp_path):
    path = program("tools/agent")
    monkeypatch.chdir(tmp_path)
    assert locate("./tools/agent", environ) == Launch((path,), label="agent")


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("copilot", ("--acp",)),
        ("copilot --model x", ("--model", "x", "--acp")),
        ("copilot --acp --model x", ("--acp", "--model", "x")),
    ],
)
def test_copilot_by_name_speaks_the_protocol(program, environ, words, arguments):
    path = program("bin/copilot")
    assert locate(words, environ) == copilot(path, *arguments)


def test_copilot_by_path_speaks_the_protocol(program, environ):
    path = program("elsewhere/copilot")
    assert locate(path, environ) == copilot(path, "--acp")


@pytest.mark.parametrize("agent", ["agent acp", "/nowhere/agent acp", "./agent", "''"])
def test_a_missing_program_is_named_and_copilot_not_taken_instead(program, environ, agent):
    program("bin/copilot")
    with pytest.raises(AgentNotFound) as caught:
        locate(agent, environ)
    name = agent.split()[0].strip("'")
    assert str(caught.value) == f"There is no program {name}, which the setting agent names"
    assert caught.value.hint


@pytest.mark.parametrize("agent", ["agent 'open", 'agent "'])
def test_quotes_that_do_not_close_are_refused(environ, agent):
    with pytest.raises(UsageError) as caught:
        locate(agent, environ)
    assert str(caught.value) == f"The agent's command cannot be read: {agent} (No closing quotation)"


@pytest.mark.parametrize(
    ("agent", "address", "label"),
    [
        ("tcp://localhost:3000", ("localhost", 3000), "agent at localhost:3000"),
        ("tcp://127.0.0.1:65535", ("127.0.0.1", 65535), "agent at 127.0.0.1:65535"),
        ("tcp://My-Host.example:1", ("My-Host.example", 1), "agent at My-Host.example:1"),
        (" tcp://[::1]:8080 ", ("::1", 8080), "agent at ::1:8080"),
    ],
)
def test_an_address_is_a_host_and_a_port(environ, agent, address, label):
    assert locate(agent, environ) == Launch(address=address, label=label)


@pytest.mark.parametrize(
    "agent",
    [
        "tcp://localhost",
        "tcp://localhost:",
        "tcp://:3000",
        "tcp://localhost:0",
        "tcp://localhost:65536",
        "tcp://localhost:x",
        "tcp://localhost:3000/",
        "tcp://localhost:3000/path",
        "tcp://localhost:3000?x",
        "tcp://localhost:3000#x",
        "tcp://me@localhost:3000",
        "tcp://me:secret@localhost:3000",
        "tcp://local host:3000",
        "tcp://localhost:3000 --acp",
        "tcp://[::1:3000",
        "tcp://",
        "http://localhost:3000",
        "TCP://localhost:3000",
    ],
)
def test_anything_else_that_looks_like_an_address_is_refused(environ, agent):
    with pytest.raises(UsageError) as caught:
        locate(agent, environ)
    assert str(caught.value) == f"The agent's address cannot be read: {agent}"
    assert caught.value.hint == "Write tcp://HOST:PORT, with a port from 1 to 65535."


def test_only_a_copilot_that_we_start_is_told_what_to_deny(program, environ):
    path, other = program("bin/copilot"), program("bin/opencode")
    patterns = ("shell(rm:*)", "write")
    told = copilot(path, "--acp", "--deny-tool=shell(rm:*)", "--deny-tool=write")
    assert denying(locate("copilot --acp", environ), patterns) == told
    for agent in (f"{other} acp", "tcp://localhost:1234", "demo"):
        assert denying(locate(agent, environ), patterns) == locate(agent, environ)
