"""What the demo agent sends, as the tests expect it."""

END, CANCELLED = {"stopReason": "end_turn"}, {"stopReason": "cancelled"}
OPTIONS = [
    {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"},
    {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
]


def message(text, speaker="agent_message"):
    return {"sessionUpdate": f"{speaker}_chunk", "content": {"type": "text", "text": text}}


def content(text):
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def begun(title, kind, call="call_1", **members):
    made = {"toolCallId": call, "title": title, "kind": kind, "status": "pending"}
    return {"sessionUpdate": "tool_call", **made, **members}


def changed(call="call_1", **members):
    return {"sessionUpdate": "tool_call_update", "toolCallId": call, **members}


def question(**members):
    return {"toolCall": {"toolCallId": "call_1", "status": "pending", **members}, "options": OPTIONS}


def answered(option, call="call_1"):
    return changed(call, status="completed", content=content(f"You answered: {option}"))


def rejected(option, call="call_1"):
    output = {"message": f"This was rejected ({option}).", "code": "rejected"}
    return changed(call, status="failed", rawOutput=output)


def asks(received):
    return "options" in received


def says(text):
    return lambda received: received == message(text)
