"""What several modules of this folder need."""

from ..jupyter.conftest import kernelspec

__all__ = ["kernelspec"]
