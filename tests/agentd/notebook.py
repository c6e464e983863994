"""`python -m tests.agentd.notebook FOLDER STATE PROMPT`: a kernel of its own that asks, and prints what it sees."""

import sys

import anyio
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import open_chat
from copilot_kernel.config import Settings

from ..chat.people import Person


async def main(folder: str, state: str, prompt: str) -> None:
    """The person does not answer."""
    person = Person(None)
    settings = Settings(agent="demo", cwd=folder, state=state, agent_sharing="user")
    async with open_chat(settings) as chat, anyio.create_task_group() as tasks:
        tasks.start_soon(chat.ask, [TextBlock(prompt)], person)
        await (person.asked if "ask" in prompt else person.heard).wait()
        print(chat.session.id if chat.session else "", flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:4])
