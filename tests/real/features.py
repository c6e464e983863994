"""What `docs/agents.md` tells of each agent, as it is read from the findings of a run. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
YES, NO, NONE = "yes", "**no**", "—"
REMEMBERED = "I remember: the colour is blue, the number is seven"
LOST, AGAIN = "a new one, as a line says", "yes, but what was said is shown again"


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of the table; `verdict` is what stands below an agent whose findings these are."""

    title: str
    verdict: Callable[[Json], str]


def column(findings: Json) -> list[str]:
    """One agent's verdicts, in the order of the rows."""
    return [feature.verdict(findings) for feature in FEATURES]


def version(findings: Json) -> str:
    """The agent's own name and version."""
    told = (line.partition(" ") for line in findings["status"]["text"].splitlines())
    return next(rest.strip() for word, _, rest in told if word == "Agent")


def _if(*facts: object) -> str:
    return YES if all(facts) else NO


def _where_offered(seen: Json, *facts: object) -> str:
    return NONE if seen["error"] == "UsageError" else _if(seen["status"] == "ok", *facts)


def _shell(found: Json) -> str:
    text = found["shell"]["shown"]
    if "counted" not in text.replace("echo counted", ""):
        return "without its output" if "echo counted" in text else NO
    return _if("✗ exit 3" in text)


def _interrupted(found: Json, *names: str) -> str:
    return _if(*(found[name]["error"] == "Cancelled" for name in names if name in found))


def remembers(text: str) -> bool:
    """Is that the answer? The lines after it are the footer."""
    return any(line.endswith(REMEMBERED) for line in text.splitlines()[-4:-1])


def draws_again(text: str) -> bool:
    """What was said at the beginning is here, too? The first line may name the conversation by it."""
    return "There are **three lines**." in text.partition("\n")[2]


def _goes_on(seen: Json) -> str:
    if "A new conversation starts here" in seen["text"]:
        return LOST
    if not remembers(seen["text"]):
        return NO
    return AGAIN if draws_again(seen["text"]) else YES


def _resumed(found: Json) -> str:
    seen = found["resume"]
    return _where_offered(seen, "There are **three lines**." in seen["text"], remembers(seen["next"]))


def _options(found: Json) -> str:
    seen = found["options"]
    return _if(seen["works"]) if "works" in seen else NONE


def _server(found: Json, kind: str) -> str:
    works = _if(f"A dot from {kind}" in found[kind]["shown"])
    by_flag = f"{kind} passed by Copilot's flag" in found["text"]["text"]
    return f"{works}, by a flag" if by_flag else works


def _drawn(found: Json) -> str:
    if found["pipe"]["drawn"] and found["web"]["drawn"]:
        return YES
    return "only named" if "image/png" in found["pipe"]["shown"] else NO


def _port(found: Json) -> str:
    if "listening" not in found:
        return NONE
    backs = zip(("left", "right"), found["listening"]["back"], strict=True)
    return _if(*(f"I remember: {name}" in seen["text"] for name, seen in backs))


FEATURES = (
    Feature("Answers and thoughts", lambda f: _if(*(w in f["text"]["text"] for w in ("three lines", "I look first.")))),
    Feature("Asks before it edits; the diff is shown", lambda f: _if("TWO" in f["edit-allowed"]["shown"],
                                                                     f["edit-allowed"]["notes"][4:7] == "TWO")),
    Feature("A rejected edit is not made", lambda f: _if("\nthree\n" in f["edit-rejected"]["notes"])),
    Feature("Commands, with output and exit code", _shell),
    Feature("■ stops an answer, a question, a command",
            lambda f: _interrupted(f, "cancel-text", "cancel-question", "cancel-shell")),
    Feature("A later prompt remembers", lambda f: _if(REMEMBERED in f["recall"]["text"])),
    Feature("The conversation goes on after `kill -9` of the agent", lambda f: _goes_on(f["after-kill"])),
    Feature("… and after a restart of the kernel", lambda f: _goes_on(f["after-restart"])),
    Feature("`%new`", lambda f: _if(f["new"]["next"].startswith("I remember: the day is Monday"))),
    Feature("`%sessions`", lambda f: _where_offered(f["sessions"], "%resume ID" in f["sessions"]["text"])),
    Feature("`%resume`, and what was said is shown again", _resumed),
    Feature("`%mode`", lambda f: _where_offered(f["modes"], f["modes"].get("plans"), not f["modes"].get("begins"))),
    Feature("`%model`", lambda f: _where_offered(f["models"], f["models"].get("used"))),
    Feature("`%options`", _options),
    Feature("Its own `/commands`", lambda f: _if(f["commands"]["answered"], f["commands"]["offered"])),
    Feature("Images in prompts", lambda f: _where_offered(f["image"], f["image"]["told"])),
    Feature("Files in prompts: `@path`, `%attach`", lambda f: _if(*f["files"]["told"])),
    Feature("MCP servers that it starts", lambda f: _server(f, "pipe")),
    Feature("MCP servers over HTTP", lambda f: _server(f, "web")),
    Feature("Images from MCP tools", _drawn),
    Feature("Several notebooks on one process, by TCP", _port),
)  # fmt: skip
