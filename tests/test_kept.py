"""What is kept: `tests/kept` holds files as each version has written them, and this version reads them all.

A newer version's files are refused and stay as they are, and so do members that this version does not know.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.chat.running_files import Item, key_of
from copilot_kernel.chat.session_store import SavedSession, SessionStore
from copilot_kernel.chat.trust import NOT_SAVED, TrustStore
from copilot_kernel.cli import main
from copilot_kernel.config import Settings
from copilot_kernel.config_reader import load_settings
from copilot_kernel.config_writer import add_to_list
from copilot_kernel.errors import UsageError
from copilot_kernel.kept_files import UNKNOWN, read_file, write_file
from copilot_kernel.notebook.bridge import read_endpoint
from copilot_kernel.notebook.live import NotebookCell, NotebookState
from copilot_kernel.prompts.rerun import UNREAD, _saved_runs

KEPT = Path(__file__).parent / "kept"
PROJECT = "/home/user/project"
PROMPT = NotebookState((NotebookCell("c0", "code", "Explain this project in a few sentences."),), "c0")
SESSION = SavedSession("session-1").used_by(PROMPT)
HOOKS = Item("hooks", key_of("file", f"{PROJECT}/.github/hooks/check.json", b"{}"), ())
TRUST_VERSION = 2


@pytest.fixture(params=sorted(path.name for path in KEPT.iterdir()))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the files of one version."""
    return Path(shutil.copytree(KEPT / request.param, tmp_path / "kept"))


def settings_of(folder: Path) -> Settings:
    return Settings(cwd=PROJECT, own_state=str(folder / "state"))


def session_store(folder: Path) -> SessionStore:
    return SessionStore(folder / "state", f"{PROJECT}/book.ipynb", "copilot", PROJECT)


# -- files of earlier versions ----------------------------------------------------------------------------------------


def test_settings_are_read(kept: Path) -> None:
    settings = load_settings({}, [kept / "copilot_kernel.json"])
    assert (settings.allow, settings.deny, settings.problems) == (("Bash(git status)",), ("Edit(secrets/**)",), ())
    add_to_list("allow", "Read", kept / "copilot_kernel.json")
    assert load_settings({}, [kept / "copilot_kernel.json"]).allow == ("Bash(git status)", "Read")


def test_trust_of_the_first_version_is_forgotten_and_asked_again_once(kept: Path) -> None:
    """Its answers about variables counted in every folder, and it kept no content of files."""
    assert len([*(kept / "state" / "trusted").iterdir()]) == 3
    store = TrustStore(settings_of(kept))
    assert (store.answer(HOOKS.key), store.all()) == (None, [])
    assert store.remember([HOOKS], "trusted") == ""
    assert [(each.name, each.answer) for each in TrustStore(settings_of(kept)).all()] == [(HOOKS.name, "trusted")]


def test_the_session_is_read(kept: Path) -> None:
    assert session_store(kept).read() == SESSION


@pytest.mark.parametrize(("name", "changed"), [
    ("copilot", {"c0": [{"made.txt": ""}]}),
    ("python", {"c2": [{"made.txt": ""}]}),
    ("open", {"c0": []}),
    ("undone", {"c0": [{}], "c1": []}),
])  # fmt: skip
def test_the_turns_of_notebooks_are_read(kept: Path, name: str, changed: dict[str, list[Any]]) -> None:
    runs = _saved_runs(str(kept / f"{name}.ipynb"))
    assert {cell: [turn.files for turn in run.turns] for cell, run in runs.items()} == changed


# -- files of newer versions ------------------------------------------------------------------------------------------


