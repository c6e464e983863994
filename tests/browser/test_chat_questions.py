"""Questions of the agent on the chat page: what is shown, what can be pressed when, and what comes of it."""

import pytest
from copilot_kernel.rendering.answers import NO_REASON, WRITE_RULE
from playwright.sync_api import expect

from .chat_page import Chat
from .serving import Server

pytestmark = pytest.mark.browser


def test_a_command_is_shown_whole_and_runs_only_when_it_is_allowed(chat: Chat, chat_server: Server) -> None:
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
    assert not (chat_server.work / "one.txt").exists()
    chat.button("Allow once").click()
    expect(question).to_have_count(0)
    chat.expect("✓ allowed by you")
    chat.ready()
    assert (chat_server.work / "one.txt").exists()
    expect(chat.page.get_by_label("Message")).to_be_focused()


def test_always_offers_rules_in_words_then_what_the_agent_remembers_and_a_rule_to_write(chat: Chat) -> None:
    chat.send("demo: shell echo one")
    answers = chat.log.get_by_role("article", name="Question").get_by_role("button")
    expect(answers.locator("visible=true")).to_have_text(["Allow once", "Deny", "Deny and say why…", "Always allow ▾"])
    chat.button("Always allow ▾").click()
    offered = "Always allow running “echo one” in this conversation"
    expect(chat.button(offered)).to_be_focused()
    expect(answers.locator("visible=true")).to_have_text([offered, "Let the agent remember it", "Back"])
    rule = chat.log.get_by_role("textbox", name="Rule")
    expect(rule).to_be_hidden()
    expect(chat.log.get_by_text("similar calls without asking").locator("visible=true")).to_have_count(1)
    chat.page.keyboard.press("Escape")
    expect(chat.button("Always allow ▾")).to_be_focused()
    chat.button("Always allow ▾").click()
    chat.log.get_by_text(WRITE_RULE).click()
    expect(rule).to_have_value("Bash(echo one)")
    rule.fill("Bash")
    expect(chat.button("Add rule")).to_be_enabled()
    rule.press("Enter")
    expect(chat.log.get_by_role("alert").locator("visible=true")).to_contain_text("Add it again if you mean it.")
    rule.fill("Bash(echo *)")
    chat.button("Add rule").click()
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


def test_hasty_clicks_allow_nothing_and_buttons_look_so(chat: Chat, chat_server: Server) -> None:
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
    assert (chat_server.work / "h1.txt").exists() != (chat_server.work / "h2.txt").exists()
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


def test_a_no_can_say_why_and_the_agent_goes_on_with_that(chat: Chat) -> None:
    chat.send("demo: shell echo hi")
    chat.button("Deny and say why…").click()
    chat.button("Deny and send").click()
    expect(chat.log.get_by_role("alert").locator("visible=true")).to_contain_text(NO_REASON)
    reason = chat.log.get_by_role("textbox", name="Tell the agent what to do instead")
    expect(reason).to_have_attribute("placeholder", "Enter sends")
    reason.fill("demo: say another way")
    for key in ("Escape", "Enter", "Alt+Enter", "Enter"):  # the second opens it again
        chat.page.keyboard.press(key)
    chat.expect("another way")
    chat.ready()
    expect(chat.log.locator(".question")).to_have_count(0)


def test_a_form_that_opens_is_shown_whole_and_the_page_scrolls_no_further(chat: Chat) -> None:
    chat.page.set_viewport_size({"width": 1280, "height": 560})
    text = "\\n".join(f"line {number}" for number in range(60))
    chat.send(f"demo: together create big.txt {text} ;; ask Another")
    asked = chat.log.get_by_role("article", name="Question").first
    opener = asked.get_by_role("button", name="Deny and say why…")
    expect(chat.log.get_by_role("button", name="Allow once")).to_have_count(2)
    opener.evaluate("each => each.scrollIntoView({ block: 'end' })")
    opener.click()
    reason = chat.log.get_by_role("textbox", name="Tell the agent what to do instead")
    expect(reason).to_be_focused()
    below = """each => document.querySelector('main').getBoundingClientRect().bottom
      - each.closest('form').getBoundingClientRect().bottom"""
    assert abs(reason.evaluate(below)) <= 1
    chat.page.keyboard.press("Escape")
    asked.get_by_role("button", name="Deny: big.txt").click()
    chat.deny()


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


def test_a_question_that_is_about_no_entry_stands_at_the_end(chat: Chat) -> None:
    chat.send("demo: say hello")
    chat.ready()
    order = chat.page.evaluate("""async () => {
      const { Log } = await import(document.querySelector('script[type=module]').src.replace('chat.js', 'log.js'));
      const root = document.createElement('div');
      const shown = new Log(root), answers = { choices: [], last: [] };
      shown.draw({ entry: 3, piece: 0, kind: 'message', html: 'said' });
      shown.add('command', '', 'typed');
      shown.ask({ call_id: 'own', entry: null, html: 'Trust them?', about: 'Trust them?', answers }, () => {});
      shown.ask({ call_id: 'call', entry: 3, html: 'Run it?', about: 'ls', answers }, () => {});
      return [...root.children].map(each => each.textContent);
    }""")
    assert order == ["said", "Run it?1 of 2", "typed", "Trust them?2 of 2"]
