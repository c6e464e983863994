"""From settings to launches, and from deny rules to flags of GitHub Copilot CLI."""

import os
import sys

import pytest
from copilot_kernel.acp.locate import (
    ADDRESS_FORM,
    CANNOT_START,
    INSTALL,
    INVALID_ADDRESS,
    INVALID_COMMAND,
    NOT_INSTALLED,
    NOT_ON_PATH,
    PROGRAM_IN_PROJECT,
    START_THERE,
    Launch,
    deny_patterns,
    locate,
    with_denied_tools,
)
from copilot_kernel.errors import AgentNotFound, UsageError


@pytest.fixture
def program(tmp_path):
    """Make an executable file and return its path."""

    def make(path, first_line="#!/bin/sh"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{first_line}\n")
        file.chmod(0o755)
        return str(file)

    return make


@pytest.fixture
def environ(tmp_path):
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}


def copilot(path, *arguments):
    return Launch((path, *arguments), label="GitHub Copilot CLI", is_copilot=True)


def test_without_a_setting_it_is_the_copilot_on_the_path_or_else_that_of_gh(program, environ, tmp_path):
    at_home = program("home/.local/share/gh/copilot/copilot")
    assert locate("", environ) == copilot(at_home, "--acp")
    elsewhere = program("data/gh/copilot/copilot")
    assert locate("", environ | {"XDG_DATA_HOME": str(tmp_path / "data")}) == copilot(elsewhere, "--acp")
    assert locate("  ", environ) == copilot(at_home, "--acp")
    on_the_path = program("bin/copilot")
    assert locate("", environ) == copilot(on_the_path, "--acp")


def test_without_copilot_the_card_says_how_to_get_it_and_no_other_agent_is_taken(program, environ):
    program("bin/opencode")
    os.chmod(program("home/.local/share/gh/copilot/copilot"), 0o644)
    with pytest.raises(AgentNotFound) as caught:
        locate("", environ)
    assert (str(caught.value), caught.value.hint) == (NOT_INSTALLED, INSTALL)
    assert "copilot-kernel demo" in INSTALL


@pytest.mark.parametrize("folder", [".nvm/versions/node/v22.9.0/bin", ".asdf/shims", ".local/share/mise/shims"])
@pytest.mark.parametrize(("command", "name"), [("", "copilot"), ("opencode acp", "opencode")])
def test_a_program_that_only_shells_find_is_named_with_its_place(program, environ, folder, command, name):
    found = program(f"home/{folder}/{name}")
    with pytest.raises(AgentNotFound) as caught:
        locate(command, environ)
    expected = f"{NOT_ON_PATH.format(name)}, but at {found}"
    assert (str(caught.value), caught.value.hint) == (expected, START_THERE.format(name))


@pytest.mark.parametrize(
    ("first_line", "missing"),
    [
        ("#!/usr/bin/env node", "node"),
        ("#!/usr/bin/env -S node --no-warnings", "node"),
        ("#! /nowhere/bin/node", "/nowhere/bin/node"),
        ("#!/usr/bin/env -S -u A node", ""),  # what that means, only env knows
        ("#!/usr/bin/env -S A=b node", ""),
        ("#!/bin/sh -e", ""),
        ("\x7fELF", ""),
    ],
)
@pytest.mark.parametrize("at", ["", "home/.nvm/versions/node/v22.9.0/bin/node", "bin/node"])
def test_a_program_without_its_interpreter_says_what_is_missing_and_where_that_is(
    program, environ, first_line, missing, at
):
    copilot, node = program("bin/copilot", first_line), program(at) if at else ""
    if not missing or (missing, at) == ("node", "bin/node"):
        assert locate("", environ).argv[0] == copilot
        return
    with pytest.raises(AgentNotFound) as caught:
        locate("", environ)
    what = NOT_ON_PATH.format(missing) + (f", but at {node}" if at and missing == "node" else "")
    assert (str(caught.value), caught.value.hint) == (CANNOT_START.format(copilot, what), START_THERE.format(missing))


@pytest.mark.parametrize("command", ["", "bin/copilot", "./bin/copilot"])
def test_a_program_by_a_relative_path_is_not_taken(program, environ, monkeypatch, tmp_path, command):
    program("project/bin/copilot")
    monkeypatch.chdir(tmp_path / "project")
    with pytest.raises(AgentNotFound):
        locate(command, {"PATH": f"bin::.:{environ['PATH']}", "HOME": environ["HOME"]})


def test_a_program_of_the_python_that_runs_this_may_be_in_the_project(program, environ, monkeypatch, tmp_path):
    found = program("project/.venv/bin/copilot")
    environ |= {"PATH": os.path.dirname(found)}
    with pytest.raises(AgentNotFound):
        locate("", environ, [tmp_path / "project"])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "project" / ".venv"))
    assert locate("", environ, [tmp_path / "project"]).argv[0] == found


@pytest.mark.parametrize("named", ["copilot --acp", "{}/copilot", "~/project/bin/copilot", "{}/linked"])
def test_no_program_comes_from_the_project(program, environ, tmp_path, named):
    found = program("project/bin/copilot")
    (tmp_path / "project" / "bin" / "linked").symlink_to(found)
    folder, environ = os.path.dirname(found), {"PATH": os.path.dirname(found), "HOME": str(tmp_path)}
    command = named.format(folder)
    assert locate(command, environ).argv
    for project in (tmp_path / "project", tmp_path / "project" / "bin"):
        with pytest.raises(AgentNotFound) as caught:
            locate(command, environ, [project])
        assert str(caught.value) == PROGRAM_IN_PROJECT.format(command.split()[0])
    elsewhere = program("bin/copilot")
    path = f"{environ['PATH']}:{os.path.dirname(elsewhere)}"
    assert locate("copilot --acp", environ | {"PATH": path}, [tmp_path / "project"]).argv[0] == elsewhere


