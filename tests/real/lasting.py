"""Cells after `kill -9` of the agent and a restart of the kernel, and those that list, begin and resume sessions."""

from .book import Cell, Json, Notebook


def after_kill(book: Notebook) -> Json:
    killed = book.kill_agent()
    book.agent.later(book.project.parent)
    return {**book.ask({"recall": True}), "killed": killed}


def after_restart(book: Notebook) -> Json:
    book.restart_kernel()
    return book.ask({"recall": True})


def new(book: Notebook) -> Json:
    return {**book.run("%new"), "next": book.ask({"recall": True}, note="the day is Monday")["text"]}


def resume(book: Notebook) -> Json:
    return {**book.run("%resume last"), "next": book.ask({"recall": True})["text"]}


CELLS: dict[str, Cell] = {
    "after-kill": after_kill,
    "after-restart": after_restart,
    "new": new,
    "sessions": lambda book: book.run("%sessions"),
    "resume": resume,
    "status": lambda book: book.run("%status"),
}
