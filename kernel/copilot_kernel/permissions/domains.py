"""What stands inside `WebFetch(domain:…)`, and whether an address is there: by whole labels of its host."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_DOMAIN = re.compile(rf"(\*\.)?((?:{_LABEL}\.)*{_LABEL}|\[[0-9a-f:.]+\])(?::(\d{{1,5}}))?", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_LONGEST = 8_000


@dataclass(frozen=True, slots=True)
class Domain:
    """A host, or with `with_subdomains` all hosts under it but not itself. `port` None: the scheme's own."""

    text: str
    host: str
    with_subdomains: bool
    port: int | None

    @property
    def is_everything(self) -> bool:
        """True if it is a whole top-level domain."""
        return self.with_subdomains and "." not in self.host

    def matches(self, url: str) -> bool:
        """For allowing: nothing in `url` may be read in two ways."""
        split = _split(url)
        if split is None or not _is_plain(url, split):
            return False
        port = split.port if split.port is not None else _PORTS[split.scheme]
        wanted = port == self.port if self.port is not None else port == _PORTS[split.scheme]
        return wanted and self._is_host((split.hostname or "").removesuffix("."))

    def touches(self, url: str) -> bool:
        """For denying and asking: any port, any spelling of the host, and every part that might be taken for it."""
        hosts = {_address(host) for host in _hosts(url)}
        return any(self._is_host(host) or host == self.host or host.endswith("." + self.host) for host in hosts)

    def _is_host(self, host: str) -> bool:
        return host.endswith("." + self.host) if self.with_subdomains else _address(host) == host == self.host


def compile_domain(text: str) -> Domain:
    """Raises ValueError, in words for the user, if `text` is no host."""
    found = _DOMAIN.fullmatch(text)
    if found is None:
        raise ValueError(
            "a domain is a host such as example.com, *.example.com or localhost:8000; without scheme, path or *, "
            "other letters than a-z as they go over the wire (xn--…)"
        )
    host = found[2].strip("[]").lower()
    if _address(host) != host:
        raise ValueError(f"this address is usually written {_address(host)}")
    return Domain(text, host, bool(found[1]), int(found[3]) if found[3] else None)


def host_of(url: str) -> str:
    """The host, with its port if it is not the scheme's own, if `url` can be read in one way only; else nothing."""
    split = _split(url)
    if split is None or not _is_plain(url, split):
        return ""
    host = (split.hostname or "").removesuffix(".")
    shown = f"[{host}]" if ":" in host else host
    return shown if split.port in (None, _PORTS[split.scheme]) else f"{shown}:{split.port}"


def _split(url: str) -> SplitResult | None:
    try:
        split = urlsplit(url) if len(url) <= _LONGEST else None
        return split if split is not None and (split.port is None or split.port >= 0) else None
    except ValueError:
        return None


def _is_plain(url: str, split: SplitResult) -> bool:
    """Programs disagree about controls, backslashes, users and other letters in addresses."""
    has_odd = not re.fullmatch(r"[!-~]+", url) or "\\" in url or "@" in split.netloc or "%" in split.netloc
    if has_odd or split.scheme not in _PORTS or not url.lower().startswith(split.scheme + "://"):
        return False
    return _DOMAIN.fullmatch(split.netloc.removesuffix(".")) is not None and "*" not in split.netloc


def _hosts(url: str) -> set[str]:
    """Everything in the beginning of `url` that some program might take for the host."""
    start = url[:_LONGEST].strip().replace("\\", "/").lower()
    authority = next((part for part in start.split("/")[1:] if part), start) if ":" in start[:8] else start
    authority = re.split(r"[/?#]", authority)[0]
    parts = {authority, *authority.split("@")}
    return {re.sub(r":\d*$", "", part).strip("[]").rstrip(".") for part in parts}


def _address(host: str) -> str:
    """The usual spelling of a host that is a number in any form that old resolvers take (`0x7f.1`)."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return _old_address(host) or host


def _old_address(host: str) -> str:
    if not re.fullmatch(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", host) or len(host) > 60:
        return ""
    try:
        *firsts, last = [_number(part) for part in host.split(".")]
        shifted = sum(number << 8 * (3 - at) for at, number in enumerate(firsts))
        return str(ipaddress.IPv4Address(shifted + last))
    except ValueError:
        return ""


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)
