"""Which files are protected, however their names are spelled."""

import pytest
from copilot_kernel.permissions.paths import glob_protection, is_never_written, protection

GIT, RULES, SECRETS, RUN = (
    "belongs to Git",
    "configures agents",
    "may hold secrets",
    "runs by itself",
)

# Paths by the reason why they may not be read; of ordinary ones, why they may not be changed is below.
PROTECTED = {
    GIT: ".git/config sub/.git/hooks/pre-commit .git .GIT/config .g\u200cit/config \uff0egit/config",
    RULES: "copilot_kernel.json etc/Copilot_Kernel.json .claude/settings.json .mcp.json",
    SECRETS: """
.env app/.env.local .ssh/id_rsa jupyter/runtime/kernel-1.json .env~ .env-prod .env.bak .my.cnf .pgpass .vault-token
.password-store/a.gpg .cargo/credentials.toml .cache/huggingface/token .local/share/keyrings/login.keyring keys/id_rsa
id_ed25519 app/credentials.json .config/gh/hosts.yml .config/github-copilot/apps.json .config/gcloud/x .envrc
""",
    RUN: """
.bashrc .vscode/tasks.json .ipython/profile_default/startup/a.py jupyter_server_config.py lib/site-packages/a.pth
.gdbinit app/.husky/pre-commit sitecustomize.py usercustomize.py
""",
    "": """
.gitignore workflows/ci.yml git/config environment.yml main.py .env.example app/.env.sample .env.template
.environment .cache/huggingface/hub/a.json id_ed25519.pub .github/dependabot.yml Makefile README.md docs/agents/a.md
src/hooks/a.ts bin/tool .venv/lib/python3/site-packages/a.py config/app.json head/a.py src/HEAD.md conftest.py config
objects/a cargo/config.toml
""",
}
CHANGED = {
    "makes agents run programs": ".github .github/hooks/a.json opencode.json .opencode/plugin/a.js .factory/mcp.json",
    "instructs agents": """
AGENTS.md sub/Claude.md GEMINI.md .github/copilot-instructions.md .github/agents/a.md
.GitHub/Instructions/a.md .cursorrules .windsurfrules .clinerules .goosehints .opencode/a .qwen/a
.kiro/a .roo/a .agents/a .clinerules/a QWEN.md CLAUDE.local.md AGENTS.override.md
""",
    RUN: """
.config/anything .local/bin/ls .cargo/config.toml .yarnrc.yml .githooks/pre-commit
.github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile
lefthook.yml .mise.toml mise.toml .Rprofile ipython_config.py .zed/a .pdbrc HEAD sub/Head evil/head
""",
}


@pytest.mark.parametrize(
    ("why", "path"),
    [(why, path) for why, listed in PROTECTED.items() for path in listed.split()] + [(SECRETS, ".env ")],
)
def test_protected_files_may_be_neither_read_nor_changed(why: str, path: str) -> None:
    names = path.split("/")
    assert (protection(names, changes=False), protection(names, changes=True)) == (why or None, why or None)
    is_ours = why == GIT or "copilot_kernel" in path.lower()
    assert is_never_written(names) == is_ours


@pytest.mark.parametrize(
    ("why", "path"),
    [(why, path) for why, listed in CHANGED.items() for path in listed.split()] + [("instructs agents", "AGENTS.md ")],
)
def test_some_files_may_be_read_and_not_changed(why: str, path: str) -> None:
    names = path.split("/")
    assert (protection(names, changes=False), protection(names, changes=True)) == (None, why)


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
