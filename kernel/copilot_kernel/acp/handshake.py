"""The answers to `initialize`, `session/…` and `session/prompt` (spec: initialization, session-setup, prompt-turn).

What an answer leaves out is not supported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .aliases import spelled, spelled_prompt_capabilities
from .blocks import parse_block
from .lenient import items, members, objects, text, words
from .messages import AgentInfo, AuthMethod, Chunk, Json, Mode, PromptResult, SessionInfo, SessionState, Text
from .options import read_options, with_options


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
        auth=_supported(members(can.get("auth"))),
        auth_methods=tuple(_auth_method(method) for method in objects(raw.get("authMethods"))),
        raw=raw,
    )


def parse_session(raw: Any, session_id: str = "") -> SessionState:
    """The answer to `session/new`, or to `session/load`, which may be null and names no session."""
    raw = members(raw)
    modes, models = spelled("mode", members(raw.get("modes"))), members(raw.get("models"))
    state = SessionState(
        id=session_id or (raw["sessionId"] if isinstance(raw.get("sessionId"), str) else ""),
        mode=text(modes.get("currentModeId")) or None,
        modes=tuple(_mode(mode) for mode in objects(modes.get("availableModes"))),
        model=text(models.get("currentModelId")) or None,
        models=tuple(_model(model) for model in objects(models.get("availableModels"))),
        raw=raw,
    )
    return with_options(state, read_options(raw.get("configOptions")))


def parse_sessions(raw: Any) -> tuple[tuple[SessionInfo, ...], str]:
    """One page of `session/list`, and the cursor of the next one; empty at the end (spec: session-list)."""
    raw = members(raw)
    found = (_session(session) for session in objects(raw.get("sessions")))
    return tuple(session for session in found if session.id), words(raw.get("nextCursor"))


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


def with_commands(info: AgentInfo, argv: tuple[str, ...]) -> AgentInfo:
    """`info` with the whole command of each sign-in in a terminal: that of the agent, `argv`, with more arguments."""
    return replace(info, auth_methods=tuple(_with_command(method, argv) for method in info.auth_methods))


def with_sign_in(info: AgentInfo, *, is_copilot: bool) -> AgentInfo:
    """`info` with the documented ways to sign in to GitHub Copilot CLI, if it names none itself."""
    if info.auth_methods or not (is_copilot or info.is_copilot):
        return info
    return replace(info, auth_methods=_COPILOT)


_COPILOT = (
    AuthMethod("copilot-login", "GitHub Copilot CLI", command=("copilot", "login")),
    AuthMethod("gh-auth-login", "GitHub CLI", command=("gh", "auth", "login")),
)


def _with_command(method: AuthMethod, argv: tuple[str, ...]) -> AuthMethod:
    if method.type != "terminal" or method.command or not argv:
        return method
    env = members(method.raw.get("env")).items()
    variables = tuple(f"{name}={value}" for name, value in env if isinstance(value, str))
    arguments = tuple(word for word in items(method.raw.get("args")) if isinstance(word, str))
    return replace(method, command=(*(("env", *variables) if variables else ()), *argv, *arguments))


def parse_messages(raw: Iterable[Any]) -> Iterator[Chunk]:
    """What a dialect says with the end of the turn: texts, blocks, or `{role, content}` with one of these or a list."""
    for number, message in enumerate(raw):
        if members(message).get("role") != "user":
            content = members(message).get("content", message) if "type" not in members(message) else message
            for block in content if isinstance(content, list) else [content]:
                yield Chunk("agent", Text(block) if isinstance(block, str) else parse_block(block), f"result {number}")


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


def _model(raw: Json) -> Mode:
    return Mode(words(raw.get("modelId")), words(raw.get("name")), words(raw.get("description")))


def _session(raw: Json) -> SessionInfo:
    id = raw["sessionId"] if isinstance(raw.get("sessionId"), str) else ""
    cwd, title, updated_at = (words(raw.get(name)) for name in ("cwd", "title", "updatedAt"))
    return SessionInfo(id, cwd, title, updated_at, raw)


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
