"""What the user took back is not told."""

from __future__ import annotations

import pytest
from copilot_kernel.store.past import turns

from .writing import answered, asked, shown, write

TALK = [asked("one"), answered("1"), asked("two"), answered("2"), asked("three"), answered("3")]
"""Their ids are e0 to e5."""


def rewind(first, *listed):
    return "session.snapshot_rewind", {"upToEventId": first, "eventsRemoved": 1} | (
        {"eventIds": [*listed]} if listed else {}
    )


@pytest.mark.parametrize(("rewinds", "told"), [
    ([], [("one", ["1"]), ("two", ["2"]), ("three", ["3"])]),
    ([rewind("e4")], [("one", ["1"]), ("two", ["2"])]),
    ([rewind("e2")], [("one", ["1"])]),
    ([rewind("e2", "e2", "e3")], [("one", ["1"]), ("three", ["3"])]),
    ([rewind("e4"), rewind("e2")], [("one", ["1"])]),
    ([rewind("nobody")], [("one", ["1"]), ("two", ["2"]), ("three", ["3"])]),
    ([("session.snapshot_rewind", {})], [("one", ["1"]), ("two", ["2"]), ("three", ["3"])]),
    ([("session.snapshot_rewind", {"upToEventId": "e2", "eventIds": "e3"})], [("one", ["1"])]),
])  # fmt: skip
def test_a_rewind_takes_back_what_it_names(tmp_path, rewinds, told):
    path = write(tmp_path / "log", [*TALK, *rewinds])
    assert [(past.prompt, shown(past)) for past in turns(path)] == told


def test_what_is_said_after_a_rewind_stays(tmp_path):
    path = write(tmp_path / "log", [*TALK, rewind("e2"), asked("two again"), answered("2.1")])
    assert [(past.prompt, shown(past)) for past in turns(path)] == [("one", ["1"]), ("two again", ["2.1"])]


def test_a_message_that_speaks_of_rewinds_is_none(tmp_path):
    path = write(tmp_path / "log", [asked("what is session.snapshot_rewind?"), answered("An event.")])
    assert [(past.prompt, shown(past)) for past in turns(path)] == [("what is session.snapshot_rewind?", ["An event."])]
