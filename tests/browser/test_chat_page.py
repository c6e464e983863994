"""The chat page as people use it, in a real browser against a real server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from copilot_kernel.rendering.answers import NO_REASON
from copilot_kernel.rendering.markup import file_link
from copilot_kernel.rendering.status import STARTING
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from .axe import findings
from .lab import LIMIT_MS, exactly
from .serving import Server, running_server

pytestmark = pytest.mark.browser

HOSTILE = (
    "demo: say # Hi <script>document.title='bad'</script> <img src=/evil.png onerror=alert(1)>"
    " ![x](/evil.png) ![y](https://evil.example/a.png) [l](javascript:alert(1)) <style>body{display:none}</style>"
    " <a href=# onclick=alert(1)>c</a> <form action=/evil><input name=a></form> <iframe src=/evil></iframe>"
)

DECODED = "image => image.decode().then(() => image.naturalWidth)"
CODE = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "So:\n\n```python\nprint(1)\n```\n"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("chat-page")) as running:
        yield running


class Chat:
    """The page, as its reader sees it; `faults` are what the browser complains of, `asked` what it asked for."""

    def __init__(self, context: BrowserContext, server: Server | None = None) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(LIMIT_MS)
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda line: self.faults.append(line.text) if line.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        if server is not None:
            self.page.goto(server.page)

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log", name="Conversation")

    def send(self, text: str) -> None:
        self.page.get_by_label("Message").fill(text)
        self.page.keyboard.press("Enter")

    def expect(self, text: str | re.Pattern[str]) -> None:
        expect(self.log).to_contain_text(text)

    def ready(self) -> None:
        """The turn is over."""
        expect(self.page.get_by_label("Stop the turn")).to_be_hidden()

    def deny(self) -> None:
        """Answer the question, and wait for the end of the turn."""
        self.button("Deny").click()
        self.ready()

    def button(self, name: str) -> Locator:
        return self.log.get_by_role("button").filter(has_text=exactly(name))


@pytest.fixture
def chat(context: BrowserContext, server: Server) -> Iterator[Chat]:
    chat = Chat(context, server)
    yield chat
    assert chat.faults == []


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


def test_a_command_is_shown_whole_and_runs_only_when_it_is_allowed(chat: Chat, server: Server) -> None:
    chat.send("demo: shell echo one > one.txt && echo done")
    question = chat.log.get_by_role("article", name="Question")
    expect(question).to_contain_text("echo one > one.txt && echo done")
    expect(question).to_have_accessible_name("Question: echo one > one.txt && echo done")
    expect(chat.page.locator("#alert")).to_have_text(
        "demo agent asks: Run this command? echo one > one.txt && echo done"
    )
    for name in ("Allow once", "Deny", "Deny and say why…"):
        expect(chat.button(name)).to_have_accessible_name(f"{name}: echo one > one.txt && echo done")
    assert chat.page.title().startswith("?")
    assert not (server.work / "one.txt").exists()
    chat.button("Allow once").click()
    expect(question).to_have_count(0)
    chat.expect("✓ allowed by you")
    chat.ready()
    assert (server.work / "one.txt").exists()
    expect(chat.page.get_by_label("Message")).to_be_focused()


def test_always_offers_a_rule_that_can_be_changed_and_last_what_the_agent_remembers(chat: Chat) -> None:
    chat.send("demo: shell echo one")
    answers = chat.log.get_by_role("article", name="Question").get_by_role("button")
    expect(answers.locator("visible=true")).to_have_text(["Allow once", "Deny", "Deny and say why…", "Always allow ▾"])
    chat.button("Always allow ▾").click()
    rule = chat.log.get_by_role("textbox", name="Rule")
    expect(rule).to_be_focused()
    expect(rule).to_have_value("Bash(echo one)")
    expect(chat.log.get_by_text("this rule covers, in this conversation.")).to_be_visible()
    shown = answers.locator("visible=true")
    expect(shown).to_have_text(["Always allow", "Back", "Always allow (the agent remembers it)"])
    expect(chat.log.get_by_text("whatever it considers the same").locator("visible=true")).to_have_count(1)
    chat.button("Back").click()
    expect(chat.button("Always allow ▾")).to_be_focused()
    chat.button("Always allow ▾").click()
    rule.fill("Bash")
    expect(chat.button("Always allow")).to_be_enabled()
    rule.press("Enter")
    expect(chat.log.get_by_role("alert").locator("visible=true")).to_contain_text("Save it again if you mean it.")
    rule.fill("Bash(echo *)")
    chat.button("Always allow").click()
    chat.expect("allowed by you; rule Bash(echo *) added for this session")
    chat.ready()
    chat.send("demo: shell echo two")
    chat.expect("allowed by rule Bash(echo *)")
    chat.ready()


HASTY = """() => {
  window.seen = [];
  new MutationObserver(() => {
    for (const each of document.querySelectorAll('.question:not([data-answered]) button.copilot-guarded')) {
      each.click();
      window.seen.push([each.getAttribute('aria-disabled'), getComputedStyle(each).opacity]);
    }
  }).observe(document.querySelector('#log'), { childList: true, subtree: true });
}"""


HURRIED = """([x, y]) => new Promise(done => {
  const click = () => { for (let times = 0; times < 6; times += 1) document.elementFromPoint(x, y)?.click(); };
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll('.question').length > 1) return;
    observer.disconnect();
    click();
    done();
  }).observe(document.querySelector('#log'), { childList: true, subtree: true });
  click();
})"""
"""Clicks on one place, and more as soon as the first question has gone."""


def test_hasty_clicks_allow_nothing_and_buttons_look_so(chat: Chat, server: Server) -> None:
    chat.page.evaluate(HASTY)
    chat.send("demo: together create h1.txt x ;; create h2.txt x")
    expect(chat.button("Allow once")).to_have_count(2)
    assert {tuple(each) for each in chat.page.evaluate("() => window.seen")} == {("true", "0.5")}
    expect(chat.log.locator(".copilot-answer-number")).to_have_text(["1 of 2", "2 of 2"])
    first, second = (chat.button("Allow once").nth(number) for number in (0, 1))
    expect(first).to_be_enabled()
    expect(second).to_be_enabled()
    place = first.bounding_box()
    chat.page.evaluate(HURRIED, [place["x"] + 5, place["y"] + 5])
    chat.expect("allowed by you")
    expect(chat.log.locator(".question")).to_have_count(1)
    expect(chat.log.locator(".copilot-answer-number")).to_have_text("")
    assert (server.work / "h1.txt").exists() != (server.work / "h2.txt").exists()
    chat.button("Deny").click()
    chat.expect("denied by you")
    chat.ready()


def test_who_answers_by_keyboard_comes_to_the_next_question_and_not_to_its_buttons(chat: Chat) -> None:
    chat.send("demo: together ask One ;; ask Two")
    expect(chat.button("Deny")).to_have_count(2)
    chat.button("Deny").first.press("Enter")
    expect(chat.log.get_by_role("article", name="Question: Two")).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(chat.log.locator(".question")).to_have_count(1)
    chat.page.keyboard.press("Escape")
    chat.deny()


@pytest.mark.parametrize(("what", "is_calm"), [("shell echo", True), ("shell git push origin main --force", False)])
def test_nothing_invites_to_allow_what_is_alarming(chat: Chat, what: str, is_calm: bool) -> None:
    chat.send(f"demo: {what}")
    allow = chat.button("Allow once")
    expect(allow).to_be_enabled()
    assert allow.evaluate("each => each.classList.contains('copilot-suggested')") == is_calm
    expect(chat.button("Always allow ▾")).to_have_count(int(is_calm))
    chat.deny()


def test_an_approval_says_how_much_it_is_about_and_the_call_is_shown_once(chat: Chat) -> None:
    text = "\\n".join(f"line {number}" for number in range(34))
    chat.send(f"demo: create big.txt {text}")
    expect(chat.button("Allow once (all 34 changed lines)")).to_be_visible()
    expect(chat.log.get_by_text("22 more changed lines").locator("visible=true")).to_have_count(1)
    expect(chat.log.locator(".tool:visible")).to_have_count(0)
    chat.deny()
    expect(chat.log.locator(".tool:visible")).to_have_count(1)


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
    chat.expect("begun")
    chat.page.reload()
    chat.expect(re.compile("begun.*ended", re.DOTALL))
    chat.ready()
    assert chat.log.inner_text().count("begun") == 2, "in the prompt and in the answer"


def test_who_comes_after_the_end_sees_in_its_place_what_each_turn_changed(chat: Chat) -> None:
    for words in ("first", "second"):
        chat.send(f"demo: unasked exit 3\nsay The {words} answer.\n")
        chat.ready()
    shown = re.compile(
        r"The first answer\..*⚠ 1 not asked: 1 command · 1 command, failed.*The second answer\..*1 command, failed",
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


def test_even_a_script_in_the_page_would_not_run(chromium: Browser, server: Server) -> None:
    """The policy stands behind the rendering."""
    context = chromium.new_context()
    chat = Chat(context, server)
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


def test_a_no_can_say_why_and_the_agent_goes_on_with_that(chat: Chat) -> None:
    chat.send("demo: shell echo hi")
    chat.button("Deny and say why…").click()
    chat.button("Deny and send").click()
    expect(chat.log.get_by_role("alert").locator("visible=true")).to_contain_text(NO_REASON)
    chat.log.get_by_role("textbox", name="Tell the agent what to do instead").fill("demo: say another way")
    for key in ("Escape", "Enter", "Alt+Enter", "Enter"):  # the second opens it again
        chat.page.keyboard.press(key)
    chat.expect("another way")
    chat.ready()
    expect(chat.log.locator(".question")).to_have_count(0)


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


def test_by_keyboard_alone(chat: Chat) -> None:
    expect(chat.page.get_by_label("Message")).to_be_focused()
    chat.page.keyboard.type("demo: ask")
    chat.page.keyboard.press("Enter")
    button = chat.button("Allow once")
    expect(button).to_be_enabled()
    for _ in range(10):
        chat.page.keyboard.press("Shift+Tab")
        if button.evaluate("each => each === document.activeElement"):
            break
    chat.page.keyboard.press("Enter")
    chat.ready()
    expect(chat.page.get_by_label("Message")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_either_theme(chromium: Browser, server: Server, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1000, "height": 800})  # type: ignore[arg-type]
    chat = Chat(context, server)
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
    expect(chat.button("Always allow").first).to_be_enabled()
    chat.log.locator("pre.copilot-code").hover()
    found += findings(chat.page, "body")
    context.close()
    assert found == []
