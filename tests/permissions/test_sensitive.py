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
