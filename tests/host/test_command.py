"""What a request for a terminal would really run; nothing is started here."""

import pytest
from copilot_kernel.acp.child_processes import guarded
from copilot_kernel.errors import HostRefused
from copilot_kernel.host.command import DEFAULT_OUTPUT_BYTES, MAX_OUTPUT_BYTES, TerminalCommand, environment, prepare


@pytest.fixture
def cwd(tmp_path):
    """A folder with a program, a text, and a folder `bin` with another program."""
    (tmp_path / "bin").mkdir()
    for name, rights in (("run.sh", 0o755), ("text", 0o644), ("bin/tool", 0o755), ("with space", 0o755)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(rights)
    return str(tmp_path)


SH = ("/bin/sh", "-c")
ARGVS = [
    ("tool", ("-x",), ("tool", "-x"), "a program and its arguments"),
    ("./run.sh", (), ("./run.sh",), "a program in the folder of the command"),
    ("{cwd}/with space", (), ("{cwd}/with space",), "a program with a space in its name"),
    ("no-such", ("a b", "*"), ("no-such", "a b", "*"), "arguments are never read by a shell"),
    ("cd bin && ls | wc", (), (*SH, "cd bin && ls | wc"), "a line for a shell"),
    ("echo", (), (*SH, "echo"), "what only a shell knows, as far as this PATH goes"),
    ("run.sh", (), (*SH, "run.sh"), "the current folder is not searched"),
    ("./text", (), (*SH, "./text"), "no program: the shell will say so"),
    ("./bin", (), (*SH, "./bin"), "nor is a folder one"),
]


@pytest.mark.parametrize(("command", "args", "argv", "reason"), ARGVS)
def test_what_runs_is(cwd, command, args, argv, reason):
    prepared = prepare(command.replace("{cwd}", cwd), args, cwd=cwd, environ={"PATH": f"{cwd}/bin"})
    assert prepared == TerminalCommand(tuple(word.replace("{cwd}", cwd) for word in argv), cwd), reason
    own = (("PATH", f"{cwd}/bin"),)
    assert prepare("tool", env=own, cwd=cwd, environ={"PATH": "/nowhere"}) == TerminalCommand(("tool",), cwd, own)


LINES = [
    (TerminalCommand(("git", "log", "-n 1"), "/"), "git log '-n 1'", "arguments as a shell would read them"),
    (TerminalCommand((*SH, "ls | wc"), "/"), "ls | wc", "a line for a shell is shown as it is"),
    (TerminalCommand(("/bin/sh", "-lc", "ls | wc"), "/"), "/bin/sh -lc 'ls | wc'", "the agent's own shell is shown"),
    (TerminalCommand(("git", "log"), "/", (("PATH", "/a b"),)), "PATH='/a b' git log", "nothing that counts is hidden"),
    (TerminalCommand((*SH, "a; b"), "/", (("X", ""),)), "X='' /bin/sh -c 'a; b'", "it counts for the whole line"),
]


@pytest.mark.parametrize(("command", "line", "reason"), LINES)
def test_a_question_shows(command, line, reason):
    assert command.line == line, reason


LIMITS = [
    (None, DEFAULT_OUTPUT_BYTES),
    (0, 0),
    (MAX_OUTPUT_BYTES + 1, MAX_OUTPUT_BYTES),
]


@pytest.mark.parametrize(("asked", "limit"), LIMITS)
def test_the_limit_is_bounded(cwd, asked, limit):
    assert prepare("ls", cwd=cwd, limit=asked, environ={}) == TerminalCommand(("ls",), cwd, limit=limit)


REFUSED = [
    ({"command": "  "}, "empty", "nothing to run"),
    ({"command": "a\0b"}, "null", "would be cut"),
    ({"args": ["a\0b"]}, "null", "would be cut"),
    ({"limit": -1}, "negative", "makes no sense"),
    ({"cwd": "bin"}, "folder 'bin'", "not absolute"),
    ({"cwd": "{cwd}/text"}, "folder", "a file"),
    ({"cwd": "/\0"}, "folder", "makes no sense"),
    ({"env": [("", "x")]}, "variable name", "no name"),
    ({"env": [("A=B", "x")]}, "variable name", "would set A"),
    ({"env": [("A", "x\0y")]}, "variable name", "would be cut"),
    ({"env": [("BASH_FUNC_ls%%", "() { rm x; }")]}, "variable name", "would make ls something else"),
    ({"env": [("CI", "1"), ("LD_PRELOAD", "/tmp/x.so")]}, "may not set LD_PRELOAD", "runs before every program"),
    ({"env": [("DYLD_INSERT_LIBRARIES", "x")]}, "may not set", "the same on macOS"),
    ({"env": [("BASH_ENV", "x")]}, "may not set", "runs before every script"),
    ({"env": [("NODE_OPTIONS", "--require x")]}, "may not set", "runs before every script"),
    ({"env": [("IFS", "/")]}, "may not set", "cuts words elsewhere"),
]


@pytest.mark.parametrize(("asked", "words", "reason"), REFUSED)
def test_what_is_refused(cwd, asked, words, reason):
    asked = {"command": "ls", "cwd": cwd, "environ": {}} | asked
    asked["cwd"] = asked["cwd"].replace("{cwd}", cwd)
    with pytest.raises(HostRefused, match=words):
        prepare(**asked)


def test_the_users_secrets_are_not_for_the_commands_of_an_agent():
    withheld = ["GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN", "JUPYTERHUB_API_TOKEN", "TOKEN", "npm_token"]
    withheld += ["OPENAI_API_KEY", "ANTHROPIC_APIKEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "GITLAB_PAT"]
    withheld += ["PGPASSWORD", "DB_PASSWD", "SSH_PASSPHRASE", "DEPLOY_PRIVATE_KEY", "CLIENT_SECRET"]
    withheld += ["GOOGLE_APPLICATION_CREDENTIALS", "COPILOT_KERNEL_MCP_SERVERS"]
    kept = ["PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "https_proxy", "TOKENIZERS_PARALLELISM", "KEYBOARD", "PATTERN"]
    environ = dict.fromkeys(withheld + kept, "x")
    assert environment(TerminalCommand(("ls",), "/", environ=environ)) == guarded(dict.fromkeys(kept, "x"))


def test_what_the_agent_sets_comes_on_top_even_where_the_users_own_is_withheld():
    environ = {"LANG": "de", "API_TOKEN": "user's"}
    command = TerminalCommand(("ls",), "/", (("LANG", "C"), ("API_TOKEN", "agent's")), environ=environ)
    given = {"LANG": "C", "API_TOKEN": "agent's"}
    assert environment(command) == guarded(given)
