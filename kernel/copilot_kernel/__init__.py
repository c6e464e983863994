"""A coding agent inside the notebook. Importing this package imports nothing else."""

__version__ = "0.1.0.dev0"


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """The server extension; none where the packages of the extra `[server]` are not installed, which is no fault.

    By name: the rest of the package imports this module, and nothing with it.
    """
    from importlib import import_module
    from logging import getLogger

    try:
        import_module("copilot_kernel.server").require_dependencies()
    except import_module("copilot_kernel.errors").UsageError as error:
        getLogger("ServerApp").debug("%s %s", error, error.hint)
        return []
    app = import_module("copilot_kernel.server.app")
    return [{"module": app.__name__, "app": app.CopilotApp}]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext copilot_kernel`: `%copilot` and `%%copilot` in IPython's `shell`."""
    from importlib import import_module

    import_module("copilot_kernel.ipython.extension").load(shell)


def unload_ipython_extension(shell: object) -> None:
    """`%unload_ext copilot_kernel`: ends the agent, too."""
    from importlib import import_module

    import_module("copilot_kernel.ipython.extension").unload(shell)
