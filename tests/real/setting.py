"""Cells that set the agent's mode, model and options, use its own commands, and let files go with a prompt."""

import base64
from collections.abc import Callable

from .book import Cell, Json, Notebook
from .scenes import RED_DOT

READY = {"say": "Ready."}


def modes(book: Notebook) -> Json:
    """`begins` and `plans`: whether the model is told of the plan mode, before and after."""
    listed = book.run("%mode", live=False)
    book.ask(READY)
    begins, changed = book.told(book.agent.planning), book.run("%mode plan")
    asked = book.ask(READY)
    plans = book.told(book.agent.planning)
    book.run(f"%mode {book.agent.mode}")
    return {**listed, "begins": begins, "changed": changed["text"], "plans": plans, "footer": asked["text"]}


def models(book: Notebook) -> Json:
    """`used`: whether the model's name is in the agent's request."""
    listed = book.run("%model", live=False)
    if listed["error"]:
        return listed
    changed, asked = book.run(f"%model {book.agent.model}"), book.ask(READY)
    used = book.told(book.agent.model.rpartition("/")[2])
    return {**listed, "changed": changed["text"], "used": used, "footer": asked["text"]}


def options(book: Notebook) -> Json:
    """`works`: whether what was set shows in what the agent does."""
    listed = book.run("%options", live=False)
    if not book.agent.option:
        return listed
    changed = book.run(f"%options {book.agent.option}")
    return {**listed, "changed": changed["text"], "works": EFFECTS[book.agent.option](book)}


def _nothing_is_asked(book: Notebook) -> bool:
    """It would wait for a button that nobody presses."""
    works = "Ran." in book.ask({"call": [book.agent.shell("touch made")]}, {"say": "Ran."})["text"]
    book.run("%options allow_all off")
    return works and (book.project / "made").exists()


def _it_thinks_more(book: Notebook) -> bool:
    book.ask(READY)
    return book.told('"reasoning_effort": "high"')


EFFECTS: dict[str, Callable[[Notebook], bool]] = {
    "allow_all on": _nothing_is_asked,
    "effort high": _it_thinks_more,
}


def commands(book: Notebook) -> Json:
    """`answered`: its words are in the cell, or were told to the model."""
    command, words = book.agent.slash
    offered, seen = book.offered("/"), book.run(command)
    return {**seen, "offered": offered, "answered": words in seen["text"] or book.told(words)}


def image(book: Notebook) -> Json:
    (book.project / "dot.png").write_bytes(base64.b64decode(RED_DOT))
    return {**book.ask({"say": "A dot."}, above="%attach dot.png\n"), "told": book.told(RED_DOT)}


def files(book: Notebook) -> Json:
    """One of the project's is mentioned; another one, from elsewhere, is attached."""
    far = book.project.parent / "far.txt"
    far.write_text("far away")
    seen = book.ask({"say": "Two files."}, above=f"%attach {far}\n", words="See @notes.txt.")
    return {**seen, "told": [book.told(str(book.notes)), book.told("far away")]}


CELLS: dict[str, Cell] = {
    "modes": modes,
    "models": models,
    "options": options,
    "commands": commands,
    "image": image,
    "files": files,
}
