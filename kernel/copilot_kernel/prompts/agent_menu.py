"""The menu of the page's status item: what is in force, and the commands that set it.

A choice runs one of our commands, as a cell would; only those that the menu offers at that moment are run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..commands.command_context import CommandContext
from ..commands.command_output import DECLINED, CommandOutput
from ..config import MODE_NAMES, Settings
from ..errors import CopilotError, UsageError
from ..rendering.plain import visible_line

if TYPE_CHECKING:
    from ..chat.choices import SessionSetting
    from ..pages.page import Page
    from ..pages.pages import Pages
    from ..rendering.markup import Bundle

NO = "Keep it as it is"


class AgentMenu:
    """Tells `pages` what is in force, whenever it has changed, and does what is chosen there.

    `load` reads the settings anew, as long as nothing has needed them.
    """

    def __init__(self, context: CommandContext, load: Callable[[], Settings], pages: Pages) -> None:
        self._context, self._load, self._pages = context, load, pages
        self._shown: dict[str, Any] = {}
        self._doing: set[asyncio.Task[None]] = set()
        pages.on_connect, pages.on_choice = self._connected, self._chosen

    def report(self) -> None:
        """Tell all pages, if something has changed."""
        if (now := self._described()) != self._shown:
            self._shown = now
            self._pages.post("menu", **now)

    def _described(self) -> dict[str, Any]:
        """The event: names for the status item, and sections of choices, each with the command that sets it."""
        from ..chat import choices
        from ..commands.permission_commands import MODES
        from ..permissions.rulebook import Rulebook

        context = self._context
        chat, model = context.chat_runner.chat, choices.models(context.conversation.state)
        book = chat.book if chat else Rulebook.of(context.known_settings or self._load())
        permissions = [
            _choice(f"%permissions mode {mode}", text, "", mode == book.mode) for mode, text in MODES.items()
        ]
        return {
            "agent": visible_line((chat.info.title or chat.info.name) if chat and chat.info else ""),
            "model": visible_line(model.chosen.name or model.chosen.word) if model.chosen else "",
            "mode": MODE_NAMES[book.mode],
            "alarms": book.mode == "bypassPermissions",
            "sections": [
                *_offered("model", model),
                *_offered("mode", choices.modes(context.conversation.state)),
                {"title": "Permissions", "choices": permissions},
            ],
        }

    def _connected(self, page: Page) -> None:
        page.post("menu", **self._described())

    def _chosen(self, page: Page, chosen: str) -> None:
        task = asyncio.create_task(self._do(page, chosen))
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    async def _do(self, page: Page, command: str) -> None:
        from ..commands.command_table import TABLE

        try:
            if not command.startswith("%permissions"):  # which limits what runs now
                await self._context.chat_runner.idle()
            sections = self._described()["sections"]
            offered = {
                each["command"]: f"{section['title']}: {each['label']}"
                for section in sections
                for each in section["choices"]
            }
            if command in offered:
                name, _, rest = command.removeprefix("%").partition(" ")
                await TABLE[name].run(self._context, PageOutput(page), rest)
                page.post("done", words=offered[command])
        except CopilotError as error:
            page.post("done", words=visible_line(f"{error} {error.hint}"), failed=True)
        self.report()


class PageOutput(CommandOutput):
    """The output of a command that was chosen in the page, which also asks."""

    live = True

    def __init__(self, page: Page) -> None:
        self._page = page

    def display(self, data: Bundle, /) -> None:
        """Show nothing: the page names what was chosen."""

    async def confirm(self, widening: str, allow: str) -> None:
        """Ask in the page, as `CommandOutput.confirm` says."""
        from ..acp.messages import PermissionOption
        from ..permissions.question import OwnSubject, Question
        from ..views.permission_question import PermissionQuestion

        options = (PermissionOption("no", NO, "reject_once"), PermissionOption("yes", allow, "allow_once"))
        question = PermissionQuestion(Question(OwnSubject(f"{widening}. Allow this?", widens=True), options))
        asking = asyncio.create_task(self._page.ask(question))
        try:
            answer = await asyncio.wrap_future(question.answer)
        finally:
            asking.cancel()
        if not answer.allows:
            raise UsageError(DECLINED.format(widening))


def _offered(command: str, setting: SessionSetting) -> Iterator[dict[str, Any]]:
    if setting.choices:
        offered: Sequence[dict[str, Any]] = [
            _choice(f"%{command} {each.word}", each.name or each.word, each.about, number == setting.current)
            for number, each in enumerate(setting.choices)
        ]
        yield {"title": visible_line(setting.name), "choices": offered}


def _choice(command: str, label: str, about: str, current: bool) -> dict[str, Any]:
    return {"command": command, "label": visible_line(label), "about": visible_line(about), "current": current}
