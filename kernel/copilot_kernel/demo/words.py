"""What the demo agent says and shows in its scenes."""

from __future__ import annotations

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

CRASH = "This is the demo agent. In the middle of this sentence my process"

REFUSED = "The demo agent does not want to do this, and says so by ending its turn with a refusal."

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAHgAAABQAgMAAACv9VkaAAAADFBMVEX///+CUN8fiD1XYGpovBpbAAAAAXRSTlMAQObYZgAAADZJ"
    "REFUeNpjYBgFULAKCEalB700ktiIlmYNDQ0NGJUelNIQxhCXxmCOSo9KDxPp/3gBIekBBADJTfdsVf+qkQAAAABJRU5ErkJggg=="
)
"""A small PNG (base64): five bars."""
