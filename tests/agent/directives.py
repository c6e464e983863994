"""Directives: a prompt that begins with `demo:` says line by line what the test agent shall do.

    demo: say Hello            one directive a line, the first may follow `demo:` directly
    shell echo one; exit 3

Each line is a directive's name and its argument. Where the argument is a text, `\\n` and `\\t` in it are a line break
and a tab.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
from copilot_kernel.acp.jsonrpc import INVALID_PARAMS, RequestFailed
from copilot_kernel.acp.transport import single_error
from copilot_kernel.demo import files, notebook, scenes
from copilot_kernel.demo.demo_session import Json, texts
from copilot_kernel.demo.stage import Stage, TurnEnded, content
from copilot_kernel.errors import AgentRefused

from . import samples
from .client import CLIENT
from .faults import FAULTS, Directive, numbers, pause, split_two, unescape

MARK = "demo:"


def find_script(blocks: Sequence[Any]) -> str | None:
    """The script in a prompt's content blocks: the last text that begins with `demo:`, without that mark."""
    scripts = [text for text in texts(blocks) if text.lstrip().startswith(MARK)]
    return scripts[-1].lstrip().removeprefix(MARK) if scripts else None


async def perform(stage: Stage, script: str, directives: Mapping[str, Directive]) -> None:
    """Run a script. Raises RequestFailed, before anything is done if a directive is unknown, and TurnEnded."""
    steps = [_read_line(line, directives) for line in script.splitlines() if line.strip()]
    for directive, argument in steps:
        try:
            await directive(stage, argument)
        except ValueError as error:
            raise RequestFailed(INVALID_PARAMS, f"demo agent: {argument!r} cannot be read") from error


def _read_line(line: str, directives: Mapping[str, Directive]) -> tuple[Directive, str]:
    name, _, argument = line.strip().partition(" ")
    if name not in directives:
        raise RequestFailed(INVALID_PARAMS, f"demo agent: no directive is called {name!r}")
    return directives[name], argument.strip()


async def together(directives: Mapping[str, Directive], stage: Stage, argument: str) -> None:
    """`together STEP ;; STEP …`: directives at the same time; what ends the turn ends it when all are through."""
    ends: list[TurnEnded] = []

    async def branch(step: str) -> None:
        try:
            await perform(stage, step, directives)
        except TurnEnded as end:
            ends.append(end)

    with single_error():
        async with anyio.create_task_group() as tasks:
            for step in argument.split(";;"):
                tasks.start_soon(branch, step)
    if ends:
        raise ends[0]


async def say(stage: Stage, argument: str) -> None:
    """`say TEXT`: one chunk of the answer."""
    await stage.say(unescape(argument))


async def raw(stage: Stage, argument: str) -> None:
    """`raw JSON`: that update, whatever it is."""
    await stage.send(json.loads(argument))


async def ask(stage: Stage, argument: str) -> None:
    """`ask [TITLE]`: a question only; says what was answered."""
    await scenes.ask(stage, argument or "Do it")


async def delete(stage: Stage, name: str) -> None:
    """`delete PATH`: deletes a file, after a question."""
    path = stage.session.cwd / name
    where: Json = {"locations": [{"path": str(path)}]}
    id = await stage.begin("delete", f"Delete {name}", {"path": str(path)}, **where)
    await stage.ask(id, ("delete", str(path)), {"title": "Delete file", "kind": "delete", **where})
    path.unlink()
    await stage.change(id, status="completed", rawOutput={"content": f"{name} is deleted."})


async def call_tool(stage: Stage, argument: str) -> None:
    """`notebook TOOL [JSON]`: calls one of the notebook's tools, and says what came of it."""
    tool, _, arguments = argument.partition(" ")
    try:
        await stage.say(await notebook.call(stage, tool, **json.loads(arguments or "{}")) + "\n")
    except notebook.ToolFailed as error:
        await stage.say(f"{tool} failed: {error}\n")


async def slow(stage: Stage, argument: str) -> None:
    """`slow N [SECONDS]`: N chunks, that many seconds apart (0.2)."""
    amount, seconds = numbers(argument, (10, 0.2))
    for number in range(1, int(amount) + 1):
        await stage.say(f"{number} ")
        await anyio.sleep(seconds)


async def plan(stage: Stage, argument: str) -> None:
    """`plan A;B;C [/ DONE]`: the whole plan, of which DONE steps are done (0)."""
    words, _, number = argument.partition(" / ")
    (done,) = numbers(number, (0,))
    await stage.plan(int(done), *(step.strip() for step in words.split(";") if step.strip()))


