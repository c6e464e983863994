"""A conversation whose agent runs in a sandbox, or should: what is asked, what is said, what is left behind."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import Chat, agent_start, open_chat
from copilot_kernel.chat.agent import FROM_THE_START
from copilot_kernel.chat.agent_start import READ_ONLY
from copilot_kernel.chat.session_manager import RESTARTED
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentStartFailed, UsageError
from copilot_kernel.sandbox import SOCKETS, Kind, SandboxUnavailable, create_sandbox
from copilot_kernel.sandbox.sandbox import MAX_NAMED_HOSTS, SUMMARY

from ..agentd.conftest import runtime
from ..chat.conftest import chatting
from ..chat.people import Person, ask
from ..jupyter.front_end import until
from ..undo.project import git

__all__ = ["runtime"]
pytestmark = pytest.mark.sandbox


@pytest.fixture
def no_sandbox(monkeypatch):
    def fail(*_):
        raise SandboxUnavailable("bubblewrap (bwrap) is not installed", "Install it.")

    monkeypatch.setattr(agent_start, "create_sandbox", fail)


async def run(chat: Chat, command: str, person: Person | None = None) -> str:
    return (await ask(chat, f"demo: terminal {command}", person)).text


# -- with a sandbox -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_submodule", [False, True])
async def test_the_agent_and_commands_that_it_runs_through_us_are_inside(
    bubblewrap, open_chat, project, tmp_path, is_submodule
):
    git(project, "commit", "--allow-empty", "-m", "begun")
    if is_submodule:
        (tmp_path / "modules").mkdir()
        (project / ".git").rename(tmp_path / "modules/project")
        (project / ".git").write_text(f"gitdir: {tmp_path}/modules/project\n")
        git(project, "config", "core.worktree", str(project))
    before = sorted(project.rglob("*"))
    async with open_chat() as chat:
        await run(chat, "echo kept > made; echo bad >> AGENTS.md; echo bad > .git/hooks/x")
        text = await run(
            chat, "git log --format=%s$GIT_OPTIONAL_LOCKS; git status --short; git add made; git config a.b c"
        )
    assert [each in text for each in ("begun0", "?? made", "index.lock': Read-only", "config: Read-only")] == [True] * 4
    assert ((project / "made").read_text(), (project / "AGENTS.md").read_text()) == ("kept\n", "")
    assert sorted(project.rglob("*")) == sorted((*before, project / "made"))


@pytest.mark.parametrize(("sandbox", "told"), [("required", [True, False]), ("off", [False, False])])
async def test_the_agent_is_told_once_in_a_session_that_git_is_read_only(bubblewrap, open_chat, sandbox, told):
    async with open_chat(sandbox) as chat:
        sent = [(await ask(chat, "demo: say hi"), TextBlock(READ_ONLY) in chat.sent)[1] for _ in told]
    assert sent == told


async def test_what_is_new_is_reported_once_in_one_line_without_control_characters(chat, project):
    command = "for i in $(seq 30); do mkdir sub/$i; echo > sub/$i/AGENTS.md; done; mkdir sub/0$(printf '\\033')"
    await run(chat, f"git init -q sub/repo; {command}; cd sub/0*; echo > AGENTS.md", person := Person())
    (line,) = person.notices
    assert line.startswith(Kind.NEW.value.partition("{")[0] + "sub/repo/.git, ")
    assert (f" and {32 - MAX_NAMED_HOSTS} more." in line, "\x1b" in line) == (True, False)


@pytest.mark.parametrize("sharing", ["off", "user"])
async def test_what_was_replaced_outside_is_reported_and_protected_again_in_the_next_turn(
    bubblewrap, open_chat, project, runtime, sharing
):
    kept = {"permission_mode": "sandboxed", "sandbox_write": (os.environ["COPILOT_KERNEL_DEMO_HOME"],)}
    command, seen = "demo: shell echo bad >> AGENTS.md; touch sub/$(ls sub | wc -l)", []
    async with open_chat(agent_sharing=sharing, **kept) as chat:
        for number in range(3):
            turn = await ask(chat, command, person := Person())
            count = len(list((project / "sub").iterdir()))
            seen.append((person.notices, (project / "AGENTS.md").read_text(), count, turn.session_id))
            if number == 0:
                (project / "new").write_text("mine\n")
                (project / "new").rename(project / "AGENTS.md")
    reported, id = [Kind.CHANGED.value.format("AGENTS.md")], seen[0][-1]
    # Nothing prevents the second one, but it is said.
    assert seen == [([], "", 1, id), (reported, "mine\nbad\n", 2, id), ([RESTARTED], "mine\nbad\n", 3, id)]


async def test_links_that_an_agent_has_left_show_nothing_to_the_next_one(bubblewrap, open_chat, project, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (project / "CLAUDE.md").symlink_to(tmp_path / "outside/secret")
    (project / "sub/out").symlink_to(tmp_path / "outside")
    async with open_chat() as chat:
        text = await run(chat, f"cat CLAUDE.md sub/out/secret {tmp_path}/outside/secret; echo done")
    assert ("secret\n" in text, text.count("No such file"), "done" in text) == (False, 3, True)


async def test_a_setting_that_names_such_a_link_shows_nothing_and_lets_nothing_be_written(
    bubblewrap, open_chat, project, tmp_path
):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (project / "data").symlink_to(tmp_path / "outside")
    async with open_chat(sandbox_read=(str(project / "data"),)) as chat:
        assert "secret\n" not in await run(chat, f"cat {project}/data/secret")
    async with open_chat(sandbox_write=(str(project / "data"),)) as chat:
        with pytest.raises(AgentStartFailed, match="leads out of the project"):
            await chat.ready()


async def test_links_in_private_folders_make_nothing_outside(bubblewrap, open_chat, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    async with open_chat() as chat:
        await run(chat, f"ln -s {'../' * 20}oldroot{tmp_path}/planted {cache}/copilot; ls -l {cache}")
    (cache / "copilot/pkg").mkdir(parents=True)
    async with open_chat() as chat:
        assert "pkg" in await run(chat, f"ls {cache}/copilot")
    assert not (tmp_path / "planted").exists()


async def test_links_on_the_way_to_what_a_setting_shows_in_a_private_folder_make_nothing_outside(
    bubblewrap, open_chat, tmp_path, monkeypatch
):
    cache = tmp_path / "cache"
    (cache / "a/b").mkdir(parents=True)
    (cache / "a/b/file").write_text("shown")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    async with open_chat() as chat:
        await run(chat, f"ln -s {tmp_path} {cache}/a; ls -l {cache}")
    async with open_chat(sandbox_read=(f"{cache}/a/b",)) as chat:
        assert "shown" in await run(chat, f"cat {cache}/a/b/file; mv {cache}/a {cache}/aside; ls {cache}")
        assert "aside" not in await run(chat, f"ls {cache}")
    assert not (tmp_path / "b").exists()


@chatting(permission_mode="sandboxed")
async def test_in_the_mode_sandboxed_commands_inside_need_no_question(chat, project):
    await run(chat, "touch made", person := Person("reject_once"))
    await ask(chat, "demo: create sub/new text", person)
    await ask(chat, "demo: shell touch sub/more", person)
    allowed = "allowed by “Sandboxed” mode"
    assert (person.questions, [decision for _, decision in person.calls]) == ([], ["", *[allowed] * 3])
    assert [(project / name).exists() for name in ("made", "sub/new", "sub/more")] == [True] * 3


@chatting(permission_mode="sandboxed", fs=True)
async def test_what_we_write_for_the_agent_is_judged_as_in_accept_edits(chat, project):
    await ask(chat, "demo: fswrite note.txt hi", person := Person("reject_once"))
    assert (person.questions, (project / "note.txt").read_text()) == ([], "hi")
    await ask(chat, "demo: fswrite AGENTS.md hi", person)
    assert len(person.questions) == 1
    assert person.questions[0].sandbox == ""


async def test_files_that_agents_are_handed_can_be_read_inside(bubblewrap, open_chat):
    async with open_chat() as chat:
        await chat.ready()
        handed = chat.agent.handover / "token"
        handed.write_text("token")
        assert "token" in await run(chat, f"cat {handed}; echo bad > {handed}")
        assert handed.read_text() == "token"
    assert not handed.exists()


@pytest.mark.parametrize("hosts", [None, ("api.github.com",)])
async def test_how_far_it_reaches_stands_in_the_status_and_in_questions(
    bubblewrap, srt_path, open_chat, monkeypatch, hosts
):
    monkeypatch.setenv("PATH", srt_path)
    async with open_chat(sandbox_hosts=hosts) as chat:
        assert chat.agent.sandbox_state == FROM_THE_START
        await run(chat, "true", person := Person())
        reach = f"{SUMMARY}; network: api.github.com" if hosts else SUMMARY
        assert (chat.agent.sandbox_state, person.questions[0].sandbox) == (reach, f"sandboxed: {reach}")
        chat.set_permission_mode("sandboxed")


def is_alive(path: Path) -> bool:
    """Whether a process listens at the socket."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        return True
    return False


