"""Permissions in words: what each mode means, and what may be typed after `%permissions`."""

from __future__ import annotations

SAVE = "--save"
BYPASSING = (
    "Nobody is asked: every command and every change is allowed, but for what a rule denies or asks about. "
    "%permissions mode default ends this."
)
MODES = {
    "default": "nothing is allowed without a question but what a rule allows",
    "acceptEdits": "changing, deleting and moving files of the project is allowed, too; commands are asked about",
    "bypassPermissions": "everything is allowed without a question, but for what a rule denies or asks about",
    "plan": "nothing is done and nobody is asked: every request of the agent is rejected",
}
WAYS = {
    "mode": "change what is allowed without a question",
    "allow": "allow without a question what a rule names",
    "ask": "always ask about what a rule names",
    "deny": "reject without a question what a rule names",
    "remove": "take a rule back",
}
RULES = {
    "Read": "reading files of the project; Read(docs/**) of a folder",
    "Grep": "searching in files of the project",
    "Edit": "changing, deleting and moving files of the project; Edit(src/**) of a folder",
    "Bash(": "a command, word for word, such as Bash(git status); with * at the end, whatever follows",
    "WebFetch(domain:": "addresses of one host, such as WebFetch(domain:example.com)",
    "mcp__": "a tool of an MCP server, such as mcp__server__tool",
}
