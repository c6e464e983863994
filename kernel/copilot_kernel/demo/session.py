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
"""How a text begins that is no words of the user's."""

REPLAYED = frozenset({"agent_message_chunk", "tool_call", "tool_call_update"})
"""The updates that a loaded session shows again; neither thoughts nor plans, as with Copilot."""
_SAID = re.compile(r'^<(message\S*) role="user"[^\n]*>\n(.*?)\n</\1>', re.MULTILINE | re.DOTALL)
"""What a user says in a conversation that comes in one prompt, as those of the OpenAI-compatible API do."""
_ID = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True)
class Choice:
    """A config option of a session: a choice of one of `values`, which maps ids to names."""

    id: str
    name: str
    category: str
    values: Mapping[str, str]

    @property
    def default(self) -> Any:
        return next(iter(self.values))

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.values

    def described(self, current: Any) -> Json:
        """The option as the protocol has it, set to `current`."""
        head = {"id": self.id, "name": self.name, "category": self.category}
        return {**head, "type": "select", "currentValue": current, "options": self.options()}

    def options(self) -> list[Json]:
        return [{"value": value, "name": name} for value, name in self.values.items()]


Menu = Callable[[Mapping[str, Any]], Sequence[Choice]]
"""What a session offers to choose, given what is chosen so far. The first choice is the mode."""

CHOICES = (
    Choice("mode", "Mode", "mode", {"agent": "Agent: does what you ask", "plan": "Plan: thinks first"}),
    Choice("model", "Model", "model", {"scripted": "Scripted", "scripted-large": "Scripted, large"}),
)


def usual_menu(chosen: Mapping[str, Any]) -> Sequence[Choice]:
    """The demo agent's own menu: a mode and a model."""
    return CHOICES


@dataclass(slots=True)
class Session:
    """An open session. `chosen` maps the ids of the menu's choices to values; `allowed` is what is always allowed."""

    id: str
    cwd: Path
    menu: Menu
    chosen: Json = field(default_factory=dict)
    servers: Sequence[Any] = ()
    prompts: list[str] = field(default_factory=list)
    calls: Iterator[int] = field(default_factory=lambda: count(1))
    allowed: set[tuple[str, str]] = field(default_factory=set)
    uses_new_project: bool = True
    """The scratch project has to be made, or reset, before the first scene that uses it."""
    _journal: Path | None = None

    def __post_init__(self) -> None:
        self.chosen = self._valid(self.chosen)

    @classmethod
    def restored(cls, past: Past, cwd: Path, menu: Menu) -> Session:
        """A session that continues `past`."""
        session = cls(past.id, cwd, menu, past.newest("chosen", {}), prompts=past.prompts)
        if session.prompts:
            session.calls = count(1 + sum(update["sessionUpdate"] == "tool_call" for update in past.replay()))
            session.uses_new_project = not (cwd / FOLDER).exists()
            session._open_journal()
        return session

    # -- what is chosen -------------------------------------------------------------------------------------------

    def choose(self, id: Any, value: Any) -> list[Json]:
        """Set an option; the updates that report it. Raises ValueError."""
        choice = next((choice for choice in self.menu(self.chosen) if choice.id == id), None)
        if choice is None:
            raise ValueError(f"demo agent: there is no option {id!r}")
        if not choice.accepts(value):
            raise ValueError(f"demo agent: {id} cannot be {value!r}")
        self.chosen = self._valid({**self.chosen, choice.id: value})
        self.record(chosen=self.chosen)
        changed: Json = {"sessionUpdate": "config_option_update", "configOptions": self.config_options()}
        return [changed, self.mode_update()] if id == "mode" else [changed]

    def config_options(self) -> list[Json]:
        return [choice.described(self.chosen[choice.id]) for choice in self.menu(self.chosen)]

    def mode_update(self) -> Json:
        return {"sessionUpdate": "current_mode_update", "currentModeId": self.chosen["mode"]}

    def described(self) -> Json:
        """What the answers to `session/new`, `session/load` and `session/resume` say of it."""
        modes = [{"id": id, "name": name} for id, name in self.menu(self.chosen)[0].values.items()]
        return {
            "modes": {"currentModeId": self.chosen["mode"], "availableModes": modes},
            "configOptions": self.config_options(),
        }

    def _valid(self, chosen: Mapping[str, Any]) -> Json:
        """`chosen`, with defaults for what is missing or no longer offered."""
        valid: Json = {}
        for choice in self.menu(chosen):
            value = chosen.get(choice.id)
            valid[choice.id] = value if choice.accepts(value) else choice.default
        return valid

    # -- the journal ----------------------------------------------------------------------------------------------

    def add_prompt(self, blocks: Sequence[Any]) -> None:
        if not self.prompts:
            self._open_journal()
        self.prompts.append("\n".join(texts(blocks)))
        self.record(prompt=blocks)

    def _open_journal(self) -> None:
        self._journal = _path(self.id)
        with suppress(OSError):
            self._journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.record(session=self.id, cwd=str(self.cwd), chosen=self.chosen)

    def record(self, **event: Any) -> None:
        """Write to the journal, if there is one. Where nothing can be written (a read-only home), nothing is kept.

        The line break comes first: the line before this may have been cut off.
        """
        if self._journal is None:
            return
        line = "\n" + json.dumps({"at": datetime.now(UTC).isoformat(), **event})
        try:
            with open(self._journal, "a", opener=_open_private) as journal:
                journal.write(line)
        except OSError as error:
            self.close()
            sys.stderr.write(UNKEPT.format(error))

    def close(self) -> None:
        """Keep nothing any more."""
        self._journal = None


