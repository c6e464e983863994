"""Completion of `@mentions` in the prompts of a Python notebook."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult

from ..prompts.context import completions
from .live_notebook import started_at
from .transform import NAME
from .variables import variable_names

_MENTION = re.compile(r"""(?:|.*[\s(\[{<,;:'"])@([\w:-]*)""")


def complete(shell: Any, context: CompletionContext) -> SimpleMatcherResult:
    """Return completions of the mention before the cursor; nothing where there is none."""
    line = context.text_until_cursor
    is_prompt = context.full_text.lstrip().startswith(f"%%{NAME}") or f"%{NAME}" in line
    match = _MENTION.fullmatch(line)
    if match is None or not is_prompt:
        return SimpleMatcherResult(completions=[])
    names = variable_names(shell.user_ns, shell.user_ns_hidden)
    found = completions(match[1], started_at(shell.user_ns), names)
    shown = [SimpleCompletion(text, type="mention") for text, _ in found]
    return SimpleMatcherResult(completions=shown, matched_fragment=match[1], suppress=True, ordered=True)
