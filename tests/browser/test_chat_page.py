"""The chat page as people use it, in a real browser against a real server."""

import json
import re
from pathlib import Path

import pytest
from copilot_kernel.rendering.markup import file_link
from copilot_kernel.rendering.status import STARTING
from playwright.sync_api import Browser, BrowserContext, expect

from .axe import findings
from .chat_page import DECODED, Chat
from .serving import Server, running_server

pytestmark = pytest.mark.browser

HOSTILE = (
    "demo: say # Hi <script>document.title='bad'</script> <img src=/evil.png onerror=alert(1)>"
    " ![x](/evil.png) ![y](https://evil.example/a.png) [l](javascript:alert(1)) <style>body{display:none}</style>"
    " <a href=# onclick=alert(1)>c</a> <form action=/evil><input name=a></form> <iframe src=/evil></iframe>"
)

CODE = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "So:\n\n```python\nprint(1)\n```\n"},
}


def test_a_starter_is_sent_and_the_answer_streams_in(chat: Chat) -> None:
    expect(chat.page.locator("#agent")).to_have_text("demo agent")
    expect(chat.page.locator("#model")).to_have_text("scripted")
    chat.page.get_by_role("button", name="Explain what this project does").click()
    expect(chat.log.locator(".prompt")).to_have_text("Explain what this project does")
    chat.expect("What this project does")
    expect(chat.log.get_by_role("table")).to_be_visible()
    chat.ready()
    expect(chat.page.locator("#said")).to_have_text("The answer is complete.")
    expect(chat.log.locator(".tool:visible")).to_have_count(1)
    expect(chat.log.get_by_text("Read 2 files")).to_be_visible()
    assert "token" not in chat.page.url


def test_text_is_there_before_the_answer_is(chat: Chat) -> None:
    chat.send("demo: slow 6000 0.1")
    expect(chat.log.locator(".message")).not_to_be_empty()
    expect(chat.page.get_by_label("Stop the turn")).to_be_visible()
    chat.page.get_by_label("Stop the turn").click()
    chat.ready()
    expect(chat.page.locator("#said")).to_have_text("Stopped.")
    expect(chat.log.get_by_role("article", name="Summary")).to_have_text(re.compile(r"^■ Stopped by you after \d"))


