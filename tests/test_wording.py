"""Wordings that readers did not understand do not come back."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
REPLACED = (
    "refused session/",
    "own log may say more",
    "trying again may help",
    "its memory of this conversation",
    "cannot be gone on with",
    "conversation before are over",
    "everything is as it was",
    "a prompt must begin otherwise",
    "cancelled: the turn was cancelled",
    "it holds the shell's own word",
    "which no rule is about",
    "reject & tell",
)


def test_replaced_wordings_are_gone():
    files = [path for folder in ("kernel", "widgets") for path in (ROOT / folder).rglob("*.[pj][ys]")]
    texts = {path: path.read_text("utf-8").casefold() for path in files if "node_modules" not in path.parts}
    assert len(texts) > 200
    assert [(path.name, words) for path, text in texts.items() for words in REPLACED if words in text] == []
