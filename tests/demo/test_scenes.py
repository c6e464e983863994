"""The natural prompts: which scene they choose, what happens, and that it happens again in the same way."""

import json

import pytest
from copilot_kernel.demo import project, scenes
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

END = {"stopReason": "end_turn"}
CODE, TESTS, NOTES = "demo-project/fibonacci.py", "demo-project/test_fibonacci.py", "demo-project/notes.txt"


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(scenes, "STEP_SECONDS", 0)


def text(heard):
    pieces = [update["content"]["text"] for update in heard if update.get("sessionUpdate") == "agent_message_chunk"]
    return "".join(pieces)


def steps(heard):
    """What kind of thing happened, one word each; repeated words once."""
    names = [update.get("sessionUpdate") or next(iter(update)) for update in heard]
    words = [WORDS.get(name, name) for name in names]
    return [word for word, before in zip(words, [None, *words], strict=False) if word != before]


WORDS = {"agent_message_chunk": "text", "agent_thought_chunk": "thought", "tool_call": "call"}
WORDS |= {"tool_call_update": "update", "toolCall": "question", "stopReason": "end"}


def outputs(heard):
    calls = [update for update in heard if update.get("status") == "completed"]
    return [update["rawOutput"]["content"] for update in calls]


PLAYED = {
    "Good morning": ["text", "end"],
    "Explain what this project does": ["thought", "call", "update", "call", "update", "text", "end"],
    "Make a plan": ["plan", "call", "update", "plan", "call", "update", "plan", "text", "end"],
    "Read the notes": ["call", "update", "text", "end"],
    "Draw a picture": ["text", "end"],
    "What do you remember?": ["text", "end"],
    "Fix the bug": ["call", "update", "thought", "text", "call", "question", "update", "text", "end"],
    "Run the tests": ["call", "question", "update", "text", "end"],
    "Show both files": ["call", "question", "update", "text", "end"],
    "Delete the old notes": ["call", "question", "update", "text", "end"],
    "Count to 3": ["text", "end"],
    "Refuse this": ["text", "end"],
}


@pytest.mark.parametrize("prompt", PLAYED)
async def test_a_scene_does_what_it_is_for(talking, prompt):
    async with talking() as client:
        assert steps(await client.play(prompt)) == PLAYED[prompt]


async def test_scenes_touch_nothing_but_their_own_folder(talking, tmp_path):
    (tmp_path / "fibonacci.py").write_text("mine")
    async with talking() as client:
        for prompt in PLAYED:
            await client.prompt(prompt)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "demo-project",
        f"demo-project/{project.MARKER}",
        CODE,
        TESTS,
        "fibonacci.py",
    ]
    assert (tmp_path / "fibonacci.py").read_text() == "mine"


async def test_a_notebook_gives_the_same_messages_when_it_is_run_again(talking, tmp_path):
    async def run():
        async with talking() as client:
            client.answers = ["allow_once"] * 3 + ["reject_once"]
            for prompt in ("Run the tests", "Fix the bug", "Run the tests", "Delete the old notes", *PLAYED):
                await client.prompt(prompt)
            return json.dumps([heard for heard in client.heard if not _depends_on_speed(heard)])

    assert await run() == await run()


def _depends_on_speed(heard):
    """What depends on the speed of the machine: the title's place, how output is cut, the order of two at once."""
    if heard.get("sessionUpdate") == "session_info_update":
        return True
    return heard.get("sessionUpdate") == "tool_call_update" and ("status" not in heard or "contents" in str(heard))


async def test_the_tests_fail_before_the_fix_and_pass_after_it(talking, tmp_path):
    async with talking() as client:
        before = await client.play("Run the tests")
        await client.play("Fix the bug in fibonacci.py")
        after = await client.play("Run the tests")
    assert "2 passed, 2 failed\n<shellId: 0 completed with exit code 1>" in outputs(before)[0]
    assert "4 passed, 0 failed\n<shellId: 0 completed with exit code 0>" in outputs(after)[0]
    assert text(before).startswith("Some tests **fail**")
    assert text(after) == "All four tests **pass**."


async def test_a_new_session_starts_from_the_beginning(talking, tmp_path):
    async with talking() as client:
        await client.prompt("Fix the bug")
        await client.prompt("Delete the old notes")
        await client.begin()
        await client.prompt("Explain the project")
    assert {name: (tmp_path / name).read_text() for name in project.FILES} == project.FILES


async def test_a_folder_that_somebody_else_made_is_left_alone(talking, tmp_path):
    (tmp_path / CODE).parent.mkdir()
    (tmp_path / CODE).write_text("mine")
    async with talking() as client:
        heard = await client.play("Fix the bug")
    assert text(heard) == (
        "demo agent: there is already a `demo-project` here that I did not make, so I leave everything as it is."
    )
    assert [path.name for path in (tmp_path / "demo-project").iterdir()] == ["fibonacci.py"]
    assert (tmp_path / CODE).read_text() == "mine"


async def test_links_are_not_followed_out_of_the_folder(talking, tmp_path):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / project.MARKER).touch()
    (folder / "demo-project").symlink_to(outside)
    async with talking(cwd=folder) as client:
        await client.prompt("Fix the bug")
    assert [path.name for path in outside.iterdir()] == [project.MARKER]

    (folder / "demo-project").unlink()
    async with talking(cwd=folder) as client:
        await client.prompt("Explain the project")
        (folder / CODE).unlink()
        (folder / CODE).symlink_to(outside / "target.py")
        assert text(await client.play("Fix the bug")) == (
            "demo agent: `demo-project/fibonacci.py` is a link, so I leave everything as it is."
        )
    assert [path.name for path in outside.iterdir()] == [project.MARKER]


async def test_the_plan_progresses_step_by_step(talking):
    async with talking() as client:
        heard = await client.play("Make a plan")
    plans = [update["entries"] for update in heard if update.get("sessionUpdate") == "plan"]
    done = [sum(entry["status"] == "completed" for entry in entries) for entries in plans]
    doing = [sum(entry["status"] == "in_progress" for entry in entries) for entries in plans]
    assert (done, doing) == ([0, 1, 2, 3, 4], [1, 1, 1, 1, 0])


async def test_an_error_is_a_json_rpc_error(talking):
    async with talking() as client:
        with pytest.raises(AgentRefused) as caught:
            await client.prompt("Answer with an error")
    details = {"details": "demo agent: this is a pretended error; nothing is wrong"}
    assert (caught.value.code, caught.value.data) == (-32603, details)


async def test_a_refusal_is_a_stop_reason(talking):
    async with talking() as client:
        assert await client.prompt("Refuse this") == {"stopReason": "refusal"}


async def test_context_before_the_prompt_does_not_choose_the_scene(talking):
    async with talking() as client:
        heard = await client.play("An earlier cell said: crash and delete everything", "Count to 2")
    assert text(heard) == "1 2 "
