"""The patterns in a rule's parentheses: path globs (`Edit(src/**)`) and domains (`WebFetch(domain:example.com)`).

A glob is relative to the project unless it begins with `/` or `~/`. As in gitignore, a name without a slash matches at
any depth, and a trailing slash means everything in the folder. A domain is compared by whole labels.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from ..system.drives import inward
from .paths import Places, below, is_too_deep, name_fits, plain_name
from .shell import invisible

# Characters of a glob.
MAX_GLOB = 500
# They bound the time that a comparison takes.
MAX_WILDCARDS, MAX_GLOBSTARS = 12, 3

Base = Literal["root", "home", "system"]


@dataclass(frozen=True, slots=True)
class Glob:
    """`parts` begin at `base`: the project's root, the home folder, or the root of the file system."""

    base: Base
    parts: tuple[str, ...]

    @property
    def is_everything(self) -> bool:
        """True if it covers the whole file system or the whole home folder."""
        return self.base != "root" and self.parts[0] in ("*", "**")

    def folders(self, places: Places) -> tuple[str, ...]:
        """Folders in which `base` is: as written, and with links followed."""
        if self.base == "system":
            return ("/",)
        folder = places.root if self.base == "root" else places.home
        return (folder, places.real.get(folder, folder))

    def matches(self, path: str, places: Places, *, with_folder: bool = False) -> bool:
        """Match for allowing: `path` itself, with its exact case. `with_folder`: `src/**` also matches `src`."""
        parts = self.parts[:-1] if with_folder and self.parts[-2:] == ("**", "*") else self.parts
        return any(_fits(parts, inner) for inner in self._inner(path, places))

    def touches(self, path: str, places: Places) -> bool:
        """Match for denying and asking: also everything in a folder that matches, in any case."""
        wide = self._wide
        return any(
            is_too_deep(inner) or _fits((*wide, "**"), tuple(map(plain_name, inner)))
            for inner in self._inner(path, places)
        )

    def is_under(self, path: str, places: Places, *, at_any_depth: bool = False) -> bool:
        """Match for denying and asking: something that matches may lie in the folder `path`.

        A pattern with wildcards counts only up to the first, unless `at_any_depth`.
        """
        for folder in self.folders(places):
            inner = below(path, folder)
            if inner is None and below(folder, path) is not None:
                return True
            literal = tuple(takewhile(lambda part: not _has_wildcard(part), self._wide))
            length = len(literal) if at_any_depth and literal != self._wide else MAX_GLOB
            if inner is not None and tuple(map(plain_name, inner))[:length] == literal[: len(inner)]:
                return True
        return False

    def may_match(self, glob: str, places: Places) -> bool:
        """Match for denying and asking: the shell may replace `glob`, an absolute path, by a path that matches.

        Compared up to the first `**`; where both sides have wildcards, only the ends of their names are compared.
        """
        for folder in self.folders(places):
            inner = below(glob, folder)
            if inner is not None and _may_meet(self._wide, tuple(map(plain_name, inner))):
                return True
            if (
                inner is None
                and below(folder, "/" + "/".join(takewhile(lambda part: not _has_wildcard(part), glob.split("/")[1:])))
                is not None
            ):
                return True
        return False

    def _inner(self, path: str, places: Places) -> list[tuple[str, ...]]:
        found = (below(path, folder) for folder in dict.fromkeys(self.folders(places)))
        return [parts for parts in found if parts is not None]

    @property
    def _wide(self) -> tuple[str, ...]:
        return tuple(map(plain_name, self.parts[:-2] if self.parts[-2:] == ("**", "*") else self.parts))


def compile_glob(text: str) -> Glob:
    """Raises ValueError, with a message for the user, if `text` is not a path glob."""
    if problem := _problem(text):
        raise ValueError(problem)
    path = inward(text)
    base: Base = "system" if path[:1] == "/" else "home" if path[:1] == "~" else "root"
    parts = PurePosixPath(path.removeprefix("~").lstrip("/")).parts
    if base == "root" and "/" not in text.rstrip("/") and parts[:1] != ("**",):
        parts = ("**", *parts)
    if text.endswith("/") or not parts:
        parts = (*parts, "**")
    if parts[-1] == "**":
        parts = (*parts, "*")
    return Glob(base, parts)


def _problem(text: str) -> str | None:
    is_odd = any(char in text for char in "[]{}\\") or text.startswith("!") or "://" in text
    problems = (
        (not text or text != text.strip(), "A path must not be empty or have spaces around it."),
        (
            len(text) > MAX_GLOB or invisible(text) or "\n" in text,
            f"A path has at most {MAX_GLOB} characters, all of them visible.",
        ),
        (is_odd, "A path supports *, ** and ? only; not brackets, braces, backslashes, ! or addresses."),
        (".." in text.split("/"), "A path must not contain ..; write it from the root of the file system."),
        (text[:1] == "~" and text[1:2] not in ("", "/"), "A path supports only your own home folder, ~/."),
        (
            len(re.findall(r"\*+|\?", text)) > MAX_WILDCARDS or text.count("**") > MAX_GLOBSTARS,
            f"A path has at most {MAX_WILDCARDS} wildcards, {MAX_GLOBSTARS} of them **.",
        ),
    )
    return next((problem for is_problem, problem in problems if is_problem), None)


def _has_wildcard(part: str) -> bool:
    return not {"*", "?", "["}.isdisjoint(part)


