"""Which files are protected, however their names are spelled."""

import pytest
from copilot_kernel.permissions.paths import glob_protection, is_never_written, protection

GIT, RULES, SECRETS, RUN = (
    "belongs to Git",
    "configures agents",
    "may hold secrets",
    "runs by itself",
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
    (".env~", SECRETS, False, "what an editor left"),
    (".env-prod", SECRETS, False, "by habit"),
    (".env.bak", SECRETS, False, "by habit"),
    (".env ", SECRETS, False, "the same on a disk that drops blanks at the end"),
    (".env.example", "", False, "holds names only"),
    ("app/.env.sample", "", False, "holds names only"),
    (".env.template", "", False, "holds names only"),
    (".environment", "", False, "only begins alike"),
    (".my.cnf", SECRETS, False, "a password"),
    (".pgpass", SECRETS, False, "passwords"),
    (".vault-token", SECRETS, False, "a token"),
    (".password-store/a.gpg", SECRETS, False, "passwords"),
    (".cargo/credentials.toml", SECRETS, False, "a token"),
    (".cache/huggingface/token", SECRETS, False, "a token"),
    (".cache/huggingface/hub/a.json", "", False, "what was loaded"),
    (".local/share/keyrings/login.keyring", SECRETS, False, "passwords"),
    ("keys/id_rsa", SECRETS, False, "a key, wherever it lies"),
    ("id_ed25519", SECRETS, False, "a key, wherever it lies"),
    ("id_ed25519.pub", "", False, "what everybody may know"),
    ("app/credentials.json", SECRETS, False, "by habit"),
]


@pytest.mark.parametrize(("path", "why", "never_written", "reason"), NAMES)
def test_a_name_is_known(path: str, why: str, never_written: bool, reason: str) -> None:
    found = protection(path.split("/"), changes=False) or ""
    assert (found, is_never_written(path.split("/"))) == (why, never_written), reason


STEERS = "instructs agents"
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
    *((name, "", STEERS) for name in (".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", "opencode.json")),
    *((f"{name}/a", "", STEERS) for name in (".opencode", ".qwen", ".kiro", ".roo", ".agents", ".clinerules")),
    *((name, "", STEERS) for name in ("QWEN.md", "CLAUDE.local.md", "AGENTS.override.md", "sub/AGENTS.md ")),
    *((name, "", RUN) for name in (".cargo/config.toml", ".yarnrc.yml", ".githooks/pre-commit", "lefthook.yml")),
    *((name, "", RUN) for name in (".mise.toml", "mise.toml", ".Rprofile", "ipython_config.py", ".zed/a", ".pdbrc")),
    *((name, RUN, RUN) for name in ("sitecustomize.py", "usercustomize.py", "jupyter_server_config.py")),
    *((name, "", RUN) for name in ("HEAD", "sub/Head", "evil/head")),
    *(
        (name, "", "")
        for name in ("head/a.py", "src/HEAD.md", "conftest.py", "config", "objects/a", "cargo/config.toml")
    ),
    ("", "", ""),
]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        *((pattern, True) for pattern in (".e*", "./*env", "**/.env*", ".[e]nv", ".en[^x]", ".{e,x}nv", "*.{py,env}")),
        *((pattern, True) for pattern in ("id_*", "*_rsa", "cred*.json", "{a,{b,.env}}", "src .env", ".*", "*.env")),
        *((pattern, True) for pattern in ("{" + "a," * 200 + ".env}", ".{" + "a," * 200 + "x}")),
        *(
            (pattern, False)
            for pattern in ("*", "**", "*.py", "*.json", "*.{ts,tsx}", "src/**", "!.env", ".env.example")
        ),
        *((pattern, False) for pattern in (".git[ia]*s", "{src,test}/**/*.md", "", "..", "a{b")),
    ],
)
def test_a_name_pattern_that_may_become_a_secret(pattern: str, wanted: bool) -> None:
    assert (glob_protection(pattern, changes=False, hidden=True) is not None) == wanted


@pytest.mark.parametrize(("path", "read", "changed"), CHANGES)
def test_some_places_may_be_read_and_not_changed(path: str, read: str, changed: str) -> None:
    names = tuple(filter(None, path.split("/")))
    assert (protection(names, changes=False), protection(names, changes=True)) == (read or None, changed or None)