def newer(file: Path, known: int = 1) -> str:
    """Make it one of a newer version; the line that says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": known + 1, "all": "is different"}))
    return UNKNOWN.format(file, known + 1, known)


def unchanged(file: Path) -> bool:
    return "is different" in file.read_text()


def test_newer_settings_are_a_problem_and_get_no_rule(tmp_path: Path) -> None:
    line = newer(file := tmp_path / "copilot_kernel.json")
    settings = load_settings({}, [file])
    assert (settings.problems, settings.unread) == ((line,), (line,))
    with pytest.raises(UsageError) as refused:
        add_to_list("allow", "Read", file)
    assert (str(refused.value), unchanged(file)) == (f"{line} Nothing was saved.", True)


def test_newer_trust_is_none_and_another_answer_counts_once(tmp_path: Path) -> None:
    line = newer(file := tmp_path / "state" / "trusted" / f"{HOOKS.key}.json", TRUST_VERSION)
    store = TrustStore(settings_of(tmp_path))
    assert (store.answer(HOOKS.key), store.all()) == (None, [])
    assert store.remember([HOOKS], "trusted") == NOT_SAVED.format(line)
    assert (store.answer(HOOKS.key), unchanged(file)) == ("trusted", True)


def test_a_newer_session_is_neither_resumed_nor_replaced_nor_removed(tmp_path: Path) -> None:
    session_store(tmp_path).write(SESSION)
    (file,) = (tmp_path / "state" / "sessions").iterdir()
    line = newer(file)
    store = session_store(tmp_path)
    assert (store.read(), store.problem) == (None, line)
    store.write(SESSION)
    store.clear()
    assert unchanged(file)


def test_a_newer_record_of_a_turn_counts_as_one_that_changed_files(tmp_path: Path) -> None:
    notebook = json.loads((KEPT / "v1" / "undone.ipynb").read_text())
    notebook["cells"][0]["outputs"][-1]["metadata"]["copilot_kernel"]["schema"] = 2
    (file := tmp_path / "book.ipynb").write_text(json.dumps(notebook))
    assert [turn.files for turn in _saved_runs(str(file))["c0"].turns] == [{UNREAD.format(1): ""}]


def test_a_newer_token_is_not_used(tmp_path: Path) -> None:
    newer(file := tmp_path / "token.json")
    file.chmod(0o600)
    with pytest.raises(SystemExit, match="of another version"):
        read_endpoint(str(file))


def test_a_newer_server_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("copilot_kernel.cli.serve._infos", lambda port: iter([{"url": "http://x/"}]))
    monkeypatch.setattr("copilot_kernel.cli.serve._request_status", lambda info: {"version": 2, "turns": 0})
    assert main(["serve", "status"]) == 2
    assert UNKNOWN.format("The server at http://x/", 2, 1) in capsys.readouterr().err


# -- two versions at once ---------------------------------------------------------------------------------------------


def remember(folder: Path) -> None:
    assert TrustStore(settings_of(folder)).remember([HOOKS], "trusted") == ""


@pytest.mark.parametrize("write", [remember, lambda folder: session_store(folder).write(SESSION)])
def test_members_of_another_version_stay(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path)
    (file,) = (path for path in tmp_path.rglob("*.json"))
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, "more": 1}))
    write(tmp_path)
    assert json.loads(file.read_text()) == {**known, "more": 1}


@pytest.mark.parametrize("version", [0, 2, 1.0, True, "1", None])
def test_only_known_versions_are_read(tmp_path: Path, version: object) -> None:
    (file := tmp_path / "x.json").write_text(before := json.dumps({"version": version}))
    for use in (read_file, lambda file: write_file(file, {"a": 1})):
        with pytest.raises(OSError, match="reads only version 1"):
            use(file)
    assert file.read_text() == before


@pytest.mark.parametrize("damaged", ["", "[", "[]", "[" * 99_999, "\x00"])
def test_a_damaged_file_is_replaced(tmp_path: Path, damaged: str) -> None:
    (file := tmp_path / "x.json").write_text(damaged)
    write_file(file, {"a": 1})
    assert (read_file(file), file.stat().st_mode & 0o777) == ({"a": 1}, 0o600)


def test_what_is_written_says_its_version(tmp_path: Path) -> None:
    remember(tmp_path)
    session_store(tmp_path).write(SESSION)
    add_to_list("deny", "Read", tmp_path / "copilot_kernel.json")
    written = [json.loads(file.read_text())["version"] for file in tmp_path.rglob("*.json")]
    assert sorted(written) == [1, 1, TRUST_VERSION]
