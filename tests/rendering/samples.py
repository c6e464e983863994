"""One entry of each look, for the tests of all of them at once."""

from copilot_kernel.acp.messages import (
    AudioBlock,
    Diff,
    EmbeddedResource,
    ImageBlock,
    Location,
    PlanEntry,
    ResourceLink,
    TerminalContent,
    TextBlock,
    UnknownBlock,
)
from copilot_kernel.conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from copilot_kernel.conversation.text import GrowingText

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
GIT_DIFF = """
diff --git a/project/notes.txt b/project/notes.txt
index 0000000..0000000 100644
--- a/project/notes.txt
+++ b/project/notes.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""


def said(text: str, speaker: str = "agent") -> Message:
    return Message(0, 1, speaker, GrowingText(text))


def sent(block: object) -> Attachment:
    return Attachment(0, 1, "agent", block)


def call(**fields: object) -> ToolCall:
    return ToolCall(0, 1, "call", **fields)


def entries(text: str = "some words") -> dict[str, Entry]:
    """Every kind of entry, with `text` wherever an agent may put a text."""
    content = (
        *(
            TextBlock(text),
            Diff(text, text, text + "\nmore"),
            Diff(text, None, text),
            TerminalContent(text),
            UnknownBlock({text: text}),
        ),
        *(
            ImageBlock(text, text, text),
            AudioBlock(text, text),
            ResourceLink(text, text, text, text, text),
            EmbeddedResource(text, text),
        ),
    )
    raw = {"command": text, "commands": [text], "cwd": text, "path": text, text: text, "diff": f"@@ -1 +1 @@\n-{text}"}
    everything = {
        "title": text,
        "name": text,
        "locations": (Location(text, 3),),
        "decision": text,
        "raw_input": raw,
        "raw_output": {"content": text, "stderr": text, text: [text]},
        "meta": {"terminal_output": {"data": text}},
    }
    return {
        "user": said(text, "user"),
        "message": said(text),
        "thought": said(text, "thought"),
        "plan": Plan(0, 1, (PlanEntry(text, "high", "completed"), PlanEntry(text, text, text)), text),
        "notice": Notice(0, 1, "warning", text, text, {text: text}),
        "notice of an unknown severity": Notice(0, 1, text, text),
        "image": sent(ImageBlock(PIXEL, "image/png", text)),
        "drawing": sent(ImageBlock(PIXEL, "image/svg+xml", text)),
        "bad image": sent(ImageBlock(text, "image/png")),
        "image of an unknown type": sent(ImageBlock(PIXEL, text)),
        "sound": sent(AudioBlock(PIXEL, "audio/wav")),
        "bad sound": sent(AudioBlock(text, text)),
        "link": sent(ResourceLink(text, text, text, text, text, 12)),
        "web link": sent(ResourceLink(f"https://ok.example/{text}", text)),
        "resource": sent(EmbeddedResource(text, text, None, text)),
        "binary resource": sent(EmbeddedResource(text, None, text, text)),
        "unknown block": sent(UnknownBlock({text: [text]})),
        "pending call": call(**everything, kind="execute"),
        "finished call": call(**everything, kind="execute", status="completed", content=content),
        "failed call": call(**everything, kind=text, status="failed", content=(TextBlock(text),)),
        "call with another input": call(title=text, raw_input=text, raw_output=text, status="completed"),
        "call with an unknown status": call(title=text, status=text, raw_input=[text, {text: text}]),
        "call with a unified diff": call(kind="edit", raw_input={"fileName": text, "diff": GIT_DIFF + f"+{text}\n"}),
        "call with fenced output": call(kind="read", status="completed", content=(TextBlock(f"```\n{text}\n```"),)),
    }
