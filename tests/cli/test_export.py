"""`copilot-kernel export` as a user meets it: the notebook that it writes, and what it says when it cannot."""

import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.cli.export import EMPTY, split
from copilot_kernel.cli.sessions import AMBIGUOUS, LISTED
from copilot_kernel.conversation.model import Attachment, Entry, Message
from copilot_kernel.conversation.text import GrowingText
from copilot_kernel.store.turns import LINE_DAMAGED

from ..store.test_turns import RECORDING
from ..store.writing import answered, asked, write

SESSION = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def store(tmp_path: Path) -> dict[str, str]:
    """The environment of a store with the recorded session, and of a demo agent without a past."""
    log = tmp_path / "copilot" / "session-state" / SESSION / "events.jsonl"
    log.parent.mkdir(parents=True)
    shutil.copy(RECORDING, log)
    return {"COPILOT_HOME": str(tmp_path / "copilot"), "COPILOT_KERNEL_DEMO_HOME": str(tmp_path / "demo")}


def read(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def plain(cell: Any) -> list[str]:
    return [output.data["text/plain"] for output in cell.outputs]


# -- from the log -------------------------------------------------------------------------------------------------


def test_each_prompt_is_a_cell_and_what_came_of_it_its_outputs(program, store, tmp_path):
    done = program("export", SESSION[:4], "--from-log", "-o", "chat.ipynb", **store)
    log = tmp_path / "copilot" / "session-state" / SESSION / "events.jsonl"
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"chat.ipynb: 11 prompts, from {log}\n")
    cells = read(tmp_path / "chat.ipynb").cells
    assert [cell.execution_count for cell in cells] == [*range(1, 12)]
    assert all(cell.source.startswith("Please follow the script.\nSCRIPT: ") for cell in cells)
    assert plain(cells[0]) == [
        "Thinking:\n  I look at the question first.",
        "There are **three lines** of notes.",
        "Copilot, scripted",
    ]
    assert plain(cells[3]) == [
        "✗ $ echo counted; exit 3 · Run a command · exit 3 · allowed by you\n  counted",
        "It ended.",
        "1 command failed · Copilot, scripted",
    ]
    assert plain(cells[6]) == ["In plan mode.", "Copilot, scripted · mode: plan"]
    assert plain(cells[9]) == ["■ Stopped"]


def test_the_notebook_knows_its_kernel_and_its_session(program, store, tmp_path):
    program("export", "last", "--from-log", "-o", "chat.ipynb", **store)
    notebook = read(tmp_path / "chat.ipynb")
    assert notebook.metadata.kernelspec == {"display_name": "Copilot", "language": "markdown", "name": "copilot"}
    assert notebook.metadata.language_info.name == "markdown"
    assert notebook.metadata.copilot_kernel == {
        "schema": 1,
        "session_id": SESSION,
        "agent": "Copilot",
        "cwd": "/project",
        "title": "Please follow the script.",
        "source": "log",
    }
    assert notebook.cells[0].metadata.copilot_kernel == {"prompted": "2026-01-01T00:00:00.000Z"}
    assert len({cell.id for cell in notebook.cells}) == 11


def test_a_damaged_line_is_reported_in_its_cell(program, store, tmp_path):
    log = write(
        tmp_path / "copilot" / "session-state" / "b" / "events.jsonl",
        [asked("hi\ud800"), b"damaged\n", answered("Yes."), b"{"],
    )
    os.utime(log, (1, 1))
    done = program("export", "b", "--from-log", "-o", "b.ipynb", **store)
    assert done.stdout == f"b.ipynb: 1 prompt, from {log}\n"
    missing = f"⚠ warning: {LINE_DAMAGED}"
    assert plain(read(tmp_path / "b.ipynb").cells[0]) == [missing, "Yes.", missing, "Copilot"]


# -- by the agent -------------------------------------------------------------------------------------------------


