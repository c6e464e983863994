"""Calls that must be asked about, with their reasons."""

from copilot_kernel.acp.messages import Diff, Location

from .call_rows import ACCEPT, BYPASS, GATE, LINKED, NOTES, Row, each, git_diff, mcp, patch, rows
from .making import ROOT, delete, edit, fetch, make, move, run, split, tool, view

STRANGE = (
    *("Args", "envVars", "Env", "environmentVariables", "shellPath", "Command", "fullCommandText", "code", "input"),
    *("stdIn", "Timeout", "login", "sandbox", "with_escalated_permissions", "parsed_cmd", "runAs", "user", "host"),
)
"""Members whose spelling no agent uses for what is harmless."""

OURS_SPELLED = split(r"""
sed -i s/a/b/ /home/me/.jupyter/copilot_'kernel'.json ¦ sed -i s/a/b/ /home/me/.jupyter/copilot\_kernel.json
sed -i s/a/b/ /home/me/.jupyter/copilot_kerne?.json ¦ sed -i s/a/b/ ~/.jupyter/copilot_k$X.json
cp x /home/me/.jupyter/c*.json ¦ rm c*.json ¦ cd ~/.jupyter; sed -i s/a/b/ *.json
echo x > ~/.jupyter/copilot_{kernel,x}.json ¦ rm /home/me/.local/share/jupyter/./copilot_kernel/x
rm /home/me/.local/share/jupyter/copilot_k?rnel/x
""")
"""Commands that reach our settings, the names of which do not stand in them."""
OURS_HELD = split(r"""
rm -rf /home/me/.jupyter ¦ rm -rf /home/me/.ju[p]yter ¦ rm -rf '/home/me/.jup'yter ¦ rm -rf $HOME/.jupyter
rm -rf ~/.j* ¦ rm -rf $H/.jupyter ¦ rm -rf $PWD/../.jupyter ¦ rm -rf ~ ¦ rm -rf .. ¦ sudo rm -rf ~/.jupyter
bash -c 'rm -rf ~/.jupyter' ¦ find ~/.jupyter -delete ¦ find ~/.jupyter | xargs rm ¦ chmod -R 777 /home/me
mv /home/me/.jupyter /tmp/x ¦ mv -t /tmp/x /home/me/.jupyter ¦ cp -r evil/. /home/me/.jupyter
cp -r evil/.jupyter ~ ¦ cp -t ~/.jupyter evil/x ¦ rsync -a evil/ ~/.jupyter/ ¦ tar xf a.tgz -C ~/.jupyter
cd ~/.jupyter && tar xf /tmp/a.tgz ¦ rm -rf $HOME ¦ rm -rf "${HOME}"/ ¦ cp -r x $HOME/.
""")
"""Commands that reach the folder that holds our settings."""
OUR_FILE = "/home/me/.jupyter/copilot_kernel.json"
OURS_INSIDE = (
    *({name: OUR_FILE} for name in ("path", "where", "target")),
    {"files": [{"x": OUR_FILE}]},
    {OUR_FILE: "{}"},
    {"where": "copilot_kernel.json"},
    {"command": "rm -rf ~/.jupyter"},
)
"""Arguments of a tool that change our settings."""
ENDS = (
    *(("source", name) for name in ("rename_to", "new_name", "newName", "dst", "output", "name", "where")),
    *(("oldPath", "newPath"), ("old_uri", "new_uri"), ("from", "toPath"), ("path", "new_filename")),
)
"""Names under which a move may say where from and where to."""

