"""Every command, its options and its help, and the settings that pass through `serve` to the server."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .. import __version__

_ABOUT = """\
A Jupyter kernel that puts a coding agent inside the notebook: GitHub Copilot CLI, or any
agent of the Agent Client Protocol (ACP)."""

_EXAMPLES = """\
examples:
  copilot-kernel demo                              the tour in JupyterLab, with a built-in demo agent
  copilot-kernel doctor                            is everything there, and what is set?
  copilot-kernel serve --port 8080                 an OpenAI-compatible API, and a chat page
  copilot-kernel export last -o chat.ipynb         the last conversation as a notebook
  copilot-kernel install --user --name claude --display-name Claude --agent claude-agent-acp

settings are environment variables COPILOT_KERNEL_* or a file copilot_kernel.json in Jupyter's
config path; `copilot-kernel doctor` prints each of them and where it came from."""

SERVE_ACTIONS = ("start", "stop", "status")
_OF_SERVE = ("-h", "--help", "--json", "--port")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments; `command` names the module that runs.

    Exits on a usage error, for --help and --version, and without words, after printing the help.
    `serve` takes the options of `jupyter copilot` too, as `server_options`; the server itself checks them, since
    checking them here would mean loading Jupyter Server, which takes seconds.
    """
    parser = build()
    if not words:
        parser.print_help()
        parser.exit()
    options = (word for word in words if words[0] == "serve" and word.startswith("-"))
    server_options = [option for option in options if option.partition("=")[0] not in _OF_SERVE]
    arguments = parser.parse_args([word for word in words if word not in server_options])
    if server_options and arguments.action not in (None, "start"):
        parser.error(f"unrecognized arguments: {' '.join(server_options)}")
    arguments.server_options = server_options
    return arguments


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("copilot-kernel", description=_ABOUT, epilog=_EXAMPLES, formatter_class=_Formatter)
    parser.add_argument("--version", action="version", version=f"copilot-kernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        about = f"{command.help[0].upper()}{command.help[1:]}.\n{command.more}"
        each = commands.add_parser(command.name, help=command.help, description=about, formatter_class=_Formatter)
        group = each.add_mutually_exclusive_group() if command.exclusive else each  # argparse fails on an empty one
        for name, details in command.options.items():
            (group if name in command.exclusive else each).add_argument(*name.split(), **details)
    return parser


def _port(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"invalid port value: {text!r}")


def _folder(text: str) -> Path:
    if text:
        return Path(text).expanduser().absolute()
    raise argparse.ArgumentTypeError("must name a folder")


_Formatter = partial(argparse.RawDescriptionHelpFormatter, max_help_position=28, width=100)


# -- the commands ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Command:
    """A command; `options` maps the names of each argument to the rest of `add_argument`'s parameters."""

    name: str
    help: str
    more: str
    options: dict[str, dict[str, Any]]
    exclusive: tuple[str, ...] = ()
    """Names of options of which only one can be given."""


def _flag(help: str) -> dict[str, Any]:
    return {"action": "store_true", "help": help}


_AGENT = {
    "metavar": "CMD",
    "help": "the agent: a command line, tcp://HOST:PORT, or the word demo "
    "(default: the setting, else GitHub Copilot CLI)",
}
_CONFIG_DIR = {
    "metavar": "DIR",
    "default": "",
    "help": "the folder of Copilot's sessions, as passed to older versions of it",
}

_COMMANDS = (
    _Command(
        "demo",
        "open the tour in JupyterLab, with the demo agent",
        "\nThe notebooks are copied to a temporary folder. The agent is scripted: nothing leaves this machine.",
        {
            "--no-browser": _flag("only print the address"),
            "--execute": _flag("run the tour without JupyterLab and print what a reader would see"),
            "--port": {"type": _port, "help": "port of JupyterLab (default: the first free one from 8888)"},
        },
        exclusive=("--no-browser", "--execute"),
    ),
    _Command(
        "serve",
        "serve the OpenAI-compatible API and the chat",
        "\nOn this machine only, and with Jupyter's token as API key. A Jupyter server offers the same without this"
        "\ncommand. Options of `jupyter copilot` (--CopilotApp.rate_limit=0; see its --help-all) are passed on,"
        "\nwritten with `=`."
        "\nstop and status exit with 1 if there is no such server.",
        {
            "action": {
                "nargs": "?",
                "choices": SERVE_ACTIONS,
                "help": "start it in the background, stop it, or show state, port, models and sessions "
                "(default: serve here)",
            },
            "--port": {"type": _port, "help": "port (default: 8080, or CopilotApp.port; stop, status: all)"},
            "--json": _flag("status: print one JSON object"),
        },
    ),
    _Command(
        "install",
        "install a kernelspec for this Python interpreter",
        "\nInstalling the package already makes 'Copilot' selectable in its own environment. Use this for"
        "\nanother place, another name, or another agent. To uninstall, delete the folder that it names.",
        {
            "--user": _flag("for this user (the default)"),
            "--sys-prefix": _flag("into this Python's environment"),
            "--prefix": {"metavar": "P", "help": "into P/share/jupyter/kernels"},
            "--gateway": {
                "metavar": "DIR",
                "type": _folder,
                "help": "into DIR, a folder of kernelspecs of Enterprise Gateway: NAME for kernels beside it, "
                "NAME_remote for kernels on other hosts",
            },
            "--name": {"default": "copilot", "help": "name of the kernelspec (default: copilot)"},
            "--display-name": {"metavar": "TEXT", "help": "name in the launcher (default: Copilot)"},
            "--agent": {"metavar": "CMD", "help": "the agent that this kernel uses"},
        },
        exclusive=("--user", "--sys-prefix", "--prefix", "--gateway"),
    ),
    _Command(
        "doctor",
        "check kernelspec, agent, sign-in and widgets; print the settings",
        "\nExits with 1 if something that the kernel needs is broken.",
        {
            "--json": _flag("print one JSON object"),
            "--report": _flag("print what a bug report needs, without paths, rules or command lines"),
            "--no-start": _flag("do not start the agent (the sign-in is not checked)"),
        },
    ),
    _Command(
        "sessions",
        "list past conversations",
        "\nThe sessions that Copilot CLI keeps on disk (COPILOT_HOME, XDG_STATE_HOME/.copilot, ~/.copilot) and those"
        "\nthat the agent lists, the most recently used first. Nothing on disk is changed.",
        {
            "--agent": _AGENT,
            "--here": _flag("only sessions of this folder"),
            "--json": _flag("print one JSON object: sessions, looked_in, problem"),
            "--config-dir": _CONFIG_DIR,
            "--offline": _flag("do not start the agent"),
        },
    ),
    _Command(
        "export",
        "write a past conversation as a notebook",
        "\nThe agent replays the session; if it cannot, Copilot's event log is read, which also holds thoughts"
        "\nand decisions. Each prompt becomes a cell.",
        {
            "session": {"metavar": "SESSION", "help": "a session id, the beginning of one, or `last`"},
            "-o --output": {"metavar": "FILE", "required": True, "help": "the notebook, such as chat.ipynb"},
            "--agent": _AGENT,
            "--from-log": _flag("read the event log; do not start the agent"),
            "--config-dir": _CONFIG_DIR,
            "--force": _flag("overwrite FILE if it exists"),
        },
    ),
)
