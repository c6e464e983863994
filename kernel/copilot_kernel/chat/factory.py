"""Build a chat: its parts in order, each after those that it needs."""

from __future__ import annotations

import os
from functools import partial

import anyio

from ..acp.handlers import ClientHandlers
from ..config import Settings
from ..places import made_state_folder
from .agent import Agent, RunningAgent
from .agent_start import Connect
from .chat import Chat
from .diff_locator import DiffLocator
from .elicitation_handler import Elicitations
from .failures import FailureFilter
from .notebook_tools import NotebookTools
from .operations import ClientServices
from .our_calls import OurCalls
from .permission import Approvals, Permissions
from .retry import Retry
from .rules import PolicyEvaluator
from .session_manager import SessionManager
from .session_options import SessionOptions
from .session_store import SessionLocks, SessionStore
from .slash import AgentCommands
from .state import ConversationState, SessionUpdates
from .trust import AllowedEdits, TrustGate, TrustStore
from .turn_end import NotebookInTurn
from .unasked import UnaskedActionMonitor
from .undo import Undo


def open_chat(
    settings: Settings,
    notebook: str = "",
    retry: Retry | None = None,
    connect: Connect | None = None,
    place: str = "",
    live: NotebookInTurn | None = None,
) -> Chat:
    """Build a chat, each of its parts after those that it needs.

    `notebook` is the path of the notebook whose conversation this is: a later chat of the same path resumes it. Without
    one, each chat begins a new session. `connect` leads to an agent of this process that several conversations share.
    `place` says where its session is open to others who want it; by default, that is the notebook. The agent gets tools
    for `live`, the notebook as it is open.
    """
    folder, running = made_state_folder(settings), RunningAgent()
    turns = anyio.Lock(fast_acquire=True)  # no interrupt can come between `ask` and its turn
    # What an update of the agent's passes, in this order.
    our_calls, failures = OurCalls(), FailureFilter(running)
    policy, approvals = PolicyEvaluator(settings, lambda: running.sandbox is not None, live), Approvals()
    monitor, locator = UnaskedActionMonitor(policy, approvals), DiffLocator(settings.folder)
    undo = Undo(settings, folder, turns, live)
    trusted = TrustStore(settings)
    stages = (monitor, locator, AllowedEdits(settings, approvals, trusted))
    state = ConversationState(our_calls.filter, failures.filter, stages)
    updates = SessionUpdates(state)
    # What the agent asks for.
    permissions, elicitations = Permissions(state, policy, approvals, running), Elicitations(state)
    services = ClientServices(settings, state, permissions, updates.serves, running)
    store = SessionStore(folder, notebook, settings.agent or "copilot", settings.folder)
    outlived = "://" in settings.agent or settings.agent_sharing != "off"
    tools = NotebookTools(live, settings, state, permissions, our_calls, store.note_runs, outlived=outlived)
    handlers = ClientHandlers(
        updates.receive,
        partial(permissions.ask, asks_itself=tools.gate.asks_itself),
        services={"elicitation/create": elicitations.serve},
        listeners={"elicitation/complete": elicitations.complete},
        answer_form=settings.answer_form,
    )
    agent = Agent(settings, running, handlers, services.serve, policy.denied_tools, tools.ports, connect)
    # What a prompt goes to.
    can_sandbox = connect is None and "://" not in settings.agent
    trust = TrustGate(settings, state, trusted, can_sandbox=can_sandbox)
    locks = SessionLocks(folder, place or (f"notebook {notebook}" if notebook else f"process {os.getpid()}"))
    sessions = SessionManager(
        agent, updates, state, retry or Retry(), store, locks, tools, permissions.reset, trust, live
    )
    return Chat(
        agent=agent,
        state=state,
        session_manager=sessions,
        options=SessionOptions(sessions, state),
        permissions=permissions,
        elicitations=elicitations,
        trust=trust,
        services=services,
        tools=tools,
        commands=AgentCommands(settings.agent, running, updates, state),
        undo=undo,
        failures=failures,
        monitor=monitor,
        notebook=live,
        turns=turns,
    )
