"""Small commands for the tests of terminals, and what is heard of them."""

import os
import sys

import anyio
from copilot_kernel.host import prepare

from ..limits import LIMIT
from ..processes import is_alive


class Heard:
    """What the terminals reported, by id; `until` waits for it."""

    def __init__(self):
        self.text, self.exits, self._news = {}, {}, anyio.Event()

    def __call__(self, id, text, exit):
        assert id not in self.exits, "nothing comes after the end"
        self.text[id] = self.text.get(id, "") + text
        if exit is not None:
            self.exits[id] = exit
        self._news.set()
        self._news = anyio.Event()

    async def until(self, id, words):
        with anyio.fail_after(LIMIT):
            while words not in self.text.get(id, ""):
                await self._news.wait()
        return self.text[id]


def python(source, *args, **more):
    return prepare(sys.executable, ["-c", source, *map(str, args)], **{"cwd": "/", "environ": os.environ, **more})


def shell(line, **more):
    return prepare("/bin/sh", ["-c", line], **{"cwd": "/", "environ": os.environ, **more})


async def done(own, id):
    with anyio.fail_after(LIMIT):
        return await own.wait_for_exit(id)


async def gone(*pids):
    with anyio.fail_after(LIMIT):
        while any(map(is_alive, pids)):
            await anyio.sleep(0.01)
