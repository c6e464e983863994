"""Sessions of a kernel, and widgets without one."""

from ..chat.conftest import demo, opened, project, settings, time
from ..output.conftest import models
from .rerunning import keep, kernel

__all__ = ["demo", "keep", "kernel", "models", "opened", "project", "settings", "time"]
