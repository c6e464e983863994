"""A conversation whose agent runs in a sandbox, or should: what is asked, what is said, what is left behind."""

import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from anyio import to_thread
from copilot_kernel.acp.locate import Launch
from copilot_kernel.chat import Chat, sandboxing
from copilot_kernel.chat.agent import FROM_THE_START
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentStartFailed, UsageError
from copilot_kernel.sandbox import SOCKETS, WITHOUT, SandboxUnavailable, raise_sandbox
from copilot_kernel.sandbox.sandbox import SUMMARY
from copilot_kernel.sandbox.sweep import MAX_SET_ASIDE

from ..chat.conftest import chatting
from ..chat.people import Person, ask
from ..jupyter.front_end import until

pytestmark = pytest.mark.sandbox
DEEP = "i=0; while [ $i -lt {} ]; do mkdir a; cd a; i=$((i+1)); done"
NOTHING = SandboxUnavailable("bubblewrap (bwrap) is not installed", "Install it.")


@pytest.fixture
def no_sandbox(monkeypatch):
    def fail(*_):
        raise NOTHING

    monkeypatch.setattr(sandboxing, "raise_sandbox", fail)


async def run(chat: Chat, command: str, person: Person | None = None) -> str:
    return (await ask(chat, f"demo: terminal {command}", person)).text


# -- with a sandbox -------------------------------------------------------------------------------------------------


async def test_the_agent_and_commands_that_it_runs_through_us_are_inside(bubblewrap, open_chat, project):
    before = sorted(project.rglob("*"))
    async with open_chat() as chat:
        await run(chat, "echo kept > made; echo lost > /tmp/lost; echo bad >> AGENTS.md; echo bad > .git/hooks/x")
        assert chat.agent.sandbox is not None
    assert (project / "made").read_text() == "kept\n"
    assert (project / "AGENTS.md").read_text() == ""
    assert not Path("/tmp/lost").exists()
    assert sorted(project.rglob("*")) == sorted((*before, project / "made", project / ".git/hooks"))


async def test_what_was_created_although_programs_outside_obey_it_is_reported_once(chat, project):
    command = "git init -q sub; echo x > sub/.git/hooks/y; echo ../e > sub/.git/commondir; touch CLAUDE.md"
    await run(chat, command, person := Person())
    assert person.notices == [
        "sub/.git/config was created in the sandbox. Look at it: programs or agents outside obey it.",
        "Removed sub/.git/commondir, created in the sandbox: Git would run or follow it outside.",
        "Removed sub/.git/hooks, created in the sandbox: Git would run or follow it outside.",
        "CLAUDE.md was created in the sandbox. Look at it: programs or agents outside obey it.",
    ]
    await run(chat, "true", again := Person())
    assert again.notices == []
    left = [
        (project / name).exists() for name in ("CLAUDE.md", "sub/.git/config", "sub/.git/commondir", "sub/.git/hooks")
    ]
    assert left == [True, True, False, False]


async def test_many_such_files_are_named_in_a_few_lines_without_control_characters(chat):
    command = "for i in $(seq 30); do mkdir sub/$i; echo > sub/$i/AGENTS.md; done; mkdir sub/0$(printf '\\033')"
    await run(chat, f"{command}; cd sub/0*; echo > AGENTS.md", person := Person())
    assert (len(person.notices), person.notices[-1]) == (11, "And 21 more of that kind.")
    assert "\x1b" not in "".join(person.notices)


