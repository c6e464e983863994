"""Outputs of a run: what the kernel sends that belongs to it.

Hooks into IPython do not do: those of the streams belong to one thread, and errors pass none. A run is recognized by a
mark in the parent header of its messages, which may be another cell's otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..notebook.live import Output
from .runs import kept

MARK = "copilot_run"
"""The member of a parent header that names the run."""
MAX_RUN_CHARS = 8_000_000
"""Limit of the outputs of a run; images are larger than texts."""
TOO_MUCH = "\n(The rest of the output was not kept.)\n"

Message = Mapping[str, Any]

_KINDS = ("display_data", "execute_result", "error")


class Collector:
    """The outputs of one run, as a notebook would save them."""

    def __init__(self) -> None:
        self._outputs: list[tuple[dict[str, Any], str | None]] = []
        """Each with the id by which it may be updated. Streams are sent by another thread: one list, no lock."""
        self._clears = False
        self._left = MAX_RUN_CHARS

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Outputs in their order."""
        return tuple(output for output, _ in self._outputs)

    def add(self, message: Message) -> None:
        """Apply one message; what is no output is ignored."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "clear_output":
            self._clears = True
            if not content["wait"]:
                self._clear()
        elif kind == "stream":
            self._stream(content["name"], content["text"])
        elif kind == "update_display_data":
            self._update(content)
        elif kind in _KINDS:
            output_id = (content.get("transient") or {}).get("display_id")
            self._append({"output_type": kind, **{k: v for k, v in content.items() if k != "transient"}}, output_id)

    def _stream(self, name: str, text: str) -> None:
        self._clear()
        if not self._has_room(len(text)):
            return
        last = self._outputs[-1][0] if self._outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self._outputs.append(({"output_type": "stream", "name": name, "text": text}, None))

    def _append(self, output: dict[str, Any], output_id: str | None) -> None:
        self._clear()
        size = sum(len(str(each)) for each in output.get("data", {}).values())
        if self._has_room(size):
            self._outputs.append((output, output_id))

    def _update(self, content: Mapping[str, Any]) -> None:
        for output, output_id in self._outputs:
            if output_id == content["transient"].get("display_id"):
                output.update(data=content["data"], metadata=content["metadata"])

    def _clear(self) -> None:
        if self._clears:
            self._clears = False
            self._outputs.clear()

    def _has_room(self, size: int) -> bool:
        """Errors, which have no data, are always kept."""
        before, self._left = self._left, self._left - size
        if self._left < 0 <= before:
            self._outputs.append(({"output_type": "stream", "name": "stderr", "text": TOO_MUCH}, None))
        return self._left >= 0 or size == 0


@contextmanager
def collected(session: Any, run: str) -> Iterator[Collector]:
    """Inside, collect what `session`, the kernel's, sends for `run`."""
    collector, send = Collector(), session.send

    def sent(*arguments: Any, **options: Any) -> Any:
        message = send(*arguments, **options)
        if message is not None and message["parent_header"].get(MARK) == run:
            collector.add(message)
        return message

    with kept(session, "send"):
        session.send = sent
        yield collector
