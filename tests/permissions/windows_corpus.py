"""Paths and command lines of Windows, and what is decided about them. Runs on every platform, and needs no pytest."""

import ntpath
from collections.abc import Iterator, Mapping, Sequence

from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import PolicyContext, Rules, decide, paths
from copilot_kernel.system import drives

OPTIONS = tuple(PermissionOption(kind, kind, kind) for kind in ("allow_once", "reject_once"))
ROOT, HOME = drives.inward(r"C:\proj"), drives.inward(r"C:\Users\me")
PLACES = PolicyContext(root=ROOT, cwd=ROOT, home=HOME)

INSIDE = (r"C:\proj\src\a.py", "c:/proj/src/a.py", r"src\a.py", "src/a.py", r".\src\a.py")
# In other letters than on the disk.
OTHER_CASE = (r"C:\PROJ\src\a.py", r"SRC\A.PY")
PROTECTED = (
    *(".env", r".\.env", ".ENV", r"C:\proj\.env", "file:///C:/proj/.env", r".git\config", r".GIT\config"),
    r"sub\.git\hooks\pre-commit", ".vscode\\tasks.json", "copilot_kernel.json",
)  # fmt: skip
OUTSIDE = (r"C:\Windows\x", r"D:\proj\a.py", r"C:\project\a.py", "C:/proj2/a.py")
PROBLEMS = (
    *(r"src\..\a.py", r"src\..\..\x", r"..\x", r"C:\proj\..\x", "~\\x"),
    *("a.py:stream", ".env::$DATA", r"C:\proj\a.py:x", "src:x", "a*.py", "a?.py", 'a".py', "a<b", "a\x01b"),
    *(".env.", ".env ", ".env. .", r"src.\a.py", r"src \a.py", "a.py."),
    *(r"GIT~1\config", "ENV~1", "a~12.py"),
    *("nul", "NUL", r"src\con", "con.txt", "aux .txt", "COM1", "com¹", "lpt9.log", "CONIN$", "nul.tar.gz"),
    *(r"\proj\src\a.py", "/proj/src/a.py", "/", "C:a.py", "C:", "c:src/a.py", r"D:x"),
    *(r"\\server\share\a.py", "//server/share/a.py", r"\\?\C:\proj\src\a.py", r"\\.\pipe\x", r"\??\C:\x", "//./C:/x"),
)  # fmt: skip

PLAIN_LINES = (
    "git status", "git log -p src/a.py", r"git log -p src\a.py", r'git diff "src\a b.py"', "git commit -m \"a b\"",
    "git  status ", "git rev-parse HEAD",
)  # fmt: skip
# cmd, PowerShell and bash disagree about them.
OTHER_LINES = (
    *("git status & del x", "git status '& del x'", "git log 'a’; rm x; echo ‘b'", 'git log "a”; rm x; echo “b"'),
    *("git %CD%", "git @args", "git $x", "git log ;x", "git status\ndel x", "git (x)", "git {x}", "git ^x", "git a,b"),
    *('git "a"b', 'git a"b"', r'git "a\" "b"', 'git "a', "git 'x'", "git !x!", "git `x`", "git x>y", "git x|y"),
    *("git\tstatus", "git #x", "git é", "git *", "git ?", "git [a]", "git ~", "git x < y"),
)  # fmt: skip
SECRET_LINES = (r"cat .\.env", 'cat ".env"', "cat .ENV", "cat .env::x", "cat .env.", r"cat sub\.env", "cat nul")
LEADING_OUT = (r"git add ..\x", r"git add C:\other\x", r"git add \x", "git add D:x", "git add //server/share")


def edit(path: str) -> ToolCall:
    return ToolCall(id=1, turn=1, call_id="1", kind="edit", raw_input={"path": path})


def command(line: str) -> ToolCall:
    return ToolCall(id=1, turn=1, call_id="1", kind="execute", raw_input={"command": line})


def on_disk(path: str) -> str:
    """Where it leads on a disk with `C:\\proj\\src\\a.py`, as `os.path.realpath` says it."""
    whole, known = ntpath.normpath(drives.outward(path)), (r"C:\proj", r"C:\proj\src", r"C:\proj\src\a.py")
    start = next((each for each in reversed(known) if whole.lower().startswith(each.lower())), "")
    return start + whole[len(start) :]


def outcome(call: ToolCall, *, mode: str = "default", **rules: Sequence[str]) -> str:
    context = PolicyContext(mode=mode, rules=Rules.read(**rules)[0], root=ROOT, cwd=ROOT, home=HOME)
    real: Mapping[str, str] = {path: drives.inward(on_disk(path)) for path in paths(call, context)}
    context = PolicyContext(mode=mode, rules=context.rules, root=ROOT, cwd=ROOT, home=HOME, real=real)
    return decide(call, OPTIONS, context).outcome


def wrong() -> Iterator[str]:
    """What is decided otherwise than it should be; `drives.WINDOWS` is set."""
    for name, calls, expected, options in rows():
        for call in calls:
            if (found := outcome(call, **options)) != expected:
                yield f"{name}: {call.raw_input} is {found}, not {expected}"


def rows() -> Iterator[tuple[str, list[ToolCall], str, dict[str, object]]]:
    accepting, bypass = {"mode": "acceptEdits"}, {"mode": "bypassPermissions"}
    odd = (*PROTECTED, *OUTSIDE, *PROBLEMS, *OTHER_CASE)
    yield "the mode accepts edits in the project", [*map(edit, INSIDE)], "allow", accepting
    yield "the mode accepts nothing else", [*map(edit, (*PROTECTED, *OUTSIDE, *PROBLEMS))], "ask", accepting
    rule = {"allow": ["Edit(src/**)"]}
    yield "a rule allows the name on the disk", [*map(edit, INSIDE)], "allow", rule
    yield "a rule allows nothing else", [*map(edit, odd)], "ask", rule
    whole = {"allow": ["Edit(C:/proj/src/**)"]}
    yield "a rule may name the drive", [*map(edit, INSIDE)], "allow", whole
    yield "a rule with the drive allows nothing else", [*map(edit, odd)], "ask", whole
    for text in ("Edit(src/**)", "Edit(C:/proj/src/**)", "Edit(c:/PROJ/SRC/**)"):
        denied = {**bypass, "deny": [text]}
        yield "a rule denies in any case", [*map(edit, (*INSIDE, *OTHER_CASE))], "reject", denied
    unrelated = {**bypass, "deny": ["Edit(other/**)"]}
    yield "what a rule that denies may be about asks", [*map(edit, PROBLEMS)], "ask", unrelated
    yield "nothing else asks", [*map(edit, (*INSIDE, *OTHER_CASE, *OUTSIDE))], "allow", unrelated
    git, cat = {"allow": ["Bash(git *)"]}, {"allow": ["Bash(cat *)"]}
    yield "a rule allows plain lines", [*map(command, PLAIN_LINES)], "allow", git
    yield "a rule allows no other lines", [*map(command, (*OTHER_LINES, *LEADING_OUT))], "ask", git
    yield "a rule allows no protected files", [*map(command, SECRET_LINES)], "ask", cat
    yield "a rule allows other files", [command(r"cat src\a.py")], "allow", cat
    limited = {**bypass, "deny": ["Bash(del *)"]}
    yield "where commands are denied, all others ask", [*map(command, ("d^el x", "ri x", "git status"))], "ask", limited
    yield "a rule denies a command", [command("del x")], "reject", limited
    yield "the mode allows every command", [*map(command, ("d^el x", "ri x", "git status"))], "allow", bypass