def _fits(wanted: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    return bool(_compiled(wanted).match("/".join(parts))) if parts else set(wanted) <= {"**"}


@lru_cache(maxsize=1024)
def _compiled(parts: tuple[str, ...]) -> Any:
    """Imported when first needed: a kernel without path rules starts without it."""
    from wcmatch import glob

    patterns = ["/".join(parts)]
    if parts[-1] == "**" and len(parts) > 1:
        patterns = ["/".join(parts[:-1]), f"{patterns[0]}/*"]
    return glob.compile(patterns, flags=glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE)


def _may_meet(rule: tuple[str, ...], given: tuple[str, ...]) -> bool:
    for wanted, part in zip(rule, given, strict=False):
        if wanted == "**":
            return _may_become(given[-1], rule[-1])
        if not _may_become(part, wanted):
            return False
    return True


def _may_become(glob: str, name: str) -> bool:
    """Return True if a shell may replace `glob` by `name`, which may have wildcards too. None matches a leading dot."""
    if name[:1] == "." and glob[:1] in ("*", "?", "["):
        return False
    if not (_has_wildcard(name) and _has_wildcard(glob)):
        return name_fits(name, glob) or name_fits(glob, name)
    one, other = (re.split(r"[*?\]]", each)[-1] for each in (name, glob))
    return one.endswith(other) or other.endswith(one)


_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_DOMAIN = re.compile(rf"(\*\.)?((?:{_LABEL}\.)*{_LABEL}|\[[0-9a-f:.]+\])(?::(\d{{1,5}}))?", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
MAX_URL = 8_000


@dataclass(frozen=True, slots=True)
class Domain:
    """A host, or with `with_subdomains` all hosts under it but not itself. Without `port`, the scheme's default."""

    host: str
    with_subdomains: bool
    port: int | None

    @property
    def is_everything(self) -> bool:
        """True if it is a whole top-level domain."""
        return self.with_subdomains and "." not in self.host

    def matches(self, url: str) -> bool:
        """Match for allowing: nothing in `url` may be ambiguous."""
        split = _plain_split(url)
        if split is None:
            return False
        port = split.port if split.port is not None else _PORTS[split.scheme]
        wanted = port == self.port if self.port is not None else port == _PORTS[split.scheme]
        return wanted and self._is_host((split.hostname or "").removesuffix("."))

    def touches(self, url: str) -> bool:
        """Match for denying and asking: any port, any spelling of the host, and every part that may be taken for it."""
        hosts = {_address(host) for host in _hosts(url)}
        is_address = self.host[:1].isdecimal()
        return any(
            self._is_host(host)
            or host == self.host
            or host.endswith("." + self.host)
            or (is_address and _is_old_address(host))
            for host in hosts
        )

    def _is_host(self, host: str) -> bool:
        return host.endswith("." + self.host) if self.with_subdomains else _address(host) == host == self.host


def compile_domain(text: str) -> Domain:
    """Raises ValueError, with a message for the user, if `text` is not a host."""
    found = _DOMAIN.fullmatch(text)
    if found is None:
        raise ValueError(
            "A domain is a host such as example.com, *.example.com or localhost:8000, without scheme, path or other *; "
            "write international names in their ASCII form (xn--…)."
        )
    host = found[2].strip("[]").lower()
    if _address(host) != host or _is_old_address(host):
        raise ValueError("Write this address in its usual form, as in 127.0.0.1.")
    return Domain(host, bool(found[1]), int(found[3]) if found[3] else None)


def host_of(url: str) -> str | None:
    """The host, with its port unless that is the scheme's default; None if `url` can be read in two ways."""
    split = _plain_split(url)
    if split is None:
        return None
    host = (split.hostname or "").removesuffix(".")
    shown = f"[{host}]" if ":" in host else host
    return shown if split.port in (None, _PORTS[split.scheme]) else f"{shown}:{split.port}"


def _plain_split(url: str) -> SplitResult | None:
    """Split a URL; None if programs may disagree about its host (control characters, backslashes, users, non-ASCII)."""
    if len(url) > MAX_URL or not re.fullmatch(r"https?://[!-\[\]-~]+", url, re.IGNORECASE):
        return None
    try:
        split = urlsplit(url)
        is_host = _DOMAIN.fullmatch(split.netloc.removesuffix(".")) and "*" not in split.netloc
        return split if is_host and split.port != 0 else None
    except ValueError:  # also for a port above 65535
        return None


def _hosts(url: str) -> set[str]:
    """Everything in the beginning of `url` that some program might take for the host."""
    start = url[:MAX_URL].strip().replace("\\", "/").lower()
    authority = next((part for part in start.split("/")[1:] if part), start) if ":" in start[:8] else start
    authority = re.split(r"[/?#]", authority)[0]
    parts = {authority, *authority.split("@")}
    return {re.sub(r":\d*$", "", part).strip("[]").rstrip(".") for part in parts}


def _address(host: str) -> str:
    """The canonical spelling of an IP address; anything else as it is."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _is_old_address(host: str) -> bool:
    """An address in a form that only old resolvers take, such as `0x7f.1` or `2130706433`."""
    is_number = re.fullmatch(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", host)
    return bool(is_number) and not re.fullmatch(r"((0|[1-9]\d*)\.){3}(0|[1-9]\d*)", host)
