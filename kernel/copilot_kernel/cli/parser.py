"""Every command, its options and its help."""

from __future__ import annotations

import argparse

from .settings import ACTIONS

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

_CONFIG_DIR = "where Copilot keeps its sessions, as given to older versions of it"


def build(version: str) -> argparse.ArgumentParser:
    """The parser; after it, `command` is the name of the module that runs."""
    parser = argparse.ArgumentParser("copilot-kernel", description=_ABOUT, epilog=_EXAMPLES, formatter_class=_Formatter)
    parser.add_argument("--version", action="version", version=f"copilot-kernel {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_demo, _ask, _serve, _install, _doctor, _sessions, _export):
        add(commands)
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Descriptions keep their lines; options stand far enough to the right."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


_Commands = argparse._SubParsersAction  # argparse offers no public name for it


def _add(commands: _Commands[argparse.ArgumentParser], name: str, line: str, more: str = "") -> argparse.ArgumentParser:
    about = f"{line[0].upper()}{line[1:]}.\n{more}"
    return commands.add_parser(name, help=line, description=about, formatter_class=_Formatter)


def _demo(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = (
        "\nThe notebooks are a fresh copy in a temporary folder. The agent is a scripted one: nothing"
        "\nleaves the machine."
    )
    parser = _add(commands, "demo", "open the tour in JupyterLab, with the demo agent", more)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--no-browser", action="store_true", help="only print the address")
    how.add_argument(
        "--execute", action="store_true", help="no JupyterLab: run the tour and print what a reader would see"
    )
    parser.add_argument("--port", type=_port, help="port of JupyterLab (default: the first free one from 8888)")


def _ask(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = (
        "\nThe answer goes to stdout, everything else to stderr. The agent's questions are asked in the"
        "\nterminal; where nobody can answer, they are rejected. Ctrl-C cancels the turn."
        "\nExit codes: 0 answered, 1 the agent failed, 2 misused, 130 cancelled."
    )
    parser = _add(commands, "ask", "run one turn in the terminal", more)
    parser.add_argument("prompt", help="what to ask; - reads it from stdin")
    parser.add_argument("--agent", metavar="CMD", help=_AGENT)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: text, stop_reason, tool_calls, session_id"
    )


def _serve(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = (
        "\nOn this machine only, and with Jupyter's token as API key. In Jupyter's own server the same is there"
        "\nwithout this command. Settings go with it (--CopilotApp.rate_limit=0): `jupyter copilot --help-all`."
        "\nThe exit code of stop and status is 1 if there is no such server."
    )
    parser = _add(commands, "serve", "serve the OpenAI-compatible API and the chat", more)
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        help="start it in the background, stop it, or show state, port, models and sessions (default: serve here)",
    )
    parser.add_argument("--port", type=_port, help="port (default: 8080, or CopilotApp.port; stop, status: all)")
    parser.add_argument("--json", action="store_true", help="status: print one JSON object")


def _install(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = (
        "\nInstalling the package already makes 'Copilot' selectable in its own environment. Use this for"
        "\nanother place, another name, or another agent. To take it away: jupyter kernelspec remove NAME"
    )
    parser = _add(commands, "install", "write a kernelspec that starts this very Python", more)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (the default)")
    where.add_argument("--sys-prefix", action="store_true", help="into this Python's environment")
    where.add_argument("--prefix", metavar="P", help="into P/share/jupyter/kernels")
    parser.add_argument("--name", default="copilot", help="name of the kernelspec (default: copilot)")
    parser.add_argument("--display-name", metavar="TEXT", help="name in the launcher (default: Copilot)")
    parser.add_argument("--agent", metavar="CMD", help="the agent that this kernel always uses")


def _doctor(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = "\nThe exit code is 1 if something that the kernel needs is broken."
    parser = _add(commands, "doctor", "check kernelspec, agent, sign-in and widgets; print the settings", more)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-start", action="store_true", help="do not start the agent (the sign-in is not checked)")


def _sessions(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = (
        "\nWhat Copilot CLI keeps on disk (COPILOT_HOME, XDG_STATE_HOME/.copilot, ~/.copilot) beside what the"
        "\nagent lists, the one that was used last first. Nothing on disk is changed."
    )
    parser = _add(commands, "sessions", "list past conversations", more)
    parser.add_argument("--agent", metavar="CMD", help=_AGENT)
    parser.add_argument("--here", action="store_true", help="only those of this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object: sessions, looked_in, problem")
    parser.add_argument("--config-dir", metavar="DIR", default="", help=_CONFIG_DIR)
    parser.add_argument("--offline", action="store_true", help="do not start the agent")


def _export(commands: _Commands[argparse.ArgumentParser]) -> None:
    more = (
        "\nThe agent loads the session and tells it again; where it cannot, Copilot's event log is read, which"
        "\nalso holds thoughts, pictures and decisions. Each prompt becomes a cell."
    )
    parser = _add(commands, "export", "write a past conversation as a notebook", more)
    parser.add_argument("session", metavar="SESSION", help="an id, the beginning of one, or the word last")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the notebook, such as chat.ipynb")
    parser.add_argument("--agent", metavar="CMD", help=_AGENT)
    parser.add_argument("--from-log", action="store_true", help="read the event log; do not start the agent")
    parser.add_argument("--config-dir", metavar="DIR", default="", help=_CONFIG_DIR)
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise ValueError(text)
    return port


_port.__name__ = "port"