def test_code_is_copied(chat: Chat, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.send(f"demo: raw {json.dumps(CODE)}")
    chat.ready()
    chat.log.locator("pre.copilot-code").hover()
    chat.log.get_by_role("button", name="Copy this code").click()
    chat.expect("Copied")
    assert chat.page.evaluate("() => navigator.clipboard.readText()") == "print(1)"


def test_the_name_of_a_file_is_plain_text_since_the_page_stands_elsewhere(chat: Chat) -> None:
    draw = """async html => {
      const { Log } = await import(document.querySelector('script[type=module]').src.replace('chat.js', 'log.js'));
      const root = document.createElement('div');
      new Log(root).draw({ entry: 0, piece: 0, kind: 'tool', html });
      return [root.textContent, [...root.querySelectorAll('a, [style]')].map(link => link.textContent)];
    }"""
    links = f'{file_link("src/a.py", ".")} <a href="https://ok.example">page</a>'
    assert chat.page.evaluate(draw, links) == ["src/a.py page", ["page"]]


def test_a_reload_in_the_middle_of_a_turn_loses_nothing(chat: Chat) -> None:
    chat.send("demo: say begun\nslow 25 0.1\nsay ended")
    chat.expect(re.compile("begun.*begun", re.DOTALL))  # the page shows the prompt before it is sent
    chat.page.reload()
    chat.expect(re.compile("ended.*ended", re.DOTALL))
    chat.ready()
    assert chat.log.inner_text().count("begun") == 2, "in the prompt and in the answer"


def test_who_comes_after_the_end_sees_in_its_place_what_each_turn_changed(chat: Chat) -> None:
    for words in ("first", "second"):
        chat.send(f"demo: unasked exit 3\nsay The {words} answer.\n")
        chat.ready()
    shown = re.compile(
        r"The first answer\..*⚠ 1 not asked: 1 command · 1 command failed.*The second answer\..*1 command failed",
        re.DOTALL,
    )
    chat.expect(shown)
    chat.page.reload()
    chat.expect(shown)
    expect(chat.page.get_by_role("article", name="Summary")).to_have_count(2)


def test_commands_of_ours_are_answered_in_the_log(chat: Chat) -> None:
    chat.send("/status")
    expect(chat.log.locator(".command")).to_contain_text("demo agent")
    chat.send("/nonsense")
    expect(chat.log.locator(".error")).to_contain_text("Unknown command /nonsense")
    expect(chat.page.locator("#alert")).to_contain_text("/nonsense")


def test_hostile_markdown_runs_no_script_and_asks_for_nothing(chat: Chat) -> None:
    chat.ready()
    expect(chat.page.locator("#link")).to_have_attribute("data-state", "open")
    before = len(chat.asked)
    chat.send(HOSTILE)
    chat.expect("Hi")
    chat.ready()
    assert chat.asked[before:] == []
    assert chat.page.title() == "Copilot chat"
    message = chat.log.locator(".message")
    assert message.locator("script, img, iframe, form, input, style, [onclick], [onerror]").count() == 0
    assert message.locator("a:not([href^='http'])").count() == 0


def test_even_a_script_in_the_page_would_not_run(chromium: Browser, chat_server: Server) -> None:
    """The policy stands behind the rendering."""
    context = chromium.new_context()
    chat = Chat(context, chat_server)
    stopped: list[str] = []
    chat.page.on("requestfailed", lambda request: stopped.append(f"{request.failure} {request.url}"))
    expect(chat.page.locator("#link")).to_have_attribute("data-state", "open")
    script = """() => new Promise(done => {
      const stopped = new Set();
      document.addEventListener('securitypolicyviolation', violation => {
        stopped.add(violation.effectiveDirective);
        if (stopped.size === 3) done([[...stopped].sort(), window.ran ?? null]);
      });
      const box = document.querySelector('#log');
      box.innerHTML = '<img src="/x" onerror="window.ran = 1"><img src="https://evil.example/x.png">';
      const made = document.createElement('script'); made.textContent = 'window.ran = 2'; box.append(made);
    })"""
    assert chat.page.evaluate(script) == [["img-src", "script-src-attr", "script-src-elem"], None]
    assert [fault for fault in chat.faults if "Content Security Policy" in fault]
    assert stopped == ["csp https://evil.example/x.png"]
    context.close()


def test_nothing_that_the_page_needs_is_blocked(chat: Chat) -> None:
    chat.send("demo: image\ntool svg audio\ncreate a.txt b\nplan A;B / 1\nthink deep")
    chat.deny()
    expect(chat.log.locator(".files img")).to_have_count(2)
    for image in chat.log.locator(".files img").all():
        assert image.evaluate(DECODED) > 0
    assert chat.log.locator(".files audio").evaluate(
        "sound => new Promise(done => {"
        "sound.readyState ? done(true) : sound.onloadedmetadata = () => done(true); sound.load(); })"
    )
    coloured = chat.log.locator(".tool [style^='color']").first
    assert coloured.evaluate("each => getComputedStyle(each).color") != chat.log.evaluate(
        "each => getComputedStyle(each).color"
    )


def test_a_new_chat_and_back_by_the_list_of_recent_ones(chat: Chat) -> None:
    chat.send("Explain the plum project")
    chat.ready()
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    chat.page.get_by_role("button", name="Recent").click()
    dialog = chat.page.get_by_role("dialog", name="Recent conversations")
    dialog.get_by_role("button", name=re.compile("plum")).click()
    chat.expect("Explain the plum project")


def test_the_server_starts_again_and_the_page_comes_back_by_itself(context: BrowserContext, tmp_path: Path) -> None:
    with running_server(tmp_path / "again") as server:
        chat = Chat(context, server)
        chat.send("demo: say before")
        chat.ready()
        chat.expect("before")
        server.stop()
        expect(chat.page.locator("#banner")).to_contain_text("Trying again")
        server.start()
        expect(chat.page.locator("#banner")).to_be_hidden()
        expect(chat.page.locator("#link")).to_have_attribute("data-state", "open")
        chat.expect("before")
        chat.send("demo: remember")
        chat.expect("This is prompt 2 of this session")


def test_a_prompt_that_waits_for_the_agent_is_shown_with_what_it_waits_for(
    context: BrowserContext, tmp_path: Path
) -> None:
    with running_server(tmp_path, COPILOT_KERNEL_DEMO="never-answers") as server:
        chat = Chat(context, server)
        expect(chat.page.locator("#link")).to_have_attribute("data-state", "open")
        chat.send("Hello?")
        expect(chat.page.locator("#passing span").first).to_have_text(STARTING)
        expect(chat.log.locator(".prompt")).to_have_text("Hello?")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_either_theme(chromium: Browser, chat_server: Server, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1000, "height": 800})  # type: ignore[arg-type]
    chat = Chat(context, chat_server)
    chat.send(
        "demo: think why\nsay Some **text**, `code` and [a link](https://example.org)\nplan A;B / 1\nread nothing.txt"
    )
    chat.ready()
    chat.send("/status")
    chat.send("/nonsense")
    chat.send(f"demo: together create a.txt b ;; shell git push --force origin x ;; raw {json.dumps(CODE)}")
    expect(chat.button("Deny")).to_have_count(2)
    expect(chat.button("Allow once").last).to_be_enabled()
    found = findings(chat.page, "body")
    for opener in ("Always allow ▾", "Deny and say why…"):
        chat.button(opener).first.click()
    expect(chat.button("Let the agent remember it").first).to_be_enabled()
    chat.log.locator("pre.copilot-code").hover()
    found += findings(chat.page, "body")
    context.close()
    assert found == []


PARTS = """() => ['.name', '#link', '#recent', '#new'].map(part => {
  const { left, right } = document.querySelector(part).getBoundingClientRect();
  return [Math.round(left), Math.round(right)];
}).flat()"""
CUT = "part => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight"


@pytest.mark.parametrize("width", [280, 320, 400, 640, 700])
def test_in_a_narrow_page_nothing_of_its_head_stands_over_another_part_and_the_field_says_what_it_is_for(
    chat: Chat, width: int
) -> None:
    chat.page.set_viewport_size({"width": width, "height": 640})
    places = chat.page.evaluate(PARTS)
    assert places == sorted(places)
    assert [chat.page.locator(part).evaluate(CUT) for part in (".name", "#text")] == [False, False]
    expect(chat.page.get_by_role("heading", name="Copilot chat")).to_have_count(1)
