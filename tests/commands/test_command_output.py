"""What the commands show, where the chat is in a known situation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from copilot_kernel.acp.messages import (
    AgentInfo,
    AudioBlock,
    EmbeddedResource,
    ImageBlock,
    ResourceLink,
    SessionInfo,
    TextBlock,
    UnknownBlock,
    UsageUpdate,
)
from copilot_kernel.commands import command_table
from copilot_kernel.commands.agent_commands import name_of
from copilot_kernel.commands.command_context import CommandState, newest_first
from copilot_kernel.commands.command_output import CommandOutput
from copilot_kernel.commands.session_commands import ago, find_session, short_ids
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.errors import UsageError
from copilot_kernel.permissions.ledger import LedgerEntry
from copilot_kernel.permissions.rulebook import Rulebook
from copilot_kernel.sandbox.sandbox import SUMMARY

from ..chat.test_choices import STATE

NOW = CommandState(
    Settings(agent="opencode acp", cwd="/project", allow=("Read", "Edit"), origins={"agent": "environment"}),
    Conversation(state=STATE, title="Plans", usage=UsageUpdate(12_000, 200_000)),
    AgentInfo(name="opencode", title="OpenCode", version="1.2"),
    (ResourceLink("file:///a"),),
    (SessionInfo("s", "/project", "Plans", "2026-11-20T10:05:59Z"), SessionInfo("abcdefghijkl", "/other")),
)
NOTHING = CommandState(Settings(), Conversation())


@dataclass
class Known:
    """A `CommandContext` of a chat that is not asked anything."""

    now: CommandState

    def situation(self, live: bool = True) -> CommandState:
        return replace(self.now, live=live)

    @property
    def state(self) -> Any:
        return self.now.state

    session = None

    async def do(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        return await work(self)

    async def opened(self) -> Known:
        return self

    @property
    def chat_runner(self) -> Known:
        """This is also the chat, its runner and its options."""
        return self

    options = chat_runner

    async def offered(self, what: str) -> Any:
        return self.now.state

    def set_permission_mode(self, mode: str) -> None:
        self.now.in_force.in_mode(mode)

    async def list_sessions(self, here: bool) -> tuple[SessionInfo, ...]:
        return self.now.sessions


@dataclass
class Recorder(CommandOutput):
    """An output where nobody can choose."""

    live: bool = True
    shown: list[str] = field(default_factory=list)

    def display(self, data: dict[str, Any], /) -> None:
        self.shown.append(data["text/plain"])


def shown(line: str, now: CommandState = NOW, *, live: bool = True) -> str:
    """What a command shows; blanks between columns are one."""
    ((command,), _) = command_table.parse(line)
    output = Recorder(live)
    asyncio.run(command_table.run(Known(now), output, command))
    return "\n".join(" ".join(each.split()) for each in "\n".join(output.shown).splitlines())


def test_the_status_has_everything_that_is_known() -> None:
    assert shown("%status").splitlines() == [
        "Status",
        "Agent OpenCode 1.2",
        "Command opencode acp",
        "Session s",
        "Title Plans",
        "Folder /project",
        "Mode Plan ahead (plan)",
        "Model Fast (acme/fast)",
        "Careful off",
        "Context 12,000 of 200,000 tokens",
        "Permissions Ask first (default)",
        "Allowed without asking Read, Edit",
        "With the next prompt file:///a",
    ]


def test_the_status_says_how_far_the_sandbox_reaches() -> None:
    assert f"Sandbox {SUMMARY}" in shown("%status", replace(NOW, sandbox=SUMMARY))


def test_before_the_first_prompt_the_status_says_so() -> None:
    text = shown("%status", NOTHING)
    assert all(words in text for words in ("not running", "GitHub Copilot CLI, if it is found", "Session none is open"))


def test_ids_folders_and_times_are_shown_only_where_somebody_watches() -> None:
    unwatched = shown("%status", live=False)
    assert ("Session open" in unwatched, "Folder" in unwatched) == (True, False)
    assert shown("%sessions", live=False) == "Sessions\nTitle\nPlans\n(no title)"


def test_sessions_are_a_table() -> None:
    lines = shown("%sessions").splitlines()
    assert lines[2:4] == ["s Plans /project 2026-11-20 10:05 open", "abcdefgh (no title) /other"]
    assert "none" in shown("%sessions", replace(NOW, sessions=()))


@pytest.mark.parametrize(
    ("updated_at", "words"),
    [
        ("2026-11-20T10:05:30Z", "just now"),
        ("2026-11-20T10:04:00Z", "2 min ago"),
        ("2026-11-20T12:04:00+05:00", "3 h ago"),
        ("2026-11-17T10:00:00", "3 d ago"),
        ("2026-11-21T10:00:00Z", "just now"),
        ("2026-01-02T03:04:05Z", "2026-01-02 03:04"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_how_long_ago_a_session_was_used(updated_at: str, words: str) -> None:
    moment = datetime(2026, 11, 20, 10, 6, tzinfo=UTC)
    assert ago(SessionInfo("s", updated_at=updated_at), moment) == words


def test_choices_are_a_table_with_the_present_one_marked() -> None:
    assert "• plan Plan ahead" in shown("%mode")
    assert "brain brain Fast (acme/fast) acme/fast, other/fast" in shown("%options")
    assert "• off" in shown("%options careful")


def test_allowing_everything_is_an_alarm_wherever_it_is_shown() -> None:
    now = CommandState(Settings(permission_mode="bypassPermissions"), Conversation())
    assert all("⚠ You will not be asked" in shown(line, now) for line in ("%permissions", "%status"))


def test_permissions_are_the_mode_the_rules_with_their_origins_and_the_decisions() -> None:
    origins = {"permission_mode": "environment", "allow": "/etc/a.json"}
    settings = Settings(permission_mode="acceptEdits", allow=("Read",), origins=origins)
    made = (LedgerEntry(4, 1, "$ ls", "allowed", "rule", "Bash(ls)", "allowed by rule `Bash(ls)`"),)
    text = shown("%permissions", CommandState(settings, Conversation(), decisions=made))
    wanted = (
        "Mode Edit freely (acceptEdits)\nSet by environment",
        "allow Read /etc/a.json",
        "4 $ ls allowed rule Bash(ls)",
    )
    assert all(words in text for words in (*wanted, "acts without asking mark it", "The first 3 are no longer kept."))
    book = Rulebook.of(settings).adding("ask", "Edit(src/**)").in_mode("plan")
    text = shown("%permissions", CommandState(settings, Conversation(), book=book))
    assert all(
        words in text for words in ("Mode Plan only (plan)\nSet by this conv", "ask Edit(src/**) this conversation")
    )


def test_a_rule_that_means_everything_is_warned_of() -> None:
    text = shown("%permissions", CommandState(Settings(allow=("Nothing", "Bash(python *)")), Conversation()))
    assert "⚠ 'Nothing' is not a rule" in text.replace("⚠ allow: ", "⚠ ")
    assert "None." in shown("%permissions", NOTHING)


def test_the_agent_is_shown_with_the_place_where_it_was_set() -> None:
    assert shown("%agent") == "Agent OpenCode 1.2\nCommand opencode acp\nSet by environment"


def test_attachments_have_names_and_many_are_counted() -> None:
    blocks = (
        *(
            TextBlock("two\nlines"),
            ImageBlock("", "image/png"),
            ImageBlock("", "image/png", "file:///b.png"),
            AudioBlock("", "audio/wav"),
        ),
        *(EmbeddedResource("file:///c"), ResourceLink("file:///d", "d"), UnknownBlock(3)),
    )
    names = ["two lines", "image/png", "file:///b.png", "audio/wav", "file:///c", "d", "something else"]
    assert [name_of(block) for block in blocks] == names
    lines = shown("%attach", replace(NOW, attached=(TextBlock("x"),) * 25)).splitlines()
    assert (len(lines), lines[-1]) == (22, "and 5 more")
    assert "Nothing is attached" in shown("%attach", NOTHING)


def test_what_went_with_the_last_prompt_is_shown_with_its_size() -> None:
    blocks = (EmbeddedResource("notebook:variable/df", "x" * 1200), ImageBlock("aGkh", "image/png"), TextBlock("Hello"))
    lines = shown("%context", replace(NOW, sent=blocks)).splitlines()[-3:]
    assert lines == ["variable df 1,200 characters", "image/png 3 bytes", "Hello 5 characters"]
    assert "sent as typed" in shown("%context", NOTHING)


def test_help_lists_the_commands_and_explains_one() -> None:
    listed = shown("%help")
    assert [name for name, spec in command_table.TABLE.items() if spec.summary not in listed] == ["help"]
    assert [topic for topic in command_table.TOPICS if f"{topic} %" not in listed] == []
    assert "%permissions […] Show the permission mode" in listed
    assert "LINES is how many" in shown("%help %log")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%help nothing", "No such command: %nothing"),
        ("%sessions some", 'Unknown argument "some". Usage: %sessions [all]'),
        ("%delete last", "Which conversation? Usage: %delete ID"),
        ("%permissions perhaps Read", 'Unknown argument "perhaps". Usage: %permissions [mode NAME |'),
        ("%permissions mode nonsense", 'Unknown permission mode "nonsense". Choose one of: default,'),
        ("%permissions allow --save", "%permissions allow needs a rule. For example: %permissions allow Bash("),
        ("%log many", '"many" is not a number of lines. Usage: %log [LINES]'),
        ("%attach 'a", "Cannot read the file names: No closing quotation. Check the quotes."),
        ("%options odd", "This agent offers no choice of odd."),
    ],
)
def test_what_cannot_be_done_is_an_error_with_what_to_type(line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        shown(line)
    assert words in f"{caught.value} {caught.value.hint}"


# -- sessions by the beginnings of their ids ------------------------------------------------------------------------

OLD = SessionInfo("ses_0001-aaaa", updated_at="2026-11-01T10:00:00Z")
NEW = SessionInfo("ses_0001-bbbb", updated_at="2026-11-20T10:00:00Z")
TIMELESS = SessionInfo("7f")
ALL = newest_first((OLD, NEW, TIMELESS))


def test_ids_are_as_short_as_they_can_be_told_apart() -> None:
    assert short_ids(ALL) == {"ses_0001-aaaa": "ses_0001-a", "ses_0001-bbbb": "ses_0001-b", "7f": "7f"}
    assert short_ids([OLD, OLD]) == {"ses_0001-aaaa": "ses_0001"}
    assert short_ids([]) == {}


@pytest.mark.parametrize(
    ("typed", "current", "found"),
    [("ses_0001-b", "", NEW), ("7", "", TIMELESS), ("last", "", NEW), ("last", NEW.id, OLD)],
)
def test_a_session_is_found(typed: str, current: str, found: SessionInfo) -> None:
    assert find_session(ALL, typed, current) == found


def test_an_id_that_begins_another_is_itself() -> None:
    assert find_session([SessionInfo("7ff"), TIMELESS], "7f") == TIMELESS


@pytest.mark.parametrize(
    ("sessions", "typed", "message"),
    [
        (ALL, "ses", "2 sessions begin with ses."),
        (ALL, "bbbb", "Unknown session bbbb."),
        ((NEW,), "last", "No earlier session in this folder."),
    ],
)
def test_what_cannot_be_found_is_an_error(sessions: tuple[SessionInfo, ...], typed: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_session(sessions, typed, NEW.id)
    assert (str(caught.value), "%sessions all lists every conversation." in caught.value.hint) == (message, True)
