"""What the demo agent does with an ordinary prompt: a scene, chosen by the prompt's words.

Scenes read, change and run real files, but only in the scratch project (`project.py`), which a session's first scene
resets; so a notebook gives the same answers when it is run again.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable

import anyio

from ..acp.jsonrpc import INTERNAL_ERROR, RequestFailed
from . import files, notebook_scenes, project
from .directives import together
from .session import texts
from .stage import Stage, TurnEnded, chunk

Scene = Callable[[Stage], Awaitable[None]]

PLAN = ("Read the code", "Read its tests", "Choose the arguments", "Write the plan down")
STEP_SECONDS = 0.3
"""Seconds between two steps of a plan."""


async def play(stage: Stage) -> None:
    """Play the scene that the prompt asks for. Raises TurnEnded, RequestFailed."""
    prompt = (texts(stage.blocks) or [""])[-1]
    if act := notebook_scenes.choose(stage, prompt):
        return await act()
    scene = choose(prompt)
    try:
        if scene in PROJECT_SCENES and stage.session.uses_new_project:
            project.reset(stage.session.cwd)
            stage.session.uses_new_project = False
        await scene(stage)
    except (project.NotOursError, OSError) as error:
        await stage.say(f"demo agent: {error}.")


def choose(prompt: str) -> Scene:
    """The first scene of SCENES that one of the prompt's words names."""
    words = set(re.findall(r"[a-z]+", prompt.lower()))
    return next((scene for names, scene in SCENES if words & names), introduce)


# -- the first notebook: an answer, a plan, a thought, a file ----------------------------------------------------


async def introduce(stage: Stage) -> None:
    """Who I am, and what to ask me."""
    await stage.stream(HELP)


async def explain(stage: Stage) -> None:
    """A streamed answer with a heading, a list, code and a table, after a thought and a look at the files."""
    await stage.think(OVERVIEW_THOUGHT)
    await files.read(stage, project.CODE)
    await files.read(stage, project.TESTS)
    await stage.stream(EXPLAINED)


async def make_plan(stage: Stage) -> None:
    """A plan whose steps get done one by one."""
    for done in range(len(PLAN) + 1):
        await stage.plan(PLAN, done)
        if done < 2:
            await files.read(stage, (project.CODE, project.TESTS)[done])
        await anyio.sleep(STEP_SECONDS)
    await stage.stream(PLANNED)


async def read_notes(stage: Stage) -> None:
    """One file, read without a question."""
    await files.read(stage, project.NOTES)
    await stage.stream(READ)


async def picture(stage: Stage) -> None:
    """A picture."""
    await stage.stream("Five bars, drawn by the demo agent:")
    await stage.send(chunk({"type": "image", "mimeType": "image/png", "data": PICTURE}))


async def remember(stage: Stage) -> None:
    """How many prompts the session has had, and the first."""
    prompts = stage.session.prompts
    await stage.say(REMEMBERED.format(len(prompts), prompts[0]))


# -- the second notebook: questions, diffs, commands -------------------------------------------------------------


async def fix(stage: Stage) -> None:
    """An edit that is asked for, with its diff; the file is the wrong one again at the start."""
    project.reset(stage.session.cwd, project.CODE)
    await files.read(stage, project.CODE)
    await stage.think("Each number must be the sum of the two before it, but this adds the last one to itself.")
    await stage.stream("The loop adds the last number to itself. I correct that line.")
    await files.edit(stage, project.CODE, project.WRONG, project.RIGHT)
    await stage.stream(FIXED)


async def run_tests(stage: Stage) -> None:
    """A command that is asked for, with its output and exit code."""
    code = await files.shell(stage, f"cd {project.FOLDER} && python3 test_fibonacci.py", "Run the tests")
    await stage.stream(FAILING if code else PASSING)


async def two_at_once(stage: Stage) -> None:
    """Two commands at the same time, so two questions."""
    await together(stage, f"shell head -n 1 {project.CODE} ;; shell head -n 1 {project.TESTS}")
    await stage.stream("Both files begin with a sentence that says what they are for.")


async def delete_notes(stage: Stage) -> None:
    """Something to say no to; the file is there again at the start."""
    project.reset(stage.session.cwd, project.NOTES)
    await files.delete(stage, project.NOTES)
    await stage.stream(GONE)


# -- the third notebook: trouble ---------------------------------------------------------------------------------


async def fail(stage: Stage) -> None:
    """A JSON-RPC error."""
    raise RequestFailed(INTERNAL_ERROR, "The model could not be reached", {"details": PRETENDED})


