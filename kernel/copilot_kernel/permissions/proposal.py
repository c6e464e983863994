"""A rule that a person wants to save while a call waits for its answer: is it one, and does it do what they want?"""

from __future__ import annotations

from dataclasses import replace

from . import policy
from .circumstances import Circumstances
from .question import Question
from .rules import Rule, Rules, parse, warning


def problem(text: str) -> str:
    """Why `text` cannot be saved, in words; nothing if it is a rule."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""


def doubt(text: str, question: Question, root: str, home: str = "") -> str:
    """Why a person may not want the rule `text` after all, in words: it allows too much, or does not allow this call.

    `root` is the project's folder. Paths are taken to lead where they say, for nobody looks at the disk here.
    """
    rule = parse(text)
    if words := warning(rule):
        return f"{words[:1].upper()}{words[1:]}."
    if text in (question.suggestion, *question.rules):
        return ""
    reason = _refusal(rule, question, root, home)
    return f"By itself this rule does not allow this call: {reason}" if reason else ""


def _refusal(rule: Rule, question: Question, root: str, home: str) -> str:
    start = Circumstances(rules=Rules(allow=(rule,)), root=root, cwd=root, home=home)
    known = replace(start, real={path: path for path in policy.paths(question.call, start)})
    decision = policy.decide(question.call, question.options, known)
    return "" if decision.outcome == "allow" else decision.reason
