"""The demo agent as a real process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(60)

COMMAND = [sys.executable, "-m", "copilot_kernel.demo"]


class Pipe:
    """A blocking client of one process; every wait ends when the process does."""

    def __init__(self, process: subprocess.Popen, cwd: Path) -> None:
        self.process, self.heard = process, []
        self._cwd, self._ids, self.session = cwd, count(1), ""

    def send(self, method, params):
        id = next(self._ids)
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return id

    def request(self, method, params):
        id = self.send(method, params)
        while line := self.process.stdout.readline():
            message = json.loads(line)
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
        updates = [message["params"]["update"] for message in self.heard]
        return [update["content"]["text"] for update in updates if update["sessionUpdate"] == "agent_message_chunk"]

    def end(self, seconds=5):
        """Close its input. Returns the exit code and what it said on stderr."""
        self.process.stdin.close()
        code = self.process.wait(seconds)
        return code, self.process.stderr.read()


@contextmanager
def demo(cwd: Path) -> Iterator[Pipe]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
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
    script = "demo: together ask ;; slow 100000000 0 ;; unasked echo $$ > pid.txt; exec sleep 60"
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


def test_the_scene_of_the_crash_dies_too(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        assert client.prompt("Crash, please") is None
        assert client.end()[0] == 1


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


def test_a_session_survives_a_kill_in_the_middle_of_a_turn(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        client.prompt("demo: say one\nunasked echo two\nsay half\nunasked kill -9 $PPID")
        assert client.process.wait(10) == -9
        session = client.session
    with demo(tmp_path) as client:
        client.request("initialize", {"protocolVersion": 1})
        (listed,) = client.request("session/list", {})["sessions"]
        assert (listed["sessionId"], listed["cwd"]) == (session, str(tmp_path))
        client.request("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        assert client.texts() == ["one", "half"]
        client.session = session
        client.prompt("What do you remember?")
        assert client.texts()[2].startswith("This is prompt 2 of this session; the first was 'demo: say one")


def test_it_imports_nothing_of_jupyter_and_no_widgets():
    code = "import sys, copilot_kernel.demo.__main__; print([m for m in sys.modules if m.split('.')[0] in %r])"
    heavy = ("IPython", "ipykernel", "ipywidgets", "jupyter_client", "jupyter_core", "traitlets", "tornado", "zmq")
    done = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, timeout=10)
    assert (done.stdout, done.stderr) == ("[]\n", "")
