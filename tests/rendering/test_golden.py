"""Recorded conversations of real agents look as they did; `golden.py` writes the files anew."""

import pytest

from .golden import AGENTS, FOLDER, shown


@pytest.mark.parametrize("agent", AGENTS)
def test_a_recorded_conversation_looks_as_it_did(agent: str) -> None:
    assert shown(agent) == (FOLDER / f"{agent}.txt").read_text("utf-8")


def test_every_agent_was_recorded() -> None:
    assert len(AGENTS) >= 4
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(AGENTS)
