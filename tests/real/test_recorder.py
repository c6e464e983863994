"""A transcript carries nothing of the machine it was recorded on, and still fits together."""

from pathlib import Path

import pytest

from .recorder import LONGEST_LIST, Recorder, neutral

PLACES = {"/tmp/x1/0/project": "/project", "/tmp/x1/0": "/home/user"}
FIRST, SECOND = "6c1d1a80-0000-4aaa-8bbb-1234567890ab", "7c1d1a80-0000-4aaa-8bbb-1234567890ab"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("/tmp/x1/0/project/a.txt, /tmp/x1/0/log", "/project/a.txt, /home/user/log"),
        ("+++ b/tmp/x1/0/project/a.txt", "+++ b/project/a.txt"),
        ("tmp/x1/0/project/a.txt", "project/a.txt"),
        (
            f"{FIRST} {SECOND} {FIRST}",
            "00000000-0000-4000-8000-000000000001 00000000-0000-4000-8000-000000000002 "
            "00000000-0000-4000-8000-000000000001",
        ),
        ("ses_e0404273affereQdp3stU9IlpC call_0_0", "ses_0001 call_0_0"),
        ("2026-11-21T02:39:55.628Z 1795228795628", "2026-01-01T00:00:00.000Z 1767225600000"),
        ("http://127.0.0.1:41231/v1", "http://127.0.0.1:8080/v1"),
    ],
)
def test_traces_of_the_machine_become_neutral_words(said: str, kept: str) -> None:
    assert neutral(said, PLACES) == kept


def test_a_long_list_keeps_its_first_members_and_the_chosen_one(tmp_path: Path) -> None:
    members = [{"value": str(number)} for number in range(LONGEST_LIST + 1)]
    recorder = Recorder()
    recorder.add("agent", {"currentValue": "7", "options": members})
    recorder.save(tmp_path / "a.jsonl", {})
    kept = '[{"value": "0"}, {"value": "1"}, {"value": "2"}, {"value": "7"}]'
    line = '{"from": "agent", "message": {"currentValue": "7", "options": ' + kept + "}}\n"
    assert (tmp_path / "a.jsonl").read_text() == line


def test_who_said_what_is_kept_in_order(tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.add("client", {"id": 0, "method": "initialize"})
    recorder.add("agent", {"id": 0, "result": {}})
    assert recorder.sent_by("agent") == [{"id": 0, "result": {}}]
    recorder.save(tmp_path / "a.jsonl", {})
    assert (tmp_path / "a.jsonl").read_text() == (
        '{"from": "client", "message": {"id": 0, "method": "initialize"}}\n'
        '{"from": "agent", "message": {"id": 0, "result": {}}}\n'
    )
