"""What the commands say."""

from __future__ import annotations

from dataclasses import replace

from copilot_kernel.acp.messages import (
    AgentInfo,
    Audio,
    Image,
    Resource,
    ResourceLink,
    SessionInfo,
    Text,
    UnknownBlock,
    UsageUpdate,
)
from copilot_kernel.chat.choices import modes, options
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.frontend import report
from copilot_kernel.frontend.allowed import permissions
from copilot_kernel.frontend.modes import BYPASSING
from copilot_kernel.frontend.report import Report
from copilot_kernel.frontend.situation import Situation
from copilot_kernel.permissions.ledger import Decided
from copilot_kernel.permissions.rulebook import Rulebook

from ..chat.test_choices import STATE

SETTINGS = Settings(agent="opencode acp", cwd="/project", allow=("Read", "Edit"))
TALK = Conversation(state=STATE, title="Plans", usage=UsageUpdate(12_000, 200_000))
NOW = Situation(
    SETTINGS, TALK, AgentInfo(name="opencode", title="OpenCode", version="1.2"), (ResourceLink("file:///a"),)
)
KEPT = (SessionInfo("s", "/project", "Plans", "2026-11-20T10:05:59Z"), SessionInfo("abcdefghijkl", "/other"))


def test_the_status_has_everything_that_is_known() -> None:
    assert report.status(NOW) == Report("Status", rows=(
        ("Agent", "OpenCode 1.2"),
        ("Command", "opencode acp"),
        ("Session", "s"),
        ("Title", "Plans"),
        ("Folder", "/project"),
        ("Mode", "Plan ahead (plan)"),
        ("Model", "Fast (acme/fast)"),
        ("Careful", "off"),
        ("Context", "12,000 of 200,000 tokens"),
        ("Permissions", "default"),
        ("Allowed without a question", "Read, Edit"),
        ("With the next prompt", "file:///a"),
    ))  # fmt: skip


def test_before_the_first_prompt_the_status_says_so() -> None:
    assert report.status(Situation(Settings(), Conversation(), live=False)) == Report("Status", rows=(
        ("Agent", "not running; the next prompt starts it"),
        ("Command", "GitHub Copilot CLI, if it is found"),
        ("Session", "none is open"),
        ("Permissions", "default"),
    ))  # fmt: skip


def test_nobody_is_told_ids_folders_and_times() -> None:
    unwatched = replace(NOW, live=False, sessions=KEPT)
    rows = dict(report.status(unwatched).rows)
    assert (rows["Session"], "Folder" in rows) == ("open", False)
    assert report.sessions(unwatched) == Report("Sessions", ("Title",), (("Plans",), ("(no title)",)))


def test_sessions_are_a_table() -> None:
    assert report.sessions(replace(NOW, sessions=KEPT)) == Report(
        "Sessions",
        ("ID", "Title", "Folder", "Last used", ""),
        (
            ("s", "Plans", "/project", "2026-11-20 10:05", "open"),
            ("abcdefgh", "(no title)", "/other", "", ""),
        ),
        "%resume ID goes on with one.",
    )
    assert report.sessions(NOW) == Report("Sessions", note="The agent lists none.")


def test_the_present_choice_is_marked() -> None:
    rows = (("", "agent", "Agent", ""), ("•", "plan", "Plan ahead", ""))
    assert report.choices(modes(STATE)) == Report("Mode", ("", "Type", "Name", ""), rows)


def test_options_are_a_table() -> None:
    assert report.options(options(STATE)).rows == (
        ("mode", "Session mode", "Plan ahead (plan)", "agent, plan"),
        ("brain", "brain", "Fast (acme/fast)", "acme/fast, other/fast"),
        ("careful", "Careful", "off", "on, off"),
        ("odd", "Odd", "", ""),
    )


def test_allowing_everything_is_an_alarm_wherever_it_is_shown() -> None:
    now = Situation(Settings(permission_mode="bypassPermissions"), Conversation())
    assert [(each.note, each.alarms) for each in (permissions(now)[0], report.status(now))] == [(BYPASSING, True)] * 2


def test_permissions_are_the_mode_and_the_rules_with_their_origins() -> None:
    origins = {"permission_mode": "environment", "allow": "/etc/a.json", "deny": "/etc/b.json, environment"}
    settings = Settings(permission_mode="acceptEdits", allow=("Read",), deny=("Bash(rm *)",), origins=origins)
    mode, rules = permissions(Situation(settings, Conversation()))
    assert mode.rows == (
        ("Mode", "acceptEdits"),
        ("Set by", "environment"),
        ("Acting without asking", "is shown in its card and counted"),
    )
    assert rules.rows == (("allow", "Read", "/etc/a.json"), ("deny", "Bash(rm *)", "/etc/b.json, environment"))
    book = Rulebook.of(settings).adding("ask", "Edit(src/**)").in_mode("plan")
    mode, rules = permissions(Situation(settings, Conversation(), book=book))
    assert (mode.rows[:2], rules.rows[-1]) == (
        (("Mode", "plan"), ("Set by", "this conversation")),
        ("ask", "Edit(src/**)", "this conversation"),
    )


def test_a_rule_that_is_none_or_means_everything_is_warned_of() -> None:
    _, rules = permissions(Situation(Settings(allow=("Nothing", "Bash(python *)")), Conversation()))
    assert (rules.warns, "'Nothing' is not a rule" in rules.note, "Bash(python *)" in rules.note) == (True, True, True)
    _, none = permissions(Situation(Settings(), Conversation()))
    assert (none.rows, none.note.startswith("No rule is set.")) == ((), True)


def test_all_decisions_are_listed_in_their_order() -> None:
    made = (Decided(4, 1, "$ ls", "allowed", "rule", "Bash(ls)", "allowed by the rule Bash(ls)"),)
    *_, decisions = permissions(Situation(Settings(), Conversation(), decisions=made))
    assert decisions.rows == (("4", "$ ls", "allowed", "rule", "Bash(ls)", "allowed by the rule Bash(ls)"),)
    assert decisions.note == "The 3 before these are no longer kept."


def test_every_attachment_has_a_name() -> None:
    blocks = (
        *(Text("two\nlines"), Image("", "image/png"), Image("", "image/png", "file:///b.png"), Audio("", "audio/wav")),
        *(Resource("file:///c"), ResourceLink("file:///d", "d"), UnknownBlock(3)),
    )
    names = ("two lines", "image/png", "file:///b.png", "audio/wav", "file:///c", "d", "something else")
    assert report.attached(blocks) == Report("With the next prompt", rows=tuple((name,) for name in names))


def test_many_attachments_are_counted() -> None:
    said = report.attached([Text("x")] * 25)
    assert (len(said.rows), said.note) == (20, "and 5 more")


def test_the_agent_is_shown_with_the_place_where_it_was_set() -> None:
    settings = replace(SETTINGS, origins={"agent": "environment"})
    assert report.agent(replace(NOW, settings=settings)).rows == (
        ("Agent", "OpenCode 1.2"),
        ("Command", "opencode acp"),
        ("Set by", "environment"),
    )
