"""What no rule may allow, however it is spelled."""

import pytest
from copilot_kernel.permissions.sensitive import is_never_written, why_sensitive

GIT, RULES, SECRETS, RUN = (
    "belongs to Git itself",
    "holds the rules for agents",
    "may hold secrets",
    "may be run by itself",
)

NAMES = [
    (".git/config", GIT, True, "names programs to run"),
    ("sub/.git/hooks/pre-commit", GIT, True, "is a program that runs"),
    (".git", GIT, True, "a file in a worktree, which names the real one"),
    (".GIT/config", GIT, True, "the same on a disk that ignores case"),
    (".g\u200cit/config", GIT, True, "the same on a disk that ignores invisible characters"),
    ("\uff0egit/config", GIT, True, "the same on a disk that normalises"),
    ("copilot_kernel.json", RULES, True, "is our own"),
    ("etc/Copilot_Kernel.json", RULES, True, "is our own"),
    (".claude/settings.json", RULES, False, "is another agent's"),
    (".mcp.json", RULES, False, "names programs that agents start"),
    (".env", SECRETS, False, "by habit"),
    ("app/.env.local", SECRETS, False, "by habit"),
    (".ssh/id_rsa", SECRETS, False, "a key"),
    ("jupyter/runtime/kernel-1.json", SECRETS, False, "the key of a kernel"),
    (".bashrc", RUN, False, "at the next log-in"),
    (".vscode/tasks.json", RUN, False, "when the folder is opened"),
    (".ipython/profile_default/startup/a.py", RUN, False, "at the next start"),
    ("jupyter_server_config.py", RUN, False, "at the next start"),
    ("lib/site-packages/a.pth", RUN, False, "at the next start of Python"),
    (".gitignore", "", False, "is a text like others"),
    (".github/workflows/ci.yml", "", False, "does not run here"),
    ("git/config", "", False, "is a folder like others"),
    ("environment.yml", "", False, "is a text like others"),
    ("main.py", "", False, "is what agents are for"),
]


@pytest.mark.parametrize(("path", "why", "never_written", "reason"), NAMES)
def test_a_name_is_known(path, why, never_written, reason):
    assert (why_sensitive(path.split("/")), is_never_written(path.split("/"))) == (why, never_written), reason


STEERS = "steers agents"
CHANGES = [
    ("AGENTS.md", "", STEERS),
    ("sub/Claude.md", "", STEERS),
    ("GEMINI.md", "", STEERS),
    (".github/copilot-instructions.md", "", STEERS),
    (".github/hooks/a.json", "", STEERS),
    (".github/agents/a.md", "", STEERS),
    (".GitHub/Instructions/a.md", "", STEERS),
    (".github", "", STEERS),
    (".venv/bin/python", "", RUN),
    ("venv/bin/activate", "", RUN),
    (".config/anything", "", RUN),
    (".local/bin/ls", "", RUN),
    (".config/gh/hosts.yml", SECRETS, SECRETS),
    (".config/github-copilot/apps.json", SECRETS, SECRETS),
    (".config/gcloud/x", SECRETS, SECRETS),
    (".envrc", SECRETS, SECRETS),
    (".gdbinit", RUN, RUN),
    ("app/.husky/pre-commit", RUN, RUN),
    (".github/workflows/ci.yml", "", ""),
    (".github/dependabot.yml", "", ""),
    ("Makefile", "", ""),
    ("README.md", "", ""),
    ("docs/agents/a.md", "", ""),
    ("src/hooks/a.ts", "", ""),
    ("bin/tool", "", ""),
    (".venv/lib/python3/site-packages/a.py", "", ""),
    ("config/app.json", "", ""),
    ("", "", ""),
]


@pytest.mark.parametrize(("path", "read", "changed"), CHANGES)
def test_some_places_may_be_read_and_not_changed(path: str, read: str, changed: str) -> None:
    names = tuple(filter(None, path.split("/")))
    assert (why_sensitive(names), why_sensitive(names, changes=True)) == (read, changed)