async def crash(stage: Stage) -> None:
    """The process ends in the middle of an answer."""
    await stage.stream(CRASH)
    sys.stderr.write("demo agent: ending now, as I was asked to (exit code 1)\n")
    sys.stderr.flush()
    os._exit(1)


async def refuse(stage: Stage) -> None:
    """The agent refuses."""
    await stage.stream(REFUSED)
    raise TurnEnded("refusal")


async def count(stage: Stage) -> None:
    """An answer to be stopped; as many numbers as the prompt says."""
    prompt = "\n".join(texts(stage.blocks))
    amount = min(int(next(iter(re.findall(r"\d{1,4}", prompt)), "20")), 1000)
    pause = 0.5 if "slow" in prompt.lower() else 0.1
    for number in range(1, amount + 1):
        await stage.say(f"{number} ")
        await anyio.sleep(pause)


# -- what it says ---------------------------------------------------------------------------------------------------

HELP = """You are talking to the **demo agent**: a small program that comes with Copilot Kernel and needs no account,
no network and no model. It plays fixed scenes, so that you can see what an agent looks like in a notebook. Try:

| Ask | and see |
|---|---|
| Explain what this project does | a formatted answer, a thought, files that are read |
| Make a plan for a command line | a plan that gets done step by step |
| Run the tests | a command that is asked for, its output and exit code |
| Fix the bug in fibonacci.py | a change that is asked for, with its diff |
| Show the first line of both files | two questions at once |
| Delete the old notes | something to say no to |
| Count slowly to 30 | an answer that you can stop |
| Answer with an error / Refuse this / Crash, please | what trouble looks like |

The files are in `demo-project/`, a folder that the demo agent makes for itself.
"""

OVERVIEW_THOUGHT = "The question is about the whole project. It is small, so I read the code and its tests first."

EXPLAINED = """## What this project does

This is the demo agent, and the project is its own small example: `demo-project/` computes
[Fibonacci numbers](https://en.wikipedia.org/wiki/Fibonacci_sequence).

1. It starts with `0` and `1`.
2. It adds numbers until there are enough of them.
3. It returns the first `count`.

```python
from fibonacci import fibonacci

fibonacci(8)  # should be [0, 1, 1, 2, 3, 5, 8, 13]
```

| File | What it holds |
|---|---|
| `fibonacci.py` | one function, *with a bug in it* |
| `test_fibonacci.py` | four tests, of which some fail |
| `notes.txt` | old notes |

Ask me to **run the tests**, or to **fix the bug**.
"""

PLANNED = """### A command line for `fibonacci.py`

1. Take one argument, `count`, with `argparse`.
2. Print the numbers on one line, with blanks between them.
3. Refuse a negative `count` with a message that says why.
4. Add a test for each of the three.

This was a plan of the demo agent's; it changes no files.
"""

REMEMBERED = "This is prompt {} of this session; the first was {!r}."

READ = "The notes are one line long, and say themselves that nobody needs them."

FIXED = """The loop now adds the last **two** numbers:

```python
numbers.append(numbers[-1] + numbers[-2])
```

Ask me to run the tests to see whether that helped.
"""

FAILING = "Some tests **fail**: the command ended with an exit code that is not 0. Ask me to fix the bug."

PASSING = "All four tests **pass**."

GONE = "The old notes are gone."

PRETENDED = "demo agent: this is a pretended error; nothing is wrong"

CRASH = "This is the demo agent. In the middle of this sentence my process"

REFUSED = "The demo agent does not want to do this, and says so by ending its turn with a refusal."

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAHgAAABQAgMAAACv9VkaAAAADFBMVEX///+CUN8fiD1XYGpovBpbAAAAAXRSTlMAQObYZgAAADZJ"
    "REFUeNpjYBgFULAKCEalB700ktiIlmYNDQ0NGJUelNIQxhCXxmCOSo9KDxPp/3gBIekBBADJTfdsVf+qkQAAAABJRU5ErkJggg=="
)
"""A small PNG (base64): five bars."""

SCENES: tuple[tuple[frozenset[str], Scene], ...] = tuple(
    (frozenset(names.split()), scene)
    for names, scene in (
        ("plan", make_plan),
        ("fix correct bug edit", fix),
        ("delete remove", delete_notes),
        ("both", two_at_once),
        ("crash die", crash),
        ("error trouble", fail),
        ("refuse refusal", refuse),
        ("count", count),
        ("test tests check checks run", run_tests),
        ("notes", read_notes),
        ("picture image draw chart", picture),
        ("remember earlier", remember),
        ("explain describe project", explain),
    )
)
PROJECT_SCENES = frozenset({explain, make_plan, read_notes, fix, run_tests, two_at_once, delete_notes})
