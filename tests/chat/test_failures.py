"""Failures that GitHub Copilot CLI reports as the last chunk of a turn, which then ends with `end_turn`."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.locate import locate
from copilot_kernel.chat.failures import MODEL_HINTS, reported
from copilot_kernel.errors import FailureReason, ModelFailed

from .conftest import Open
from .loopback import met, playing
from .people import Person, ask

KEY = "Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN."
RETRIED = (
    "Failed to get response from the AI model; retried 5 times (total retry wait time: 57.84 seconds) Last error: "
)
QUOTA = "402 You have exceeded your monthly quota"

FORMS: list[tuple[str, FailureReason]] = [
    (f"{RETRIED}429 Rate limit reached", "quota"),
    ("CAPIError: 429 Too Many Requests", "quota"),
    ("CAPIError: 401 Unauthorized\n  Run /login.", "sign-in"),
    ("Sorry, you've hit a rate limit that restricts the number of Copilot model requests.", "quota"),
    ("Quota exceeded. Upgrade your plan or wait until it is reset.", "quota"),
    ("You've used all your Copilot Free chat requests for the month.", "quota"),
    (f"Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).\n  {KEY}", "key"),
    ("Authorization error, you may need to run /login (Request ID: E959:39D085)", "sign-in"),
    ("Authorization error. Your credentials may be expired or invalid.", "sign-in"),
    ("Session was not created with authentication info or custom provider", "sign-in"),
    ("You are not licensed to use Copilot.", "sign-in"),
    (f"{RETRIED}500 The server had an error", "network"),
    (f"{RETRIED}Failed native model HTTP request: error sending request for url (http://127.0.0.1:1/v1)", "network"),
    ("Could not connect to local model provider at http://127.0.0.1:9/v1.\n  Check that it runs.", "network"),
    ("The provider rejected the prompt as too long, but automatic recovery could not reduce it.", "context"),
    ("400 This model's maximum context length is 8192 tokens", "context"),
    ("418 I'm a teapot", "bug"),
    ("Something that no version has reported so far.", "bug"),
    ("Model 'scripted' not found on provider at http://127.0.0.1:1/v1 (HTTP 404).\n  Check the model.", "bug"),
    (f"Execution failed: Error: {RETRIED}CAPIError: Request timed out.", "network"),
]  # fmt: skip

OUTER = ("Execution failed: Error: ", RETRIED, "CAPIError: ")

ANSWERS = [
    "Failed to get response from the AI model; retried 5 times",
    "Error: 404 means that the page is missing.\n\nHere is how to fix it.",
    "Error: 404 means that the page is missing.\nHere is how to fix it.",
    "The log says: Error: 402 You have exceeded your monthly quota",
    "Error: ",
    "Error:\n  nothing",
    "Errors: 402",
]


@pytest.mark.parametrize(("words", "reason"), FORMS)
def test_a_chunk_that_is_an_error_line_is_a_failure_with_its_innermost_words_and_advice(
    words: str, reason: FailureReason
) -> None:
    failure = reported(f"Error: {words}")
    title = words.split("\n")[0]
    for outer in OUTER:
        title = title.removeprefix(outer)
    assert (str(failure), failure.reason, failure.report) == (title, reason, words)
    assert failure.hint.endswith(MODEL_HINTS[reason])
    assert all(line.strip() in failure.hint for line in words.split("\n")[1:])


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_about_errors_is_none(text: str) -> None:
    assert reported(text) is None


def agent(*said: Any, name: str | None = "Copilot", stop_reason: str = "end_turn") -> dict[str, Any]:
    """What an agent answers, by default Copilot, whose turn is these updates; a string is a chunk of its answer."""
    info = {"agentInfo": {"name": name, "version": "1.0.102"}} if name else {}
    return {"initialize": {"protocolVersion": 1, **info}, "session_prompt": playing(*said, stop_reason=stop_reason)}


CALL = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look", "status": "completed"}


FAILURE = f"Error: {QUOTA}"


@pytest.mark.parametrize(
    ("chunks", "more", "fails"),
    [
        ((FAILURE,), {}, True),
        (("I look first.", CALL, "So be it.", FAILURE), {}, True),
        ((FAILURE,), {"name": "Other"}, False),
        ((FAILURE, "\nis what the log says."), {}, False),
        ((FAILURE, CALL), {}, False),
        (("Error: 402 You have", " exceeded your monthly quota"), {}, False),
        ((FAILURE,), {"stop_reason": "cancelled"}, False),
    ],
    ids=["alone", "last", "another agent", "text follows", "a tool call follows", "in two chunks", "cancelled"],
)
async def test_a_failed_turn_raises_and_shows_all_but_the_failure(
    opened: Open, chunks: tuple[Any, ...], more: dict[str, str], fails: bool
) -> None:
    async with met(opened, **agent(*chunks, **more)) as (_, chat):
        with pytest.raises(ModelFailed, match=f"^{QUOTA}$") if fails else nullcontext():
            await ask(chat, "hello", person := Person())
    said = "".join(text for speaker, text in person.said if speaker == "agent")
    assert said == "".join(each for each in chunks[: len(chunks) - fails] if isinstance(each, str))


USAGE = {"sessionUpdate": "usage_update", "used": 1, "size": 2}
RETRYING = "Info: Request failed due to a transient API error. Retrying..."


@pytest.mark.parametrize(
    ("chunk", "name", "is_status"),
    [(RETRYING, "Copilot", True), (RETRYING, "Other", False), ("Info: 3 files", "Copilot", False)],
)
async def test_a_retry_of_copilots_is_a_passing_line(opened: Open, chunk: str, name: str, is_status: bool) -> None:
    async with met(opened, **agent("Here it is.", chunk, USAGE, name=name)) as (_, chat):
        await ask(chat, "hello", person := Person())
        assert chat.failures.progress == (chunk.removeprefix("Info: ") if is_status else "")
    said = "".join(text for speaker, text in person.said if speaker == "agent")
    assert (said == "Here it is.", chunk in said) == (is_status, not is_status)


async def test_the_answer_ends_the_line_about_a_retry(opened: Open) -> None:
    async with met(opened, **agent(RETRYING, "Here ", "it is.")) as (_, chat):
        await ask(chat, "hello")
        assert chat.failures.progress == ""


@pytest.mark.parametrize("is_copilot", [True, False])
async def test_without_a_name_the_command_tells_whether_it_is_copilot(
    opened: Open, monkeypatch: pytest.MonkeyPatch, is_copilot: bool
) -> None:
    async with met(opened, **agent(FAILURE, name=None)) as (_, chat):
        launch = replace(locate(chat.settings.agent, {}), is_copilot=is_copilot)
        monkeypatch.setattr("copilot_kernel.chat.agent.located", lambda *_: launch)
        with pytest.raises(ModelFailed) if is_copilot else nullcontext():
            await ask(chat, "hello")


@pytest.mark.parametrize(("words", "starts"), [(QUOTA, 1), ("401 unauthorized: token expired", 2)])
async def test_only_an_agent_that_is_signed_out_is_started_again(opened: Open, words: str, starts: int) -> None:
    """It reads its credentials when it starts."""
    async with met(opened, **agent(f"Error: {words}")) as (script, chat):
        for _ in range(2):
            with pytest.raises(ModelFailed):
                await ask(chat, "hello")
        assert [method for method, _ in script.heard].count("initialize") == starts
