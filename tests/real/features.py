"""What each agent can do in a notebook: the cells that show it, and the table of `docs/agents.md` that tells of it.

`python -m tests.real.features` tries everything with every agent and writes the table anew.
"""

import base64
import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from copilot_kernel.acp.agent_connection import UNLISTED
from copilot_kernel.chat.session_manager import NEW_CONVERSATION, RESTARTED
from copilot_kernel.chat.slash import harmless
from copilot_kernel.commands.agent_commands import NO_CHOICE

from . import model, tools
from .agents import AGENTS, FILE, NOTES, Agent
from .book import Json, Notebook, opened, running_here
from .plays import Play

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
THREE = "There are **three lines**."
READY: Json = {"say": "Ready."}
RECALL: Json = {"recall": True}
REMEMBERED = "I remember: the colour is blue, the number is seven"
CHANGED = NOTES.replace("two", "TWO")
UNASKING = frozenset({"opencode"})
"""They run the tools of MCP servers without a question."""

# -- cells, which run one after the other in one notebook -----------------------------------------------------------


def _edit(book: Notebook, old: str, new: str, click: str, last: str) -> Json:
    steps = {"call": [("read", FILE)]}, {"call": [("edit", FILE, old, new)]}, {"say": last}
    return book.ask(*steps, click=click)


def _draw(book: Notebook, kind: str) -> Json:
    """With the tool that the agent told the model of."""
    offered = json.dumps([body.get("tools") for _, body in book.scripted.requests])
    names = {word for word in offered.replace('"', " ").split() if word.endswith(f"draw_{kind}")}
    tool = min(names, key=len, default=f"(no tool of {kind})")
    seen = book.ask({"call": [(tool, {})]}, {"say": "Drawn."},
                    click="" if book.agent.name in UNASKING else book.agent.allow)  # fmt: skip
    return {**seen, "drawn": f"base64,{tools.RED_DOT}" in seen["html"]}


def _hears(book: Notebook, words: str) -> bool:
    """Is the model told this with a prompt?"""
    book.ask(READY)
    return book.told(words)


def _modes(book: Notebook) -> Json:
    """`begins` and `plans`: whether the model is told of the plan mode, before and after."""
    listed, begins = book.run("%mode", live=False), _hears(book, book.agent.planning)
    book.run("%mode plan")
    footer = book.ask(READY)["text"]
    plans = book.told(book.agent.planning)
    book.run(f"%mode {book.agent.mode}")
    return {**listed, "begins": begins, "plans": plans, "footer": footer}


def _models(book: Notebook) -> Json:
    """`used`: whether the model's name is in the agent's request."""
    listed = book.run("%model", live=False)
    if listed["error"]:
        return listed
    book.run(f"%model {book.agent.model}")
    return {**listed, "used": _hears(book, book.agent.model.rpartition("/")[2])}


def _options(book: Notebook) -> Json:
    """`works`: whether what was set shows in what the agent does."""
    listed = book.run("%options", live=False)
    if not book.agent.option:
        return listed
    since = len(book.front_end.published)
    cell = book.front_end.execute(f"%options {book.agent.option}")
    if "allow" in book.agent.option:  # it widens
        book.front_end.click(book.front_end.button("Set it", since))
    book.end(cell)
    return {**listed, "works": EFFECTS[book.agent.option](book)}


def _nothing_is_asked(book: Notebook) -> bool:
    """It would wait for a button that nobody presses."""
    seen = book.ask({"call": [("shell", "touch made")]}, {"say": "Ran."})
    return "Ran." in seen["text"] and (book.project / "made").exists()


EFFECTS: dict[str, Callable[[Notebook], bool]] = {
    "allow_all on": _nothing_is_asked,
    "effort high": lambda book: _hears(book, '"reasoning_effort": "high"'),
}


def _commands(book: Notebook) -> Json:
    """`answered`: its words are in the cell, or were told to the model."""
    offered = book.front_end.ask("complete_request", {"code": "/", "cursor_pos": 1})["matches"]
    command, words = book.agent.slash
    since, cell = len(book.front_end.published), book.front_end.execute(command)
    if command[1:] not in harmless(book.agent.name):
        book.front_end.click(book.front_end.button("Send it", since))
    seen = book.end(cell)
    return {**seen, "offered": offered, "answered": words in seen["text"] or book.told(words)}


