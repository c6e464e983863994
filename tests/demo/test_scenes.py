"""The natural prompts: which scene they choose, what happens, and that it happens again in the same way."""

from itertools import groupby

from copilot_kernel.demo import project

CODE, TESTS = project.CODE, project.TESTS


def text(received):
    pieces = [update["content"]["text"] for update in received if update.get("sessionUpdate") == "agent_message_chunk"]
    return "".join(pieces)


def steps(received):
    """What kind of thing happened, one word each; repeated words once. The last is the stop reason."""
    *updates, answer = received
    words = [WORDS.get(name, name) for name in (each.get("sessionUpdate", "question") for each in updates)]
    return [word for word, _ in groupby(words)] + [answer["stopReason"]]


WORDS = {"agent_message_chunk": "text", "agent_thought_chunk": "thought", "tool_call": "call"}
WORDS |= {"tool_call_update": "update"}
PLAYED = {
    "Good morning": ["text", "end_turn"],
    "Explain what this project does": ["thought", "call", "update", "call", "update", "text", "end_turn"],
    "Make a plan": ["plan", "call", "update", "plan", "call", "update", "plan", "text", "end_turn"],
    "Read the notes": ["call", "update", "text", "end_turn"],
    "Draw a picture": ["text", "end_turn"],
    "What do you remember?": ["text", "end_turn"],
    "Fix the bug": ["call", "update", "thought", "text", "call", "question", "update", "text", "end_turn"],
    "Run the tests": ["call", "question", "update", "text", "end_turn"],
    "Send an e-mail": ["call", "question", "update", "text", "end_turn"],
    "What is the weather?": ["weather_update", "text", "end_turn"],
    "Delete the old notes": ["call", "question", "update", "text", "end_turn"],
    "Count to 3": ["text", "end_turn"],
    "Refuse this": ["text", "refusal"],
}


async def test_each_scene_does_what_it_is_for_and_touches_nothing_but_its_own_folder(connected, tmp_path):
    (tmp_path / "fibonacci.py").write_text("mine")
    async with connected() as client:
        assert {prompt: steps(await client.play(prompt)) for prompt in PLAYED} == PLAYED
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "demo-project",
        f"demo-project/{project.MARKER}",
        CODE,
        TESTS,
        "fibonacci.py",
    ]
    assert (tmp_path / "fibonacci.py").read_text() == "mine"


async def test_a_folder_that_somebody_else_made_is_left_alone(connected, tmp_path):
    (tmp_path / CODE).parent.mkdir()
    (tmp_path / CODE).write_text("mine")
    async with connected() as client:
        received = await client.play("Fix the bug")
    assert text(received) == f"demo agent: {project.TAKEN}."
    assert [path.name for path in (tmp_path / "demo-project").iterdir()] == ["fibonacci.py"]
    assert (tmp_path / CODE).read_text() == "mine"


async def test_links_are_not_followed_out_of_the_folder(connected, tmp_path):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / project.MARKER).touch()
    (folder / "demo-project").symlink_to(outside)
    async with connected(cwd=folder) as client:
        await client.prompt("Fix the bug")
    assert [path.name for path in outside.iterdir()] == [project.MARKER]

    (folder / "demo-project").unlink()
    async with connected(cwd=folder) as client:
        await client.prompt("Explain the project")
        (folder / CODE).unlink()
        (folder / CODE).symlink_to(outside / "target.py")
        assert text(await client.play("Fix the bug")) == f"demo agent: {project.LINKED.format(CODE)}."
    assert [path.name for path in outside.iterdir()] == [project.MARKER]
