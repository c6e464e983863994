"""What the commands say, as values that every door can draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..acp.mcp import Offered
from ..acp.messages import Audio, Block, Image, Resource, ResourceLink, Text
from ..chat.choices import Setting, models, modes, more_options
from ..mcp_config import McpServer, describe
from .modes import BYPASSING
from .sessions import short_ids
from .situation import Situation
from .table import TABLE, Entry

Row = tuple[str, ...]

PROMPT = "Anything else is a prompt to the agent; /NAME is a command of the agent's, if it has one of that name."
SERVERS = "The setting mcp_servers (COPILOT_KERNEL_MCP_SERVERS) names them."
MOST_NAMED = 20
"""Attached files that are named."""


@dataclass(frozen=True, slots=True)
class Report:
    """A title, a table and a line after it; whatever is empty is left out.

    `warns`: the line is a warning; `alarms`: it is about a danger that lasts.
    """

    title: str = ""
    head: Row = ()
    rows: tuple[Row, ...] = ()
    note: str = ""
    warns: bool = False
    alarms: bool = False


def all_commands() -> Report:
    """What `%help` says."""
    return Report("Commands", ("Type", "to"), tuple((entry.usage, entry.summary) for entry in TABLE.values()), PROMPT)


def one_command(entry: Entry) -> Report:
    """What `%help NAME` says."""
    return Report(entry.usage, note=f"{entry.summary} {entry.details}".rstrip())


def status(now: Situation) -> Report:
    """What `%status` says; to a person also what agents tell at a time of their own."""
    rows = ((name, said) for name, said in _facts(now) if said)
    bypasses = now.in_force.mode == "bypassPermissions"
    return Report("Status", rows=tuple(rows), note=BYPASSING if bypasses else "", alarms=bypasses)


def sessions(now: Situation) -> Report:
    """What `%sessions` says; ids and times only to a person."""
    shorts, here = short_ids(now.sessions), now.state.id if now.state else ""
    rows = [
        (shorts[each.id], each.title or "(no title)", each.cwd, when(each.updated_at), "open" * (each.id == here))
        for each in now.sessions
    ]
    if not rows:
        return Report("Sessions", note="The agent lists none.")
    if now.live:
        head = ("ID", "Title", "Folder", "Last used", "")
        return Report("Sessions", head, tuple(rows), "%resume ID goes on with one.")
    return Report("Sessions", ("Title",), tuple((row[1],) for row in rows))


def choices(setting: Setting) -> Report:
    """What can be chosen, the present choice marked."""
    rows = tuple(
        ("•" if number == setting.current else "", choice.word, choice.name, choice.about)
        for number, choice in enumerate(setting.choices)
    )
    return Report(setting.name, ("", "Type", "Name", ""), rows)


def options(found: Sequence[Setting]) -> Report:
    """Every option with its value and what it may be."""
    rows = (
        (
            each.id,
            each.name,
            _label(each),
            ", ".join(choice.word for choice in each.choices),
        )
        for each in found
    )
    return Report("Options", ("Option", "Name", "Value", "May be"), tuple(rows), "%options OPTION VALUE sets one.")


def agent(now: Situation) -> Report:
    """What `%agent` says."""
    origin = now.settings.origins.get("agent", "")
    return Report(rows=(("Agent", named(now)), ("Command", _command(now)), ("Set by", origin)))


def mcp(now: Situation, offered: Offered | None) -> Report:
    """What `%mcp` says; `offered` is what the agent can take, if it is known."""
    servers = now.settings.mcp_servers
    if not servers:
        return Report("MCP servers", note=f"None are set. {SERVERS}")
    rows = tuple((server.name, describe(server), _how(server, offered)) for server in servers)
    return Report("MCP servers", ("Name", "Server", "For this agent"), rows)


def attached(blocks: Sequence[Block]) -> Report:
    """What goes with the next prompt."""
    if not blocks:
        return Report("Nothing is attached", note="%attach FILE… lets files go with the next prompt.")
    rows = tuple((name_of(block),) for block in blocks[:MOST_NAMED])
    more = f"and {len(blocks) - MOST_NAMED} more" if len(blocks) > MOST_NAMED else ""
    return Report("With the next prompt", rows=rows, note=more)


def name_of(block: Block) -> str:
    """What an attachment is called."""
    match block:
        case ResourceLink(uri=uri, name=name):
            return name or uri
        case Resource(uri=uri):
            return uri
        case Image(mime_type=kind, uri=uri):
            return uri or kind
        case Audio(mime_type=kind):
            return kind
        case Text(text=text):
            return " ".join(text.split())[:60]
    return "something else"


def named(now: Situation) -> str:
    """The agent's name and version, or that it does not run."""
    if now.info is None:
        return "not running; the next prompt starts it"
    return " ".join(filter(None, (now.info.title or now.info.name or "nameless", now.info.version)))


def when(updated_at: str) -> str:
    """To the minute, as the agent tells it."""
    return updated_at[:16].replace("T", " ")


def _how(server: McpServer, offered: Offered | None) -> str:
    if offered is None:
        return "told when the agent starts"
    if server in offered.flagged:
        return "passed by Copilot's own flag"
    return next((f"not passed: {why}" for unsent, why in offered.unsent if unsent == server), "passed")


def _facts(now: Situation) -> Iterator[tuple[str, str]]:
    settings, state = now.settings, now.state
    yield "Agent", named(now)
    yield "Command", _command(now)
    yield "Session", (state.id if now.live else "open") if state else "none is open"
    yield "Title", now.conversation.title if now.live else ""
    yield "Folder", settings.folder if now.live else ""
    for setting in (modes(state), models(state), *more_options(state)):
        yield setting.name, _label(setting)
    yield "Context", _context(now) if now.live else ""
    book = now.in_force
    yield "Permissions", book.mode
    yield "Allowed without a question", ", ".join(book.texts("allow"))
    yield "Asked about", ", ".join(book.texts("ask"))
    yield "Denied", ", ".join(book.texts("deny"))
    yield "With the next prompt", ", ".join(map(name_of, now.attached[:MOST_NAMED]))


def _command(now: Situation) -> str:
    return now.settings.agent or "GitHub Copilot CLI, if it is found"


def _label(setting: Setting) -> str:
    return setting.chosen.label if setting.chosen else ""


def _context(now: Situation) -> str:
    usage = now.conversation.usage
    if usage is None:
        return ""
    return f"{usage.used:,} of {usage.size:,} tokens" if usage.size > 0 else f"{usage.used:,} tokens"