def _image(book: Notebook) -> Json:
    (book.project / "dot.png").write_bytes(base64.b64decode(tools.RED_DOT))
    return {**book.ask({"say": "A dot."}, above="%attach dot.png\n"), "told": book.told(tools.RED_DOT)}


def _files(book: Notebook) -> Json:
    """One of the project's is mentioned; another one, from elsewhere, is attached."""
    far = book.project.parent / "far.txt"
    far.write_text("far away")
    seen = book.ask({"say": "Two files."}, above=f"%attach {far}\n", words="See @notes.txt.")
    return {**seen, "told": [book.told(str(book.notes)), book.told("far away")]}


def _after_kill(book: Notebook) -> Json:
    killed = book.kill_agent()
    book.agent.later(book.project.parent)
    return {**book.ask(RECALL), "killed": killed}


def _after_restart(book: Notebook) -> Json:
    book.restart_kernel()
    return book.ask(RECALL)


CELLS: dict[str, Callable[[Notebook], Json]] = {
    "text": lambda book: book.ask({"think": "I look first.", "say": THREE}, note="the colour is blue"),
    "edit-allowed": lambda book: _edit(book, "two", "TWO", book.agent.allow, "Changed."),
    "edit-rejected": lambda book: _edit(book, "three", "THREE", book.agent.reject, "Not changed."),
    "shell": lambda book: book.ask(
        {"call": [("shell", "echo counted; exit 3")]}, {"say": "It ended."}, click=book.agent.allow
    ),
    "cancel-text": lambda book: book.ask(
        {"say": "This answer has no end, and so on.", "hang": True}, stop_at="This answer has"
    ),
    "cancel-shell": lambda book: book.ask(
        {"call": [("shell", "echo begun at $((6 * 7)); sleep 50; echo never")]},
        {"say": "Never said."},
        click=book.agent.allow,
        stop_at="begun at 42",
    ),
    "cancel-question": lambda book: book.ask(
        {"call": [("shell", "touch never")]}, {"say": "Never said."}, stop_at=book.agent.reject
    ),
    "recall": lambda book: book.ask(RECALL, note="the number is seven"),
    "pipe": lambda book: _draw(book, "pipe"),
    "web": lambda book: _draw(book, "web"),
    "%mcp": lambda book: {**book.run("%mcp"), "files": _handed()},
    "modes": _modes,
    "models": _models,
    "options": _options,
    "commands": _commands,
    "image": _image,
    "files": _files,
    "after-kill": _after_kill,
    "after-restart": _after_restart,
    "new": lambda book: {**book.run("%new"), "next": book.ask(RECALL, note="the day is Monday")["text"]},
    "sessions": lambda book: book.run("%sessions"),
    "resume": lambda book: {**book.run("%resume last"), "next": book.ask(RECALL)["text"]},
    "status": lambda book: {"version": book.status("Agent")},
}


def play(agent: Agent) -> Json:
    """What a reader saw in each cell, with two MCP servers in the settings: one to start (`pipe`), one over HTTP."""
    with model.running() as scripted:
        program = {"command": sys.executable, "args": [tools.__file__, "pipe"], "env": {"GREETING": "hello"}}
        servers = {"pipe": program, "web": {"type": "http", "url": f"{scripted.url}/mcp/web"}}
        with opened(agent, scripted, COPILOT_KERNEL_MCP_SERVERS=json.dumps(servers)) as book:
            talks = "cancel-shell" in agent.scenes  # it sends output while a command runs
            seen = {name: cell(book) for name, cell in CELLS.items() if talks or name != "cancel-shell"}
            before = running_here()
            book.front_end.manager.shutdown_kernel()
            programs = {"before": before, "after": running_here()}
    return {"agent": agent.name, "programs": programs, "files left": _handed(), **seen}


def _handed() -> list[str]:
    """Who may read the files in which servers are handed over."""
    found = Path(tempfile.gettempdir()).glob("copilot-kernel-mcp-*")
    return [oct(path.stat().st_mode & 0o777) for path in found]


