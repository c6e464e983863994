"""The real agents: where each one is found, how it is started against the scripted model, what its tools are called.

They come from npm (`npm install --prefix tests/peers`, which runs no package's scripts); a program of the same
name on PATH will do as well.
"""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from copilot_kernel.rendering.permission_options import WORDS

from ..limits import LIMIT
from .model import prompt

Json = dict[str, Any]
Tool = tuple[str, Json]
PROJECT = "$PROJECT"
"""The folder in which the agent works, in the steps of a prompt."""
FILE = f"{PROJECT}/notes.txt"
NOTES = "one\ntwo\nthree\n"
"""What stands in that file."""
PROGRESS = ("in_progress", "completed")
NEWER = "COPILOT_TEST_PEERS"
"""A variable that names a folder of other npm packages."""
PEERS = Path(os.environ.get(NEWER) or Path(__file__).parents[1] / "peers" / "node_modules")
INSTALL = "npm install --prefix tests/peers"

EDITS = ("edit-allowed", "edit-rejected", "create")
COPILOTS = ("lookups", "mcp", "sub-agent", "model-fails")
"""Scenes that call tools by the names that they have there, or fail as its model does."""
EVERY_SCENE = ("text", "plan", *EDITS, "shell", "cancel-text", "cancel-question", "two-turns")


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """One real agent; `tools` make the calls of its tools `shell`, `edit`, `create`, `read` and `plan`.

    `plan` makes a plan of two entries, of which the first has the given status: one of `PROGRESS`. `allow` and `reject`
    are our words for its options that count once. `planning` is what it tells the model in mode `plan`, `mode` the
    one that it begins in; `model` is another one of its models, and `option` one of its options with a value. `slash`
    is one of its own and what then stands in the cell. `listen` are the arguments before the number of a TCP port.
    `later` makes what it keeps look older.
    """

    name: str
    programs: tuple[str, ...]
    arguments: tuple[str, ...]
    configure: Callable[[Path, str], dict[str, str]]
    tools: Mapping[str, Callable[..., Tool]]
    scenes: tuple[str, ...]
    allow: str = WORDS["allow_once"]
    reject: str = WORDS["reject_once"]
    mode: str = "default"
    planning: str = "plan mode"
    model: str = ""
    option: str = ""
    slash: tuple[str, str] = ("", "")
    listen: tuple[str, ...] = ()
    later: Callable[[Path], None] = lambda home: None

    def __str__(self) -> str:
        return self.name

    def find(self) -> str | None:
        """The program, or None when it is not installed."""
        places = (str(PEERS / program) for program in self.programs)
        return next((place for place in places if os.access(place, os.X_OK)), None) or shutil.which(self.name)

    def command(self) -> list[str]:
        """The command line."""
        return [self.find() or self.name, *self.arguments]

    def settings(self, home: Path, url: str) -> dict[str, str]:
        """The environment of a kernel that starts it with that model."""
        ours = {"COPILOT_KERNEL_AGENT": shlex.join(self.command()), "COPILOT_KERNEL_START_TIMEOUT": str(LIMIT)}
        return {**self.configure(home, url), **ours}

    def prompt(self, project: Path, *steps: Json, **more: str) -> str:
        """A prompt for the scripted model, in whose steps a call is `(tool, *arguments)` of `tools`, or as it is.

        `PROJECT` in it stands for the folder.
        """
        named = [{**step, "call": [self._call(*call) for call in step["call"]]} if "call" in step else step
                 for step in steps]  # fmt: skip
        return prompt(*named, **more).replace(PROJECT, str(project))

    def _call(self, tool: str, *arguments: Any) -> Tool:
        return self.tools[tool](*arguments) if tool in self.tools else (tool, *arguments)


