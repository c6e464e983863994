"""`python -m tests.browser.measurements`: record the main scenes anew; look at the differences.

`golden/measurements.json` has, for each scene and width, the boxes in view from top to bottom: row, kind, text. Nothing
in it depends on fonts. With the name of a folder, pictures of the scenes are written there, for a person to look at.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ElementHandle, Locator, Page, expect

from .. import conftest  # noqa: F401 - makes `demo` the test agent
from .lab import KERNEL_STATUS, SIZE, Lab, Notebook, running_lab, running_profile
from .serving import Server, running_server
from .test_long_turn import prompt

FILE = Path(__file__).with_name("golden") / "measurements.json"
WIDTHS = (1400, 700)
THEMES = ("Light", "Dark")
OPTIONS = (("allow_once", "Allow once"), ("allow_always", "Always allow"), ("reject_once", "Deny"))
ANSWER = r"""demo: plan Read the tests;Fix the client / 1
say # What I found\n\nThe client never *retries*: see `client.py` and [the manual](https://example.org/retry).\n\n
say - one item\n- another\n\n| status | retried |\n|---|---|\n| 429 | yes |\n| 404 | no |\n\n
say ```python\nfor attempt in range(3):\n    send(request)\n```\n
unasked echo one; echo two; exit 3
say That was all.
usage 30000"""

BEFORE = """def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return b


def main():
    print(fibonacci(10))
