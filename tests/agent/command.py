"""How to start the test agent: the shipped demo agent, with faults and directives that only tests need."""

import sys
from pathlib import Path

COMMAND = (sys.executable, "-P", str(Path(__file__).parent))
"""Tests that say `demo` get it: `tests/conftest.py` sets `COPILOT_KERNEL_DEMO_COMMAND`."""
