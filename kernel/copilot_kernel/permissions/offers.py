"""Rules that are offered with a question, each with words that name what it allows: no more, and no less.

A rule for this conversation may be relative to the project. One that is saved holds in every project: it names an
absolute path, or says so.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator

from ..system.drives import in_rule
from .patterns import host_of
from .question import RuleOffer
from .request import PolicyRequest
from .rulebook import NAME_OF, Rule, parse

# Maximum length of a command for which a rule is suggested.
MAX_COMMAND = 1_000
_ACTS = {"Read": "reading", "Grep": "searching", "Edit": "changing, moving and deleting"}
_HERE, _EVERYWHERE = "in this conversation", "in every project"


def offers(request: PolicyRequest) -> Iterator[RuleOffer]:
    """Return rules that may allow the call, the narrowest first."""
    given, name = request.given, NAME_OF.get(request.call.kind)
    if sum(map(len, given.commands)) > MAX_COMMAND:
        return
    found = [*_named(request, name)] if given.tool or name in ("Bash", "WebFetch") else _of_files(request, name)
    yield from (offer for offer in found if rule_problem(offer.rule) is None)


def in_words(rule: Rule) -> str:
    """Return what `rule` is about, in words."""
    if rule.tool == "mcp":
        tool = f"the tool {rule.server_tool}" if rule.server_tool else "all tools"
        return f"using {tool} of “{rule.server}”"
    inner = rule.text.partition("(")[2].removesuffix(")")
    match rule.tool:
        case "Bash":
            return f"running “{inner}”" if inner else "running every command"
        case "WebFetch":
            return f"fetching from {inner.removeprefix('domain:')}" if inner else "fetching every address"
    return f"{_ACTS[rule.tool]} {inner or 'files of the project'}"


def rule_problem(text: str) -> str | None:
    """Return why `text` is not a rule; None if it is one."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return None


def _named(request: PolicyRequest, name: str | None) -> Iterator[RuleOffer]:
    """Return the same rule twice, for this conversation and for every project."""
    tool, hosts = request.given.tool or "", {host_of(url) for url in request.given.urls}
    uncovered = {words for verdict in request.verdicts for words in verdict.uncovered}
    what = rule = ""
    if tool:
        _, server, own_name = (*tool.split("__", 2), "", "")[:3]
        what, rule = f"using the tool {own_name} of “{server}”" if own_name not in ("", "*") else "", tool
    elif name == "Bash" and len(uncovered) == 1:
        words = shlex.join(uncovered.pop())
        what, rule = f"running “{words}”", f"Bash({words})"
    elif name == "WebFetch" and len(hosts) == 1 and (host := hosts.pop()):
        what, rule = f"fetching from {host}", f"WebFetch(domain:{host})"
    if what:
        yield RuleOffer(f"Always allow {what} {_HERE}", rule)
        yield RuleOffer(f"Always allow {what} {_EVERYWHERE}", rule, "settings")


def _of_files(request: PolicyRequest, name: str | None) -> Iterator[RuleOffer]:
    """Return rules for the only file, for its folder or that of several, and for the project."""
    if not name:
        return
    act, context = f"Always allow {_ACTS[name]}", request.context
    written = {posixpath.normpath(path.written) for path in request.paths if not path.problem}
    folder = posixpath.commonpath(written) if written else ""
    if len(written) == 1 and not _has_wildcards(folder):
        file, folder = folder, posixpath.dirname(folder)
        inner = "/".join(context.inner(file) or ())
        shown, whole = inner or in_rule(file), in_rule(file)
        if file != context.root:
            # A bare name in a rule would match at any depth.
            yield RuleOffer(f"{act} {shown} {_HERE}", f"{name}({'./' * (shown == inner and '/' not in inner)}{shown})")
            yield RuleOffer(f"{act} {whole} in every conversation", f"{name}({whole})", "settings")
    if (inner := "/".join(context.inner(folder) or ())) and not _has_wildcards(inner):
        yield RuleOffer(f"{act} files in {inner}/ {_HERE}", f"{name}({inner}/**)")
    yield RuleOffer(f"{act} files of the project {_HERE}", name)


def _has_wildcards(path: str) -> bool:
    return "*" in path or "?" in path