FILES = [
    *rows(
        (view("/etc/passwd"), "outside"),
        (make("read", {"path": f"{ROOT}/../a"}), "two dots"),
        (make("read", {"path": "~/a"}), "at home, or in a folder of that name"),
        (make("read", {"path": "file:///home/me/project/a"}), "an address"),
        (make("read", {"path": f"{NOTES}\0"}), "no path at all"),
        (make("read", {"path": NOTES * 1000}), "longer than paths can be"),
        (make("read", {"path": "\\\\server\\share"}), "a path of another system"),
        (make("read", {"path": NOTES, "other": "/etc/passwd"}), "a second path, inside or not by its name"),
        (make("read", {"path": NOTES, "more": {"deep": [{"er": "/etc/passwd"}]}}), "a second path, deep in the input"),
        (make("read", {"path": NOTES}, locations=(Location("/etc/passwd"),)), "it shows another file"),
        (make("read", {"path": NOTES}, content=(Diff(NOTES, None, "x"),)), "a read that changes a file"),
        (make("read", {"path": NOTES, "command": "cat notes.txt"}), "a read that holds a command"),
        (make("read", {"path": NOTES, "argv": ["cat"]}), "a read that holds a command"),
        (make("read", patch("a.py")), "a read that holds a patch"),
        (make("read", {"path": NOTES}, GATE), "the gate, whatever it names"),
        (make("read"), "nothing is named"),
        (make("read", {"note": "a.txt"}), "nothing is named"),
        (make("read", ["a.txt"]), "an input of another shape"),
        (make("read", {"path": {"a": 1}}), "an input of another shape"),
        (make("read", {"path": "a.txt", "cwd": "/srv"}), "a folder of its own"),
        (make("read", {f"k{at}": "x" for at in range(3000)} | {"path": NOTES}), "more than can be looked at"),
        (view(".env"), "it may hold secrets"),
        (view(".ssh/id_rsa"), "it may hold secrets"),
        (make("search", {"path": ROOT}), "searching is not reading"),
        (edit("a.py"), "changing is not reading"),
        (fetch("file:///etc/passwd"), "fetching is not reading"),
        allow="Read; Read(data/**)",
    ),
    Row(view("link.txt"), "a link that leads outside", allow="Read", links=LINKED),
    Row(view("a.txt"), "nobody knows where it leads", allow="Read", links={f"{ROOT}/a.txt": ""}),
    Row(view("data/a.csv"), "it leads out", allow="Read(data/**)", links={f"{ROOT}/data/a.csv": NOTES}),
    Row(view("src/a.py"), "not in the rule's folder", allow="Read(data/**)"),
    Row(view("data/x/a.csv"), "a star does not cross folders", allow="Read(data/*.csv)"),
    Row(view("/etc/passwd"), "a rule in the project", allow="Read(etc/passwd)"),
    Row(view("/home/me/.ssh/id_rsa"), "secrets are for no rule", allow="Read(~/**)"),
    *rows(
        *(
            (make("search", {"pattern": ".", "path": ROOT, name: ".env"}), "it searches what may hold secrets")
            for name in ("glob", "include", "globs", "file_pattern")
        ),
        (make("search", {"pattern": ".", "glob": ".env"}), "it searches what may hold secrets"),
        (make("search", {"pattern": ".", "glob": ["*.py", "**/.env*"]}), "one of several patterns"),
        allow="Grep; Read",
    ),
    *rows(
        (make("search", {"pattern": "."}), "it is among all that is searched"),
        (make("search", {"pattern": ".", "path": "src", "glob": "!*.py"}), "what is left out is another"),
        allow="Grep",
        deny="Read(.env)",
    ),
    *rows(
        (make("search", {"pattern": ".", "path": ROOT}), "the denied folder is in the one that is searched"),
        allow="Grep",
        deny="Read(secret/**)",
    ),
    Row(make("search", {"pattern": "x"}), "what is in it is asked about", allow="Grep", ask="Read(src/key)"),
    Row(make("search", {"path": ROOT}), "against the mode", mode=BYPASS, deny="Read(secret/**)"),
    Row(make("search", {"path": ROOT}), "the whole home is denied", mode=BYPASS, deny="Read(~/project/x)"),
    Row(make("search", {"pattern": "x", "path": "/etc"}), "outside", allow="Grep"),
    Row(make("search", {"pattern": "../../**"}), "an expression that may be a path", allow="Grep"),
    Row(make("search", {"pattern": "x"}), "it searches where the agent works, outside", allow="Grep", cwd="/srv"),
    Row(make("search", {"pattern": "x", "path": f"{ROOT}/lib"}), "another folder", allow="Grep(src/**)"),
    *rows(
        (edit("/etc/passwd"), "outside"),
        (edit("~/x"), "at home, or in a folder of that name"),
        (delete(""), "the project's folder itself"),
        (move("a.py", "/tmp/a.py"), "out of the project"),
        (move("/tmp/a.py", "a.py"), "into the project, from elsewhere"),
        (make("move", {"from": NOTES, "to": "../b"}), "out of the project"),
        (make("edit", {"path": NOTES}, content=(Diff("/etc/passwd", "a", "b"),)), "its diff is of another file"),
        (edit("notes.txt", diff=git_diff("/etc/passwd")), "the diff in its input is of another file"),
        (edit("notes.txt", diff=git_diff(NOTES) + git_diff("/etc/passwd")), "a second file in the diff"),
        (make("edit", {"input": patch("a.py", "/etc/passwd")}), "a second file in the patch"),
        (make("edit", {"path": NOTES, "input": patch("../a.py")}), "a second file in the patch"),
        (make("edit", {"changes": {NOTES: {}, "/etc/passwd": {}}}), "a name that is a path outside"),
        (make("edit", {"path": ["/etc", 5, None]}), "an input of another shape"),
        (make("edit", {"path": NOTES, "command": "rm a"}), "an edit that holds a command"),
        (make("edit", {"path": NOTES, "commands": ["rm a"]}), "an edit that holds a command"),
        (make("edit", {"path": NOTES, "script": "rm a"}), "an edit that holds a script"),
        (edit("a.py", output="AGENTS.md"), "another member names a protected file"),
        (edit("a.py", to={"where": "x/.git/config"}), "another member names a protected file"),
        (edit(".git/config"), "Git's own"),
        (edit(".env"), "it may hold secrets"),
        (edit(".vscode/settings.json"), "it is run by itself"),
        (edit(".mcp.json"), "it names programs that agents start"),
        (edit("copilot_kernel.json"), "our own settings"),
        (run("rm a.py"), "a command is no edit"),
        (view("a.py"), "reading is not changing"),
        allow="Edit; Edit(.git/**); Edit(.env)",
    ),
    Row(edit("link.txt"), "a link that leads outside", allow="Edit", links=LINKED),
    Row(edit("/srv/a.py"), "a link from outside into the project", allow="Edit", links={"/srv/a.py": f"{ROOT}/a.py"}),
    Row(edit("/srv/a.py"), "the same", mode=ACCEPT, links={"/srv/a.py": f"{ROOT}/a.py"}),
    Row(edit("a.py"), "what is denied may be behind it", mode=BYPASS, deny="Edit(b)", links={f"{ROOT}/a.py": ""}),
    Row(edit("out/new.py"), "a new file in a folder that is a link", allow="Edit", links=LINKED),
    Row(edit("/mnt/disk/b"), "the rule's folder is not the real one", allow="Edit(/mnt/disk/a/**)"),
    Row(edit("b.txt"), "it named another file before", allow="Edit", earlier=edit("a.txt")),
    Row(edit("a.txt"), "it was a read before", allow="Edit", earlier=view("a.txt")),
    Row(edit("/tmp/b"), "the gate was for another path", allow="Edit(/tmp/**)", earlier=view("/tmp/a", GATE)),
    Row(
        make("read", {"path": "/tmp/s/a"}, meta={"question": GATE}),
        "the gate beside the call",
        allow="Read(/tmp/**)",
    ),
    Row(view("/tmp/s/a", GATE), "the gate", allow="Read(/tmp/**); Edit(/tmp/**)", earlier=edit("/tmp/s/a")),
    Row(move("src/a.py", "lib/a.py"), "one end has no rule", allow="Edit(src/**)"),
    Row(
        make("edit", {"paths": [*(f"src/{number}" for number in range(30)), "setup.py"]}),
        "the last",
        allow="Edit(src/**)",
    ),
    Row(delete("src"), "the folder of the rule, not what is in it", allow="Edit(src/**)"),
    Row(edit("src/x/a.py"), "a star does not cross folders", allow="Edit(src/*)"),
]

