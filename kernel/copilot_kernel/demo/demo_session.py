"""The demo agent's sessions: what one knows while it is open, and the journal that outlives it.

A journal is a JSONL file with a line for each thing that happens, written at once, so that `kill -9` loses nothing.
A session has none before its first prompt.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from .project import FOLDER

Json = dict[str, Any]

UNKEPT = "demo agent: sessions are not kept: {}\n"
FROM_CLIENT = "[Copilot Kernel]"
"""Beginning of a text that is no words of the user's."""

REPLAYED = frozenset({"agent_message_chunk", "tool_call", "tool_call_update"})
"""The updates that a loaded session shows again; neither thoughts nor plans, as with Copilot."""
_SAID = re.compile(r'^<(message\S*) role="user"[^\n]*>\n(.*?)\n</\1>', re.MULTILINE | re.DOTALL)
"""Words of the user in a conversation that comes in one prompt, as those of the OpenAI-compatible API do."""
_ID = re.compile(r"[0-9a-f-]{36}")


Menu = Callable[[Mapping[str, Any]], Sequence[Json]]
"""Choices of a session, given what is chosen so far: config options without their values, the mode first."""

MENU: Sequence[Json] = (
    {
        "id": "mode",
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "options": [
            {"value": "agent", "name": "Agent: does what you ask"},
            {"value": "plan", "name": "Plan: thinks first"},
        ],
    },
    {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "options": [
            {"value": "scripted", "name": "Scripted"},
            {"value": "scripted-large", "name": "Scripted, large"},
        ],
    },
)


def values(option: Json) -> list[Any]:
    """Values of the option, the default first."""
    groups = [each.get("options", [each]) for each in option.get("options", ())]
    return [each["value"] for group in groups for each in group] or [False, True]


@dataclass(slots=True)
class DemoSession:
    """A session. `records` are the lines of its journal, `allowed` is what is always allowed.

    `chosen` maps the ids of the menu's options to values. `is_open`: more is kept.
    """

    id: str
    cwd: Path
    menu: Menu
    records: list[Json] = field(default_factory=list)
    servers: Sequence[Any] = ()
    allowed: set[tuple[str, str]] = field(default_factory=set)
    is_open: bool = True
    uses_new_project: bool = True
    """The scratch project has to be made, or reset, before the first scene that uses it."""
    chosen: Json = field(init=False)
    prompts: list[str] = field(init=False)
    calls: Iterator[int] = field(init=False)

    def __post_init__(self) -> None:
        self.chosen = self._valid(newest(self.records, "chosen", {}))
        self.prompts = ["\n".join(texts(record["prompt"])) for record in self.records if "prompt" in record]
        self.calls = count(1 + sum(update["sessionUpdate"] == "tool_call" for update in self.replay()))
        if self.prompts:
            self.uses_new_project = not (self.cwd / FOLDER).exists()
            self._begin_journal()

    def replay(self) -> Iterator[Json]:
        """The updates that show the conversation again."""
        for record in self.records:
            for block in record.get("prompt", ()):
                if block["type"] not in ("image", "audio"):
                    yield {"sessionUpdate": "user_message_chunk", "content": block}
            update = record.get("update")
            if isinstance(update, dict) and update.get("sessionUpdate") in REPLAYED:
                yield update

    # -- what is chosen -------------------------------------------------------------------------------------------

    def choose(self, id: Any, value: Any) -> list[Json]:
        """Set an option; the updates that report it. Raises ValueError."""
        option = next((option for option in self.menu(self.chosen) if option["id"] == id), None)
        if option is None:
            raise ValueError(f"demo agent: there is no option {id!r}")
        if not _accepts(option, value):
            raise ValueError(f"demo agent: {id} cannot be {value!r}")
        self.chosen = self._valid({**self.chosen, id: value})
        self.record(chosen=self.chosen)
        changed: Json = {"sessionUpdate": "config_option_update", "configOptions": self.config_options()}
        return [changed, self.mode_update()] if id == "mode" else [changed]

    def config_options(self) -> list[Json]:
        return [{**option, "currentValue": self.chosen[option["id"]]} for option in self.menu(self.chosen)]

    def mode_update(self) -> Json:
        return {"sessionUpdate": "current_mode_update", "currentModeId": self.chosen["mode"]}

    def described(self) -> Json:
        """Return what the answers to `session/new`, `session/load` and `session/resume` say of it."""
        modes = [{"id": each["value"], "name": each["name"]} for each in self.menu(self.chosen)[0]["options"]]
        return {
            "modes": {"currentModeId": self.chosen["mode"], "availableModes": modes},
            "configOptions": self.config_options(),
        }

    def _valid(self, chosen: Mapping[str, Any]) -> Json:
        """`chosen`, with defaults for what is missing or no longer offered."""
        found = ((option, chosen.get(option["id"])) for option in self.menu(chosen))
        return {option["id"]: value if _accepts(option, value) else values(option)[0] for option, value in found}

    # -- the journal ----------------------------------------------------------------------------------------------

    def add_prompt(self, blocks: Sequence[Any]) -> None:
        """Begin a turn; the journal begins with the first."""
        self.prompts.append("\n".join(texts(blocks)))
        if len(self.prompts) == 1:
            self._begin_journal()
        self.record(prompt=blocks)

    def _begin_journal(self) -> None:
        with suppress(OSError):
            _path(self.id).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.record(session=self.id, cwd=str(self.cwd), chosen=self.chosen)

    def record(self, **event: Any) -> None:
        """Write to the journal, if it has begun. Where nothing can be written (a read-only home), nothing is kept.

        The line break comes first: the line before this may have been cut off.
        """
        if not self.prompts or not self.is_open:
            return
        self.records.append({"at": datetime.now(UTC).isoformat(), **event})
        try:
            with open(_path(self.id), "a", opener=_open_private) as journal:
                journal.write("\n" + json.dumps(self.records[-1]))
        except OSError as error:
            self.is_open = False
            sys.stderr.write(UNKEPT.format(error))


