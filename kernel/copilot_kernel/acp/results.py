"""Read the results of our requests, and keep what a session is set to: its options, mode and model.

Takes any JSON at all and never raises; what a result leaves out is not supported. Spec: initialization, session-setup,
session-list, prompt-turn, session-config-options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from . import dialects
from .lenient import as_dict, as_dicts, as_list, as_str, opt_str
from .messages import AgentInfo, AuthMethod, Json, Mode, PromptResult, SessionInfo, SessionState
from .parse import parse_update, read_options

_PROMPT_CONTENT = frozenset({"image", "audio", "embeddedContext"})
_COPILOT_SIGN_IN = (
    AuthMethod("copilot-login", "GitHub Copilot CLI", command=("copilot", "login")),
    AuthMethod("gh-auth-login", "GitHub CLI", command=("gh", "auth", "login")),
)


# -- initialize ---------------------------------------------------------------------------------------------------


def parse_initialize(raw: Any, argv: Sequence[str] = (), *, is_copilot: bool = False) -> AgentInfo:
    """Read the result of `initialize`; `argv` is the agent's own command, if it was started.

    GitHub Copilot CLI, which may name no way to sign in, gets the documented ones.
    """
    raw = dialects.initialize_result(raw)
    info, can = as_dict(raw.get("agentInfo")), as_dict(raw.get("agentCapabilities"))
    methods = tuple(_auth_method(method, argv) for method in as_dicts(raw.get("authMethods")))
    agent = AgentInfo(
        protocol_version=_version(raw.get("protocolVersion")),
        name=as_str(info.get("name")),
        title=as_str(info.get("title")),
        version=as_str(info.get("version")),
        load_session=_is_offered(can.get("loadSession")),
        prompt=_supported(as_dict(can.get("promptCapabilities"))) & _PROMPT_CONTENT,
        mcp=_supported(as_dict(can.get("mcpCapabilities"))),
        session=_supported(as_dict(can.get("sessionCapabilities"))),
        auth=_supported(as_dict(can.get("auth"))),
        auth_methods=methods,
    )
    if not methods and (is_copilot or agent.is_copilot):
        return replace(agent, auth_methods=_COPILOT_SIGN_IN)
    return agent


def _version(raw: Any) -> Any:
    """The number 1 in any spelling, except `true`, which Python takes for 1."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 10:
        return int(raw)
    return raw


def _is_offered(raw: Any) -> bool:
    """Newer versions of the protocol mark a capability by an object, which may be empty."""
    return raw is True or isinstance(raw, dict)


def _supported(capabilities: Json) -> frozenset[str]:
    return frozenset(name for name, value in capabilities.items() if _is_offered(value) and not name.startswith("_"))


def _auth_method(raw: Json, argv: Sequence[str]) -> AuthMethod:
    """`terminal-auth` in `_meta` names a whole command; type `terminal` names arguments for the agent's own command."""
    terminal = as_dict(as_dict(raw.get("_meta")).get("terminal-auth"))
    command = (terminal.get("command"), *as_list(terminal.get("args")))
    id_, name, description, type_ = (as_str(raw.get(key)) for key in ("id", "name", "description", "type"))
    if not all(isinstance(word, str) and word for word in command):
        command = _own_command(raw, argv) if type_ == "terminal" and argv else ()
    return AuthMethod(id_, name or id_, description, type_ or "agent", command)


def _own_command(raw: Json, argv: Sequence[str]) -> tuple[str, ...]:
    env = as_dict(raw.get("env")).items()
    variables = [f"{name}={value}" for name, value in env if isinstance(value, str)]
    arguments = (word for word in as_list(raw.get("args")) if isinstance(word, str))
    return (*(("env", *variables) if variables else ()), *argv, *arguments)


# -- sessions and turns -------------------------------------------------------------------------------------------


def parse_session(raw: Any, session_id: str = "") -> SessionState:
    """Read the result of `session/new`, or of `session/load`, which may be null and names no session."""
    given = dialects.session_result(raw)
    modes, models = as_dict(given.get("modes")), as_dict(given.get("models"))
    state = SessionState(
        id=session_id or opt_str(given.get("sessionId")) or "",
        mode=opt_str(modes.get("currentModeId")) or None,
        modes=tuple(_mode(mode, "id") for mode in as_dicts(modes.get("availableModes"))),
        model=opt_str(models.get("currentModelId")) or None,
        models=tuple(_mode(model, "modelId") for model in as_dicts(models.get("availableModels"))),
        raw=as_dict(raw),
    )
    return with_options(state, read_options(given.get("configOptions")))