@pytest.mark.parametrize(
    ("file", "command", "arguments"),
    [
        ("bin/agent", "agent --name 'a b' \"c\" d\\ e", ("--name", "a b", "c", "d e")),
        ("home/my/agent", "~/my/agent $HOME `id` *", ("$HOME", "`id`", "*")),
    ],
)
def test_a_command_is_shell_words_of_which_nothing_is_expanded_but_the_home_folder(
    program, environ, file, command, arguments
):
    path = program(file)
    assert locate(command, environ) == Launch((path, *arguments), label="agent")


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("copilot --model x", ("--model", "x", "--acp")),
        ("copilot --acp --model x", ("--acp", "--model", "x")),
    ],
)
def test_copilot_by_name_speaks_the_protocol(program, environ, words, arguments):
    path = program("bin/copilot")
    assert locate(words, environ) == copilot(path, *arguments)


@pytest.mark.parametrize("agent", ["agent acp", "/nowhere/agent acp", "''"])
def test_a_missing_program_is_named_and_copilot_not_taken_instead(program, environ, agent):
    program("bin/copilot")
    with pytest.raises(AgentNotFound) as caught:
        locate(agent, environ)
    name = agent.split()[0].strip("'")
    assert str(caught.value) == f"The agent's program {name} was not found"
    assert caught.value.hint


def test_quotes_that_do_not_close_are_refused(environ):
    with pytest.raises(UsageError) as caught:
        locate("agent 'open", environ)
    assert str(caught.value) == INVALID_COMMAND.format("agent 'open", "No closing quotation")


@pytest.mark.parametrize(
    ("agent", "address", "label"),
    [
        ("tcp://localhost:3000", ("localhost", 3000), "agent at localhost:3000"),
        (" tcp://[::1]:8080 ", ("::1", 8080), "agent at ::1:8080"),
    ],
)
def test_an_address_is_a_host_and_a_port(environ, agent, address, label):
    assert locate(agent, environ) == Launch(address=address, label=label)


@pytest.mark.parametrize(
    "agent",
    [
        "tcp://localhost",
        "tcp://localhost:0",
        "tcp://localhost:65536",
        "tcp://localhost:3000/path",
        "tcp://me:secret@localhost:3000",
        "tcp://localhost:3000 --acp",
        "tcp://[::1:3000",
        "http://localhost:3000",
    ],
)
def test_anything_else_that_looks_like_an_address_is_refused(environ, agent):
    with pytest.raises(UsageError) as caught:
        locate(agent, environ)
    assert str(caught.value) == INVALID_ADDRESS.format(agent)
    assert caught.value.hint == ADDRESS_FORM


def test_only_a_copilot_that_we_start_gets_deny_flags(program, environ):
    path, other = program("bin/copilot"), program("bin/opencode")
    patterns = ("shell(rm:*)", "write")
    expected = copilot(path, "--acp", "--deny-tool=shell(rm:*)", "--deny-tool=write")
    assert with_denied_tools(locate("copilot --acp", environ), patterns) == expected
    assert locate("demo", environ) == Launch((sys.executable, "-P", "-m", "copilot_kernel.demo"), label="demo agent")
    for agent in (f"{other} acp", "tcp://localhost:1234", "demo"):
        assert with_denied_tools(locate(agent, environ), patterns) == locate(agent, environ)


# -- deny rules as flags of GitHub Copilot CLI ----------------------------------------------------------------------


EXPRESSED = [
    ("Bash(rm *)", ("shell(rm:*)",)),
    ("Bash(git push:*)", ("shell(git push:*)",)),
    ("Bash", ("shell",)),
    ("Bash(*)", ("shell",)),
    ("Edit", ("write",)),
    ("Edit(src/**)", ("write(/p/src/**)",)),
    ("Edit(*.lock)", ("write(*.lock)",)),
    ("Edit(/etc/**)", ("write(/etc/**)",)),
    ("Read(~/.ssh/**)", ("read(/h/.ssh/**)",)),
    ("WebFetch", ("url",)),
    ("WebFetch(domain:example.com)", ("url(https://example.com)", "url(http://example.com)")),
    ("mcp__files", ("files",)),
    ("mcp__files__delete", ("files(delete)",)),
]


@pytest.mark.parametrize(("rule", "patterns"), EXPRESSED)
def test_a_rule_in_the_words_of_copilot(rule: str, patterns: tuple[str, ...]) -> None:
    assert deny_patterns([rule, rule], "/p", "/h") == patterns


@pytest.mark.parametrize(
    "rule",
    [
        "Grep",  # it has no word for searching
        "Bash(git * main)",  # a * in the middle
        "Bash(git commit -m 'a b')",  # blanks inside of a word
        "Bash(echo 'a)b')",  # brackets would end the pattern
        "Edit(a(b).py)",
        "Edit(file?.py)",  # what ? means to it is not known
        "mcp__shell__x",  # a server that is called as one of its own words
    ],
)
def test_a_rule_without_a_certain_equivalent_is_left_out(rule: str) -> None:
    assert deny_patterns([rule], "/p", "/h") == ()