def texts(blocks: Sequence[Any]) -> list[str]:
    """The texts among a prompt's content blocks, without what the client says of itself; of a conversation, its end."""
    found = (str(each.get("text", "")) for each in blocks if isinstance(each, dict) and each.get("type") == "text")
    return [(_SAID.findall(text) or [("", text)])[-1][1] for text in found if not text.startswith(FROM_CLIENT)]


# -- saved sessions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Past:
    """A saved session; `records` are the lines of its journal."""

    id: str
    records: Sequence[Json] = ()

    @property
    def prompts(self) -> list[str]:
        return ["\n".join(texts(record["prompt"])) for record in self.records if "prompt" in record]

    def newest(self, name: str, default: Any = None) -> Any:
        """What the last record with that member says."""
        return next((record[name] for record in reversed(self.records) if name in record), default)

    def replay(self) -> Iterator[Json]:
        """The updates that show the conversation again."""
        for record in self.records:
            for block in record.get("prompt", ()):
                if block["type"] not in ("image", "audio"):
                    yield {"sessionUpdate": "user_message_chunk", "content": block}
            update = record.get("update")
            if isinstance(update, dict) and update.get("sessionUpdate") in REPLAYED:
                yield update


def title(prompts: Sequence[str]) -> str:
    """What a session with these prompts is called."""
    first_line = prompts[0].strip().partition("\n")[0]
    return f"Demo: {first_line[:50]}"


def load(id: Any) -> Past | None:
    """The saved session `id`; None if there is none with a prompt."""
    if not isinstance(id, str) or not _ID.fullmatch(id):
        return None
    with suppress(FileNotFoundError, NotADirectoryError), _path(id).open("rb") as lines:
        past = Past(id, list(_records(lines)))
        return past if past.prompts else None
    return None


def list_saved() -> list[Json]:
    """All saved sessions, the newest first, as `session/list` describes them."""
    saved = filter(None, (load(path.stem) for path in (home() / "sessions").glob("*.jsonl")))
    found = [
        {
            "sessionId": past.id,
            "cwd": past.newest("cwd", ""),
            "title": title(past.prompts),
            # Of the last prompt: what follows its answer must not change the order between two pages.
            "updatedAt": next(record["at"] for record in reversed(past.records) if "prompt" in record),
        }
        for past in saved
    ]
    return sorted(found, key=lambda session: (session["updatedAt"], session["sessionId"]), reverse=True)


def delete(id: Any) -> None:
    """Delete the saved session `id`, if there is one."""
    if isinstance(id, str) and _ID.fullmatch(id):
        with suppress(FileNotFoundError, NotADirectoryError):
            _path(id).unlink()


def home() -> Path:
    """Where the demo agent keeps sessions: `COPILOT_KERNEL_DEMO_HOME`, or a folder in the user's state folder."""
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
