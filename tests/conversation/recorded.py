"""Conversations of real agents, as recorded."""

import json
from pathlib import Path

from copilot_kernel.acp.parse import parse_block, parse_permission, parse_update
from copilot_kernel.acp.results import parse_prompt_result
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.conversation.reduce import ask, begin_turn, decide, end_turn, reduce

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))


def replayed(name: str) -> Conversation:
    """A recorded conversation, with the answers that were given."""
    path = next(path for path in TRANSCRIPTS if path.stem == name)
    now, prompt, asked = Conversation(), None, {}
    for line in map(json.loads, path.read_text("utf-8").splitlines()):
        message = line["message"]
        match line["from"], message.get("method"):
            case "client", "session/prompt":
                now, prompt = begin_turn(now, [parse_block(raw) for raw in message["params"]["prompt"]]), message["id"]
            case "client", None if message["id"] in asked:
                now = decided(now, asked[message["id"]], message["result"]["outcome"])
            case "agent", "session/update":
                now = reduce(now, parse_update(message["params"]["update"]))
            case "agent", "session/request_permission":
                request = parse_permission(message["params"])
                now, entry = ask(now, request.tool_call)
                asked[message["id"]] = (entry, {option.id: option.kind for option in request.options})
            case "agent", None if now.live and message["id"] == prompt:
                now = end_turn(now, parse_prompt_result(message["result"]).stop_reason)
    return now


def decided(before: Conversation, asked: tuple[int, dict[str, str]], outcome: dict[str, str]) -> Conversation:
    entry, kinds = asked
    kind = kinds.get(outcome.get("optionId", ""))
    if kind is None:
        return decide(before, entry, None, "not run (you stopped)")
    allowed = kind.startswith("allow")
    return decide(before, entry, allowed, f"{'allowed' if allowed else 'denied'} by you")
