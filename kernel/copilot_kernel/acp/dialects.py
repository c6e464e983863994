"""Turn messages of other forms of the protocol into the specification's form, before they are parsed.

Older agents and published descriptions of the protocol use other names and shapes, and version 2 moves some members.
Each function takes the raw JSON of a message and returns raw JSON, and never raises. The specification's own members
always win, so a message that follows the specification comes out as it went in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .lenient import as_dict, as_dicts, as_list, as_str
from .messages import Json

_NAMES: dict[str, dict[str, str]] = {
    "update": {"kind": "sessionUpdate"},
    "tool call": {"toolKind": "kind", "input": "rawInput", "output": "content"},
    "diff": {"oldContent": "oldText", "newContent": "newText"},
    "plan": {"steps": "entries"},
    "plan entry": {"description": "content"},
    "modes": {"modeId": "currentModeId"},
    "option": {"configId": "id", "optionId": "id"},
    "prompt capabilities": {"images": "image"},
    "agent capabilities": {"mcp": "mcpCapabilities"},
    "mcp capabilities": {"httpTransport": "http", "sseTransport": "sse"},
}
"""Other names of members, by shape, and the member of the specification that each stands for."""
_SUBJECT_IDS = frozenset({"type", "toolCallId", "terminalId", "_meta"})


def _renamed(shape: str, raw: Any) -> Json:
    names, members = _NAMES[shape], as_dict(raw)
    if members.keys().isdisjoint(names):
        return members
    return {name if names.get(name, name) in members else names[name]: value for name, value in members.items()}


# -- updates ------------------------------------------------------------------------------------------------------


def update(raw: Any) -> Json:
    """The `update` of a `session/update`. Its kind may be in `kind`, and that of a plan may be missing."""
    members = as_dict(raw)
    if "sessionUpdate" not in members:
        members = _renamed("update", members)
        members = {"sessionUpdate": "plan", **members} if "plan" in members else members
    kind = members.get("sessionUpdate")
    convert = _UPDATES.get(kind) if isinstance(kind, str) else None
    return convert(members) if convert else members


def block(raw: Any) -> Any:
    """A content block. It may be a bare string, or a resource whose members are in the block itself."""
    if isinstance(raw, str):
        return {"type": "text", "text": raw}
    match as_dict(raw).get("type"):
        case "resourceLink":
            return {**raw, "type": "resource_link"}
        case "resource" if "resource" not in raw:
            return {"type": "resource", "resource": raw}
    return raw


def _tool_call(raw: Any) -> Json:
    """A tool call. Its content may be a single item, and bare blocks; a terminal's output may be in its item."""
    call = _renamed("tool call", raw)
    content = call.get("content")
    if content is None:
        return call
    items = content if isinstance(content, list) else [content]
    outputs = [text for item in items if (text := _terminal_output(item))]
    call = {**call, "content": [*map(_item, items)]}
    if outputs:
        call["_meta"] = {**as_dict(call.get("_meta")), "terminal_output": {"data": "\n".join(outputs)}}
    return call


def options(raw: Any) -> list[Json]:
    """A session's `configOptions`."""
    return [_renamed("option", option) for option in as_dicts(raw)]


def _chunk(raw: Json) -> Json:
    content = raw.get("content")
    return raw if content is None or (given := block(content)) is content else {**raw, "content": given}


def _item(raw: Any) -> Any:
    """One item of a tool call's content."""
    item = as_dict(raw)
    match item.get("type"):
        case "content" if "content" in item:
            return {**item, "content": block(item["content"])}
        case "diff":
            return _renamed("diff", item)
        case "terminal":
            return {"terminalId": "terminal", **item} if _terminal_output(item) else item
    return {"type": "content", "content": block(raw)}


def _terminal_output(raw: Any) -> str:
    """A block or several, whose `type` may be missing."""
    item = as_dict(raw)
    content = item.get("content") if item.get("type") == "terminal" else None
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, (as_str(as_dict(each).get("text")) or as_str(each) for each in blocks)))


