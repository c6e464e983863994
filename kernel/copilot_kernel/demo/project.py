"""The scratch project of the natural prompts: a few small files in `demo-project/`, made and reset by the demo agent.

A folder of that name that the demo agent did not make (it has no marker file) is never touched.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = "demo-project"
MARKER = ".made-by-the-demo-agent"
TAKEN = f"there is already a `{FOLDER}` here that I did not make, so I leave everything as it is"
LINKED = "`{}` is a link, so I leave everything as it is"
CODE, TESTS, NOTES = (f"{FOLDER}/{name}" for name in ("fibonacci.py", "test_fibonacci.py", "notes.txt"))
WRONG = "        numbers.append(numbers[-1] + numbers[-1])\n"

FILES = {
    CODE: f'''"""The first Fibonacci numbers."""


def fibonacci(count):
    """Return a list of the first `count` Fibonacci numbers."""
    numbers = [0, 1]
    while len(numbers) < count:
{WRONG}    return numbers[:count]
''',
    TESTS: '''"""Tests of fibonacci.py; run me with python3."""

import sys

from fibonacci import fibonacci

EXPECTED = {1: [0], 2: [0, 1], 5: [0, 1, 1, 2, 3], 8: [0, 1, 1, 2, 3, 5, 8, 13]}

failed = 0
for count, expected in EXPECTED.items():
    found = fibonacci(count)
    if found == expected:
        print(f"ok      fibonacci({count})")
    else:
        print(f"FAILED  fibonacci({count}): expected {expected}, got {found}")
        failed += 1

print(f"{len(EXPECTED) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
''',
    NOTES: "Old notes, no longer needed.\n",
}


class NotOursError(Exception):
    """There is a `demo-project` that the demo agent did not make."""


def reset(cwd: Path, *names: str) -> None:
    """Write `names` (all, without names) in `cwd` as they are at first. Raises NotOursError and OSError."""
    folder = cwd / FOLDER
    if folder.is_symlink() or (folder.exists() and not (folder / MARKER).is_file()):
        raise NotOursError(TAKEN)
    folder.mkdir(exist_ok=True)
    (folder / MARKER).touch()
    for name in names or FILES:
        path = cwd / name
        if path.is_symlink():
            raise NotOursError(LINKED.format(name))
        path.write_text(FILES[name])