def parse_sessions(raw: Any) -> tuple[tuple[SessionInfo, ...], str]:
    """Read one page of `session/list`: its sessions, and the cursor of the next page, empty at the end."""
    raw = as_dict(raw)
    sessions = (_session(session) for session in as_dicts(raw.get("sessions")))
    return tuple(session for session in sessions if session.id), as_str(raw.get("nextCursor"))


def parse_prompt_result(raw: Any) -> PromptResult:
    """Read the result of `session/prompt`; without a stop reason it counts as an ordinary end."""
    raw = as_dict(raw)
    usage = raw.get("usage")
    return PromptResult(
        stop_reason=as_str(raw.get("stopReason")) or "end_turn",
        usage=usage if isinstance(usage, dict) else None,
        messages=tuple(map(parse_update, dialects.messages(raw))),
    )


def _mode(raw: Json, id_name: str) -> Mode:
    return Mode(as_str(raw.get(id_name)), as_str(raw.get("name")), as_str(raw.get("description")))


def _session(raw: Json) -> SessionInfo:
    session_id = raw["sessionId"] if isinstance(raw.get("sessionId"), str) else ""
    cwd, title = (as_str(raw.get(name)) for name in ("cwd", "title"))
    return SessionInfo(session_id, cwd, title, _time(raw.get("updatedAt")))


def _time(raw: Any) -> str:
    """A time in ISO 8601. It may be a number of seconds, or of milliseconds."""
    if not isinstance(raw, int | float) or not 0 < raw < 1e14:
        return as_str(raw)
    return datetime.fromtimestamp(raw / 1000 if raw > 1e11 else raw, UTC).isoformat(timespec="milliseconds")


# -- options ------------------------------------------------------------------------------------------------------


def with_options(state: SessionState, options: tuple[Json, ...]) -> SessionState:
    """`state` with this whole list of options, and with the modes and models that they name."""
    mode, model = option_of(options, "mode"), option_of(options, "model")
    return replace(
        state,
        options=options,
        mode=_current(mode) or state.mode,
        modes=tuple(choices(mode)) or state.modes,
        model=_current(model) or state.model,
        models=tuple(choices(model)) or state.models,
    )


def with_mode(state: SessionState, mode_id: str) -> SessionState:
    """`state` in another mode; an option of category `mode` follows.

    If an agent gives no list of its modes, each mode that it mentions can be chosen.
    """
    mode = option_of(state.options, "mode")
    if not lists_modes(state) and mode_id not in [each.id for each in state.modes]:
        state = replace(state, modes=(*state.modes, Mode(mode_id)))
    options = tuple({**option, "currentValue": mode_id} if option is mode else option for option in state.options)
    return replace(state, mode=mode_id, options=options)


def lists_modes(state: SessionState) -> bool:
    """True if the agent gave a list of its modes; else only those are known that it mentioned."""
    return option_of(state.options, "mode") is not None or any(each.name for each in state.modes)


def option_of(options: Iterable[Json], category: str) -> Json | None:
    """The select option of a category; ids are up to the agent, so one counts only if no category is given."""
    selects = [option for option in options if option.get("type", "select") == "select"]
    by_category = (option for option in selects if option.get("category") == category)
    by_id = (option for option in selects if option.get("category") is None and option.get("id") == category)
    return next(by_category, None) or next(by_id, None)


def short_name(mode_id: str) -> str:
    """A mode's id as one word: agents use addresses such as `https://…/session-modes#plan`."""
    return re.split(r"[#/]", mode_id.rstrip("#/"))[-1] or mode_id


def choices(option: Json | None) -> Iterator[Mode]:
    """The values of a select option, which may come in groups; none for None."""
    for item in as_list((option or {}).get("options")):
        for raw in as_list(item["options"]) if "options" in as_dict(item) else [item]:
            if as_str(as_dict(raw).get("value")):
                yield _mode(raw, "value")


def _current(option: Json | None) -> str | None:
    return opt_str((option or {}).get("currentValue")) or None
