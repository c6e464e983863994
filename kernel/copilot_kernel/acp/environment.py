"""What agents and their commands find in the environment beyond what is the user's."""

from __future__ import annotations

from collections.abc import Mapping

_COUNT = "GIT_CONFIG_COUNT"


def guarded(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ`, so that Git takes no folder for a bare repository unless it is told to.

    The settings of one may run any program, and a clone or an edit can bring one along.
    """
    count = environ.get(_COUNT, "") or "0"
    if not (count.isascii() and count.isdecimal()):
        return dict(environ)  # Git refuses to run with it
    ours = {f"GIT_CONFIG_KEY_{int(count)}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{int(count)}": "explicit"}
    return {**environ, **ours, _COUNT: str(int(count) + 1)}
