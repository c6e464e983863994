"""Widgets without a kernel."""

from ..output.conftest import models

__all__ = ["models"]