def _accepts(option: Json, value: Any) -> bool:
    """Return True if `value` is one of the option's, and of their type: 1 is not true."""
    return any(value == each and type(value) is type(each) for each in values(option))


def texts(blocks: Sequence[Any]) -> list[str]:
    """The texts among a prompt's content blocks, without what the client says of itself; of a conversation, its end."""
    found = (str(each.get("text", "")) for each in blocks if isinstance(each, dict) and each.get("type") == "text")
    return [(_SAID.findall(text) or [("", text)])[-1][1] for text in found if not text.startswith(FROM_CLIENT)]


# -- saved sessions -------------------------------------------------------------------------------------------------


def load(id: Any) -> list[Json]:
    """The records of the saved session `id`; empty if there is none with a prompt."""
    if isinstance(id, str) and _ID.fullmatch(id):
        with suppress(FileNotFoundError, NotADirectoryError), _path(id).open("rb") as lines:
            records = list(_records(lines))
            return records if newest(records, "prompt") else []
    return []


def newest(records: Sequence[Json], name: str, default: Any = None) -> Any:
    """Return what the last record with that member says."""
    return next((record[name] for record in reversed(records) if name in record), default)


def list_saved() -> list[Json]:
    """All saved sessions, the newest first, as `session/list` describes them."""
    saved = ((path.stem, load(path.stem)) for path in (home() / "sessions").glob("*.jsonl"))
    found = [
        {
            "sessionId": id,
            "cwd": newest(records, "cwd", ""),
            "title": title(next(record["prompt"] for record in records if "prompt" in record)),
            # Of the last prompt: what follows its answer must not change the order between two pages.
            "updatedAt": next(record["at"] for record in reversed(records) if "prompt" in record),
        }
        for id, records in saved
        if records
    ]
    return sorted(found, key=lambda session: (session["updatedAt"], session["sessionId"]), reverse=True)


def title(blocks: Sequence[Any]) -> str:
    """Return the title of a session with this first prompt."""
    first_line = "\n".join(texts(blocks)).strip().partition("\n")[0]
    return f"Demo: {first_line[:50]}"


def delete(id: Any) -> None:
    """Delete the saved session `id`, if there is one."""
    if isinstance(id, str) and _ID.fullmatch(id):
        with suppress(FileNotFoundError, NotADirectoryError):
            _path(id).unlink()


def home() -> Path:
    """Return the folder of the demo agent's sessions: `COPILOT_KERNEL_DEMO_HOME`, or one in the user's state folder."""
    if chosen := os.environ.get("COPILOT_KERNEL_DEMO_HOME"):
        return Path(chosen)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "copilot-kernel-demo"


def _records(lines: Iterable[bytes]) -> Iterator[Json]:
    for line in lines:
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict) and "at" in record:
                yield record


def _path(id: str) -> Path:
    return home() / "sessions" / f"{id}.jsonl"


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
