"""The answers to `initialize`, `session/new` and `session/prompt` (spec: initialization, session-setup, prompt-turn).

What an answer leaves out is not supported.
"""

from __future__ import annotations

from typing import Any

from .aliases import spelled, spelled_prompt_capabilities
from .lenient import items, members, objects, text, words
from .messages import AgentInfo, AuthMethod, Json, Mode, PromptResult, SessionState
from .options import with_options


def parse_initialize(raw: Any) -> AgentInfo:
    """The agent's answer to `initialize`."""
    raw = members(raw)
    info = members(raw.get("agentInfo"))
    can = spelled("agent capabilities", members(raw.get("agentCapabilities")))
    name, title, version = (words(info.get(key)) for key in ("name", "title", "version"))
    return AgentInfo(
        protocol_version=_version(raw.get("protocolVersion")),
        name=name,
        title=title,
        version=version,
        load_session=_offered(can.get("loadSession")),
        prompt=_supported(spelled_prompt_capabilities(can.get("promptCapabilities"))) & _PROMPT,
        mcp=_supported(spelled("mcp capabilities", members(can.get("mcpCapabilities")))),
        session=_supported(members(can.get("sessionCapabilities"))),
        auth_methods=tuple(_auth_method(method) for method in objects(raw.get("authMethods"))),
        raw=raw,
    )


def parse_session(raw: Any) -> SessionState:
    """The answer to `session/new`, or to `session/load`, which may be null and names no session."""
    raw = members(raw)
    modes, models = spelled("mode", members(raw.get("modes"))), members(raw.get("models"))
    state = SessionState(
        id=raw["sessionId"] if isinstance(raw.get("sessionId"), str) else "",
        mode=text(modes.get("currentModeId")) or None,
        modes=tuple(_mode(mode) for mode in objects(modes.get("availableModes"))),
        model=text(models.get("currentModelId")) or None,
        raw=raw,
    )
    return with_options(state, objects(raw.get("configOptions")))


def parse_prompt_result(raw: Any) -> PromptResult:
    """The answer to `session/prompt`; without a stop reason it counts as an ordinary end."""
    raw = members(raw)
    usage = raw.get("usage")
    return PromptResult(
        stop_reason=words(raw.get("stopReason")) or "end_turn",
        usage=usage if isinstance(usage, dict) else None,
        messages=tuple(items(raw.get("messages"))),
        raw=raw,
    )


_PROMPT = frozenset({"image", "audio", "embeddedContext"})


def _version(raw: Any) -> Any:
    """The number 1 for every way to write it, except `true`, which Python takes for 1."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 10:
        return int(raw)
    return raw


def _offered(raw: Any) -> bool:
    """Newer versions of the protocol mark a capability by an object, which may be empty."""
    return raw is True or isinstance(raw, dict)


def _supported(capabilities: Json) -> frozenset[str]:
    return frozenset(name for name, value in capabilities.items() if _offered(value) and not name.startswith("_"))


def _mode(raw: Json) -> Mode:
    return Mode(words(raw.get("id")), words(raw.get("name")), words(raw.get("description")))


def _auth_method(raw: Json) -> AuthMethod:
    """`terminal-auth` in `_meta` names a whole command; type `terminal` names arguments for the agent's own command."""
    terminal = members(members(raw.get("_meta")).get("terminal-auth"))
    command = (terminal.get("command"), *items(terminal.get("args")))
    id_, name, description, type_ = (words(raw.get(key)) for key in ("id", "name", "description", "type"))
    return AuthMethod(
        id=id_,
        name=name or id_,
        description=description,
        type=type_ or "agent",
        command=command if all(isinstance(word, str) and word for word in command) else (),
        raw=raw,
    )