async def test_links_that_an_agent_has_left_show_nothing_to_the_next_one(bubblewrap, open_chat, project, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (project / "CLAUDE.md").symlink_to(tmp_path / "outside/secret")
    (project / "sub/.git").mkdir()
    (project / "sub/.git/config").write_text("[core]\n\thooksPath = out/secret\n")
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
        await run(chat, f"ln -s {'../' * 20}oldroot{tmp_path} {cache}/a; ls -l {cache}")
    async with open_chat(sandbox_read=(f"{cache}/a/b",)) as chat:
        assert "shown" in await run(chat, f"cat {cache}/a/b/file; mv {cache}/a {cache}/aside; ls {cache}")
        assert "aside" not in await run(chat, f"ls {cache}")
    assert not (tmp_path / "b").exists()


async def test_a_folder_that_was_exchanged_for_a_link_is_not_followed(bubblewrap, open_chat, project, tmp_path):
    other = tmp_path / "other"
    (other / "hooks").mkdir(parents=True)
    (other / "hooks/mine").write_text("")
    async with open_chat() as chat:
        await run(chat, f"ln -s {other} sub/.git", person := Person())
    assert (other / "hooks/mine").exists()
    assert [line.partition(" ")[0] for line in person.notices] == ["sub/.git"]


async def test_what_a_process_creates_again_and_again_is_gone_when_the_agent_has_ended(bubblewrap, open_chat, project):
    again = "while :; do echo ../evil > .git/commondir; sleep 0.01; done"
    async with open_chat() as chat:
        await ask(chat, f"demo: shell setsid sh -c '{again}' >&- 2>&- & until [ -e .git/commondir ]; do :; done")
    assert not (project / ".git/commondir").exists()
    assert len(list((project / ".git").glob("removed-*"))) <= MAX_SET_ASIDE


async def test_what_a_process_creates_that_ends_later_than_the_agent_is_gone_too(bubblewrap, project, tmp_path):
    settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required")
    async with sandboxing.sandboxed(settings, Launch(("/bin/sh",)), ()) as (sandbox, _):
        command = sandbox.command(("sh", "-c", "touch ready; sleep 0.3; echo ../evil > .git/commondir"), str(project))
        process = subprocess.Popen(command, env=sandbox.environment(), cwd=project)
        await to_thread.run_sync(until, (project / "ready").exists, "the process")
    assert process.wait(10) == 0
    assert not (project / ".git/commondir").exists()


async def test_what_is_no_file_or_too_deep_does_not_hold_up_the_end_of_a_turn(chat, project):
    command = f"mkdir sub/.git .git/modules; mkfifo sub/.git/config; cd .git/modules; {DEEP.format(300)}"
    await run(chat, command, person := Person())
    assert [line.partition(" ")[0] for line in person.notices] == ["sub/.git/config"]


@chatting(permission_mode="sandboxed")
async def test_in_the_mode_sandboxed_commands_inside_need_no_question(chat, project):
    await run(chat, "touch made", person := Person("reject_once"))
    await ask(chat, "demo: create sub/new text", person)
    await ask(chat, "demo: shell touch sub/more", person)
    allowed = "allowed by mode sandboxed"
    assert (person.questions, [decision for _, decision in person.calls]) == ([], ["", *[allowed] * 3])
    assert [(project / name).exists() for name in ("made", "sub/new", "sub/more")] == [True] * 3


@chatting(permission_mode="sandboxed", fs=True)
async def test_what_we_write_for_the_agent_is_judged_as_in_accept_edits(chat, project):
    await ask(chat, "demo: fswrite note.txt hi", person := Person("reject_once"))
    assert (person.questions, (project / "note.txt").read_text()) == ([], "hi")
    await ask(chat, "demo: fswrite AGENTS.md hi", person)
    assert len(person.questions) == 1
    assert (person.questions[0].sandbox, person.questions[0].refusal) == ("", "")


async def test_a_question_says_how_far_the_call_reaches_and_what_the_sandbox_refuses(chat):
    for command, refusal in (
        ("echo hi", ""),
        ("git config user.name x", "The sandbox refuses changes of Git's settings (git config, git remote add). "),
        ("true && echo x > .git/hooks/y", "The sandbox refuses to change `.git/hooks/y`: it says what Git runs. "),
        ("echo x | tee -a AGENTS.md", "The sandbox refuses to change `AGENTS.md`: it instructs agents. "),
        ("cp sub AGENTS.md", "The sandbox refuses to change `AGENTS.md`: it instructs agents. "),
        ("cp AGENTS.md sub; cat AGENTS.md", ""),
        (
            "git -C sub remote add x y",
            "The sandbox refuses changes of Git's settings (git config, git remote add). ",
        ),
        ("git commit -m 'Fix config parsing'; git add config/x; git config user.name; git remote -v", ""),
    ):
        await run(chat, command, person := Person())
        assert [(each.sandbox, each.refusal) for each in person.questions] == [
            (f"sandboxed: {SUMMARY}", refusal and f"{refusal}{WITHOUT}")
        ]
    assert chat.agent.sandbox.refuses("AGENTS.md") == "to change `AGENTS.md`: it instructs agents"
    assert chat.agent.sandbox.refuses(".git/hooks/new") == "to change `.git/hooks/new`: it says what Git runs"
    assert [chat.agent.sandbox.refuses(path) for path in ("note.txt", ".git/index", "/etc/passwd", "\0")] == [""] * 4


async def test_files_that_agents_are_handed_can_be_read_inside(bubblewrap, open_chat):
    async with open_chat() as chat:
        await chat.ready()
        handed = chat.agent.handover / "token"
        handed.write_text("token")
        assert "token" in await run(chat, f"cat {handed}; echo bad > {handed}")
        assert handed.read_text() == "token"
    assert not handed.exists()


async def test_the_status_is_known_before_the_start_and_after(chat):
    assert chat.agent.sandbox_state == FROM_THE_START
    await chat.ready()
    assert chat.agent.sandbox_state == SUMMARY
    chat.set_permission_mode("sandboxed")


async def test_hosts_stand_in_the_status_and_in_questions(bubblewrap, srt_path, open_chat, monkeypatch):
    monkeypatch.setenv("PATH", srt_path)
    async with open_chat(sandbox_hosts=("api.github.com",)) as chat:
        await run(chat, "true", person := Person())
        reach = f"{SUMMARY}; network: api.github.com"
        assert (chat.agent.sandbox_state, person.questions[0].sandbox) == (reach, f"sandboxed: {reach}")


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
        sandbox = raise_sandbox(settings, [(sys.executable,)], Path(folder))
        command = sandbox.command(("sh", "-c", daemon), str(project))
        # Through the shell of `srt`, bubblewrap does not see that its parent ends: our own watcher does it.
        _kill_what_runs(command, sandbox.environment(), project, is_watched=hosts is not None)


def _kill_what_runs(command, environ, project, *, is_watched):
    kernel = (
        "import subprocess; from copilot_kernel.acp.child_processes import watch\n"
        f"child = subprocess.Popen({command!r}, env={environ!r}, start_new_session=True)\n"
        f"{'watch(child.pid); ' if is_watched else ''}child.wait()"
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
    async with Chat(settings) as chat:
        with pytest.raises(AgentStartFailed, match="it was not started by this kernel"):
            await chat.ready()


@pytest.mark.parametrize("place", ["home", "above", "link"])
async def test_a_project_that_is_or_contains_the_home_folder_is_refused(tmp_path, monkeypatch, place):
    home = tmp_path / "above/home"
    home.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    folder = {"home": home, "above": home.parent, "link": tmp_path / "link"}[place]
    settings = Settings(agent="demo", cwd=str(folder), state=str(tmp_path / "state"), sandbox="required")
    async with Chat(settings) as chat:
        with pytest.raises(AgentStartFailed, match="is or contains the home folder"):
            await chat.ready()