"""
AFTER = BEFORE.replace("return b", "return a").replace(
    "    print(fibonacci(10))", "    for n in range(10):\n        print(n, fibonacci(n))"
)
THREE = "demo: together " + " ;; ".join(f"ask Question {word}" for word in ("one", "two", "three"))

STILL = r"""output => {
  const still = output.cloneNode(true), walker = document.createTreeWalker(still, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());)
    node.data = node.data.replace(/^(◐.*) · \d+ s/, '$1').replace(/\b\d+ min \d+ s\b|\b\d+(\.\d+)? s\b/g, '0.0 s');
  output.style.display = 'none';
  output.after(still);
  return still;
}"""
"""A copy that nothing changes, in the place of the output; without times, which differ from run to run."""
BOXES = r"""output => {
  const origin = output.getBoundingClientRect(), boxes = new Map(), walker = document.createTreeWalker(output, 4);
  const isBox = each => each.tagName === 'BUTTON' || !/^(inline|contents)/.test(getComputedStyle(each).display);
  for (let node; (node = walker.nextNode());) {
    let parent = node.parentElement;
    if (!parent.checkVisibility({visibilityProperty: true})) continue;
    while (!isBox(parent)) parent = parent.parentElement;
    if (node.data.trim() || boxes.has(parent)) boxes.set(parent, (boxes.get(parent) ?? '') + node.data);
  }
  let row = 0, bottom = -Infinity;
  // A passing line, which a turn shows that has taken a moment.
  return [...boxes].filter(([, text]) => !/^\W*Waiting for you ·/.test(text)).map(([box, text]) => {
    const {x, y, width, height} = box.getBoundingClientRect();
    if (y >= bottom) { row += 1; bottom = y + height; }
    const pixels = [x - origin.x, y - origin.y, width, height].map(Math.round);
    return [row, box.tagName.toLowerCase(), text.trim().replace(/[^\S\n]+/g, ' '), pixels];
  }).filter(([, , , [, , width, height]]) => width > 1 && height > 1);
}"""
HIDDEN = r"""output => {
  const edge = output.getBoundingClientRect().right + 1, folds = [...output.querySelectorAll('details:not([open])')];
  const isCut = (each, style) =>
    (style.overflowY !== 'visible' && each.scrollHeight > each.clientHeight + 1) ||
    (style.overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1);
  const saysMore = each => /\d+ (more )?lines/.test(each.closest('details')?.firstElementChild.textContent);
  const hides = each => each.checkVisibility() && each.clientWidth > 1 && (
    each.getBoundingClientRect().right > edge || (isCut(each, getComputedStyle(each)) && !saysMore(each)));
  const look = () => [...output.querySelectorAll('*')].filter(hides).map(each => each.outerHTML);
  const folded = look();
  folds.forEach(fold => { fold.open = true; });
  const unfolded = look();
  folds.forEach(fold => { fold.open = false; });
  return [...folded, ...unfolded];
}"""
"""What is cut off, or has to be scrolled, without saying so."""


@dataclass
class Look:
    """What the scenes look like: `boxes` by scene and width."""

    pictures: Path | None = None
    boxes: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    """What cannot be seen, and does not say so."""
    unlike_light: list[str] = field(default_factory=list)
    """Scenes of which a dark page shows other boxes."""

    def write(self) -> None:
        """As the golden file."""
        scenes = {name: {width: "BOXES" for width in widths} for name, widths in self.boxes.items()}
        text = json.dumps(scenes, indent=1)
        for widths in self.boxes.values():
            for boxes in widths.values():
                lines = ",\n".join(f"   {json.dumps(box[:3], ensure_ascii=False)}" for box in boxes)
                text = text.replace('"BOXES"', f"[\n{lines}\n  ]", 1)
        FILE.write_text(f"{text}\n", "utf-8")


def request(about: dict[str, Any]) -> str:
    """A cell in which the agent asks about a call."""
    options = [{"optionId": kind, "kind": kind, "name": words} for kind, words in OPTIONS]
    params = {"toolCall": {"toolCallId": "asked", **about}, "options": options}
    return f"demo: request session/request_permission {json.dumps(params)}"


def asked(lab: Lab) -> dict[str, dict[str, object]]:
    """Calls that are asked about: a command and an edit."""
    path = str(lab.root / "fibonacci.py")
    diff = {"type": "diff", "path": path, "oldText": BEFORE, "newText": AFTER}
    command = "git commit -m 'Begin at nought' fibonacci.py"
    return {
        "command": {"title": "Commit the change", "kind": "execute", "rawInput": {"command": command}},
        "edit": {"title": "Edit fibonacci.py", "kind": "edit", "content": [diff], "locations": [{"path": path}]},
    }


def long_diff(lab: Lab) -> dict[str, Any]:
    """An edit of more lines than are shown unfolded."""
    before, after = ("".join(f"line_{number} = '{word}'\n" for number in range(40)) for word in ("old", "new"))
    diff = {"type": "diff", "path": str(lab.root / "long.py"), "oldText": before, "newText": after}
    return {"title": "Edit long.py", "kind": "edit", "content": [diff]}


Scenes = dict[str, tuple[str, Callable[[Notebook, int], Any]]]
"""For each scene its cell, and what leads to its moment."""
CLASSIC = ("answer", "long-turn", "command", "edit")
"""Those that are looked at in Notebook 7, too."""


def scenes(lab: Lab) -> Scenes:
    """All in JupyterLab."""
    calls = asked(lab)
    return {
        "answer": (ANSWER, ended),
        "long-turn": (prompt(), ended),
        "command": (request(calls["command"]), waiting),
        "edit": (request(calls["edit"]), waiting),
        "working": ("demo: say I run it.\\n\\n\nunasked sleep 60", working),
        "stopped": ("demo: say Almost.\\n\\n\nwait", stopped),
        "error": ("demo: error -32603 429 You have exceeded your premium requests. Resets 2026-12-01.", ended),
        "three": (THREE, waiting_for_three),
        "long-diff": (request(long_diff(lab)), waiting),
    }


def ended(notebook: Notebook, index: int) -> None:
    expect(notebook.cell(index).locator(".jp-InputArea-prompt")).to_have_text(re.compile(r"\d+"))
    notebook.wait_status("idle")


def waiting(notebook: Notebook, index: int) -> None:
    expect(notebook.button(index, "Deny")).to_be_enabled()
    expect(notebook.button(index, re.compile(r"^\s*Allow once\b"))).to_be_enabled()


def waiting_for_three(notebook: Notebook, index: int) -> None:
    for name in ("Deny", "Allow once"):
        buttons = notebook.button(index, name)
        expect(buttons).to_have_count(3)
        for button in buttons.all():
            expect(button).to_be_enabled()


def working(notebook: Notebook, index: int) -> None:
    expect(notebook.output(index)).to_contain_text("◐ Running sleep 60")


def stopped(notebook: Notebook, index: int) -> None:
    expect(notebook.output(index)).to_contain_text("Almost.")
    notebook.command("notebook:interrupt-kernel")
    ended(notebook, index)


def look(context: BrowserContext, lab: Lab, server: Server, pictures: Path | None = None) -> Look:
    """All scenes in both widths and themes: in JupyterLab, some in Notebook 7, and on the chat page.

    Pictures of them are written to the folder `pictures`.
    """
    everything = scenes(lab)
    with lab.setting("@jupyterlab/notebook-extension:tracker", windowingMode="none"):  # all cells are in the page
        notebook = play(context, lab, everything)
        found = Look(pictures)
        measure(found, stills(notebook, everything), lambda theme: notebook.theme(f"JupyterLab {theme}"))
        notebook.theme("JupyterLab Light")
        some = {name: everything[name] for name in CLASSIC}
        classic = play(context, lab, some, classic=True)
        copies = {f"classic-{name}": still for name, still in stills(classic, some).items()}
        measure(found, copies, lambda theme: classic.theme(f"JupyterLab {theme}"))
        classic.theme("JupyterLab Light")
    page = context.new_page()
    log = still(asking_chat(page, server))
    measure(found, {"chat": log}, lambda theme: page.emulate_media(color_scheme=theme.lower()))  # type: ignore[arg-type]
    return found


def play(context: BrowserContext, lab: Lab, shown: Scenes, *, classic: bool = False) -> Notebook:
    """A notebook with these scenes."""
    name = "classic.ipynb" if classic else "scenes.ipynb"
    notebook = Notebook.new(context, lab, name, *(cell for cell, _ in shown.values()), classic=classic)
    if not classic:
        notebook.command("application:toggle-left-area")
    return notebook


def stills(notebook: Notebook, shown: Scenes) -> dict[str, ElementHandle]:
    """Run them one after the other, and keep each as it looks at its moment."""
    found = {}
    for index, (name, (_, reach)) in enumerate(shown.items()):
        notebook.run(index, wait=False)
        reach(notebook, index)
        found[name] = still(notebook.output(index))
        if notebook.page.evaluate(KERNEL_STATUS) == "busy":
            notebook.command("notebook:interrupt-kernel")
            ended(notebook, index)
    return found


def still(output: Locator) -> ElementHandle:
    """As it stands."""
    copy = output.evaluate_handle(STILL).as_element()
    assert copy is not None
    return copy


def asking_chat(page: Page, server: Server) -> Locator:
    """The conversation on the chat page, with an open question."""
    page.goto(server.page)
    page.get_by_label("Message").fill("Fix the bug in fibonacci.py")
    page.keyboard.press("Enter")
    log = page.get_by_role("log", name="Conversation")
    expect(log.get_by_role("button", name="Allow once")).to_be_enabled()
    return log


def measure(found: Look, shown: dict[str, ElementHandle], set_theme: Callable[[str], None]) -> None:
    """Scenes of one page."""
    page = next(page for each in shown.values() if (frame := each.owner_frame()) and (page := frame.page))
    for theme in THEMES:
        set_theme(theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            for name, each in shown.items():
                path = found.pictures and found.pictures / f"{name}-{width}-{theme.lower()}.png"
                each.screenshot(path=path)  # comes into view, and is drawn
                boxes = each.evaluate(BOXES)
                if found.boxes.setdefault(name, {}).setdefault(str(width), boxes) != boxes:
                    found.unlike_light.append(f"{name}-{width}")
                found.hidden += each.evaluate(HIDDEN)


def main() -> None:
    """Write the golden file."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_lab(Path(folder) / "lab") as lab,
        running_server(Path(folder) / "server") as server,
        running_profile(Path(folder) / "profile", SIZE) as context,
    ):
        pictures = Path(sys.argv[1]) if sys.argv[1:] else None
        found = look(context, lab.of_test("scenes"), server, pictures)
    found.write()
    print(f"{len(found.boxes)} scenes, {len(found.hidden)} boxes that hide something", *found.hidden, sep="\n")


if __name__ == "__main__":
    main()
