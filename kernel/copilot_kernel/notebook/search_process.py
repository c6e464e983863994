"""Finds a pattern in texts, in a process of its own, which can be killed: a pattern of the agent's may never end.

Run as `python -I -S search_process.py`: the standard library alone, started in 20 ms. The input is a JSON object with
`pattern`, `is_regex`, `texts` and `limit`; the output is a list of lines, each with the index of its text and its
number, or a string that says why the pattern cannot be used.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice

LINE_CHARS, BEFORE_CHARS = 200, 60


def lines(pattern: re.Pattern[str], texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Each line with a match, cut around it."""
    for index, text in enumerate(texts):
        for number, line in enumerate(text.split("\n"), 1):
            if found := pattern.search(line):
                yield index, number, line[max(0, found.start() - BEFORE_CHARS) :][:LINE_CHARS]


if __name__ == "__main__":
    job = json.load(sys.stdin)
    wanted, flags = (job["pattern"], 0) if job["is_regex"] else (re.escape(job["pattern"]), re.IGNORECASE)
    try:
        result: object = [*islice(lines(re.compile(wanted, flags), job["texts"]), job["limit"])]
    except (re.error, RecursionError, OverflowError) as error:
        result = str(error)
    print(json.dumps(result))