async def edit(stage: Stage, argument: str) -> None:
    """`edit PATH OLD => NEW`: changes a file, after a question."""
    name, change = split_two(argument, " ")
    old, new = split_two(change, "=>")
    await files.edit(stage, name, unescape(old), unescape(new))


async def create(stage: Stage, argument: str) -> None:
    """`create PATH TEXT`: writes a file, after a question."""
    name, words = split_two(argument, " ")
    path, text = stage.session.cwd / name, unescape(words)
    where: Json = {"locations": [{"path": str(path)}]}
    diff = [{"type": "diff", "path": str(path), "oldText": None, "newText": text}]
    id = await stage.begin("edit", f"Create {name}", {"path": str(path)}, content=diff, **where)
    raw_input = {"fileName": str(path), "diff": files.unified(name, "", text)}
    await stage.ask(id, ("edit", ""), {"title": "Create file", "kind": "edit", "rawInput": raw_input, **where})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    await stage.change(id, status="completed", content=diff)


async def unasked(stage: Stage, argument: str) -> None:
    """`unasked CMD`: runs a command without asking, as if it were always allowed."""
    stage.session.allowed.add(("execute", argument))
    await files.run(stage, argument)


async def long(stage: Stage, argument: str) -> None:
    """`long BYTES CHUNKS RATE`: markdown of that many bytes, RATE chunks a second (0: as fast as they go)."""
    size, pieces, rate = numbers(argument, (10_000, 100, 0))
    text = samples.cut(samples.passage(int(size)), int(pieces))
    async for number in _paced(len(text), rate):
        await stage.say(text[number - 1])


async def _paced(amount: int, rate: float) -> AsyncIterator[int]:
    """1, 2, … `amount`, so many a second."""
    start = anyio.current_time()
    for number in range(1, amount + 1):
        if rate:
            await anyio.sleep(max(0.0, start + number / rate - anyio.current_time()))
        yield number


async def remember(stage: Stage, argument: str) -> None:
    """`remember`: says how many prompts this session has had, and the first."""
    await scenes.remember(stage)


async def commands(stage: Stage, argument: str) -> None:
    """`commands [NAME …]`: other slash commands; none without names."""
    made = [{"name": name, "description": f"The {name} command"} for name in argument.split()]
    await stage.send({"sessionUpdate": "available_commands_update", "availableCommands": made})


# -- what came from the client ---------------------------------------------------------------------------------------


async def echo(stage: Stage, argument: str) -> None:
    """`echo`: says what blocks the prompt has."""
    await stage.say("\n".join(f"- {described(block)}" for block in stage.blocks))


def described(block: Json) -> str:
    """One block of a prompt in a line: its text, or where it is, or what it holds."""
    match block:
        case {"type": "text", "text": words}:
            return f"text: {words!r}"
        case {"type": "resource", "resource": {"uri": uri, **more}}:
            return f"resource: {uri}, {more.get('text')!r}"
        case {"type": "resource_link", "uri": uri, "name": name}:
            return f"resource_link: {uri}, name {name}"
    return f"{block['type']}: {block.get('mimeType')}"


async def mcp(stage: Stage, argument: str) -> None:
    """`mcp`: says which MCP servers came with the session; of environments and headers only the names."""
    lines = [f"- {_server(server)}" for server in stage.session.servers]
    await stage.say("\n".join(lines) or "There are no MCP servers.")


def _server(server: Json) -> str:
    kept = [each["name"] for each in server.get("env") or server.get("headers") or ()]
    where = server.get("url") or " ".join([server["command"], *server["args"]])
    return f"{server['name']}: {server.get('type', 'stdio')}, {where}{', env ' if kept else ''}{' '.join(kept)}"


# -- questions ------------------------------------------------------------------------------------------------------

FORM: Json = {
    "type": "object",
    "title": "A few questions",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 20},
        "mail": {"type": "string", "title": "Mail address", "format": "email"},
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "green", "blue"], "default": "green"},
        "size": {
            "type": "string",
            "title": "Size",
            "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
        },
        "count": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 10, "default": 3},
        "weight": {"type": "number", "title": "Weight", "description": "In kilograms", "minimum": 0},
        "gift": {"type": "boolean", "title": "Is it a gift?", "default": False},
        "extras": {
            "type": "array",
            "title": "Extras",
            "items": {"type": "string", "enum": ["card", "ribbon", "candle"]},
            "minItems": 1,
            "maxItems": 2,
        },
    },
    "required": ["name", "count"],
}
"""A form with a field of each kind."""
OPTION_NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}


