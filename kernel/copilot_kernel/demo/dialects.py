"""What an agent says that was written from another description of the protocol than the specification; pure.

`000` asks by title and description, and has plans of steps; `001` has other names in tool calls, a plan inside `plan`,
and gives the whole answer again as `messages`. Both are what such an agent would send and expect, no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .protocol import Json
from .switches import Switches

UNHEARD_OF = frozenset(
    {"usage_update", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update"}
)
"""Updates that neither description has."""


def dialect(switches: Switches) -> Dialect:
    """The one that the switches ask for."""
    return {"000": Described, "001": Listed}.get(switches.get("dialect", ""), Dialect)(switches)


class Dialect:
    """The specification's own."""

    repeats = False
    """The prompt's answer has all messages again."""

    def __init__(self, switches: Switches) -> None:
        self.streams = "unstreamed" not in switches
        self._flat = "flat-answers" in switches

    def initialized(self, answer: Json) -> Json:
        """The answer to `initialize`."""
        return answer

    def session(self, answer: Json) -> Json | None:
        """The answer to `session/new`, `load` and `resume`."""
        return answer

    def update(self, update: Any) -> Any:
        """The same in this dialect; None where it has no words for it."""
        return update

    def question(self, params: Json) -> Json:
        """The parameters of a permission request."""
        return params

    def answered(self, answer: Any) -> Any:
        """What was answered to that, in the specification's form; an answer that is not understood is None."""
        return _flat(answer) if self._flat else answer

    @property
    def tells(self) -> bool:
        """Whether the agent says what it was answered to a question."""
        return self._flat

    def ended(self, answer: Json, session: str, said: str) -> Json:
        """The answer to `session/prompt`."""
        return answer


class Described(Dialect):
    """`000`."""

    def initialized(self, answer: Json) -> Json:
        can = answer["agentCapabilities"]
        takes = can["promptCapabilities"]
        prompt = {"text": True, "images": takes["image"], "audio": takes["audio"]}
        prompt["embeddedContext"] = takes["embeddedContext"]
        return {**answer, "agentCapabilities": {**_loads(can), "promptCapabilities": prompt, "sessionCapabilities": {}}}

    def session(self, answer: Json) -> Json | None:
        return _only_id(answer) or None

    def update(self, update: Any) -> Any:
        match update:
            case {"sessionUpdate": "plan", "entries": entries}:
                steps = [{"description": entry["content"], "status": entry["status"]} for entry in entries]
                return {"sessionUpdate": "plan", "steps": steps}
        return _known(update)

    def question(self, params: Json) -> Json:
        call = params["toolCall"]
        return {"title": call.get("title"), "description": _description(call), "options": params["options"]}

    def answered(self, answer: Any) -> Any:
        match answer:
            case {"selected": {"optionId": id}}:
                return {"outcome": {"outcome": "selected", "optionId": id}}
            case {"cancelled": True}:
                return {"outcome": {"outcome": "cancelled"}}
        return None

    @property
    def tells(self) -> bool:
        return True


class Listed(Dialect):
    """`001`; takes both forms of the answer that its description has, unless only the flat one is wanted."""

    repeats = True

    def initialized(self, answer: Json) -> Json:
        can = answer["agentCapabilities"]
        content = ["text", *(name for name, taken in can["promptCapabilities"].items() if taken)]
        mcp = {"httpTransport": can["mcpCapabilities"]["http"], "sseTransport": can["mcpCapabilities"]["sse"]}
        return {**answer, "agentCapabilities": {**_loads(can), "promptCapabilities": {"content": content}, "mcp": mcp}}

    def session(self, answer: Json) -> Json | None:
        return _only_id(answer)

    def update(self, update: Any) -> Any:
        match update:
            case {"sessionUpdate": "plan", "entries": entries}:
                steps = [entry["content"] for entry in entries]
                return {"plan": {"description": "The demo agent's plan", "steps": steps}}
            case {"sessionUpdate": "tool_call" | "tool_call_update"}:
                return _call(update)
        return _known(update)

    def question(self, params: Json) -> Json:
        call = {name: value for name, value in params["toolCall"].items() if name in ("toolCallId", "title", "kind")}
        return {**params, "toolCall": call}

    def answered(self, answer: Any) -> Any:
        flat = _flat(answer)
        return flat if flat is not None or self._flat else answer

    @property
    def tells(self) -> bool:
        return True

    def ended(self, answer: Json, session: str, said: str) -> Json:
        message = {"role": "assistant", "content": [{"type": "text", "text": said}]}
        return {"sessionId": session, "messages": [message] if said else [], **answer}


def _loads(can: Mapping[str, Any]) -> Json:
    return {"loadSession": can["loadSession"]}


def _only_id(answer: Mapping[str, Any]) -> Json:
    return {"sessionId": answer["sessionId"]} if "sessionId" in answer else {}


def _known(update: Any) -> Any:
    return None if isinstance(update, dict) and update.get("sessionUpdate") in UNHEARD_OF else update


def _flat(answer: Any) -> Any:
    match answer:
        case {"outcome": "selected", "optionId": id}:
            return {"outcome": {"outcome": "selected", "optionId": id}}
        case {"outcome": "cancelled"}:
            return {"outcome": {"outcome": "cancelled"}}
    return None


def _description(call: Mapping[str, Any]) -> str:
    given = call.get("rawInput") or {}
    return f"Run: {given['command']}" if "command" in given else str(given.get("diff") or call.get("title"))


CALL_NAMES = {"sessionUpdate": "kind", "kind": "toolKind", "rawInput": "input", "content": "output"}
CALL_MEMBERS = frozenset({"kind", "toolCallId", "title", "toolKind", "status", "input", "output"})
DIFF_NAMES = {"oldText": "oldContent", "newText": "newContent"}


def _call(update: Mapping[str, Any]) -> Json:
    call = _renamed(update, CALL_NAMES)
    result = update.get("rawOutput") or {}
    if "output" not in call and "content" in result:
        call["output"] = [{"type": "content", "content": {"type": "text", "text": result["content"]}}]
    if "output" in call:
        call["output"] = [_renamed(block, DIFF_NAMES) for block in call["output"]]
    return {name: value for name, value in call.items() if name in CALL_MEMBERS}


def _renamed(members: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in members.items()}