MUST_ASK = [
    *rows(
        (run("git status"), "no rule"),
        (view("a.py"), "no rule"),
        (edit("a.py"), "no rule"),
        (delete("a.py"), "no rule"),
        (fetch("https://example.com"), "no rule"),
        (tool("mcp__github__issue"), "no rule"),
        (make("other", {"x": 1}), "no rule is about it"),
        (make("think", {"thought": "x"}), "no rule is about it"),
        (make("switch_mode", {"plan": "x"}), "leaving a mode is for the user"),
        (make("teleport", {"path": NOTES}), "a kind that nobody knows"),
        (make("execute"), "nothing is known"),
        (make("edit"), "nothing is known"),
    ),
    *rows(
        (run("rm x"), "another program"),
        (run("git status && rm x"), "one part has no rule"),
        (run("git log | sh"), "one part has no rule"),
        (run("git $(rm x)"), "a command in a command"),
        (run("git status > out.txt"), "a file is written, and no rule is about it"),
        (run("git status > /etc/motd"), "a file outside is written"),
        (run("PAGER=evil git log"), "a variable before the command"),
        (run("gitk"), "another word"),
        (run("git -c core.pager=evil log"), "an option that starts another program"),
        (run("git status\u200b"), "a character that cannot be seen"),
        (run("git status" + " " * 20_000 + "; rm x"), "too long to be read"),
        (run(""), "an empty command"),
        (run([]), "an empty list"),
        (run(["bash", "-lc", "rm x"], "git status"), "the title says another command"),
        (run(["zsh", "-c", "git status"]), "another shell may read it in another way"),
        (run(["bash", "-c", "git status", "x"]), "more than one line for the shell"),
        (make("execute", None, "git status"), "a title is not what runs"),
        (make("execute", {"description": "git status"}, "git status"), "a description is not what runs"),
        (make("execute", "git status", "git status"), "an input of another shape"),
        (make("execute", {"input": {"command": "git status"}}), "a command in a place where nobody looks for it"),
        (run("git status", cmd="rm x"), "two commands"),
        (run("git status", commands=["rm x"]), "the list says another one"),
        (run("git commit -m 'rm x'", commands=["rm x"]), "the list says another one, which stands in the line"),
        (run("git status", args=["-c", "core.pager=evil"]), "arguments beside the command"),
        (run("git status", env={"GIT_PAGER": "evil"}), "variables beside the command"),
        *((run("git status", **{name: "x"}), f"{name} beside the command") for name in STRANGE),
        *((run("git status", **{name: ROOT}), f"{name} beside the command") for name in ("workingDir", "Cwd", "path")),
        (run("git status", cwd=ROOT, workdir=f"{ROOT}/x"), "two folders"),
        (run("git status", cwd=""), "an empty folder"),
        (run("git status", cwd=["/tmp/evil"]), "a folder of another shape"),
        (run("git status", timeout={"command": "x"}), "a number of another shape"),
        (run({"text": "rm"}, cmd="git status"), "a command of another shape"),
        (run([["rm"], "x"], cmd="git status"), "a command of another shape"),
        (run("git status", cwd="/etc"), "it starts outside of the project"),
        (run("git status", cwd=".."), "it starts outside of the project"),
        (run("git status", cwd="~"), "it starts at home"),
        (make("execute", {"command": "git status"}, locations=(Location("/etc/x"),)), "it shows a file outside"),
        (make("execute", {"command": "git status"}, content=(Diff(NOTES, "a", "b"),)), "a command that shows a change"),
        (make("read", {"command": "git status", "path": NOTES}), "a read that holds a command"),
        (make("edit", {"command": "git status", "path": NOTES}), "an edit that holds a command"),
        (make("other", {"command": "git status"}), "no kind that the rule stands for"),
        (make("Execute", {"command": "git status"}), "kinds are written small"),
        allow="Bash(git *)",
    ),
    Row(run("git status"), "the command starts where the agent works, outside", allow="Bash(git *)", cwd="/srv"),
    Row(run("git status"), "nobody knows where the folder leads", allow="Bash(git *)", links={ROOT: ""}),
    Row(run("git status", cwd="src"), "the folder is a link", allow="Bash(git *)", links={f"{ROOT}/src": "/etc"}),
    Row(run("git status"), "it said something else before", allow="Bash(git *)", earlier=run("npm test")),
    Row(run("git status"), "it was an edit before", allow="Bash(git *)", earlier=edit("a.py")),
    Row(run("x", cwd="src"), "it ran elsewhere before", allow="Bash", earlier=run("x", cwd="lib")),
    Row(run("npm test -- --watch"), "more words than the rule has", allow="Bash(npm test)"),
    Row(run("npm"), "fewer words than the rule has", allow="Bash(npm test)"),
    Row(run("git push"), "a rule that asks", allow="Bash(git *)", ask="Bash(git push *)"),
    Row(run("git push"), "a rule that asks, against every command", allow="Bash", ask="Bash(git push *)"),
    Row(run("git push"), "a rule that asks, against the mode", mode=BYPASS, ask="Bash(git push *)"),
    Row(run("x $(y)"), "in what is not clear the denied may hide", mode=BYPASS, deny="Bash(rm *)"),
    Row(run("ls", Command="rm x"), "in what is not known the denied may hide", mode=BYPASS, deny="Bash(rm *)"),
    Row(run("ls"), "the bare rule that asks", allow="Bash", ask="Bash"),
    Row(edit("a.py"), "the bare rule that asks", allow="Edit", ask="Edit"),
    Row(edit("src/a.py"), "a rule that asks about a folder", allow="Edit", ask="Edit(src)"),
    Row(edit("src/a.py"), "a rule that asks, against the mode", mode=ACCEPT, ask="Edit(src/**)"),
    Row(fetch("https://a.example.com/"), "a rule that asks", allow="WebFetch", ask="WebFetch(domain:example.com)"),
    Row(tool("mcp__gh__x"), "a rule that asks about one tool", allow="mcp__gh", ask="mcp__gh__x"),
    Row(make("other", {}, "x"), "a rule that asks, and the title may be the tool", mode=BYPASS, ask="mcp__gh__x"),
    Row(run("cat .env"), "it names a file that a rule denies", allow="Bash(cat *)", deny="Read(.env)"),
    Row(run("cp a secret/b"), "it names a folder that a rule denies", allow="Bash", deny="Edit(secret/**)"),
    Row(run("curl https://evil.net/x"), "it names a denied host", allow="Bash", deny="WebFetch(domain:evil.net)"),
    *rows(
        *each(
            run, "a protected file", "echo x > .git/hooks/y ¦ echo x > .env ¦ echo x > .vscode/a ¦ echo x > AGENTS.md"
        ),
        allow="Bash(echo *); Edit",
    ),
    Row(run("cd src && echo x > y"), "where it writes is not clear", allow="Bash(cd src); Bash(echo *); Edit(./y)"),
    *FILES,
    *rows(
        *((edit(path), "a server runs it") for path in (".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile")),
        *((edit(path), "it steers agents") for path in (".github/hooks/a.json", "AGENTS.md", "sub/CLAUDE.md")),
        (move("x", ".github"), "what is in it may steer agents"),
        (view(".config/gh/hosts.yml"), "it may hold secrets"),
        *each(edit, "protected or outside", ".vscode/x ¦ /tmp/x ¦ .git/config ¦ .env ¦ copilot_kernel.json"),
        (edit("link.txt"), "a link that leads outside"),
        (delete(""), "the project's folder itself"),
        (edit("/home/me/.jupyter/copilot_kernel.json"), "our own settings"),
        (view("/etc/passwd"), "outside"),
        (view(".env"), "it may hold secrets"),
        (tool("mcp__files__write"), "a server's tool is no edit"),
        (make("edit", {"path": NOTES, "command": "rm x"}), "a contradiction"),
        mode=ACCEPT,
        links=LINKED,
    ),
    *rows(
        (edit("/home/me/.local/share/jupyter/copilot_kernel/sessions.json"), "our own state"),
        (delete("/home/me/.jupyter"), "the folder that holds our settings"),
        (move("/home/me/.jupyter", "/tmp/x"), "the folder that holds our settings"),
        (edit("sub/Copilot_Kernel.json"), "our own settings on a disk that ignores case"),
        (run("echo '{}' > /home/me/.jupyter/copilot_kernel.json"), "a command that writes our settings"),
        (run("cp x ~/.jupyter/copilot_kernel.json"), "a command that names our settings"),
        (run("sed -i s/a/b/ copilot_kernel.json"), "a command that names our settings"),
        *((run(line), "our settings, spelled otherwise") for line in OURS_SPELLED),
        *((run(line), "it holds our settings, or puts files beside them") for line in OURS_HELD),
        (run("rm -rf /"), "our settings go with the rest"),
        mode=BYPASS,
        links={f"{ROOT}/x.json": "/home/me/.jupyter/copilot_kernel.json"},
    ),
    *rows(
        *((run(line), "our settings, for the rule for all commands") for line in OURS_SPELLED + OURS_HELD), allow="Bash"
    ),
    *rows(
        *each(
            fetch,
            "another host, scheme or port, or not clearly this host",
            """
https://example.com.evil.net/ ¦ https://evilexample.com/ ¦ https://sub.example.com/ ¦ https://example.com@evil.net/
https://evil.net@example.com/ ¦ https://evil.net#@example.com/ ¦ https://example.com\\@evil.net/ ¦ //example.com/
https://ex\u0430mple.com/ ¦ https://xn--exmple-4nf.com/ ¦ https://example%2ecom/ ¦ https:///example.com/
ftp://example.com/ ¦ javascript://example.com/%0aalert(1) ¦ https://example.com:8443/ ¦ https://example.com:99999/
https://[::1/ ¦ https://example.com\t.evil.net/
""",
        ),
        (fetch("https://example.com\t.evil.net/"), "a tab is left out by some"),
        (fetch("https://example.com", path="/etc/passwd"), "a file beside the address"),
        (fetch("https://example.com", command="curl x"), "a command beside the address"),
        (fetch("https://example.com", uri="https://evil.net"), "two addresses"),
        (make("fetch", {"query": "example.com"}), "no address"),
        (make("fetch", None, "https://example.com"), "a title is not what is fetched"),
        allow="WebFetch(domain:example.com)",
    ),
    Row(fetch("http://2130706433/"), "an address in another form", allow="WebFetch(domain:127.0.0.1)"),
    Row(fetch("file:///etc/passwd"), "no address of the network", allow="WebFetch"),
    Row(make("think", {"url": "https://a.net"}), "thinking is not fetching", allow="WebFetch"),
    Row(fetch("https://b.net"), "it named another address before", allow="WebFetch", earlier=fetch("https://a.net")),
    *rows(
        (tool("mcp__github__delete"), "another tool"),
        (tool("mcp__github__issue2"), "it only begins so"),
        (tool("mcp__gitlab__issue"), "another server"),
        (make("other", {}, "mcp__github__issue"), "a title is a model's words with some agents"),
        (make("other", {"server": "github", "tool": "issue"}, "Delete it"), "its input alone may be a model's words"),
        (make("execute", {"command": "rm x"}, "issue"), "a command"),
        allow="mcp__github__issue",
    ),
    Row(tool("mcp__github2__issue"), "another server with the same beginning", allow="mcp__github"),
    Row(tool("mcp__gh__x", {"path": "/home/me/.ssh/id_rsa"}), "a secret, by a tool", allow="mcp__gh"),
    *rows(
        *((mcp(given), "our settings, by a tool") for given in OURS_INSIDE),
        (mcp({"where": "/home/me/.jupyter"}, "delete_folder"), "the folder that holds our settings, by a tool"),
        (tool("mcp__fs__write", {"where": OUR_FILE}), "our settings, under a name that nobody knows"),
        (mcp({"where": ".git/config"}), "Git's own, by a tool"),
        (mcp({"deep": [{"er": f"{ROOT}/.git/hooks/x"}]}), "Git's own, by a tool"),
        (mcp({"where": ".env"}), "it may hold secrets"),
        (mcp({"where": "AGENTS.md"}), "it steers agents"),
        (mcp({"rows": ["a"] * 3000}), "more than can be looked at"),
        allow="mcp__fs",
    ),
    *rows(*((mcp(given), "our settings, by a tool, against the mode") for given in OURS_INSIDE), mode=BYPASS),
    Row(run("x=$(rm x)"), "a denied part of an unclear line", allow="Bash", deny="Bash(rm *)"),
    *rows(
        (make("execute", {"command": "ls", "output_file": "exams/x"}), "it may be a denied file"),
        (make("edit", {}, "Edit exams/x"), "the file is not seen"),
        (make("edit", ["exams"]), "an input of another shape"),
        (make("delete", {"path": {}}), "an input of another shape"),
        (make("move", {"source": f"{ROOT}/a"}), "where it goes is not seen"),
        (make("execute", None, "rm x"), "the command is not seen"),
        mode=BYPASS,
        deny="Edit(exams/**)",
    ),
    *(
        Row(call, "the command is not seen", mode=BYPASS, **{limit: "Bash(rm *)"})
        for limit in ("ask", "deny")
        for call in (make("execute", {"shellInput": "rm x"}), make("execute", {}), make("execute", None, "rm x"))
    ),
    Row(make("read", {}), "the file is not seen", mode=BYPASS, deny="Read(exams/**)"),
    Row(make("fetch", {"query": "x"}), "the address is not seen", mode=BYPASS, ask="WebFetch(domain:evil.net)"),
    Row(make("read", {f"k{at}": "x" for at in range(3000)}), "more than can be seen", mode=BYPASS, deny="Read(.env)"),
    *rows(
        *(
            (make("move", {source: f"{ROOT}/src/a.py", target: place}), "where it goes has no rule")
            for source, target in ENDS
            for place in (f"{ROOT}/setup.py", "setup.py")
        ),
        (make("move", {"path": f"{ROOT}/src/a.py"}), "where it goes is not seen"),
        (make("move", None, locations=(Location(f"{ROOT}/src/a.py"),)), "where it goes is not seen"),
        allow="Edit(src/**)",
    ),
    Row(make("move", {"path": NOTES}), "where it goes is not seen", mode=ACCEPT),
    Row(make("move", {"path": f"{ROOT}/x/a", "new_name": ".git"}), "Git's own, beside it", mode=ACCEPT),
    Row(make("read", {"path": NOTES, "search": "/etc/passwd"}), "a second path in what is no edit", allow="Read"),
]
