"""Finds a pattern in texts, in a process of its own, which can be killed: a pattern of the agent's may never end.

Run as `python -I -S search_process.py`: the standard library alone, started in 20 ms. The input is a JSON object with
`pattern`, `is_regex`, `texts` and `limit`; the output is a list of pairs, the index of a text and where a line with a
match has its first one, or a string that says why the pattern cannot be used.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence


def places(pattern: re.Pattern[str], texts: Sequence[str], limit: int) -> list[tuple[int, int]]:
    """The first match in each line, at most `limit`."""
    found = list[tuple[int, int]]()
    for index, text in enumerate(texts):
        line_end = -1
        for match in pattern.finditer(text):
            if match.start() <= line_end:
                continue
            if len(found) == limit:
                return found
            found.append((index, match.start()))
            line_end = text.find("\n", match.start())
            if line_end < 0:
                break
    return found


def main() -> None:
    """Read one job and print its result."""
    job = json.load(sys.stdin)
    try:
        if job["is_regex"]:
            pattern = re.compile(job["pattern"], re.MULTILINE)
        else:
            pattern = re.compile(re.escape(job["pattern"]), re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        print(json.dumps(str(error)))
    else:
        print(json.dumps(places(pattern, job["texts"], job["limit"])))


if __name__ == "__main__":
    main()