# -- verdicts -------------------------------------------------------------------------------------------------------

YES, NO, NONE = "yes", "**no**", "—"
A_NEW_ONE, AGAIN = "no, a line says so", "yes, earlier messages are shown again"


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of the table; `verdict` is what stands below an agent whose findings these are."""

    title: str
    verdict: Callable[[Json], str]


def _if(*facts: object) -> str:
    return YES if all(facts) else NO


def _shows(seen: Json, *words: str) -> bool:
    """The cell ended well, and that stands in it."""
    return seen["status"] == "ok" and all(each in seen["text"] for each in words)


def _where_offered(seen: Json, why_not: str, *facts: object) -> str:
    """With a line that says why, where it is not."""
    if seen["error"] == "UsageError" and why_not in seen["text"]:
        return NONE
    return _if(seen["status"] == "ok", *facts)


def _shell(found: Json) -> str:
    seen = found["shell"]
    if not _shows(seen, "echo counted; exit 3", "It ended."):
        return NO
    if "counted" not in seen["shown"].replace("echo counted", ""):
        return "without its output"
    return _if("✗ exit 3" in seen["shown"])


def _interrupted(found: Json) -> str:
    cells = [found[name] for name in ("cancel-text", "cancel-question", "cancel-shell") if name in found]
    return _if(*((each["status"], each["error"]) == ("error", "Cancelled") for each in cells),
               *("Never said." not in each["text"] for each in cells))  # fmt: skip


def _remembers(text: str) -> bool:
    """Is that the answer? The lines after it are the footer."""
    return any(line.endswith(REMEMBERED) for line in text.splitlines()[-4:-1])


def _goes_on(seen: Json, how: str) -> str:
    text = re.sub(r"\Aℹ agent: .*\n", "", seen["text"])  # what the first prompt says
    first, _, rest = text.partition("\n")
    if seen["status"] == "ok" and NEW_CONVERSATION.partition(":")[0] in first:
        return A_NEW_ONE
    if not (_shows(seen, how) and _remembers(seen["text"])):
        return NO
    return AGAIN if THREE in rest else YES  # the first line may name the conversation by it


def _sessions(found: Json) -> str:
    rows = found["sessions"]["text"].splitlines()[2:]
    return _where_offered(found["sessions"], UNLISTED.split("{}")[1], rows[-1:] == ["%resume ID resumes one."],
                          [row.endswith("open") for row in rows[:-1]] == [True, False])  # fmt: skip


def _resumed(found: Json) -> str:
    seen = found["resume"]
    return _where_offered(seen, UNLISTED.split("{}")[1], _shows(seen, THREE, "Changed."), _remembers(seen["next"]),
                          "Monday" not in seen["next"])  # fmt: skip


def _mode(found: Json) -> str:
    """Named in one word, not by an address, and told to the model."""
    seen = found["modes"]
    words = [line.strip("• ").split(" ")[0] for line in seen["text"].splitlines()[2:]]
    return _if(seen["status"] == "ok", "plan" in words, "https://" not in seen["text"] + seen["footer"],
               "mode: plan" in seen["footer"], seen["plans"], not seen["begins"])  # fmt: skip


def _options_work(found: Json) -> str:
    seen = found["options"]
    return _if(seen["works"], "https://" not in seen["text"]) if "works" in seen else NONE


def _commands_work(found: Json) -> str:
    seen = found["commands"]
    return _if(seen["status"] == "ok", seen["answered"], len(seen["offered"]) > 2,
               all(name.startswith("/") for name in seen["offered"]))  # fmt: skip


def _server(found: Json, kind: str, greeting: str) -> str:
    seen = found[kind]
    works = _if(seen["status"] == "ok", f"A dot from {kind}, {greeting}." in seen["shown"])
    by_flag = f"MCP: {kind} passed by Copilot's flag" in found["text"]["text"]
    return f"{works}, by a flag" if by_flag else works


def _drawn(found: Json) -> str:
    if found["pipe"]["drawn"] and found["web"]["drawn"]:
        return YES
    return "only named" if "image/png" in found["pipe"]["shown"] else NO


FEATURES = (
    Feature("Answers and thoughts", lambda f: _if(_shows(f["text"], THREE, "I look first."),
                                                  all("text/plain" in kinds for kinds in f["text"]["kinds"]))),
    Feature("Asks before it edits; the diff is shown",
            lambda f: _if(_shows(f["edit-allowed"], "Changed."), "TWO" in f["edit-allowed"]["shown"],
                          [f["edit-allowed"][when] for when in ("before", "notes")] == [NOTES, CHANGED])),
    Feature("A rejected edit is not made", lambda f: _if(f["edit-rejected"]["status"] == "ok",
                                                         f["edit-rejected"]["notes"] == CHANGED)),
    Feature("Commands, with output and exit code", _shell),
    Feature("■ stops an answer, a question, a command", _interrupted),
    Feature("A later prompt remembers", lambda f: _if(_shows(f["recall"], REMEMBERED))),
    Feature("The conversation continues after `kill -9` of the agent", lambda f: _goes_on(f["after-kill"], RESTARTED)),
    Feature("… and after a restart of the kernel",
            lambda f: _goes_on(f["after-restart"], "Resumed the conversation from 20")),
    Feature("`%new`", lambda f: _if(f["new"]["next"].startswith("I remember: the day is Monday\n"))),
    Feature("`%sessions`", _sessions),
    Feature("`%resume`, which shows earlier messages", _resumed),
    Feature("`%mode`", _mode),
    Feature("`%model`", lambda f: _where_offered(f["models"], NO_CHOICE.format("model"), f["models"].get("used"))),
    Feature("`%options`", _options_work),
    Feature("Its own `/commands`", _commands_work),
    Feature("Images in prompts", lambda f: _if(f["image"]["status"] == "ok", f["image"]["told"])),
    Feature("Files in prompts: `@path`, `%attach`", lambda f: _if(f["files"]["status"] == "ok", *f["files"]["told"])),
    Feature("MCP servers that it starts", lambda f: _server(f, "pipe", "hello")),
    Feature("MCP servers over HTTP", lambda f: _server(f, "web", "no greeting")),
    Feature("Images from MCP tools", _drawn),
)  # fmt: skip
PORT = "Several notebooks on one process, by TCP"
"""The last feature, which is tried with agents that can listen on a port."""
TITLES = [*(feature.title for feature in FEATURES), PORT]
COMMON, SEPARATOR = "All of them: ", " · "
"""Beginning of the line with the features that all agents have."""


# -- the table ------------------------------------------------------------------------------------------------------


def read(page: str) -> tuple[list[str], dict[str, list[str]]]:
    """The titles of the features, and each agent's column by its name and version."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    head, rows = table[0], table[2:]
    (common,) = [line.removeprefix(COMMON).split(SEPARATOR) for line in page.splitlines() if line.startswith(COMMON)]
    rows += [[title, *(YES for _ in head[1:])] for title in common]
    rows.sort(key=lambda row: TITLES.index(row[0]))
    return [row[0] for row in rows], {name: [row[at] for row in rows] for at, name in enumerate(head) if at}


def written(page: str, columns: dict[str, list[str]]) -> str:
    """The page with these columns in the place of its table, and before it what all agents do."""
    rows = [list(row) for row in zip(TITLES, *columns.values(), strict=True)]
    common = [title for title, *verdicts in rows if {*verdicts} == {YES}]
    table = [["", *columns], ["---"] * (len(columns) + 1), *(row for row in rows if row[0] not in common)]
    lines = page.splitlines()
    at = [number for number, line in enumerate(lines) if line[:1] == "|"]
    lines[at[0] : at[-1] + 1] = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in table]
    lines[at[0] - 2] = COMMON + SEPARATOR.join(common)
    return "\n".join(lines) + "\n"


def main() -> None:
    columns = {}
    for agent in AGENTS.values():
        with tempfile.TemporaryDirectory() as home:
            found = Play("real.features.play", agent).perform(Path(home), Path(home) / "cache")
        verdicts = [feature.verdict(found) for feature in FEATURES]
        columns[found["status"]["version"]] = [*verdicts, YES if agent.listen else NONE]
    PAGE.write_text(written(PAGE.read_text("utf-8"), columns), "utf-8")


if __name__ == "__main__":
    main()
