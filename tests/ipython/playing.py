"""An agent that uses the live notebook: a script that plays while a `%%copilot` cell waits for the demo agent."""

from pathlib import Path
from typing import Any

from ..jupyter.front_end import LIMIT, FrontEnd, Outcome

SETUP = """
import asyncio, threading
from contextlib import asynccontextmanager
from copilot_kernel.ipython.live_notebook import PythonNotebook
from copilot_kernel.ipython.magic_session import MagicSession

class Player(PythonNotebook):
    # Plays `script(notebook)` on the agent's loop in each turn; the end of the script ends the turn.
    @asynccontextmanager
    async def asked_by(self, cell):
        assert threading.current_thread() is not threading.main_thread()
        async with super().asked_by(cell):
            task = asyncio.get_running_loop().create_task(self.play())
            try:
                yield
            finally:
                self.touched, self.ended = self.log.touched, True
                task.cancel()

    async def play(self):
        ns = get_ipython().user_ns
        try:
            ns["played"] = await ns["script"](self)
        except Exception as error:
            ns["played"] = error
        open("gate", "w").close()

player = Player(get_ipython())
copilot = get_ipython().copilot
copilot.__dict__["_session"], copilot._used = MagicSession(player), True
"""
"""Run in a kernel once."""

WAIT = "until rm gate 2>/dev/null; do sleep 0.02; done"
CELL = "%%copilot\ndemo: unasked sh wait.sh"
IN_A_FUNCTION = "def f():\n    %copilot demo: unasked sh wait.sh\nf()"


BLOCKED = (
    "global begun, released\nbegun, released = threading.Event(), threading.Event()\n"
    f"task = asyncio.ensure_future(notebook.run_python('begun.set(); released.wait({LIMIT})'))\n"
    f"await asyncio.to_thread(begun.wait, {LIMIT})\n"
)
"""For the beginning of a script: code of the agent's blocks the kernel until `released.set()`; `task` waits for it."""


def prepare(front_end: FrontEnd) -> FrontEnd:
    (Path(front_end.process.cwd()) / "wait.sh").write_text(WAIT)
    assert front_end.run(SETUP).status == "ok"
    return front_end


def begin(front_end: FrontEnd, body: str, cell: str = CELL, **options: Any) -> str:
    """Begin a cell that waits while the agent does `body`, lines of an async function of `notebook`."""
    (Path(front_end.process.cwd()) / "gate").unlink(missing_ok=True)  # of a script whose turn was over before it
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert front_end.run(f"played = None\nasync def script(notebook):\n{lines}", store_history=False).status == "ok"
    return front_end.execute(cell, **options)


def play(front_end: FrontEnd, body: str, cell: str = CELL, limit: float = LIMIT) -> Outcome:
    return front_end.finish(begin(front_end, body, cell), limit)


def value(front_end: FrontEnd, expression: str) -> Any:
    """What an expression is in the kernel. It is not counted as a cell."""
    outcome = front_end.run(f"raise SystemError(repr(({expression})))", store_history=False)
    assert outcome.error[0] == "SystemError", outcome.error
    return eval(outcome.error[1])
