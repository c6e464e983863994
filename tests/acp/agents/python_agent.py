"""An agent on the official Python SDK; it plays the same script as `typescript_agent.mjs`."""

import asyncio
from typing import Any

import acp
from acp import schema

OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class Scripted(acp.Agent):
    """The prompt's first word says what to do."""

    def on_connect(self, conn: acp.Client) -> None:
        self.client, self.cancelled = conn, asyncio.Event()

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        info = schema.Implementation(name="scripted", version="1")
        return acp.InitializeResponse(protocol_version=protocol_version, agent_info=info)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        await self.client.session_update("s1", acp.update_agent_message_text(f"in {cwd}"))
        return acp.NewSessionResponse(session_id="s1")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        self.cancelled.clear()
        match prompt[0].text:
            case "work":
                return acp.PromptResponse(stop_reason=await self.work())
            case "wait":
                await self.say("waiting")
                await self.cancelled.wait()
                return acp.PromptResponse(stop_reason="cancelled")
        raise acp.RequestError.invalid_params({"details": "no such word"})

    async def work(self) -> str:
        await self.say("Hello, " + "é" * 100_000)
        await self.update(acp.update_agent_thought_text("hm"))
        await self.update(acp.update_plan([acp.plan_entry("look", status="completed"), acp.plan_entry("write")]))
        await self.update(acp.start_tool_call("t1", "Write it", kind="edit", raw_input={"path": "/a"}))
        call = schema.ToolCallUpdate(tool_call_id="t1", title="Write it")
        answer = await self.client.request_permission(session_id="s1", tool_call=call, options=OPTIONS)
        if isinstance(answer.outcome, schema.DeniedOutcome):
            return "cancelled"
        if answer.outcome.option_id == "no":
            await self.update(acp.update_tool_call("t1", status="failed"))
            return "refusal"
        diff = acp.tool_diff_content("/a", "new", "old")
        await self.update(acp.update_tool_call("t1", status="completed", content=[diff]))
        return "end_turn"

    async def say(self, text: str) -> None:
        await self.update(acp.update_agent_message_text(text))

    async def update(self, update: Any) -> None:
        await self.client.session_update("s1", update)


asyncio.run(acp.run_agent(Scripted()))
