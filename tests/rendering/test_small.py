"""Messages, plans, notices, attachments and the footer."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import Audio, Image, PlanEntry, Resource, ResourceLink, UnknownBlock
from copilot_kernel.conversation.model import Notice, Plan
from copilot_kernel.rendering.entry import render
from copilot_kernel.rendering.footer import render_footer
from copilot_kernel.rendering.markdown import to_html
from copilot_kernel.rendering.markup import RED, pre
from copilot_kernel.rendering.message import render_text

from .allowed import text_of
from .samples import PIXEL, said, sent


def words(entry):
    return render(entry)["text/plain"]


# -- messages --------------------------------------------------------------------------------------------------------


def test_a_message_keeps_its_markdown_as_words():
    assert render(said("a **b**\n")) == {"text/html": "<p>a <strong>b</strong></p>\n", "text/plain": "a **b**"}


def test_html_that_was_made_already_is_not_made_again():
    assert render_text("agent", "a", "<p>b</p>") == {"text/html": "<p>b</p>", "text/plain": "a"}


def test_a_thought_is_folded_and_says_what_it_is_about():
    bundle = render(said("**Looking** at it\n\nand *more*", "thought"))
    assert bundle["text/plain"] == "Thinking:\n  **Looking** at it\n\n  and *more*"
    assert bundle["text/html"].startswith("<details>")
    assert text_of(bundle["text/html"]).startswith("Thinking · Looking** at it")


def test_what_the_user_said_is_quoted_and_not_rendered():
    assert render(said("**a**\n<b>", "user"))["text/plain"] == "> **a**\n> <b>"
    assert text_of(render(said("**a**\n<b>", "user"))["text/html"]) == "**a**\n<b>"


# -- plans -----------------------------------------------------------------------------------------------------------


def test_a_plan_is_a_list_of_boxes():
    steps = PlanEntry("Read", "low", "completed"), PlanEntry("Change", "high", "in_progress"), PlanEntry("Test\nit")
    assert words(Plan(0, 1, steps)) == "Plan (1 of 3 done)\n☑ Read\n◐ Change (high priority)\n☐ Test it"
    assert text_of(render(Plan(0, 1, steps))["text/html"]) == "Plan 1 of 3 done☑ Read◐ Change high priority☐ Test\nit"


def test_an_empty_plan_and_an_unknown_status_are_plans():
    assert words(Plan(0, 1, ())) == "Plan (empty)"
    assert words(Plan(0, 1, (PlanEntry("a", "x", "y"),), "for it")) == "Plan (0 of 1 done) for it\n☐ a"


# -- notices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("notice", "shown"), [
    (Notice(0, 1, "info", "Compacted"), "ℹ Compacted"),
    (Notice(0, 1, "warning", "Careful", "It is late."), "⚠ warning: Careful\nIt is late."),
    (Notice(0, 1, "error", "No"), "✗ error: No"),
    (Notice(0, 1, "unknown", "An update", raw={"a": 1}), '• An update\n{\n  "a": 1\n}'),
])  # fmt: skip
def test_a_notice_in_words(notice, shown):
    assert words(notice) == shown


# -- attachments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("block", "shown"), [
    (Image("", "image/png"), "[image/png, 0 bytes]"),
    (Audio(PIXEL, "audio/wav"), "[audio/wav, 70 bytes]"),
    (ResourceLink("https://x.example/a", "a", "A", "it", "text/html", 1234),
     "[A] https://x.example/a it · text/html · 1,234 bytes"),
    (ResourceLink("file:///a"), "[link] file:///a"),
    (Resource("file:///a", "one\ntwo"), "[file:///a]\none\ntwo"),
    (Resource("file:///a", None, PIXEL, "image/png"), "[file:///a, image/png, 70 bytes]"),
    (UnknownBlock({"type": "x"}), '[something that this client does not know]\n{\n  "type": "x"\n}'),
])  # fmt: skip
def test_an_attachment_in_words(block, shown):
    assert words(sent(block)) == shown


@pytest.mark.parametrize(("data", "mime_type"), [
    (PIXEL + "!", "image/png"), ("", "image/png"), ("a", "image/png"), ("é" * 4, "image/png"), (PIXEL, "text/html"),
    (PIXEL, "image/png\" x=\""),
])  # fmt: skip
def test_an_image_that_is_none_is_only_named(data, mime_type):
    bundle = render(sent(Image(data, mime_type)))
    assert set(bundle) == {"text/html", "text/plain"}
    assert "cannot be shown" in bundle["text/html"]


def test_white_space_in_base64_is_harmless():
    assert render(sent(Image(f"{PIXEL[:20]}\n{PIXEL[20:]}", "image/png")))["image/png"] == PIXEL


def test_a_drawing_is_an_image_that_runs_nothing():
    assert render(sent(Image(PIXEL, "image/svg+xml"))) == {
        "text/html": f'<img src="data:image/svg+xml;base64,{PIXEL}" alt="image/svg+xml">',
        "text/plain": "[image/svg+xml, 70 bytes]",
    }


def test_a_sound_can_be_played():
    assert "<audio controls" in render(sent(Audio(PIXEL, "audio/wav")))["text/html"]


@pytest.mark.parametrize(("uri", "is_link"), [
    ("https://x.example", True), ("http://x.example", True), ("javascript:x", False), ("file:///x", False),
    ("/lab", False), ("https://x.example y", False), ("https://x.example\n", False),
])  # fmt: skip
def test_only_web_addresses_are_links(uri, is_link):
    assert ("<a href" in render(sent(ResourceLink(uri)))["text/html"]) is is_link


# -- the footer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fields", "shown"), [
    ({"agent": "demo agent"}, "demo agent"),
    ({"agent": "Copilot", "model": "m", "mode": "Plan"}, "Copilot · m · Plan"),
    ({"agent": "a", "used": 8728, "size": 128_000}, "a · context 6 % of 128k"),
    ({"agent": "a", "used": 8728, "size": 0}, "a · context 9k"),
    ({"agent": "a", "used": 0, "size": 128_000}, "a"),
    ({"agent": "a", "stop_reason": "cancelled"}, "cancelled · a"),
    ({"agent": "a", "stop_reason": "tired"}, "stopped: tired · a"),
    ({"agent": "a", "permission_mode": "acceptEdits"}, "permissions: acceptEdits · a"),
    ({"agent": "a", "unasked": 2}, "⚠ 2 ran without asking · a"),
    ({"agent": "", "stop_reason": "cancelled", "unasked": 1, "permission_mode": "plan"},
     "cancelled · ⚠ 1 ran without asking · permissions: plan"),
    ({"agent": "a", "seconds": 3.21, "person_present": True}, "a · 3.2 s"),
    ({"agent": "a", "seconds": 75, "person_present": True}, "a · 1 min 15 s"),
    ({"agent": "a", "seconds": 3.21, "person_present": False}, "a"),
])  # fmt: skip
def test_a_footer_in_words(fields, shown):
    bundle = render_footer(**fields)
    assert bundle["text/plain"] == shown
    assert text_of(bundle["text/html"]).replace(" · ", " ") == shown.replace(" · ", " ")


@pytest.mark.parametrize(("mode", "is_red"), [("default", False), ("acceptEdits", False), ("bypassPermissions", True)])
def test_a_mode_in_which_nothing_is_asked_is_red(mode, is_red):
    assert (RED in render_footer(agent="a", permission_mode=mode)["text/html"]) is is_red


def test_no_footer_if_there_is_nothing_to_say():
    assert render_footer(agent="") is None


def test_preformatted_lines_bring_their_font_along():
    """In the pages that nbconvert makes, `pre` alone is set in the page's own font."""
    assert "font-family:Menlo, Consolas, monospace" in pre("x")
    assert "font-family:Menlo, Consolas, monospace" in to_html("    code")
