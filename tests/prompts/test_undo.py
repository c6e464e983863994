"""`%changes` and `%undo`: what they show, who is asked, and what the agent learns."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.chat.undo import UNDO_OFF
from copilot_kernel.commands.undo_commands import BY_BUTTON, HOW_TO_RESTORE, NOTHING_LEFT, PUT_BACK_WHICH
from copilot_kernel.rendering.footer import UNDONE

from .session import Session, session

PROMPT = "demo: edit one.txt first => second\ncreate two.txt new\nshell echo more >> three.txt"
FILES = {"one.txt": "first\n", "three.txt": "3\n"}
CHANGED = {"one.txt": "second\n", "two.txt": "new", "three.txt": "3\nmore\n"}
LISTED = """\
Changes
Turn  What                        Change   By
1     one.txt                     changed  Edit one.txt
1     three.txt                   changed  may not be the agent's
1     two.txt                     new      Create two.txt
1     Run echo more >> three.txt  command
%undo TURN restores files to their state before that turn."""
OFFERED = """\
Put one.txt, two.txt, three.txt back as before “demo: edit one.txt first => second create two.txt new shell …”?
File       Will be              Changed by
one.txt    restored             Edit one.txt
two.txt    deleted (it is new)  Create two.txt
three.txt  restored             may not be the agent's
Not undone: 1 command (Run echo more >> three.txt)."""


@pytest.fixture
def project(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    git = ("git", "-C", str(work), "-c", "user.name=u", "-c", "user.email=u@localhost")
    for arguments in (("init",), ("add", "-A"), ("commit", "-m", "first")):
        subprocess.run((*git, *arguments), check=True, capture_output=True)
    return work


@pytest.fixture
def changed(tmp_path, project):
    """A conversation whose first turn changed one file, made one, and ran a command that changed a third."""
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="bypassPermissions") as made:
        made.run(PROMPT)
        assert texts(project) == CHANGED
        yield made


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_changes_lists_files_and_commands_turn_by_turn(changed: Session):
    assert changed.run("%changes").text == LISTED


def test_undo_shows_and_restores_what_the_edits_changed(changed: Session, project: Path):
    assert changed.run("%undo").text == f"{OFFERED}\n{PUT_BACK_WHICH} {HOW_TO_RESTORE.format(1)}"
    assert texts(project) == CHANGED
    assert changed.run("%undo restore").text == "✓ Restored: two.txt, one.txt."
    assert texts(project) == {"one.txt": "first\n", "three.txt": "3\nmore\n"}
    assert changed.run("%undo").text.endswith(BY_BUTTON)
    assert changed.run("%undo restore").text.endswith(NOTHING_LEFT)


def test_the_answer_says_what_was_undone_and_it_is_not_announced_when_the_prompt_runs_again(changed: Session):
    def ending() -> tuple[str, bool, Any]:
        data, metadata = list(changed.cells[0].shown.values())[-1]
        record = metadata["copilot_kernel"]
        undone = record.get("undone"), record["changes"], len(record.get("also_changed", ()))
        return data["text/plain"].partition("permissions")[0], "copilot-undo" in data["text/html"], undone

    assert ending()[1]
    changed.run("%undo restore")
    also = "Also changed, perhaps not by the agent: three.txt +1\n"
    assert ending() == (
        f"{UNDONE} · one.txt and two.txt are as they were\n{also}",
        True,
        (["one.txt", "two.txt"], [], 1),
    )
    texts = [changed.run(PROMPT).text for _ in range(2)]
    assert ["This prompt changed" in text for text in texts] == [False, True]


def test_what_a_command_changed_is_told_beneath_the_answer(tmp_path, project: Path):
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="bypassPermissions") as made:
        live, batch = (
            made.run(f"demo: shell echo more >> three.txt; echo {number}", live=live)
            for number, live in (("1", True), ("2", False))
        )
    assert "Also changed, perhaps not by the agent: three.txt +1\n" in live.text
    assert "Also" not in batch.text
    records = [metadata["copilot_kernel"] for each in (live, batch) for _, metadata in each.outputs if metadata]
    also = [{"path": "three.txt", "what": "changed", "added": 1, "removed": 0}]
    assert [record.get("also_changed") for record in records] == [also, None]
    assert [record["changes"] for record in records] == [[], []]


def test_where_nobody_can_answer_nothing_is_restored(changed: Session, project: Path):
    shown = changed.run("%undo", live=False).text
    assert shown == (
        f"{OFFERED}\nNothing was restored, because nobody can be asked here. "
        "To restore without asking, use %undo 1 restore."
    )
    assert texts(project) == CHANGED


def test_what_has_changed_since_is_skipped_and_named(changed: Session, project: Path):
    (project / "one.txt").write_text("the user's")
    assert "one.txt    left as it is        it has changed since" in changed.run("%undo", "").text
    assert changed.run("%undo restore").text == "✓ Restored: two.txt."
    assert (project / "one.txt").read_text() == "the user's"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("%undo 7", "Turn 7 changed nothing, or is no longer known."),
        ("%undo 1-0", "Turn 1-0 changed nothing, or is no longer known."),
        ("%undo last", "Turn last changed nothing, or is no longer known."),
        ("%undo 1 2", 'Unknown argument "1 2".'),
    ],
)
def test_a_turn_that_is_not_known_is_an_error(changed: Session, command: str, message: str):
    assert str(changed.run(command).error) == message


def test_before_anything_changed_and_when_it_is_off(tmp_path):
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    with session(tmp_path / "on") as made:
        assert "Nothing to undo: no file was changed" in made.run("%undo").text
        assert "Nothing to undo: no file was changed" in made.run("%changes").text
    with session(tmp_path / "off", COPILOT_KERNEL_UNDO="off") as made:
        made.run("demo: say hello")
        assert str(made.run("%undo").error) == UNDO_OFF
