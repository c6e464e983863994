"""Broadcast of one conversation: each change of it once, and what matters to subscribers that join later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from copilot_widgets.answers import Reply
from msgspec import to_builtins
from msgspec.structs import replace

from ...acp.elicitation import Elicitation, ElicitationAnswer
from ...acp.messages import PermissionOption
from ...conversation.model import FINAL, Conversation, Entry, Plan, ToolCall
from ...errors import UsageError, trace
from ...permissions import policy
from ...permissions.question import OwnSubject, PermissionAnswer, Question
from ...rendering.markdown import to_html
from ...rendering.markup import escape
from ...rendering.permission_options import STANDING, label, remark, remembered
from ...rendering.plain import visible_line
from ...rendering.question import QuestionView
from ...views.lexers import begin, load
from ...views.permission_question import PermissionQuestion
from .feed import CallIds, EntryFeed, SaveFile, Update, arguments, messages, tool
from .history import Line, last_messages
from .html import EntryHtml, HtmlBatcher
from .wire import ApproveTool, SocketMessage, compose, event, notice

MAX_REPLAYED_ENTRIES, MAX_REPLAY_CHARS = 500, 1_000_000
"""Limits of what is sent again to a subscriber that joins."""
SUMMARY_PIECE = 10**9
"""Number of a turn's last entry: what the turn changed comes after everything else of it."""
MAX_QUESTION_CHARS = 4_000_000
"""Limit of a question's HTML; what cannot be shown is rejected."""
FORM_NOT_SHOWN = "The agent asked for input that this chat cannot show; the request was declined"

_log = logging.getLogger(__name__)


class Subscriber(Protocol):
    """One socket. `wants_html`: it gets entries as HTML, not as deltas."""

    wants_html: bool

    def receive(self, update: Update) -> None:
        """Send it when there is time; never waits."""


class PendingApprovals:
    """The open questions of one conversation: any subscriber may answer, once, within `limit` seconds.

    `root` is the project's folder.
    """

    def __init__(self, call_ids: CallIds, publish: Callable[[SocketMessage], None], root: str, limit: float) -> None:
        self._call_ids, self._publish, self._root, self._limit = call_ids, publish, root, limit
        self._open: dict[str, tuple[SocketMessage, PermissionQuestion]] = {}

    @property
    def requests(self) -> tuple[SocketMessage, ...]:
        """The open questions, oldest first."""
        return tuple(request for request, _ in self._open.values())

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._open

    async def ask(self, asked: Question) -> PermissionAnswer:
        """The one answer; cancelled when the question is withdrawn."""
        question = PermissionQuestion(asked, self._root, can_save=False)
        if len(question.view.html) > MAX_QUESTION_CHARS:
            return PermissionAnswer(policy.reject(asked.options), "none", "it is too large to be shown here")
        call_id = self._call_ids.of_question(asked.call)
        request, answer = self._request(question, call_id), question.unanswered("withdrawn")
        self._open[call_id] = request, question
        self._publish(request)
        try:
            async with asyncio.timeout(self._limit):
                answer = await asyncio.wrap_future(question.answer)
        except TimeoutError:
            reason = f"no answer within {self._limit:g} s"
            answer = PermissionAnswer(policy.reject(asked.options), "none", reason)
        finally:
            del self._open[call_id]
            words = visible_line(answer.words(asked.options))
            self._publish(event("approval_resolved", call_id=call_id, approved=answer.allows, reason=words))
        return answer

    def answer(self, action: ApproveTool) -> None:
        """The first answer counts, unless its rule is refused.

        Raises UsageError for a question that is not open, or has no such option.
        """
        _, found = self._open.get(action.call_id, (None, None))
        if found is None or found.answer.done():
            raise UsageError(f"No open question {action.call_id:.100}.", "It may have been answered already.")
        options, reason, rule = found.question.options, action.reason.strip(), action.rule.strip()
        option = _chosen(action, options)
        if reason and (option is None or not option.rejects):
            raise UsageError("A reason is only for a rejection.", "Answer without it, or reject the call.")
        if rule and (option is None or option.kind != "allow_once"):
            raise UsageError("A rule is only for allowing this once.", "Answer without it, or with yes.")
        if option is None:
            found.settle(PermissionAnswer(None, "you"))
        elif complaint := found.reply(Reply(options.index(option), reason, rule)):
            self._publish(event("rule_refused", call_id=action.call_id, content=complaint))

    def _request(self, question: PermissionQuestion, call_id: str) -> SocketMessage:
        """`about` names in a line what an answer allows.

        `suggestion` is the narrowest rule that would cover it; empty if none is worth saving.
        """
        asked, about, rule = question.question, question.view.subject, question.answers.rule
        call = asked.call
        request = event(
            "tool_approval_request",
            call_id=call_id,
            tool=tool(call) if call else "",
            arguments=arguments(call.raw_input if call else {"commands": about.commands}),
            title=visible_line(about.title),
            entry=call.id if call else None,
            options=[_option(asked, option) for option in asked.options],
            about=question.view.about,
            suggestion=rule.value if rule else "",
        )
        shown = {"html": question.view.html, "headline": question.title, "answers": to_builtins(question.answers)}
        return replace(request, html=shown)


