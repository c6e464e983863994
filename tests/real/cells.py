"""The first cells of a notebook: an answer, edits, a command, interrupts, and whether the beginning is remembered."""

from .book import Cell, Json, Notebook


def text(book: Notebook) -> Json:
    return book.ask({"think": "I look first.", "say": "There are **three lines**."}, note="the colour is blue")


def edit_allowed(book: Notebook) -> Json:
    change = book.agent.edit(book.notes, "two", "TWO")
    steps = ({"call": [book.agent.read(book.notes)]}, {"call": [change]}, {"say": "Changed."})
    return book.ask(*steps, click=book.agent.allow)


def edit_rejected(book: Notebook) -> Json:
    change = book.agent.edit(book.notes, "three", "THREE")
    steps = ({"call": [book.agent.read(book.notes)]}, {"call": [change]}, {"say": "Not changed."})
    return book.ask(*steps, click=book.agent.reject)


def shell(book: Notebook) -> Json:
    command = book.agent.shell("echo counted; exit 3")
    return book.ask({"call": [command]}, {"say": "It ended."}, click=book.agent.allow)


def cancel_text(book: Notebook) -> Json:
    return book.ask({"say": "This answer has no end, and so on.", "hang": True}, stop_at="This answer has")


def cancel_shell(book: Notebook) -> Json:
    """For agents that send output while a command runs."""
    command = book.agent.shell("echo begun at $((6 * 7)); sleep 50; echo never")
    steps = ({"call": [command]}, {"say": "Never said."})
    return book.ask(*steps, click=book.agent.allow, stop_at="begun at 42")


def cancel_question(book: Notebook) -> Json:
    return book.ask({"call": [book.agent.shell("touch never")]}, {"say": "Never said."}, stop_at=book.agent.reject)


def recall(book: Notebook) -> Json:
    return book.ask({"recall": True}, note="the number is seven")


CELLS: dict[str, Cell] = {
    "text": text,
    "edit-allowed": edit_allowed,
    "edit-rejected": edit_rejected,
    "shell": shell,
    "cancel-text": cancel_text,
    "cancel-shell": cancel_shell,
    "cancel-question": cancel_question,
    "recall": recall,
}