def _plan(raw: Json) -> Json:
    """A plan. It may be in `plan`, and its entries may be bare strings."""
    if "entries" not in raw and isinstance(raw.get("plan"), dict):
        raw = {"sessionUpdate": raw.get("sessionUpdate"), **raw["plan"]}
    plan = _renamed("plan", raw)
    entries = plan.get("entries")
    return {**plan, "entries": [*map(_plan_entry, entries)]} if isinstance(entries, list) else plan


def _plan_entry(raw: Any) -> Json:
    return {"content": raw} if isinstance(raw, str) else _renamed("plan entry", raw)


_UPDATES: dict[str, Callable[[Json], Json]] = {
    **dict.fromkeys(("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"), _chunk),
    **dict.fromkeys(("tool_call", "tool_call_update"), _tool_call),
    "plan": _plan,
    "current_mode_update": partial(_renamed, "modes"),
}


# -- permission requests ------------------------------------------------------------------------------------------


def permission_request(params: Any) -> Json:
    """The parameters of `session/request_permission`.

    Version 2 has the tool call in `subject`; its words beside the call are no part of that, and go to the call's
    `_meta` as `question`. A request without a tool call is one for its title, description and subject.
    """
    given = as_dict(params)
    title, description, subject = as_str(given.get("title")), as_str(given.get("description")), given.get("subject")
    call = given.get("toolCall", as_dict(subject).get("toolCall"))
    if call is not None:
        words = "\n".join(filter(None, (title, description)))
        call = _tool_call(call)
        call = {**call, "_meta": {**as_dict(call.get("_meta")), "question": words}} if words else call
        return {**given, "toolCall": call}
    about = {name: value for name, value in as_dict(subject).items() if name not in _SUBJECT_IDS and value is not None}
    call = {"title": title}
    call |= {"kind": "execute"} if as_dict(subject).get("type") == "command" else {}
    call |= {"content": [{"type": "content", "content": block(description)}]} if description else {}
    return {**given, "toolCall": call | ({"rawInput": about} if about else {})}


def permission_answer(answer: Json, params: Any, form: str) -> Json:
    """The result of `session/request_permission` for an agent that sent `params`.

    `form` is `nested`, as specified, or by a setting `flat`. A request that lacks required members is from an agent
    that expects the outcome beside it: it gets both in one object, which no agent that follows the specification ever
    receives.
    """
    outcome = answer["outcome"]
    if form == "flat":
        return dict(outcome)
    if not {"sessionId", "toolCall"}.isdisjoint(as_dict(params)):
        return answer
    chosen = {"optionId": outcome["optionId"]} if "optionId" in outcome else None
    return {**answer, **({"selected": chosen} if chosen else {"cancelled": True})}


# -- results ------------------------------------------------------------------------------------------------------


def initialize_result(raw: Any) -> Json:
    """The result of `initialize`. Prompt capabilities may be a list of names."""
    members = as_dict(raw)
    can = _renamed("agent capabilities", members.get("agentCapabilities"))
    prompt = _renamed("prompt capabilities", can.get("promptCapabilities"))
    listed = {name: True for name in as_list(prompt.get("content")) if isinstance(name, str)}
    mcp = _renamed("mcp capabilities", can.get("mcpCapabilities"))
    return {**members, "agentCapabilities": {**can, "promptCapabilities": {**listed, **prompt}, "mcpCapabilities": mcp}}


def session_result(raw: Any) -> Json:
    """The result of `session/new`, or of `session/load`."""
    members = as_dict(raw)
    return {**members, "modes": _renamed("modes", members["modes"])} if "modes" in members else members


def messages(result: Any) -> Iterator[Json]:
    """The messages that come with the result of `session/prompt`, as updates.

    Each is a string, a block, or `{role, content}` with one of these or a list of them.
    """
    for number, message in enumerate(as_list(as_dict(result).get("messages"))):
        if as_dict(message).get("role") == "user":
            continue
        content = as_dict(message).get("content", message) if "type" not in as_dict(message) else message
        for each in content if isinstance(content, list) else [content]:
            yield {"sessionUpdate": "agent_message_chunk", "content": block(each), "messageId": f"result {number}"}