def _option(question: Question, option: PermissionOption) -> dict[str, str | None]:
    """`remark` belongs beside its name; `meaning`: what comes of one that the agent remembers."""
    meaning = remembered(question, option) if option.kind in STANDING else ""
    more = {"remark": remark(option), "meaning": meaning}
    return {"id": option.id, "name": label(question, option), "kind": option.kind, **more}


def _chosen(action: ApproveTool, options: tuple[PermissionOption, ...]) -> PermissionOption | None:
    """The option of that id; without an id, yes allows once, and anything else rejects."""
    if action.option_id is not None:
        found = next((option for option in options if option.id == action.option_id), None)
        if found is None:
            raise UsageError(
                "The question has no such option.", f"Use one of: {', '.join(each.id for each in options if each.id)}."
            )
        return found
    if not action.approves:
        return policy.reject(options)
    once = next((option for option in options if option.kind == "allow_once"), None)
    if once is None:
        raise UsageError("The agent does not offer to allow this once.", "Answer with an option_id, or reject it.")
    return once


class Broadcaster:
    """A `chat.View`. `conversation` returns it as it stands."""

    def __init__(self, conversation: Callable[[], Conversation], save_file: SaveFile, cwd: str, limit: float) -> None:
        call_ids = CallIds()
        self.subscribers: set[Subscriber] = set()
        self.approvals = PendingApprovals(call_ids, self.publish, cwd, limit)
        self.summaries: dict[int, str] = {}
        """HTML of what turns changed, by their numbers; sent to who joins after the end."""
        self._conversation = conversation
        self._feed = EntryFeed(call_ids, save_file)
        self._html = HtmlBatcher(self.publish, self._is_watched, lambda: conversation().entries, cwd)
        self._state: dict[str, Any] = {}
        self._status = ""
        self._loading = asyncio.Lock()

    def _is_watched(self) -> bool:
        return any(each.wants_html for each in self.subscribers)

    # -- subscribers ------------------------------------------------------------------------------------------------

    def join(self, subscriber: Subscriber, last: Sequence[Line], earlier: Sequence[Line], running: bool) -> None:
        """Send the last messages, what the running turn did so far, and the open questions; then all that follows.

        `earlier` are those of the last messages that are not entries of the conversation, and so have no HTML.
        """
        self._html.flush()
        conversation = self._conversation()
        missed: Iterable[Update] = ()
        if lines := earlier if subscriber.wants_html else last:
            subscriber.receive(event("history", messages=[_line(each, subscriber.wants_html) for each in lines]))
        if subscriber.wants_html:
            missed = self._replay_html(conversation)
        elif running:
            missed = _newest(self._replay_turn(conversation), with_html=False)
        self._state = _states(conversation)
        states = (event(name, **fields) for name, fields in self._state.items())
        for update in (*missed, *states, *self.approvals.requests):
            subscriber.receive(update)
        self.subscribers.add(subscriber)

    def publish(self, update: Update) -> None:
        """Send to every subscriber."""
        for subscriber in tuple(self.subscribers):
            subscriber.receive(update)

    def settle(self) -> None:
        """Send what waits: the response is over."""
        self._html.settle()
        self._publish_state()

    def _replay_html(self, conversation: Conversation) -> Iterator[Update]:
        first = next((each.id for each in last_messages(conversation)), 0)
        entries = conversation.entries[max(first, len(conversation.entries) - MAX_REPLAYED_ENTRIES) :]
        yield from _newest(self._html.newest_first(entries), with_html=True)
        for entry in entries:
            yield from self._feed.files.get(entry.id, ())
        for turn, last in {entry.turn: entry.id for entry in entries}.items():
            if summary := self.summaries.get(turn):
                yield EntryHtml(last, SUMMARY_PIECE, "footer", summary)

    def _replay_turn(self, conversation: Conversation) -> Iterator[Update]:
        """Yield the updates of unfinished entries first, then the others; the newest first, since not all may fit."""
        newest_first = reversed(conversation.entries.of_turn(conversation.turn)[-MAX_REPLAYED_ENTRIES:])
        for entry in sorted(newest_first, key=_is_over):
            yield from reversed([*self._feed.again(entry)])

    # -- the view ---------------------------------------------------------------------------------------------------

    def show(self, entry: Entry) -> None:
        """`entry` is new or changed."""
        begin(entry)
        try:
            updates = tuple(self._feed.changes(entry))
            self._html.put(entry)
            for update in updates:
                self.publish(update)
            self._publish_state()
        # As in a cell: a bug in encoding one entry must not end the turn, nor the connection that it came by.
        except Exception as error:
            _log.error("an entry could not be encoded: %s %d: %s", type(entry).__name__, entry.id, trace(error))

    def status(self, words: str) -> None:
        """A passing line."""
        if words != self._status:
            self._status = words
            self.publish(event("status", content=words))

    attended = True

    async def ask(self, question: Question) -> PermissionAnswer:
        """The answer of any subscriber; whoever has the key of the chat may not widen what the settings allow."""
        if isinstance(question.about, OwnSubject) and question.about.widens:
            return PermissionAnswer(
                policy.reject(question.options), "none", "a chat can only restrict the agent further"
            )
        self._html.flush()
        async with self._loading:  # those that come together keep their order
            await load(QuestionView(question).languages)
        return await self.approvals.ask(question)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Decline: the protocol has no message for forms."""
        self.publish(notice("warning", FORM_NOT_SHOWN, request.message))
        return ElicitationAnswer("decline", reason="this chat cannot ask for it")

    def _publish_state(self) -> None:
        for name, fields in _states(self._conversation()).items():
            if self._state.get(name) != fields:
                self._state[name] = fields
                self.publish(event(name, **fields))


def _newest(updates: Iterable[Update], *, with_html: bool) -> list[Update]:
    """Those of `updates`, which come newest first, up to MAX_REPLAY_CHARS; the oldest first."""
    kept: list[Update] = []
    length = 0
    for update in updates:
        kept.append(update)
        length += sum(len(compose(each, with_html)) for each in messages(update, with_html))
        if length > MAX_REPLAY_CHARS:
            break
    return kept[::-1]


def _is_over(entry: Entry) -> bool:
    """Return True if no later message is about it, as about a plan, or a call without a final status."""
    return entry.status in FINAL if isinstance(entry, ToolCall) else not isinstance(entry, Plan)


def _line(line: Line, wants_html: bool) -> dict[str, str]:
    found = {"role": line.role, "content": line.content}
    if wants_html:
        found["html"] = escape(line.content) if line.role == "user" else to_html(line.content)
    return found


def _states(conversation: Conversation) -> dict[str, dict[str, Any]]:
    """Events about the session's mode, model and tokens, as far as the agent reports them."""
    found: dict[str, dict[str, Any]] = {}
    state, usage = conversation.state, conversation.usage
    if state is not None and (state.mode or state.model):
        found["mode"] = {"mode": state.mode or "", "model": state.model or ""}
    if usage is not None:
        found["usage"] = {"used": usage.used, "size": usage.size, "cost": usage.cost}
    return found
