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
    "the agent asks to",
    "no rule allows",
    "leave the trusted",
    "leave its trusted",
    "would be allowed by",
    "what it takes for the same",
    "the identical command",
    "kept by the agent",
    "by a rule…",
    "reject with a reason…",
    "sent as your next prompt",
    "done with exit code",
    "done, exit code",
    "(you)",
    "allowed by the rule",
    "denied by the rule",
    "the agent is told",
    "ran without asking",
    "was started again; it does not remember",
    "without a question but what",
    "new chats begin",
    "is shown in its card and counted",
    "leave as it is",
    "no longer can be",
    "the agent asks to think",
)


def test_replaced_wordings_are_gone():
    code = (
        path
        for folder in ("kernel", "widgets", "kernelspec", "notebooks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".js", ".html", ".json", ".ipynb")
    )
    files = [*code, *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    texts = {path: path.read_text("utf-8").casefold() for path in files if "node_modules" not in path.parts}
    assert {path.suffix for path in texts} == {".py", ".js", ".html", ".json", ".ipynb", ".md"}
    assert len(texts) > 200
    assert [(path.name, words) for path, text in texts.items() for words in REPLACED if words in text] == []
