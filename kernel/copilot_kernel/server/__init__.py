"""The Jupyter Server extension. Importing this package imports nothing else: it needs the packages of `[server]`."""

from importlib.util import find_spec

from ..errors import UsageError

_REQUIRED = ("jupyter_server", "tornado", "prometheus_client", "pydantic")
_INSTALL = "pip install 'copilot-kernel[server]'"


def require_dependencies() -> None:
    """Raise UsageError if a package of the extra `[server]` is not installed."""
    if missing := [name for name in _REQUIRED if find_spec(name) is None]:
        raise UsageError(f"The server extension needs {', '.join(missing)}.", f"Install it: {_INSTALL}")


def main() -> None:
    """`jupyter copilot`."""
    try:
        require_dependencies()
    except UsageError as error:
        raise SystemExit(f"{error} {error.hint}") from None
    from .app import CopilotApp

    CopilotApp.launch_instance()  # type: ignore[no-untyped-call]
