"""The same words in other chunks."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

Json = dict[str, Any]
Records = list[Json]


def parts(text: str, sizes: Sequence[int]) -> Iterator[str]:
    """`text` in parts of these sizes, again and again."""
    size = cycle(sizes)
    while text:
        end = next(size)
        yield text[:end]
        text = text[end:]


def cut(records: Records, sizes: Sequence[int]) -> Records:
    """A transcript with each text in chunks of these sizes, again and again."""
    return [_with_text(record, part) for record in _joined(records) for part in _parts(record, sizes)]


def _joined(records: Records) -> Records:
    """Chunks in a row as one."""
    joined: Records = []
    for record in records:
        if joined and _frame(record) and _frame(record) == _frame(joined[-1]):
            joined[-1] = _with_text(record, _text(joined[-1]) + _text(record))
        else:
            joined.append(record)
    return joined


def _parts(record: Json, sizes: Sequence[int]) -> Iterator[str]:
    return parts(_text(record), sizes) if _frame(record) else iter([_text(record)])


def _frame(record: Json) -> str:
    """A chunk without its text; empty for others, and for what Copilot itself says, which comes as one chunk."""
    update = record["message"].get("params", {}).get("update", {})
    is_speech = str(update.get("sessionUpdate")).endswith("_chunk") and not re.match("(Error|Info): ", _text(record))
    return json.dumps(_with_text(record, ""), sort_keys=True) if is_speech else ""


def _text(record: Json) -> str:
    content = record["message"].get("params", {}).get("update", {}).get("content")
    return str(content.get("text", "")) if isinstance(content, dict) else ""


def _with_text(record: Json, text: str) -> Json:
    """`record` itself if it has no text."""
    if not _text(record):
        return record
    copy: Json = json.loads(json.dumps(record))
    copy["message"]["params"]["update"]["content"]["text"] = text
    return copy
