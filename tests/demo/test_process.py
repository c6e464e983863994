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
        self.write({"id": id, "method": method, "params": params})
        return id

    def write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        id = self.send(method, params)
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == id and "method" not in message:
                return message["result"]
            self.hear(message)
        return None

    def hear(self, message):
        """Keep a message; what asks for a permission is allowed."""
        self.heard.append(message)
        if message["method"] == "session/request_permission":
            outcome = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            self.write({"id": message["id"], "result": outcome})

    def until(self, sign):
        """Hear messages until one has `sign` in it."""
        while not any(sign in json.dumps(message) for message in self.heard):
            self.hear(json.loads(self.process.stdout.readline()))

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
    script = "demo: together shell echo $$ > pid.txt; echo started; exec sleep 60 ;; shell yes"
    with demo(tmp_path) as client:
        client.begin()
        client.send("session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": script}]})
        client.until("started\\n")
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
    script = "demo: shell echo $$ > pid.txt; echo started; exec sleep 60"
    with demo(tmp_path) as client:
        client.begin()
        client.send("session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": script}]})
        client.until("started\\n")
        client.process.terminate()
        assert client.process.wait(5) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid.txt").read_text()), 0)


def test_a_session_survives_a_kill_in_the_middle_of_a_turn(tmp_path):
    with demo(tmp_path) as client:
        client.begin()
        client.prompt("demo: say one\nshell echo two\nsay half\nshell kill -9 $PPID")
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
