"""What may be asked, as OpenAI writes it; every other member of a request is taken and not looked at.

What an agent cannot honour is refused by name: better an error than an answer that only looks right.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from .errors import ApiError
from .fault import NEITHER, told

LONGEST_KEY = 512
T = TypeVar("T", bound=BaseModel)


class Strict(BaseModel):
    """No text is taken for a number or a switch."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class ImageUrl(Strict):
    """`url` is a `data:` address: nothing is fetched."""

    url: str


class TextPart(Strict):
    """Text."""

    type: Literal["text", "input_text", "output_text"]
    text: str


class RefusalPart(Strict):
    """What an assistant said instead of an answer."""

    type: Literal["refusal"]
    refusal: str


class ImagePart(Strict):
    """An image, as chat completions have it."""

    type: Literal["image_url"]
    image_url: ImageUrl


class InputImage(Strict):
    """An image, as responses have it."""

    type: Literal["input_image"]
    image_url: str


Part = Annotated[TextPart | RefusalPart | ImagePart | InputImage, Field(discriminator="type")]
Either = Discriminator(lambda value: type(value).__name__, custom_error_type="either", custom_error_message=NEITHER)
"""By what it is, so that an error is about that, and not about what it might have been."""
Text = Annotated[str, Tag("str")]
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class Message(Strict):
    """One message of the conversation so far."""

    role: Role
    content: Annotated[Text | Annotated[list[Part], Tag("list")], Either] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class StreamOptions(Strict):
    """`include_usage`: one more chunk at the end, with the tokens."""

    include_usage: bool | None = None


class Asked(Strict):
    """What both ways to ask have in common. Temperatures and limits are taken and not passed on."""

    model: str | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = Field(None, max_length=LONGEST_KEY)
    metadata: dict[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    top_logprobs: int | None = None


class ChatRequest(Asked):
    """`POST /v1/chat/completions`."""

    messages: list[Message] = Field(min_length=1)
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stop: Annotated[Text | Annotated[list[str], Tag("list")], Either] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    n: int | None = Field(None, ge=1)
    functions: list[Any] | None = None
    function_call: Any = None
    logprobs: bool | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
    web_search_options: Any = None


class ResponsesRequest(Asked):
    """`POST /v1/responses`; `input` is text, or messages."""

    input: Annotated[Text | Annotated[list[dict[str, Any]], Tag("list")], Either]
    instructions: str | None = None
    max_output_tokens: int | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    prompt: Any = None
    background: bool | None = None
    text: dict[str, Any] | None = None
    include: list[str] | None = None
    store: bool | None = None


def read_chat(body: dict[str, Any]) -> ChatRequest:
    """Raises ApiError."""
    asked = _read(ChatRequest, body)
    _refuse(asked.n not in (None, 1), "n", "one answer at a time")
    _refuse(bool(asked.tools), "tools", _TOOLS)
    _refuse(bool(asked.functions), "functions", _TOOLS)
    _refuse(asked.tool_choice not in _NO_CHOICE, "tool_choice", _TOOLS)
    _refuse(asked.function_call not in _NO_CHOICE, "function_call", _TOOLS)
    _refuse(asked.web_search_options is not None, "web_search_options", _SEARCH)
    _refuse(bool(asked.logprobs) or bool(asked.top_logprobs), "logprobs", _LOGPROBS)
    _refuse(_kind(asked.response_format) != "text", "response_format", _FORMAT)
    _refuse(asked.audio is not None or set(asked.modalities or ()) - {"text"} != set(), "modalities", "text only")
    for place, message in enumerate(asked.messages):
        if message.content is None and message.role != "assistant":
            raise ApiError(400, f"messages.{place}.content: a {message.role} message must say something.", "messages")
    return asked


def read_responses(body: dict[str, Any]) -> ResponsesRequest:
    """Raises ApiError."""
    asked = _read(ResponsesRequest, body)
    _refuse(bool(asked.tools), "tools", _TOOLS)
    _refuse(asked.tool_choice not in _NO_CHOICE, "tool_choice", _TOOLS)
    _refuse(asked.prompt is not None, "prompt", "no prompts are stored here; say it in input and instructions")
    _refuse(bool(asked.top_logprobs), "top_logprobs", _LOGPROBS)
    _refuse(asked.previous_response_id is not None, "previous_response_id", _STORE)
    _refuse(asked.conversation is not None, "conversation", _STORE)
    _refuse(bool(asked.background), "background", _STORE)
    _refuse(bool(asked.include), "include", "there is nothing to include")
    form = (asked.text or {}).get("format")
    if form is not None and not isinstance(form, dict):
        raise ApiError(400, "text.format: must be an object.", "text")
    _refuse(_kind(form) != "text", "text", _FORMAT)
    return asked


def read_messages(input: str | list[dict[str, Any]]) -> list[Message]:
    """The messages of a response's `input`. Raises ApiError."""
    if isinstance(input, str):
        return [Message(role="user", content=input)]
    if not input:
        raise ApiError(400, "input: there must be at least one message.", "input")
    for item in input:
        _refuse(item.get("type", "message") != "message", "input", "only messages are taken")
    return [_read(Message, item, ("input", place)) for place, item in enumerate(input)]


_TOOLS = "an agent uses its own tools, and calls none of the client's"
_NO_CHOICE = (None, "none", "auto")
_SEARCH = "an agent searches the web with its own tools, where it has them"
_LOGPROBS = "an agent does not tell them"
_FORMAT = "an agent gives no guarantee of the form of its answer"
_STORE = "nothing is stored here; the header X-Copilot-Session keeps a conversation"


def _read(kind: type[T], body: dict[str, Any], below: tuple[str | int, ...] = ()) -> T:
    """`below`: where in the request `body` is."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        path, words = told(error, body)
        whole = [str(step) for step in (*below, *path)]
        raise ApiError(400, f"{'.'.join(whole)}: {words}.", whole[0] if whole else None) from None


def _refuse(asked: bool, param: str, why: str) -> None:
    if asked:
        raise ApiError(400, f"{param} cannot be honoured here: {why}.", param)


def _kind(form: dict[str, Any] | None) -> Any:
    return form.get("type", "text") if form else "text"
