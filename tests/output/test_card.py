"""The buttons of a question: the guard, a rule of the user's own, and a no with a reason."""

import asyncio
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.permissions.question import PermissionAnswer, RuleOffer
from copilot_kernel.rendering.answers import EMPTY_RULE, NO_REASON, WRITE_RULE
from copilot_kernel.rendering.permission_options import REMEMBERED
from copilot_kernel.views.permission_question import PermissionQuestion

from ..limits import until
from .asked import EDIT, QUESTION, Asked, Clock, Models, Place, ask, ask_ready, guard, questions
from .recording import ALLOW, OPTIONS, REJECT, RecordingCell, call, question

# -- the guard -------------------------------------------------------------------------------------------------------


async def test_an_answer_that_allows_does_not_count_at_once_but_a_no_does(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard(monkeypatch, 3600)
    options = (
        *OPTIONS,
        PermissionOption("later", "Later", "postpone"),
        PermissionOption("never", "Never", "reject_always"),
    )
    asked = await ask(RecordingCell(), Place(), question(EDIT, options=options))
    assert models.disabled() == ["Allow once", "Later", f"Always allow ({REMEMBERED})"]
    for name in models.disabled():
        models.click(models.buttons(name)[0])
    await asyncio.sleep(0)
    assert not asked.task.done()
    models.click(models.buttons(f"Always deny ({REMEMBERED})")[0])
    assert (await asked.wait()).option == options[-1]


async def ask_two(models: Models) -> tuple[Asked, Asked, Place]:
    """Two questions of one cell, of which every button can be pressed."""
    place = Place()
    cards = questions(RecordingCell(), place)
    asked = (PermissionQuestion(each, "/project") for each in (QUESTION, question(call(2))))
    first, second = (Asked(cards.ask(each)) for each in asked)
    await until(lambda: len(place.shown) == 2)
    await models.released()
    return first, second, place


async def test_what_is_decided_about_one_question_guards_those_that_move_up(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, place = await ask_two(models)
    guard(monkeypatch, 3600)
    allow = models.buttons("Allow once")
    models.click(allow[0])
    await first.wait()
    place.close()
    assert models.disabled() == ["Allow once", f"Always allow ({REMEMBERED})"]
    models.click(allow[1])
    await asyncio.sleep(0)
    assert not second.task.done()
    models.click(models.buttons("Deny")[0])
    assert await second.wait() == PermissionAnswer(REJECT, "you")


async def test_what_changes_above_guards_less_and_less_often(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, place = Clock(monkeypatch), Place()
    asked = await ask(RecordingCell(), place)
    guarded: list[float] = []
    for _ in range(300):
        clock.now += 0.1
        await models.released()
        shifted = place.cards[0]
        shifted.shifted()
        if models.disabled():
            guarded.append(clock.now)
    pauses = [later - earlier for earlier, later in pairwise(guarded)]
    assert 4 <= len(guarded) <= 5
    assert pauses == sorted(pauses)
    models.click(models.buttons("Deny")[0])
    assert (await asked.wait()).option == REJECT


async def test_what_one_card_opens_guards_the_others(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask_two(models)
    guard(monkeypatch, 3600)
    models.click(models.buttons(WITH_REASON)[0])
    await asyncio.sleep(0)
    assert models.disabled().count("Allow once") == 2


async def test_several_questions_are_numbered_until_one_is_left(models: Models) -> None:
    def numbers() -> list[str]:
        return [words for state in models.models.values() for words in re.findall(r"\d of \d", str(state.get("value")))]

    first, _, place = await ask_two(models)
    assert numbers() == ["1 of 2", "2 of 2"]
    models.click(models.buttons("Deny")[0])
    await first.wait()
    place.close()
    assert numbers() == []


# -- a rule, and a reason --------------------------------------------------------------------------------------------

OFFERS = (RuleOffer("Here", "Edit(./notes.txt)"), RuleOffer("Everywhere", "Edit(/project/notes.txt)", "settings"))
SUGGESTED = replace(QUESTION, offers=OFFERS, folder="/project")
BY_RULE, WITH_REASON = "Always allow ▾", "Deny and say why…"


@pytest.mark.parametrize("offer", OFFERS)
async def test_a_rule_is_added_for_as_long_as_its_words_say(models: Models, offer: RuleOffer) -> None:
    asked = await ask_ready(models, RecordingCell(), Place(), SUGGESTED)
    models.click(models.buttons(BY_RULE)[0])
    await asyncio.sleep(0)
    await models.released()
    models.click(models.buttons(offer.words)[0])
    assert await asked.wait() == PermissionAnswer(ALLOW, "you", rule=offer.rule, keep=offer.keep)


async def test_a_rule_can_be_changed_and_then_holds_for_the_conversation(models: Models) -> None:
    asked = await ask_ready(models, RecordingCell(), Place(), SUGGESTED)
    models.click(models.buttons(BY_RULE)[0])
    models.click(models.buttons(WRITE_RULE)[0])
    assert models.models[models.buttons("Rule")[0]]["value"] == "Edit(./notes.txt)"
    models.enter("Rule", " Edit(*.txt) ")
    await asyncio.sleep(0)
    await models.released()
    models.click(models.buttons("Add rule")[0])
    assert await asked.wait() == PermissionAnswer(ALLOW, "you", rule="Edit(*.txt)")


async def test_opening_the_rule_guards_what_saves_it(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await ask_ready(models, RecordingCell(), Place(), SUGGESTED)
    guard(monkeypatch, 3600)
    models.click(models.buttons(BY_RULE)[0])
    await asyncio.sleep(0)
    assert {"Add rule", "Here", "Everywhere"} <= {*models.disabled()}
    models.click(models.buttons("Add rule")[0])
    await asyncio.sleep(0)
    assert not asked.task.done()


@pytest.mark.parametrize(("rule", "words"), [("", EMPTY_RULE), ("Edit(", "not a rule"), ("Sudo(x)", "not a rule")])
async def test_what_is_no_rule_is_never_saved(models: Models, rule: str, words: str) -> None:
    asked = await ask_ready(models, RecordingCell(), Place(), SUGGESTED)
    models.enter("Rule", rule)
    for _ in range(3):
        models.click(models.buttons("Add rule")[0])
        await asyncio.sleep(0)
        assert words in models.complaint
    assert not asked.task.done()


@pytest.mark.parametrize(
    ("rule", "words"), [("Edit(other.txt)", "does not allow this call"), ("Bash", "allows every command")]
)
async def test_a_rule_that_is_doubted_is_saved_when_it_is_sent_again(models: Models, rule: str, words: str) -> None:
    asked = await ask_ready(models, RecordingCell(), Place(), SUGGESTED)
    models.enter("Rule", rule)
    models.click(models.buttons("Add rule")[0])
    await asyncio.sleep(0)
    assert words in models.complaint
    assert not asked.task.done()
    models.click(models.buttons("Add rule")[0])
    assert (await asked.wait()).rule == rule


async def test_a_no_may_have_a_reason(models: Models) -> None:
    asked = await ask(RecordingCell(), Place())
    models.click(models.buttons(WITH_REASON)[0])
    models.click(models.buttons("Deny and send")[0])
    assert models.complaint == f"⚠ {NO_REASON}"
    models.enter("Tell the agent what to do instead", " Not this file.\nThe other. ")
    models.click(models.buttons("Deny and send")[0])
    assert await asked.wait() == PermissionAnswer(REJECT, "you", feedback="Not this file.\nThe other.")