@pytest.mark.parametrize("hosts", [None, ()])
def test_when_the_kernel_is_killed_detached_processes_inside_end_too(
    bubblewrap, srt_path, project, tmp_path, monkeypatch, hosts
):
    monkeypatch.setenv("PATH", srt_path)
    listener = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('daemon'); s.listen(); print(1, flush=True)"
    daemon = f"setsid {sys.executable} -c \"{listener}; __import__('time').sleep(60)\" & wait"
    settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required", sandbox_hosts=hosts)
    with TemporaryDirectory(dir=SOCKETS) as folder:
        sandbox = create_sandbox(settings, [(sys.executable,)], Path(folder))
        command = sandbox.command(("sh", "-c", daemon), str(project), os.environ)
        # Through the shell of `srt`, bubblewrap does not see that its parent ends: our own watcher does it.
        kernel = (
            "import subprocess; from copilot_kernel.system.reaper import watch\n"
            f"child = subprocess.Popen({command!r}, env={sandbox.environment(os.environ)!r}, start_new_session=True)\n"
            f"{'' if hosts is None else 'watch(child.pid); '}child.wait()"
        )
        with subprocess.Popen([sys.executable, "-c", kernel], stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"1\n"
            assert is_alive(project / "daemon")
            process.kill()
            assert process.stdout.read() == b""  # nobody holds the pipe any more
    until(lambda: not is_alive(project / "daemon"), "the end of the daemon")


async def test_settings_add_what_can_be_read_and_written(bubblewrap, open_chat, tmp_path):
    for name in ("read", "write"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "link").symlink_to("read")
    more = {"sandbox_read": (f"{tmp_path}/link", f"{tmp_path}/missing"), "sandbox_write": (f"{tmp_path}/write",)}
    async with open_chat(**more) as chat:
        text = await run(chat, f"cat {tmp_path}/link/file; for i in read write; do echo new > {tmp_path}/$i/file; done")
    assert ("read" in text, [(tmp_path / name / "file").read_text() for name in ("read", "write")]) == (
        True, ["read", "new\n"]
    )  # fmt: skip


# -- without one ----------------------------------------------------------------------------------------------------


async def test_if_it_is_required_nothing_is_started(no_sandbox, open_chat, project):
    async with open_chat() as chat:
        with pytest.raises(AgentStartFailed) as raised:
            await run(chat, "touch made")
        assert (str(raised.value), raised.value.hint) == (
            "The agent was not started: a sandbox is required (COPILOT_KERNEL_SANDBOX). "
            "bubblewrap (bwrap) is not installed.",
            "Install it.",
        )
        assert not (project / "made").exists()


async def test_if_it_is_only_wanted_a_line_says_why_there_is_none(no_sandbox, open_chat):
    why = "The agent runs without a sandbox: bubblewrap (bwrap) is not installed. Install it."
    async with open_chat("on") as chat:
        await run(chat, "true", person := Person())
        assert (person.notices, chat.agent.sandbox_state, person.questions[0].sandbox) == ([why], why, "")


@pytest.mark.parametrize("sandbox", ["on", "required"])
async def test_a_list_of_hosts_without_srt_is_as_no_sandbox(bubblewrap, open_chat, tmp_path, monkeypatch, sandbox):
    (tmp_path / "bwrap").symlink_to(bubblewrap)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with open_chat(sandbox, sandbox_hosts=()) as chat:
        if sandbox == "on":
            await chat.ready()
            assert "srt) is not installed. Install it: npm install" in chat.agent.sandbox_state
        else:
            with pytest.raises(AgentStartFailed, match=r"srt\) is not installed"):
                await chat.ready()


async def test_without_one_the_mode_sandboxed_allows_nothing_and_cannot_be_set(no_sandbox, open_chat):
    async with open_chat("on", permission_mode="sandboxed") as chat:
        await run(chat, "true", person := Person("reject_once"))
        assert len(person.questions) == 1
        assert person.notices[0].endswith("The permission mode is not used.")
        with pytest.raises(UsageError, match="The mode sandboxed needs a sandbox"):
            chat.set_permission_mode("sandboxed")


async def test_an_agent_elsewhere_cannot_be_sandboxed(tmp_path):
    settings = Settings(agent="tcp://127.0.0.1:1", cwd=str(tmp_path), state=str(tmp_path / "state"), sandbox="required")
    async with open_chat(settings) as chat:
        with pytest.raises(AgentStartFailed, match="it was not started by this kernel"):
            await chat.ready()


@pytest.mark.parametrize("place", ["home", "above", "link", "repository"])
async def test_a_project_that_is_or_contains_the_home_folder_or_is_a_repository_is_refused(
    tmp_path, monkeypatch, place
):
    home = tmp_path / "above/home"
    home.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    git(tmp_path, "init", "--bare", "repository")
    monkeypatch.setenv("HOME", str(home))
    folder = {"home": home, "above": home.parent}.get(place, tmp_path / place)
    settings = Settings(agent="demo", cwd=str(folder), state=str(tmp_path / "state"), sandbox="required")
    async with open_chat(settings) as chat:
        with pytest.raises(AgentStartFailed, match=r"is or contains the home folder|must not be changed"):
            await chat.ready()
