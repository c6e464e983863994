"""The demo agent as a real process: on pipes, on TCP, and in trouble."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import monotonic

import anyio
import pytest
from copilot_kernel.acp.connection import Connection
from copilot_kernel.acp.tcp import agent_at
from copilot_kernel.demo.switches import SWITCHES

pytestmark = pytest.mark.timeout(60)

COMMAND = [sys.executable, "-m", "copilot_kernel.demo"]


class Pipe:
    """A blocking client of one process; every wait ends when the process does."""

    def __init__(self, process: subprocess.Popen, cwd: Path) -> None:
        self.process, self.noise, self.heard = process, [], []
        self._cwd, self._ids, self.session = cwd, count(1), ""

    def send(self, method, params):
        id = next(self._ids)
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return id

    def request(self, method, params):
        id = self.send(method, params)
        while line := self.process.stdout.readline():
            message = self._parse(line)
            if message.get("id") == id:
                return message["result"]
            self.heard.append(message)
        return None

    def begin(self):
        self.request("initialize", {"protocolVersion": 1})
        self.session = self.request("session/new", {"cwd": str(self._cwd), "mcpServers": []})["sessionId"]

    def prompt(self, text):
        prompt = [{"type": "text", "text": text}]
        return self.request("session/prompt", {"sessionId": self.session, "prompt": prompt})

    def texts(self):
        updates = [message["params"]["update"] for message in self.heard if message]
        return [update["content"]["text"] for update in updates if update["sessionUpdate"] == "agent_message_chunk"]

    def end(self, seconds=5):
        """Close its input. Returns the exit code and what it said on stderr."""
        self.process.stdin.close()
        code = self.process.wait(seconds)
        return code, self.process.stderr.read()

    def _parse(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict) or "jsonrpc" not in message:
            self.noise.append(line)
            return {}
        return message


@contextmanager
def demo(cwd: Path, faults: str = "", *arguments: str) -> Iterator[Pipe]:
    environ = {**os.environ, "COPILOT_KERNEL_DEMO": faults}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environ, start_new_session=True
    )
    with process:
        try:
            yield Pipe(process, cwd)
        finally:
            process.kill()


def test_it_talks_on_pipes_and_ends_with_its_input(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        assert (client.prompt("demo: say hello"), client.texts()) == ({"stopReason": "end_turn"}, ["hello"])
        assert client.end() == (0, "")


def test_it_ends_with_its_input_in_the_middle_of_everything(tmp_path):
    script = "demo: together hang ;; ask ;; flood 100000000 ;; unasked echo $$ > pid.txt; exec sleep 60"
    with demo(tmp_path) as client:
        client.begin()
        client.send("session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": script}]})
        while not (tmp_path / "pid.txt").exists():
            client.process.stdout.readline()
        client.process.stdin.close()
        client.process.stdout.read()
        assert client.process.wait(5) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid.txt").read_text()), 0)


def test_a_big_answer_arrives_whole(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        client.prompt("demo: long 1000000 2000 0")
        text = "".join(client.texts())
    assert (len(text), len(client.texts()), text[-11:]) == (1_000_000, 2000, "\n\nEND-MARK\n")


@pytest.mark.parametrize(
    ("argument", "code", "words"),
    [
        ("", 1, "exit code 1"),
        ("0", 0, "exit code 0"),
        ("42", 42, "exit code 42"),
        ("KILL", -signal.SIGKILL, "SIGKILL"),
        ("SIGSEGV", -signal.SIGSEGV, "SIGSEGV"),
    ],
)
def test_it_dies_in_the_middle_of_a_turn_after_a_word_on_stderr(tmp_path, argument, code, words):
    with demo(tmp_path) as client:
        client.begin()
        assert client.prompt(f"demo: say last words\ndie {argument}\nsay never") is None
        assert client.texts() == ["last words"]
        assert client.end() == (code, f"demo agent: ending now, as I was asked to ({words})\n")


def test_the_scene_of_the_crash_dies_too(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        assert client.prompt("Crash, please") is None
        assert client.end()[0] == 1


def test_lines_that_are_no_messages_can_be_mixed_in(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        client.prompt("demo: say a\nrawline not json\nrawline {}\nstderr to the log\nsay b")
        assert (client.texts(), client.noise) == (["a", "b"], ["not json\n", "{}\n"])
        assert client.end() == (0, "to the log\n")


def test_noise_at_the_start_comes_before_the_first_answer(tmp_path):
    with demo(tmp_path, "noise") as client:
        client.begin()
        assert client.noise == ["demo agent: good morning\n", "\n", '{"level": "info"}\n', "[1, 2]\n", "42\n"]


def test_exit_at_start(tmp_path):
    with demo(tmp_path, "exit-at-start") as client:
        assert client.process.wait(5) == 3
        assert client.process.stderr.read() == "demo agent: I cannot start, as I was asked not to\n"
    with demo(tmp_path, "exit-at-start=7") as client:
        assert client.process.wait(5) == 7


def test_slow_start_answers_late(tmp_path):
    with demo(tmp_path, "slow-start=0.3") as client:
        began = monotonic()
        client.begin()
        assert monotonic() - began >= 0.3


def test_never_answers_is_silent_and_still_ends_with_its_input(tmp_path):
    with demo(tmp_path, "never-answers") as client:
        client.send("initialize", {"protocolVersion": 1})
        assert client.end() == (0, "")
        assert client.process.stdout.read() == ""


def test_stderr_flood_fills_more_than_a_pipe(tmp_path):
    with demo(tmp_path, "stderr-flood=200000,exit-at-start") as client:
        _, words = client.process.communicate(timeout=10)
        assert (len(words) >= 200_000, words.splitlines()[1]) == (
            True,
            "demo agent: this is line          1 of many lines",
        )


def test_faults_can_be_combined(tmp_path):
    with demo(tmp_path, "noise, protocol-2") as client:
        assert client.request("initialize", {"protocolVersion": 1})["protocolVersion"] == 2
        assert len(client.noise) == 5


def test_an_unknown_fault_is_an_error(tmp_path):
    with demo(tmp_path, "protocol-2,sleepy") as client:
        code, words = client.end()
    assert (code, words.endswith("; not sleepy\n")) == (1, True)


def test_stubborn_needs_to_be_killed(tmp_path):
    with demo(tmp_path, "stubborn") as client:
        client.begin()
        client.process.stdin.close()
        client.process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            client.process.wait(0.3)
        client.process.kill()
        assert client.process.wait(5) == -signal.SIGKILL


def test_sigterm_ends_it_with_its_commands(tmp_path):
    script = "demo: unasked echo $$ > pid.txt; echo started; exec sleep 60"
    with demo(tmp_path) as client:
        client.begin()
        client.send("session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": script}]})
        while '"started\\n"' not in client.process.stdout.readline():
            assert client.process.poll() is None
        client.process.terminate()
        assert client.process.wait(5) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid.txt").read_text()), 0)


def test_login_signs_in_whoever_uses_the_same_folder(tmp_path, home):
    done = subprocess.run([*COMMAND, "--login"], capture_output=True, text=True, timeout=10)
    assert (done.returncode, done.stdout) == (0, "demo agent: you are signed in now.\n")
    with demo(tmp_path, "signed-out") as client:
        client.begin()


def test_a_session_survives_a_kill_in_the_middle_of_a_turn(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        client.prompt("demo: say one\nunasked echo two\nsay half\ndie KILL")
        session = client.session
    with demo(tmp_path) as client:
        client.request("initialize", {"protocolVersion": 1})
        (listed,) = client.request("session/list", {})["sessions"]
        assert (listed["sessionId"], listed["cwd"]) == (session, str(tmp_path))
        client.request("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        assert client.texts() == ["one", "half"]
        client.session = session
        client.prompt("demo: remember")
        assert client.texts()[2].startswith("This is prompt 2 of this session; the first was 'demo: say one")


def test_the_first_starts_can_fail(tmp_path):
    for code in (3, 3, 0):
        with demo(tmp_path, "fails-starts=2") as client:
            assert client.end()[0] == code


def test_the_first_initialize_can_hang(tmp_path):
    with demo(tmp_path, "hangs-initialize") as client:
        client.send("initialize", {"protocolVersion": 1})
        assert (client.end(), client.process.stdout.read()) == ((0, ""), "")
    with demo(tmp_path, "hangs-initialize") as client:
        client.begin()


def test_help_says_what_the_switches_do():
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, timeout=10)
    assert [name for name in SWITCHES if f"\n  {name} " not in done.stdout] == []


def test_it_imports_nothing_of_jupyter_and_no_widgets():
    code = "import sys, copilot_kernel.demo.__main__; print([m for m in sys.modules if m.split('.')[0] in %r])"
    heavy = ("IPython", "ipykernel", "ipywidgets", "jupyter_client", "jupyter_core", "traitlets", "tornado", "zmq")
    done = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, timeout=10)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.anyio
async def test_several_clients_on_tcp_have_sessions_of_their_own(tmp_path):
    with demo(tmp_path, "", "--port", "0") as server:
        line = server.process.stderr.readline()
        assert line.startswith("demo agent: listening on 127.0.0.1:")
        port = int(line.rpartition(":")[2])
        with anyio.fail_after(10):
            first = await _tcp_texts(port, tmp_path, "demo: remember")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_leave_early, port, tmp_path)
                second = await _tcp_texts(port, tmp_path, "demo: remember")
            third = await _tcp_texts(port, tmp_path, "demo: remember")
    expected = ["This is prompt 1 of this session; the first was 'demo: remember'."]
    assert (first, second, third) == (expected, expected, expected)


async def _tcp_texts(port, cwd, prompt):
    heard = []
    async with agent_at("127.0.0.1", port) as transport, _connection(transport, heard) as connection:
        session = await connection.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        params = {"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": prompt}]}
        assert await connection.request("session/prompt", params) == {"stopReason": "end_turn"}
    return [update["content"]["text"] for update in heard if update["sessionUpdate"] == "agent_message_chunk"]


async def _leave_early(port, cwd):
    """A client that goes away in the middle of a flood does no harm to the others."""
    async with agent_at("127.0.0.1", port) as transport, _connection(transport, []) as connection:
        session = await connection.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        params = {"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": "demo: flood 100000000"}]}
        with anyio.move_on_after(0.2):
            await connection.request("session/prompt", params)


def _connection(transport, heard):
    async def refuse(method, params):
        raise AssertionError(method)

    return Connection(
        transport, on_notification=lambda method, params: heard.append(params["update"]), on_request=refuse
    )
