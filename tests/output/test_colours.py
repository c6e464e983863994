"""Drawing a diff does not wait for the lexer of its language, which is loaded in a thread."""

import asyncio
from collections.abc import Callable
from threading import Event, Thread
from unittest.mock import Mock

import pytest
from copilot_kernel.acp.messages import Diff, TextBlock
from copilot_kernel.chat import Chat
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.output.batch import Batch
from copilot_kernel.output.display import Display
from copilot_kernel.output.slots import Slot
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.permissions.question import Question
from copilot_kernel.rendering import highlight
from copilot_kernel.rendering.question import QuestionView
from copilot_kernel.server.chat.broadcaster import Broadcaster
from copilot_kernel.server.chat.html import EntryHtml, HtmlBatcher
from copilot_kernel.views import lexers
from msgspec.structs import replace

from ..chat.conftest import Open
from ..limits import LIMIT, settled, until
from .asked import Models
from .recording import RecordingCell, call

COLOUR = "color-mix(in srgb,currentcolor 60%"


def edit(path: str) -> ToolCall:
    return call(1, kind="edit", content=(Diff(path, "x = 1\n", "x = 2\n"),))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> dict[str, Thread]:
    """Those that load lexers, by language: none yet."""
    found: dict[str, Thread] = {}
    monkeypatch.setattr(lexers, "_threads", found)
    return found


@pytest.fixture
def load(threads: dict[str, Thread]) -> Callable[[], None]:
    """The lexer of Python is being loaded until this is called."""
    released = Event()
    threads["python"] = Thread(target=released.wait, args=(LIMIT,), daemon=True)
    threads["python"].start()

    def loaded() -> None:
        released.set()
        threads["python"].join(LIMIT)

    return loaded


def test_a_display_is_drawn_in_colour_once_the_lexer_is_there(load: Callable[[], None]) -> None:
    slot = Slot()
    slot.put(1, edit("/project/a.py"))
    assert not slot.prepare("/project", lambda: True)
    load()
    assert slot.prepare("/project", lambda: False)
    assert COLOUR in slot.picture("/project")["text/html"]


async def test_the_chat_page_draws_it_once_the_lexer_is_there(load: Callable[[], None]) -> None:
    sent: list[EntryHtml] = []
    batcher = HtmlBatcher(sent.append, lambda: True, lambda: [], "/project")
    batcher.put(edit("/project/a.py"))
    batcher.put(replace(edit("/project/a.unknown"), id=2))
    batcher.flush()
    assert [each.entry for each in sent] == [2]
    load()
    await until(lambda: len(sent) == 2)
    assert (sent[1].entry, COLOUR in sent[1].html) == (1, True)


def test_a_batch_run_begins_to_load_it_when_the_call_begins(threads: dict[str, Thread]) -> None:
    Batch(RecordingCell(live=False)).put(replace(edit("a.toml"), status="in_progress"))
    assert list(threads) == ["toml"]


Shown = tuple[Display | Broadcaster, Callable[[], list[str]]]
"""A view, and the questions that stand there."""


def in_cell(chat: Chat) -> Shown:
    cell = RecordingCell()
    view = Display(cell, PageReporter(), cwd=chat.settings.folder)
    return view, lambda: [words for words in cell.plain if "Why you are asked" in words]


def in_page(chat: Chat) -> Shown:
    view = Broadcaster(lambda: chat.conversation, str, chat.settings.folder, LIMIT)
    return view, lambda: [str(request.members["title"]) for request in view.approvals.requests]


@pytest.mark.parametrize("shown", [in_cell, in_page])
async def test_questions_that_come_together_stand_in_the_order_of_arrival(
    opened: Open, load: Callable[[], None], models: Models, shown: Callable[[Chat], Shown]
) -> None:
    """The first alone waits for its lexer."""
    async with opened() as chat, asyncio.timeout(LIMIT), asyncio.TaskGroup() as tasks:
        view, questions = shown(chat)
        view.ask = asked = Mock(wraps=view.ask)
        prompt = TextBlock("demo: together create a.py x ;; ask Second ;; ask Third")
        tasks.create_task(chat.ask([prompt], view))
        await until(lambda: asked.call_count == 3)
        await settled()
        load()
        await until(lambda: len(questions()) == 3)
        found = questions()
        chat.cancel()
    assert [name in each for name, each in zip(("a.py", "Second", "Third"), found, strict=True)] == [True] * 3


@pytest.mark.parametrize(("asked", "languages"), [
    (call(1, kind="execute", raw_input={"command": "ls"}), {"bash"}),
    (edit("a.py"), {"python"}),
    (call(1, kind="read", raw_input={"path": "a.py"}), set()),
])  # fmt: skip
async def test_a_question_waits_for_what_it_is_drawn_with(
    asked: ToolCall, languages: set[str], threads: dict[str, Thread]
) -> None:
    await lexers.load(QuestionView(Question(asked, ())).languages)
    assert {language: thread.is_alive() for language, thread in threads.items()} == dict.fromkeys(languages, False)


def test_a_lexer_is_loaded_in_a_thread_once(threads: dict[str, Thread]) -> None:
    highlight.lexer_of.cache_clear()
    for _ in range(2):
        assert all(step is None for step in lexers.loading(edit("a.toml")))
    assert (list(threads), highlight.lexer_of.cache_info().misses) == (["toml"], 1)
    assert list(lexers.loading(edit("a.unknown"))) == []
