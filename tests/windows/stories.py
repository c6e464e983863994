"""Stories of notebooks and servers on Windows, with the test agent; they run in Windows' Python."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..limits import LIMIT
from ..permissions import windows_corpus
from .notebook import ENDLESS, FIRST, PYTHON, Notebook
from .processes import all_end, command_line, descendants, printed
from .server import Server

TESTS = Path(__file__).parents[1]

UNKNOWN_COMMAND = 9009
"""The exit code of `cmd.exe`."""
STORIES: list[Callable[[Path], None]] = []


def story(tell: Callable[[Path], None]) -> Callable[[Path], None]:
    STORIES.append(tell)
    return tell


# -- the kernels ----------------------------------------------------------------------------------------------------


@cache
def copilot() -> Notebook:
    """One kernel for all stories, until one of them kills it."""
    return Notebook(Path.cwd())


@story
def a_turn_and_its_questions(project: Path) -> None:
    book = copilot()
    status, text = book.run(FIRST)
    assert (status, "hello there" in text) == ("ok", True), text
    gone, kept = book.project / "gone.txt", book.project / "kept.txt"
    gone.touch()
    kept.touch()
    status, text = book.run("demo: delete gone.txt")
    assert (status, gone.exists(), str(gone) in text) == ("ok", False, True), text  # the path as Windows writes it
    status, text = book.run("demo: delete kept.txt", answer="3")
    assert (kept.exists(), "denied" in text) == (True, True), text


@story
def an_interrupt_ends_the_command_and_the_conversation_continues_after_a_restart(project: Path) -> None:
    book = copilot()
    before = descendants(book.pid)
    running = book.run_endless()
    assert book.interrupt() == "error"
    all_end(running - before)
    book.manager.restart_kernel(now=False)
    book.client.wait_for_ready(timeout=LIMIT)
    assert book.run("demo: say again")[0] == "ok"


@story
def commands_run_in_terminals_of_the_client(project: Path) -> None:
    book = copilot()
    status, text = book.run("demo: terminal-asked echo %OS%& exit 3")
    assert (status, "exit code 3, output 'Windows_NT" in text) == ("ok", True), text
    before = descendants(book.pid)
    running = book.run_endless("terminal")
    assert book.interrupt() == "error"
    all_end(running - before)


@story
def an_agent_that_ends_takes_its_commands_along_and_the_next_prompt_starts_another(project: Path) -> None:
    book = copilot()
    book.run("demo: say hello")
    before = descendants(book.pid)
    status, text = book.run(f'demo: together shell "{sys.executable}" -c "{ENDLESS}" ;; wait started ;; die')
    assert status == "error", text
    all_end(before - {book.pid})
    assert book.run("demo: say again")[0] == "ok"


@story
def undo_restores_files_and_cells(project: Path) -> None:
    book = copilot()
    named, unnamed = book.project / "named.txt", book.project / "unnamed.txt"
    named.write_text("old\n")
    unnamed.write_text("old\n")
    book.connect(cells := {"prompt": "", "a": "x = 1"})
    book.run("%permissions allow Edit")
    book.run("%permissions allow mcp__notebook__edit_cell")
    edit = 'notebook edit_cell {"id": "a", "source": "x = 2", "expected": "x = 1"}'
    status, text = book.run(f"demo: edit named.txt old => new\nunasked echo new>unnamed.txt\n{edit}")
    assert (status, cells["a"], named.read_text()) == ("ok", "x = 2", "new\n"), text
    status, text = book.run("%undo restore")
    assert (status, cells["a"]) == ("ok", "x = 1"), text
    has_git = shutil.which("git") is not None  # files are restored from a repository
    assert [file.read_text() == "old\n" for file in (named, unnamed)] == [has_git, has_git], text
    book.connect()


@story
def a_kernel_that_is_killed_leaves_nothing_behind(project: Path) -> None:
    book = copilot()
    running = book.run_endless()
    book.manager.provisioner.process.kill()
    all_end(running)


@story
def a_conversation_is_listed_and_exported(project: Path) -> None:
    """That of the kernel that was killed, and restarted before."""
    listed = json.loads(printed("sessions", "--json"))["sessions"]
    printed("export", listed[0]["id"], "-o", str(project / "chat.ipynb"))
    exported = (project / "chat.ipynb").read_text("utf-8")
    assert ("hello there" in exported, "again" in exported) == (True, True)


@story
def a_kernel_ends_with_the_program_that_started_it(project: Path) -> None:
    command = (sys.executable, str(TESTS / "windows"), "--orphan", str(project))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    all_end(set(map(int, done.stdout.split())))


@story
def a_python_notebook_asks_the_agent_and_the_agent_runs_code(project: Path) -> None:
    book = Notebook(project, PYTHON)
    assert book.run("%load_ext copilot_kernel\nnumber = 42")[0] == "ok"
    status, text = book.run('%%copilot\ndemo: notebook run_python {"code": "number += 1"}')
    assert (status, "43" in book.run("print(number)")[1]) == ("ok", True), text
    book.close()


@story
def agents_without_http_reach_the_notebook_by_a_bridge(project: Path) -> None:
    os.environ["COPILOT_KERNEL_DEMO"] = ""
    book = Notebook(project)
    _, text = book.run("demo: mcp")
    bridge = re.search(r"stdio, (\S+) -I -S (\S+\.py) (\S+)", text)
    assert bridge, text
    command = [bridge[1], "-I", "-S", *bridge.groups()[1:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        print('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', file=process.stdin, flush=True)
        assert "read_notebook" in process.stdout.readline()
    book.close()


def leave_running(project: Path) -> None:
    """Print the processes of a turn that runs, and end."""
    print(*Notebook(project).run_endless(), flush=True)
    os._exit(0)


# -- the server -----------------------------------------------------------------------------------------------------


@cache
def server() -> Server:
    """One for all stories."""
    return Server()


@story
def the_tour_opens_in_jupyterlab_and_a_kernel_starts(project: Path) -> None:
    assert "jupyter-config-data" in server().get("lab/tree/01-first-prompt.ipynb")
    kernel = json.loads(server().get("api/kernels", {"name": "copilot"}))
    assert kernel["name"] == "copilot", kernel


@story
def the_chat_page_is_served_with_its_scripts(project: Path) -> None:
    page = server().get("copilot/chat")
    files = re.findall(r'(?:src|href)="/(copilot/chat/static/[^"]+)"', page)
    scripts = [file for file in files if file.endswith(".js")]
    imported = re.findall(r"from '\./(\w+\.js)'", server().get(scripts[0]))
    assert imported
    assert all(server().get(f"copilot/chat/static/{name}") for name in imported)
    assert all(server().get(file) for file in files)


@story
def a_question_is_answered_in_the_chat(project: Path) -> None:
    chat = server().chat()
    chat.act("send", text="Run the tests")
    question = chat.next("tool_approval_request")
    chat.act("approve_tool", call_id=question["call_id"], response="yes")
    assert chat.next("approval_resolved")["approved"] is True
    assert "fibonacci" in chat.next("tool_done")["result"]  # the embeddable Python does not find the script's module
    assert chat.next("done")["stop_reason"] == "end_turn"


@story
def other_programs_ask_the_agent_over_http(project: Path) -> None:
    body = {"model": "scripted", "messages": [{"role": "user", "content": "Explain what this project does"}]}
    answer = json.loads(server().get("v1/chat/completions", body))
    assert "Fibonacci" in answer["choices"][0]["message"]["content"], answer
    *events, end = server().get("v1/chat/completions", {**body, "stream": True}).split("\n\n")[:-1]
    deltas = [json.loads(each.removeprefix("data: "))["choices"][0]["delta"] for each in events]
    streamed = "".join(delta.get("content") or "" for delta in deltas)
    assert (end, "Fibonacci" in streamed) == ("data: [DONE]", True), streamed


@story
def a_server_that_is_killed_leaves_nothing_behind(project: Path) -> None:
    server().chat().act("send", text="Count slowly to 1000")
    running = descendants(server().pid)
    assert len(running) > 2, running  # a kernel, and the agent of the conversations
    server().kill()
    all_end(running)


# -- the command line -----------------------------------------------------------------------------------------------


@story
def the_command_line_works(project: Path) -> None:
    assert "copilot" in printed("install", "--user")
    found = json.loads(printed("doctor", "--json"))
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["sign-in"]["state"] == "ok", checks
    assert "Linux or macOS" in checks["sandbox"]["message"], checks["sandbox"]
    environ = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252", "COPILOT_KERNEL_AGENT_SHARING": "user"}
    assert "Agents cannot be shared on Windows" in command_line("doctor", "--no-start", code=1, **environ)


@story
def a_server_of_its_own_starts_and_stops(project: Path) -> None:
    from copilot_kernel.cli import serve

    serve.START_SECONDS = LIMIT
    printed("serve", "start")
    (running,) = json.loads(printed("serve", "status", "--json"))["servers"]
    processes = descendants(running["pid"])
    assert "Stopped" in command_line("serve", "stop")
    all_end(processes)


@story
def the_tour_runs_without_a_screen(project: Path) -> None:
    from copilot_kernel.cli import demo, tour

    folder = demo.fresh_copy(demo.package_data("notebooks"))
    first, second, *others = sorted(folder.glob("*.ipynb"))
    for file in (first, *others):
        file.unlink()
    assert tour.execute(folder, demo.environment(folder)) == 0
    assert f"exit {UNKNOWN_COMMAND}" not in second.read_text("utf-8")


@story
def no_argument_passes_through_cmd(project: Path) -> None:
    from copilot_kernel.acp.locate import locate
    from copilot_kernel.errors import AgentNotFound

    environ = {**os.environ, "PATH": f"{project};{os.environ['PATH']}"}
    (project / "Copilot.cmd").write_text('"%_prog%"  "%dp0%\\agent\\index.js" %*')
    (project / "other.bat").write_text("@echo %*")
    (project / "agent").mkdir()
    for file in (node := project / "node.exe", script := project / "agent" / "index.js"):
        file.touch()
    found = locate("", environ)
    assert (found.is_copilot, [word.lower() for word in found.argv[:2]]) == (
        True,
        [str(node).lower(), str(script).lower()],
    )
    assert locate(f'"{project}\\copilot.cmd" C:\\a', environ).argv[1:] == (str(script), "C:\\a", "--acp")
    assert locate("other --acp", environ).argv[1:] == ("--acp",)
    for argument in ("%OS%", "a&b", '"x | y"'):
        with contextlib.suppress(AgentNotFound):
            raise AssertionError(locate(f"other {argument}", environ))


@story
def paths_and_lines_are_judged_as_on_every_platform(project: Path) -> None:
    assert list(windows_corpus.wrong()) == []


def main(folder: Path, names: list[str]) -> None:
    """Run the stories, and end this process with 1 if one has failed."""
    os.environ |= {
        "COPILOT_KERNEL_DEMO": "mcp-http",
        "COPILOT_KERNEL_DEMO_HOME": str(folder / "demo"),
        "COPILOT_KERNEL_TERMINAL": "on",
        "APPDATA": str(folder / "data"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    (folder / "config").mkdir(parents=True, exist_ok=True)
    agent = f'"{sys.executable}" -P "{TESTS / "agent"}"'
    (folder / "config" / "copilot_kernel.json").write_text(json.dumps({"agent": agent}), "utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    chosen = [tell for tell in STORIES if tell.__name__ in names or not names]
    results = [_run(tell, folder / str(number)) for number, tell in enumerate(chosen)]
    os._exit(not all(results))  # threads of what has failed may still wait


def _run(tell: Callable[[Path], None], project: Path) -> bool:
    project.mkdir(parents=True)
    os.chdir(project)
    began = time.monotonic()
    try:
        tell(project)
    except (Exception, SystemExit):  # a command may exit; the other stories still run
        print(f"failed {tell.__name__}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok {tell.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
    return True
