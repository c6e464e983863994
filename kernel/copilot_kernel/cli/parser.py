"""Every command, its options and its help, and the settings that pass through `serve` to the server."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from functools import partial

from .. import __version__

_ABOUT = """\
A Jupyter kernel that puts a coding agent inside the notebook: GitHub Copilot CLI, or any
agent of the Agent Client Protocol (ACP)."""

_EXAMPLES = """\
examples:
  copilot-kernel demo                              the tour in JupyterLab, with a built-in demo agent
  copilot-kernel doctor                            is everything there, and what is set?
  copilot-kernel ask "What does this folder hold?"
  copilot-kernel serve --port 8080                 an OpenAI-compatible API, and a chat page
  copilot-kernel export last -o chat.ipynb         the last conversation as a notebook
  copilot-kernel install --user --name claude --display-name Claude --agent claude-agent-acp

settings are environment variables COPILOT_KERNEL_* or a file copilot_kernel.json in Jupyter's
config path; `copilot-kernel doctor` prints each of them and where it came from."""

_AGENT = "the agent: a command line, tcp://HOST:PORT, or the word demo (default: the setting, else GitHub Copilot CLI)"

_CONFIG_DIR = "the folder of Copilot's sessions, as passed to older versions of it"

ACTIONS = ("start", "stop", "status")
_OURS = ("-h", "--help", "--json", "--port")
_NUMBER = re.compile(r"-\d*\.?\d+")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments; `command` names the module that runs. Exits on a usage error and for --help and --version.

    `serve` takes the options of `jupyter copilot` too, as `server_options`; the server itself checks them.
    """
    parser = build()
    ours, server_options = split(words[1:]) if words[:1] == ["serve"] else (words[1:], [])
    arguments = parser.parse_args([*words[:1], *ours])
    if server_options and arguments.action not in (None, "start"):
        parser.error(f"unrecognized arguments: {' '.join(server_options)}")
    arguments.server_options = server_options
    return arguments


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("copilot-kernel", description=_ABOUT, epilog=_EXAMPLES, formatter_class=_Formatter)
    parser.add_argument("--version", action="version", version=f"copilot-kernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_demo, _ask, _serve, _install, _doctor, _sessions, _export):
        add(commands)
    return parser


_Commands = argparse._SubParsersAction  # argparse offers no public name for it
_Formatter = partial(argparse.RawDescriptionHelpFormatter, max_help_position=28, width=100)


def _add(commands: _Commands[argparse.ArgumentParser], name: str, line: str, more: str = "") -> argparse.ArgumentParser:
    about = f"{line[0].upper()}{line[1:]}.\n{more}"
    return commands.add_parser(name, help=line, description=about, formatter_class=_Formatter)


def _demo(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "demo",
        "open the tour in JupyterLab, with the demo agent",
        "\nThe notebooks are copied to a temporary folder. The agent is scripted: nothing leaves this machine.",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--no-browser", action="store_true", help="only print the address")
    how.add_argument(
        "--execute", action="store_true", help="run the tour without JupyterLab and print what a reader would see"
    )
    parser.add_argument("--port", type=_port, help="port of JupyterLab (default: the first free one from 8888)")


def _ask(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "ask",
        "run one turn in the terminal",
        "\nThe answer goes to stdout, everything else to stderr. The agent's questions are asked in the"
        "\nterminal; where nobody can answer, they are rejected. Ctrl-C cancels the turn."
        "\nExit codes: 0 answered, 1 the agent failed, 2 usage error, 130 cancelled.",
    )
    parser.add_argument("prompt", help="what to ask; - reads it from stdin")
    parser.add_argument("--agent", metavar="CMD", help=_AGENT)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: text, stop_reason, tool_calls, session_id"
    )


def _serve(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "serve",
        "serve the OpenAI-compatible API and the chat",
        "\nOn this machine only, and with Jupyter's token as API key. A Jupyter server offers the same without this"
        "\ncommand. Options of `jupyter copilot` (--CopilotApp.rate_limit=0; see its --help-all) are passed on."
        "\nstop and status exit with 1 if there is no such server.",
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        help="start it in the background, stop it, or show state, port, models and sessions (default: serve here)",
    )
    parser.add_argument("--port", type=_port, help="port (default: 8080, or CopilotApp.port; stop, status: all)")
    parser.add_argument("--json", action="store_true", help="status: print one JSON object")


def _install(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "install",
        "install a kernelspec for this Python interpreter",
        "\nInstalling the package already makes 'Copilot' selectable in its own environment. Use this for"
        "\nanother place, another name, or another agent. To uninstall: jupyter kernelspec remove NAME",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (the default)")
    where.add_argument("--sys-prefix", action="store_true", help="into this Python's environment")
    where.add_argument("--prefix", metavar="P", help="into P/share/jupyter/kernels")
    parser.add_argument("--name", default="copilot", help="name of the kernelspec (default: copilot)")
    parser.add_argument("--display-name", metavar="TEXT", help="name in the launcher (default: Copilot)")
    parser.add_argument("--agent", metavar="CMD", help="the agent that this kernel uses")


def _doctor(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "doctor",
        "check kernelspec, agent, sign-in and widgets; print the settings",
        "\nExits with 1 if something that the kernel needs is broken.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-start", action="store_true", help="do not start the agent (the sign-in is not checked)")


def _sessions(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "sessions",
        "list past conversations",
        "\nThe sessions that Copilot CLI keeps on disk (COPILOT_HOME, XDG_STATE_HOME/.copilot, ~/.copilot) and those"
        "\nthat the agent lists, the most recently used first. Nothing on disk is changed.",
    )
    parser.add_argument("--agent", metavar="CMD", help=_AGENT)
    parser.add_argument("--here", action="store_true", help="only sessions of this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object: sessions, looked_in, problem")
    parser.add_argument("--config-dir", metavar="DIR", default="", help=_CONFIG_DIR)
    parser.add_argument("--offline", action="store_true", help="do not start the agent")


def _export(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "export",
        "write a past conversation as a notebook",
        "\nThe agent replays the session; if it cannot, Copilot's event log is read, which also holds thoughts,"
        "\npictures and decisions. Each prompt becomes a cell.",
    )
    parser.add_argument("session", metavar="SESSION", help="a session id, the beginning of one, or `last`")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the notebook, such as chat.ipynb")
    parser.add_argument("--agent", metavar="CMD", help=_AGENT)
    parser.add_argument("--from-log", action="store_true", help="read the event log; do not start the agent")
    parser.add_argument("--config-dir", metavar="DIR", default="", help=_CONFIG_DIR)
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")


def _port(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"invalid port value: {text!r}")


# -- options of the server ------------------------------------------------------------------------------------------


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words after `serve` that are ours, and the options of the server.

    A value that follows its option after a blank is joined to it with `=`. Nothing here knows the names of the
    options: that would take loading Jupyter Server, which takes seconds.
    """
    ours: list[str] = []
    options: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or _name(word) in _OURS:
            ours.append(word)
            ours += [rest.pop(0)] if word == "--port" and rest else []
        else:
            options.append(f"{word}={rest.pop(0)}" if rest and _has_value(word, rest[0]) else word)
    return ours, options


def names(options: Iterable[str]) -> str:
    """The names of options, without their values, which may be secret."""
    return ", ".join(map(_name, options))


def _has_value(option: str, word: str) -> bool:
    """Whether `word` is the value of `option`. An action may follow a flag (`--debug`), which has no dot."""
    is_value = not word.startswith("-") or _NUMBER.fullmatch(word) is not None
    return "=" not in option and is_value and ("." in option or word not in ACTIONS)


def _name(option: str) -> str:
    return option.partition("=")[0]