def test_the_agent_replays_the_conversation(program, store, tmp_path, converse):
    (tmp_path / "a.txt").write_text("old")
    prompt = "demo: say First.\nedit a.txt old => new"
    session = converse(prompt, **store | {"COPILOT_KERNEL_ALLOW": '["Edit"]'})
    done = program("export", session[:8], "-o", "chat.ipynb", **store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "chat.ipynb: 1 prompt, replayed by the agent\n"
    notebook = read(tmp_path / "chat.ipynb")
    [cell] = notebook.cells
    assert cell.source == prompt
    assert plain(cell)[0] == "First."
    assert all(part in plain(cell)[1] for part in ("✓ Edit", "+1 −1"))
    assert plain(cell)[-1].startswith("Changed a.txt  +1 −1\n")
    assert cell.outputs[-1].metadata.copilot_kernel.session_id == session
    expected = notebook.metadata.copilot_kernel
    assert (expected.source, expected.session_id, expected.cwd) == ("replay", session, str(tmp_path))


@pytest.mark.parametrize("fault", ["load-fails,no-resume", "exit-at-start"])
def test_an_agent_that_cannot_replay_leaves_it_to_the_log(program, store, tmp_path, fault):
    patience = {"COPILOT_KERNEL_START_TIMEOUT": "5", "COPILOT_KERNEL_DEMO": fault}
    done = program("export", SESSION, "-o", "chat.ipynb", **store, **patience)
    assert (done.returncode, len(read(tmp_path / "chat.ipynb").cells)) == (0, 11)
    assert "reading the event log instead: " in done.stderr


def test_without_a_log_the_agent_s_failure_is_the_error(program, converse, store, tmp_path):
    session = converse("demo: say Hello", **store)
    done = program("export", session, "-o", "chat.ipynb", COPILOT_KERNEL_DEMO="load-fails,no-resume", **store)
    assert (done.returncode, done.stdout, (tmp_path / "chat.ipynb").exists()) == (1, "", False)
    assert done.stderr.startswith("copilot-kernel: ")


# -- mistakes -----------------------------------------------------------------------------------------------------


def test_an_unknown_session_is_an_error_that_says_where_to_look(program, store):
    done = program("export", "zzz", "--from-log", "-o", "chat.ipynb", **store)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"copilot-kernel: Unknown session zzz.\n{LISTED} Looked for ")


def test_a_beginning_of_two_ids_is_not_enough(program, store, tmp_path):
    write(tmp_path / "copilot" / "session-state" / "0000" / "events.jsonl", [asked("hi")])
    done = program("export", "000", "--from-log", "-o", "chat.ipynb", **store)
    assert (done.returncode, done.stderr) == (2, f"copilot-kernel: {AMBIGUOUS.format(2, '000')}\n{LISTED}\n")
    assert program("export", "0000", "--from-log", "-o", "chat.ipynb", **store).returncode == 0


def test_without_a_store_it_says_where_it_looked(program, tmp_path):
    none = str(tmp_path / "none")
    done = program("export", "last", "--from-log", "-o", "chat.ipynb", COPILOT_HOME=none)
    assert (done.returncode, done.stderr) == (
        2,
        f"copilot-kernel: No sessions found.\nLooked for {none}/session-state/*/events.jsonl\n",
    )


def test_a_file_that_exists_is_not_overwritten_unless_forced(program, store, tmp_path):
    (tmp_path / "chat.ipynb").write_text("mine")
    done = program("export", "last", "--from-log", "-o", "chat.ipynb", **store)
    assert (done.returncode, (tmp_path / "chat.ipynb").read_text()) == (2, "mine")
    assert "--force" in done.stderr
    assert program("export", "last", "--from-log", "--force", "-o", "chat.ipynb", **store).returncode == 0
    assert len(read(tmp_path / "chat.ipynb").cells) == 11


@pytest.mark.parametrize("target", ["missing/chat.ipynb", "."])
def test_a_place_that_cannot_be_written_says_so(program, store, target):
    done = program("export", "last", "--from-log", "--force", "-o", target, **store)
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_a_session_without_prompts_leaves_no_file(program, store, tmp_path):
    write(tmp_path / "copilot" / "session-state" / "empty" / "events.jsonl", [("session.start", {})])
    before = {*tmp_path.iterdir()}
    done = program("export", "empty", "--from-log", "-o", "chat.ipynb", **store)
    assert (done.returncode, done.stderr) == (
        1,
        f"copilot-kernel: {EMPTY}\n",
    )
    assert {*tmp_path.iterdir()} == before


# -- what was replayed, as turns -- --------------------------------------------------------------------------------


def spoken(number: int, speaker: Any, *parts: str) -> Entry:
    text = GrowingText()
    for part in parts:
        text = text.append(part)
    return Message(number, 1, speaker, text)


A, B = spoken(0, "user", "one"), spoken(1, "agent", "1")
C, D = Attachment(2, 1, "user", TextBlock("file")), spoken(3, "user", "two ", "three")


@pytest.mark.parametrize(("entries", "in_one_chunk", "expected"), [
    ([], False, []),
    ([A, B], False, [("one", [A, B])]),
    ([A, B, D, B], False, [("one", [A, B]), ("two three", [D, B])]),
    ([A, C, B], False, [("one", [A, C, B])]),
    ([B, A], False, [("", [B]), ("one", [A])]),
    ([D, B], True, [("two ", []), ("three", [D, B])]),
    ([B], True, [("", [B])]),
])  # fmt: skip
def test_a_turn_begins_where_the_user_begins_to_speak(entries, in_one_chunk, expected):
    turns = [*split(entries, "s", one_chunk_each=in_one_chunk)]
    assert [(past.prompt, [*past.conversation.entries]) for past in turns] == expected
    assert [past.conversation.turn for past in turns] == [*range(1, len(expected) + 1)]