async def offer(stage: Stage, argument: str) -> None:
    """`options KIND[=NAME];…`: what is offered with the next questions of this turn.

    A kind that comes again gets an id of its own (`allow_once_2`).
    """
    stage.options = []
    for kind, _, name in (item.strip().partition("=") for item in argument.split(";")):
        times = 1 + sum(option["kind"] == kind for option in stage.options)
        id = kind if times == 1 else f"{kind}_{times}"
        stage.options.append({"optionId": id, "kind": kind, "name": name or OPTION_NAMES.get(kind, kind)})


async def withdraw(stage: Stage, argument: str) -> None:
    """`withdraw [WHEN]`: asks, and takes the question back after that pause (0.3)."""
    title = "Do it, or perhaps not"
    id = await stage.begin("other", title, {"what": "nothing"})
    question = partial(stage.ask, id, ("withdraw", id), {"title": title, "kind": "other"}, withdraws=True)
    answer = await _before(stage, argument, question)
    words = "I took my question back." if answer is None else "You were faster."
    await stage.change(id, status="completed" if answer else "failed", content=content(words))


async def _before(stage: Stage, when: str, ask: Callable[[], Awaitable[str]]) -> str | None:
    """The answer; None if the pause is over before it comes."""
    with single_error():
        async with anyio.create_task_group() as tasks:

            async def give_up() -> None:
                await pause(stage, when, 0.3)
                tasks.cancel_scope.cancel()

            tasks.start_soon(give_up)
            answer = await ask()
            tasks.cancel_scope.cancel()
            return answer
    return None


async def request(stage: Stage, argument: str) -> None:
    """`request METHOD [JSON]`: any request to the client, of this session unless it says other; says the answer."""
    method, _, params = argument.partition(" ")
    await stage.say(f"{method} answered {await _answer(stage, method, json.loads(params or '{}'))}")


async def _answer(stage: Stage, method: str, params: Json) -> str:
    try:
        return json.dumps(await stage.client.request(method, {"sessionId": stage.session.id, **params}))
    except AgentRefused as error:
        return f"error {error.code}: {error}"


async def elicit(stage: Stage, argument: str) -> None:
    """`elicit form [JSON]`, `elicit url URL`: asks by an elicitation; says what was answered.

    JSON is a schema, or all parameters; without it the form has a field of each kind.
    """
    kind, _, rest = argument.partition(" ")
    if kind == "form":
        return await stage.say(f"You answered: {await _form(stage, rest)}")
    id = f"elicitation_{len(stage.session.prompts)}"
    params = {"mode": "url", "message": "The demo agent asks you to open a page.", "elicitationId": id, "url": rest}
    await stage.say(f"You answered: {await _answer(stage, 'elicitation/create', params)}")
    await stage.client.notify("elicitation/complete", {"elicitationId": id})


async def _form(stage: Stage, argument: str) -> str:
    given = json.loads(argument) if argument else FORM
    params = given if "requestedSchema" in given else {"requestedSchema": given}
    message = "The demo agent wants to know something."
    return await _answer(stage, "elicitation/create", {"mode": "form", "message": message, **params})


async def swap(stage: Stage, argument: str) -> None:
    """`swap CMD => OTHER [=> WHEN]`: asks about CMD, says after that pause (0.3) that it is OTHER, runs it if allowed.

    An answer does not wait for the pause.
    """
    command, other, when = [part.strip() for part in f"{argument} => ".split("=>")][:3]
    id = await stage.begin("execute", f"Run {command}", {"command": command})
    change = partial(stage.change, id, title=f"Run {other}", rawInput={"command": other})

    async def change_meanwhile() -> None:
        await pause(stage, when, 0.3)
        await change()

    question = {"title": f"Run {command}", "kind": "execute", "rawInput": {"command": command, "commands": [command]}}
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(change_meanwhile)
            await stage.ask(id, ("execute", command), question, withdraws=True)
            tasks.cancel_scope.cancel()
    await change()
    async with files.running(other, stage.session.cwd) as (process, _):
        await process.wait()
    await stage.change(id, status="completed", content=content(f"This ran: {other}"))


DIRECTIVES: Mapping[str, Directive] = {
    **FAULTS,
    **CLIENT,
    **{
        directive.__name__: directive
        for directive in (say, raw, ask, delete, slow, plan, edit, create, unasked, long, remember)
    },
    **{directive.__name__: directive for directive in (commands, echo, mcp, withdraw, request, elicit, swap)},
    "read": files.read,
    "shell": files.run,
    "notebook": call_tool,
    "options": offer,
}
"""Directives by name."""
