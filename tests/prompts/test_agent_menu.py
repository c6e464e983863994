"""The menu of the page's status item: what it offers, and that nothing else is run."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.commands.command_output import DECLINED, Apply, CommandOutput, Menu
from copilot_kernel.commands.command_table import TABLE
from copilot_kernel.commands.permission_commands import TO_ALLOW_MORE
from copilot_kernel.config import PERMISSION_MODES
from copilot_kernel.errors import UsageError
from copilot_kernel.pages.pages import Pages
from copilot_kernel.prompts.agent_menu import AgentMenu

from ..limits import LIMIT
from ..output.recording import Bundle
from ..pages.channels import Channel, Message
from .session import Session, session


class Comms:
    """Stands in for `PageComms`: a page connects when the test says so."""

    def accept(self, connected: Any) -> None:
        self.connected = connected


class Choosing(CommandOutput):
    """Keeps the choices that a command offers."""

    live = True
    menu: Menu
    apply: Apply

    def display(self, data: Bundle, /) -> None:
        pass

    async def choose(self, menu: Menu, apply: Apply) -> None:
        self.menu, self.apply = menu, apply


class MenuPage:
    """A page that has connected, and its user."""

    def __init__(self, made: Session) -> None:
        comms = Comms()
        pages = Pages(comms)  # type: ignore[arg-type]
        self.menu = AgentMenu(made.kernel_session.command_context, made.kernel_session.load, pages)
        self.channel = Channel("page", {"page"})
        comms.connected(self.channel, {"hello": 1, "path": "book.ipynb"})

    def events(self, kind: str) -> list[Message]:
        return [each for each in self.channel.sent if each.get("event") == kind]

    @property
    def current(self) -> dict[str, list[str]]:
        """What the menu that was sent last says is set, by section."""
        sections = self.events("menu")[-1]["sections"]
        return {
            each["title"]: [choice["label"] for choice in each["choices"] if choice["current"]] for each in sections
        }

    async def choose(self, command: str, answer: str = "") -> Message:
        """Choose a command, and press the button `answer` of the question; what is said then."""
        said = len(self.events("done"))
        asked = len(self.events("ask"))
        self.channel.says(menu=command)
        async with asyncio.timeout(LIMIT):
            while len(self.events("done")) == said:
                if answer and len(self.events("ask")) > asked:
                    ask = self.events("ask")[-1]
                    (option,) = (each["option"] for each in ask["answers"]["choices"] if each["label"] == answer)
                    self.channel.says(answer=ask["key"], option=option)
                    answer = ""
                await asyncio.sleep(0)
        return self.events("done")[-1]


def test_the_menu_shows_and_sets_what_commands_set_and_asks_before_it_allows_more(tmp_path: Path) -> None:
    with session(tmp_path) as made:

        async def use() -> None:
            page = MenuPage(made)
            assert [*page.current] == ["Permissions"]
            assert page.current["Permissions"][0].startswith("Ask first: ")
            await made.kernel_session.command_context.ready()
            page.menu.report()
            assert [*page.current] == ["Model", "Mode", "Permissions"]
            done = await page.choose("%permissions mode plan")
            assert (done.get("failed"), page.current["Permissions"][0][:10]) == (None, "Plan only:")
            widening = "This changes permissions from “Plan only” to “Allow everything”"
            refused = await page.choose("%permissions mode bypassPermissions", "Keep it as it is")
            assert (refused["failed"], refused["words"]) == (True, DECLINED.format(widening))
            await page.choose("%permissions mode bypassPermissions", "Allow everything")
            assert (page.events("menu")[-1]["alarms"], page.events("menu")[-1]["mode"]) == (True, "Allow everything")
            models = next(each for each in page.events("menu")[-1]["sections"] if each["title"] == "Model")
            other = next(each for each in models["choices"] if not each["current"])
            await page.choose(other["command"])
            assert page.current["Model"] == [other["label"]]

        made._runner.run(use())


def test_only_a_command_that_the_menu_offers_is_run(tmp_path: Path) -> None:
    with session(tmp_path) as made:

        async def use() -> None:
            page = MenuPage(made)
            for command in ("%permissions allow Bash", "%agent other", "a prompt", "%model no-such-model"):
                page.channel.says(menu=command)
            await page.choose("%permissions mode plan")
            assert [each["words"] for each in page.events("done")][1:] == []
            assert made.kernel_session.command_context.situation().in_force.texts("allow") == ()

        made._runner.run(use())


def test_permissions_offers_stricter_modes_and_takes_back_what_was_allowed(tmp_path: Path) -> None:
    """A click that was meant for something else allows nothing: a mode that allows more is asked about."""
    with session(tmp_path) as made:

        async def use() -> None:
            context, output = made.kernel_session.command_context, Choosing()
            chat = await context.chat_runner.opened()
            await chat.permissions.policy.add_rule("allow", "Bash(git status)")
            await chat.permissions.policy.add_rule("allow", "Edit(src/**)")
            await TABLE["permissions"].run(context, output, "")
            modes, allowed = (field for field in output.menu.fields if field.action != "Forget")
            assert (modes.names[modes.current or 0], allowed.action) == ("Ask first", "Remove")
            assert allowed.names == (
                "Running “git status”: this conversation",
                "Changing, moving and deleting src/**: this conversation",
            )
            await output.apply(1, 0)
            assert chat.book.texts("allow") == ("Edit(src/**)",)
            await output.apply(0, PERMISSION_MODES.index("plan"))
            for mode in ("default", "bypassPermissions"):
                with pytest.raises(UsageError) as refused:
                    await output.apply(0, PERMISSION_MODES.index(mode))
                assert str(refused.value) == TO_ALLOW_MORE.format(mode)
            assert chat.book.mode == "plan"

        made._runner.run(use())
