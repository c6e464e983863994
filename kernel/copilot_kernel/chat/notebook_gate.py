"""Gate of the notebook's tools: each call passes the user's rules, mode and answer, whatever the agent asked.

The agent's own question about a call that the tool asks about is answered by us, so that the user is asked once. It
must name one of our tools where a model cannot write, with arguments that fit; any other question stands on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from msgspec.structs import replace

from ..acp.messages import (
    Diff,
    Location,
    NoticeUpdate,
    TextBlock,
    ToolCallUpdate,
)
from ..conversation import calls, inputs
from ..conversation.model import ToolCall
from ..mcp_config import OWN_SERVER
from ..notebook.content import fenced
from ..notebook.live import NotebookError
from ..notebook.tools import GateDecision, InvalidArguments, Proposal, Tool, tools_for
from ..rendering.own_tools import NOTICE_OF_READS, own_tool
from .operations import is_planning
from .our_calls import OurCalls
from .permission import OUR_OPTIONS, Permissions
from .state import ConversationState

NO_TURN = "No cell waits for the agent, so nothing can be done in the notebook."
PLANNING = "Not done: the mode is plan, in which nothing is changed or run."
REPLACES = "Replaces this code:\n{}"
NOT_DONE = "Not done. {}"
SEES = "The agent can see this notebook's {}."

_TOOLS = tools_for(has_kernel=True)


class NotebookGate:
    """A `Gate` for one conversation: `turn` needs one that runs, `authorize` is policy.

    `is_listed`: the agent has asked our server for its tools. `sees` is what the agent can read: a notice names it
    before the first read of a session. `note_runs` gets how many pieces of code run.
    """

    def __init__(
        self,
        state: ConversationState,
        permissions: Permissions,
        our_calls: OurCalls,
        is_listed: Callable[[], bool],
        sees: str,
        note_runs: Callable[[int], None],
    ) -> None:
        self._state, self._permissions, self._our_calls = state, permissions, our_calls
        self._is_listed, self._sees = is_listed, sees
        self._numbers, self._runs, self._note_runs = count(1), set[str](), note_runs
        self._has_announced_reads = False

    def begin_session(self) -> None:
        """The first read of another session is announced again."""
        self._has_announced_reads = False
        self._our_calls.clear()

    @contextmanager
    def turn(self) -> Iterator[object]:
        """Raises NotebookError outside a turn, and after ■."""
        turn = self._state.running
        if turn is None or turn.stop.pressed or turn.kind == "replay":
            raise NotebookError(NO_TURN)
        with turn.stop.scope() as scope:
            yield scope

    async def authorize(self, tool: Tool, arguments: dict[str, Any], proposal: Proposal) -> GateDecision:
        """Reads are free unless a rule that denies or asks names them."""
        is_shown_by = partial(_is_about, tool=tool, arguments=arguments)
        self._permissions.approvals.add_operation(self._state.conversation.turn, is_shown_by)
        if tool.kind == "read" and not self._is_limited(tool):
            self._announce_reads()
            return GateDecision(True)
        if is_planning(self._state, self._permissions):
            return GateDecision(False, PLANNING)
        key = f"{inputs.NOTEBOOK_PREFIX}{next(self._numbers)}"
        if proposal.runs and tool.kind == "edit":
            if denied := await self._denied_edit(tool, proposal):
                return GateDecision(False, NOT_DONE.format(denied))
            update = _edit_and_run(key, tool, proposal)
        else:
            update = _described(key, tool, proposal)
        place = self._our_calls.begin(self._state.conversation, key, arguments, is_shown_by)
        if not await self._permissions.ask_for_us(update, by_rule=True, place=place):
            ours = self._state.conversation.call(key)
            return GateDecision(False, NOT_DONE.format(ours.decision if ours else "").strip())
        self._state.update(ToolCallUpdate(key, status="in_progress"))
        self._runs.update([key] if proposal.runs else ())
        self._note_runs(len(self._runs))
        return GateDecision(True, key=key)

    def finished(self, decision: GateDecision, *, ok: bool) -> None:
        """Show it in the call that was asked about."""
        self._runs.discard(decision.key)
        self._note_runs(len(self._runs))
        if decision.key:
            self._state.update(ToolCallUpdate(decision.key, status="completed" if ok else "failed"))

    def _is_limited(self, tool: Tool) -> bool:
        rules = self._permissions.policy.book.rules
        return any(rule.covers_tool(tool.rule_name) for rule in (*rules.deny, *rules.ask))

    async def _denied_edit(self, tool: Tool, proposal: Proposal) -> str:
        """Why the edit alone is rejected, of a call that also runs; empty if it is not."""
        update = _described("", tool, proposal._replace(runs=False))
        call = calls.merged(ToolCall(-1, self._state.conversation.turn, ""), update)
        decision = await self._permissions.policy.decide(call, OUR_OPTIONS, None)
        return decision.reason if decision.outcome == "reject" else ""

    def _announce_reads(self) -> None:
        if not self._has_announced_reads:
            self._has_announced_reads = True
            self._state.update(NoticeUpdate("info", SEES.format(self._sees), about=NOTICE_OF_READS))

    def asks_itself(self, call: ToolCall, earlier: ToolCall | None) -> bool:
        """Return True if the agent asks about a call that will come to us; `earlier` is the call as shown before."""
        server, name = inputs.mcp_tool(call) or ("", "")
        tool = _TOOLS.get(name) if server == OWN_SERVER else None
        if tool is None or not self._is_listed() or (earlier and not calls.equal(earlier.raw_input, call.raw_input)):
            return False
        try:
            tool.read(call.raw_input)
        except InvalidArguments:
            return False
        return True


def _is_about(call: ToolCall, tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return True if the agent's call shows what it asked our tool for."""
    return own_tool(call) == tool.name and calls.equal(call.raw_input or {}, arguments)


def _described(key: str, tool: Tool, proposal: Proposal) -> ToolCallUpdate:
    """The call as the rules and the user see it."""
    return ToolCallUpdate(
        key,
        begins=True,
        title=proposal.title,
        name=tool.rule_name,
        kind="execute" if proposal.runs else "edit" if tool.kind == "edit" else "other",
        content=proposal.content,
        locations=(Location(proposal.path or OWN_SERVER),) if tool.kind == "edit" else None,
        raw_input={"cell_type": proposal.cell_type} if proposal.cell_type else None,
    )


def _edit_and_run(key: str, tool: Tool, proposal: Proposal) -> ToolCallUpdate:
    """A call that edits and runs is one that runs: only a rule for running cells allows it.

    Rules that ask about the edit find it in the input.
    """
    run_cell = _TOOLS["run_cell"].rule_name
    given = {"server": OWN_SERVER, "tool": tool.name, "path": proposal.path}
    # A change is shown as what runs: a call that runs changes no file in the sense of the rules.
    changes = [each for each in proposal.content if isinstance(each, Diff)]
    code = [TextBlock(fenced(each.new_text)) for each in changes]
    before = [TextBlock(REPLACES.format(each.old_text)) for each in changes if each.old_text]
    return replace(_described(key, tool, proposal), name=run_cell, content=(*code, *before), raw_input=given)
