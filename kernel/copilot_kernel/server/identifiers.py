"""Ids and names of models as clients may have them: what an agent calls its models goes into addresses and logs."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from ..rendering.plain import one_line

LONGEST = 200
"""Characters."""
NAMELESS = "model"
_OTHER = re.compile(r"[^A-Za-z0-9._~:@+/-]+")
_DIGEST = 8


def sanitised(name: str) -> str:
    """A name as it may be shown or sent: one line of limited length, without control and direction characters."""
    shown = "".join(each for each in one_line(name) if unicodedata.category(each) not in ("Cf", "Co", "Cn"))
    return one_line(shown)[:LONGEST].rstrip()


def ids(own: Iterable[str]) -> dict[str, str]:
    """An id for each of the agent's own ids, no two alike; one that can be part of an address stays as it is.

    Those that would be alike get a digest of the agent's own, so that each keeps its id whatever the order.
    """
    plain = {each: identifier(each) for each in own}
    shared = Counter(plain.values())
    found = {each: name for each, name in plain.items() if name == each or shared[name] == 1}
    for each in plain:
        if each not in found:
            found[each] = _apart(plain[each], each, set(found.values()))
    return found


def identifier(own: str) -> str:
    """`own` as part of an address (RFC 3986, 3.3): letters and digits of ASCII and `._~:@+-`, in segments."""
    segments = _OTHER.sub("-", own).split("/")
    kept = [segment.strip("-") for segment in segments if segment.strip(".-")]
    return "/".join(kept)[:LONGEST].strip("/") or NAMELESS


def _apart(name: str, own: str, taken: set[str]) -> str:
    digest = hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()
    found = f"{name[: LONGEST - _DIGEST - 1]}-{digest[:_DIGEST]}"
    return found if found not in taken else _apart(name, digest, taken)