def _copilot(home: Path, model: str) -> dict[str, str]:
    provider = {"BASE_URL": f"{model}/v1", "TYPE": "openai", "API_KEY": "none"}
    return {
        "COPILOT_HOME": str(home / "copilot"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": "scripted",
        **{f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()},
    }


_COPILOT_PLANS = {
    "in_progress": {
        "query": "INSERT INTO todos (id, title, status) VALUES ('1', 'Read the notes', 'in_progress'), "
        "('2', 'Change them', 'pending')",
        "description": "Plan",
    },
    "completed": {"query": "UPDATE todos SET status = 'done' WHERE id = '1'", "description": "One step done"},
}
COPILOT = Agent(
    name="copilot",
    programs=("@github/copilot-linux-x64/copilot", "@github/copilot-linux-arm64/copilot", ".bin/copilot"),
    arguments=("--acp",),
    configure=_copilot,
    tools={
        "shell": lambda command: ("bash", {"command": command, "description": "Run a command"}),
        "edit": lambda path, old, new: ("edit", {"path": path, "old_str": old, "new_str": new}),
        "create": lambda path, text: ("create", {"path": path, "file_text": text}),
        "read": lambda path: ("view", {"path": path}),
        "plan": lambda status: ("sql", _COPILOT_PLANS[status]),
    },
    scenes=(*EVERY_SCENE, "image", "parallel", "cancel-shell", "signed-out", *COPILOTS),
    mode="agent",
    planning="Do NOT start implementing",
    option="allow_all on",
    slash=("/context", "Context Usage"),
    listen=("--acp", "--port"),
)


def _todos(words: str, first: str, **more: str) -> list[Json]:
    entries = (("Read the notes", first), ("Change them", "pending"))
    return [{words: text, "status": status, **more} for text, status in entries]


def _opencode_model(name: str) -> Json:
    seeing = {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    return {"name": name, "tool_call": True, "reasoning": True, **seeing}


def _opencode(home: Path, model: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{model}/v1", "apiKey": "none"},
        "models": {name: _opencode_model(name) for name in ("scripted", "second")},
    }
    settings = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
        "permission": {"edit": "ask", "bash": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), **{f"OPENCODE_DISABLE_{name}": "true" for name in quiet}}


OPENCODE = Agent(
    name="opencode",
    programs=("opencode-linux-x64/bin/opencode", "opencode-linux-arm64/bin/opencode", ".bin/opencode"),
    arguments=("acp",),
    configure=_opencode,
    tools={
        "shell": lambda command: ("bash", {"command": command, "description": "Run a command"}),
        "edit": lambda path, old, new: ("edit", {"filePath": path, "oldString": old, "newString": new}),
        "create": lambda path, text: ("write", {"filePath": path, "content": text}),
        "read": lambda path: ("read", {"filePath": path}),
        "plan": lambda status: ("todowrite", {"todos": _todos("content", status, priority="high")}),
    },
    scenes=(*EVERY_SCENE, "cancel-shell"),
    mode="build",
    planning="Plan mode ACTIVE",
    model="scripted/second",
    option="effort high",
    slash=("/init", "Create or update `AGENTS.md`"),
)


def _gemini(home: Path, model: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (home / ".gemini").mkdir(parents=True, exist_ok=True)
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    return {
        "GEMINI_API_KEY": "none",
        "GEMINI_MODEL": "gemini-2.5-pro",
        "GOOGLE_GEMINI_BASE_URL": model,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _gemini_later(home: Path) -> None:
    """It names files by the minute, and overwrites a conversation that it loads in the minute in which it began."""
    for path in home.glob(".gemini/tmp/*/chats/session-2*"):
        path.rename(path.with_name(path.name.replace("session-2", "session-1")))


GEMINI = Agent(
    name="gemini",
    programs=(".bin/gemini",),
    arguments=("--acp",),
    configure=_gemini,
    tools={
        "shell": lambda command: ("run_shell_command", {"command": command, "description": "Run a command"}),
        "edit": lambda path, old, new: (
            "replace",
            {"file_path": path, "old_string": old, "new_string": new, "instruction": "Change the line."},
        ),
        "create": lambda path, text: ("write_file", {"file_path": path, "content": text}),
        "read": lambda path: ("read_file", {"file_path": path}),
        "plan": lambda status: ("write_todos", {"todos": _todos("description", status)}),
    },
    scenes=EVERY_SCENE,
    planning="You are currently in Plan Mode",
    model="gemini-3.8-flash",
    slash=("/about", "Gemini CLI Info"),
    later=_gemini_later,
)


AGENTS = {agent.name: agent for agent in (COPILOT, OPENCODE, GEMINI)}
