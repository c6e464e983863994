"""Requests of OpenAI's API as types, and tokens in its terms.

Members of a request that are not listed are accepted and ignored. What an agent cannot honour is refused by name:
better an error than an answer that only looks right. In messages before the last a mark takes its place: a client sends
them with every request, and cannot take back what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from ...acp.lenient import opt_int
from ...acp.messages import Json
from ..errors import STRING_OR_ARRAY, ApiError, first_problem

MAX_KEY_CHARS = 512
_DATA_URI = r"^(?i:data:image/[a-z0-9.+-]+;base64,)(?:B{4})*(?:B{4}|B{3}=|B{2}==)$".replace("B", "[A-Za-z0-9+/]")
LEFT_OUT = "[Something that cannot be passed on was left out.]"


class StrictModel(BaseModel):
    """Strings do not count as numbers or booleans."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class ImageUrl(StrictModel):
    """`url` is a `data:` URI: nothing is fetched."""

    url: str = Field(pattern=_DATA_URI)


class TextPart(StrictModel):
    """Text; the longer types are those of OpenAI's other API, whose messages clients keep."""

    type: Literal["text", "input_text", "output_text"]
    text: str


class RefusalPart(StrictModel):
    """Refusal of an assistant instead of an answer."""

    type: Literal["refusal"]
    refusal: str


class ImagePart(StrictModel):
    """An image."""

    type: Literal["image_url"]
    image_url: ImageUrl


Part = Annotated[TextPart | RefusalPart | ImagePart, Field(discriminator="type")]
ByType = Discriminator(
    lambda value: type(value).__name__, custom_error_type="either", custom_error_message=STRING_OR_ARRAY
)
"""An error is about the type that was sent, not about every member of the union."""
Text = Annotated[str, Tag("str")]
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class ChatMessage(StrictModel):
    """One message of the conversation so far."""

    role: Role
    content: Annotated[Text | Annotated[list[Part], Tag("list")], ByType] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class StreamOptions(StrictModel):
    """`include_usage`: one more chunk at the end, with the tokens."""

    include_usage: bool | None = None


class ChatRequest(StrictModel):
    """`POST /v1/chat/completions`. Temperatures and limits are accepted and not passed on."""

    messages: list[ChatMessage] = Field(min_length=1)
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    metadata: dict[str, Any] | None = None
    n: int | None = Field(None, ge=1)
    tools: list[Any] | None = None
    tool_choice: Any = None
    functions: list[Any] | None = None
    function_call: Any = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
    web_search_options: Any = None


_TOOLS = "an agent uses its own tools, and cannot call the client's"
_NO_CHOICE = (None, "none", "auto")
_SEARCH = "an agent searches the web with its own tools, if it has any"
_LOGPROBS = "agents do not report them"
_FORMAT = "an agent does not guarantee the format of its answer"


def read_chat(body: Json) -> ChatRequest:
    """Raises ApiError."""
    try:
        request = ChatRequest.model_validate(body)
    except ValidationError as error:
        problems = reversed(error.errors(include_url=False, include_input=False))  # what is within comes first
        if any([_mark(body.get("messages"), each["loc"]) for each in problems]):
            return read_chat(body)
        path, problem = first_problem(error, body)
        raise ApiError(400, f"{'.'.join(map(str, path))}: {problem}.", str(path[0])) from None
    _refuse_unsupported(request)
    index, last = len(request.messages) - 1, request.messages[-1]
    if last.content is None and last.role != "assistant":
        raise ApiError(400, f"messages.{index}.content: a {last.role} message needs content.", "messages")
    return request


def _mark(messages: Any, loc: Sequence[str | int]) -> bool:
    """Return True if this place is in an old message, and a mark has taken it."""
    match loc:
        case ("messages", int(index), *_) if index == len(messages) - 1:
            return False
        case ("messages", int(index), "content", "list", int(place), *_):
            messages[index]["content"][place] = {"type": "text", "text": LEFT_OUT}
        case ("messages", int(index), "content" | "name" | "tool_calls" | "tool_call_id" as member, *_):
            messages[index][member] = LEFT_OUT if member == "content" else None
        case ("messages", int(index), *_):
            messages[index] = {"role": "user", "content": LEFT_OUT}
        case _:
            return False
    return True


def _refuse_unsupported(request: ChatRequest) -> None:
    only_text = request.audio is None and set(request.modalities or ()) <= {"text"}
    format = (request.response_format or {}).get("type", "text")
    for param, applies, reason in (
        ("tools", bool(request.tools), _TOOLS),
        ("tool_choice", request.tool_choice not in _NO_CHOICE, _TOOLS),
        ("functions", bool(request.functions), _TOOLS),
        ("function_call", request.function_call not in _NO_CHOICE, _TOOLS),
        ("n", request.n not in (None, 1), "only one answer at a time is possible"),
        ("logprobs", bool(request.logprobs), _LOGPROBS),
        ("top_logprobs", bool(request.top_logprobs), _LOGPROBS),
        ("response_format", format != "text", _FORMAT),
        ("modalities", not only_text, "only text is possible"),
        ("web_search_options", request.web_search_options is not None, _SEARCH),
    ):
        if applies:
            raise ApiError(400, f"{param} is not supported: {reason}.", param)


# -- tokens ---------------------------------------------------------------------------------------------------------

TOKEN_COUNTS = ("inputTokens", "outputTokens", "totalTokens")
OPTIONAL_COUNTS = ("thoughtTokens", "cachedReadTokens", "cachedWriteTokens")


def tokens_of_turn(now: Json | None, before: Json | None) -> Json | None:
    """The tokens of one turn: agents count across all turns of a session. None if they cannot be known."""
    if now is None or before is None:
        return None
    counts = {name: _count(now, name) - _count(before, name) for name in (*TOKEN_COUNTS, *OPTIONAL_COUNTS)}
    complete = all(name in now for name in TOKEN_COUNTS)
    return counts if complete and all(count >= 0 for count in counts.values()) else None


def chat_usage(counts: Json | None) -> Json | None:
    """Return the usage in OpenAI's terms. Both parts add up to the agent's own total, which may or may not include
    thoughts.
    """
    if counts is None:
        return None
    thought, total = counts["thoughtTokens"], counts["totalTokens"]
    adds_up = counts["inputTokens"] + counts["outputTokens"] + thought <= total
    completion = min(counts["outputTokens"] + (thought if adds_up else 0), total)
    return {
        "prompt_tokens": total - completion,
        "completion_tokens": completion,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": counts["cachedReadTokens"]},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def _count(usage: Json, name: str) -> int:
    return opt_int(usage.get(name)) or 0
