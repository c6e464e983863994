"""The chat page and the API on a real JupyterHub, whose rules for cookies and tokens are not those of Jupyter."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from .chat_page import DECODED, Chat
from .hub import OTHER, PASSWORD, USER, Hub, require_proxy, running_hub
from .lab import Notebook
from .story import INTERRUPT

pytestmark = pytest.mark.browser

STATUS = f"/user/{USER}/copilot/status"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    require_proxy()
    with running_hub(tmp_path_factory.mktemp("hub"), users=(USER, OTHER)) as running:
        yield running


def sign_in(page: Page, user: str) -> None:
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def opened(context: BrowserContext, hub: Hub, user: str, *cells: str) -> Notebook:
    """A notebook in JupyterLab, by a user who signs in."""
    lab = hub.lab(user)
    lab.write("hub.ipynb", *cells)
    notebook = Notebook(context.new_page())
    notebook.page.goto(lab.address("hub.ipynb"))
    sign_in(notebook.page, user)
    notebook.wait_ready()
    return notebook


def test_on_the_chat_page_a_question_is_answered_by_a_click(context: BrowserContext, hub: Hub) -> None:
    chat = Chat(context)
    chat.page.goto(f"{hub.server()}/copilot/chat")
    sign_in(chat.page, USER)
    expect(chat.page.locator("#agent")).to_have_text("demo agent")
    chat.page.get_by_role("button", name="Explain what this project does").click()
    chat.expect("What this project does")
    chat.ready()
    chat.send("demo: image\nask Shall I?\nsay after")
    chat.button("Allow once").click()
    chat.expect("after")
    chat.ready()
    image = chat.log.locator(".files img")
    assert image.evaluate(DECODED) > 0
    chat.page.reload()
    chat.expect("after")
    chat.page.get_by_role("button", name="Recent").click()
    dialog = chat.page.get_by_role("dialog", name="Recent conversations")
    expect(dialog.get_by_role("button", name=re.compile("Explain"))).to_be_visible()
    assert chat.faults == []


def test_in_notebooks_of_two_users_one_allows_an_edit_while_the_other_stops_the_turn(
    chromium: Browser, context: BrowserContext, hub: Hub
) -> None:
    cells = "demo: say I am {0}.\\n\\n\ncreate {0}.txt one", "demo: say Next."
    with closing(chromium.new_context()) as other:
        hers, his = (
            opened(place, hub, user, *(cell.format(user) for cell in cells))
            for place, user in ((context, USER), (other, OTHER))
        )
        for notebook in (hers, his):
            notebook.run(0, wait=False)
            expect(notebook.button(0, "Allow once")).to_be_visible()
        his.page.locator(INTERRUPT).first.click()
        expect(his.output(0)).to_contain_text("not run (you stopped)")
        hers.button(0, "Allow once").click()
        expect(hers.output(0)).to_contain_text("allowed by you")
        for notebook, user in ((hers, USER), (his, OTHER)):
            expect(notebook.output(0)).to_contain_text(f"I am {user}.")
            notebook.run(1)
            expect(notebook.output(1)).to_contain_text("Next.")
    assert [path.name for path in hub.root.glob("home/*/*.txt")] == [f"{USER}.txt"]


@pytest.mark.parametrize(
    ("scopes", "status"),
    [((f"access:servers!server={USER}/",), 200), ((f"access:servers!user={USER}",), 200), (("read:users!user",), 401)],
)
def test_a_token_of_the_hub_needs_the_scope(hub: Hub, scopes: tuple[str, ...], status: int) -> None:
    assert hub.ask("GET", STATUS, hub.token(*scopes))[0] == status


@pytest.mark.parametrize("token", ["", "wrong"])
def test_who_has_none_is_told_which(hub: Hub, token: str) -> None:
    status, body = hub.ask("GET", STATUS, token)
    assert status == 401
    assert f"the scope access:servers!server={USER}/ " in body["error"]["message"]
    assert "/hub/token" in body["error"]["message"]
