"""What the user of a test has agreed to before: what its environment widens."""

import os
from collections.abc import Mapping
from dataclasses import replace
from unittest.mock import patch

from copilot_kernel.chat.trust import TrustStore
from copilot_kernel.chat.variables import widening
from copilot_kernel.config_reader import load_settings


def trust_environment(environ: Mapping[str, str]) -> None:
    """Remember it where kernels with this environment look, so that they start without a question."""
    with patch.dict(os.environ, environ):
        settings = load_settings()
        for agent in (settings.agent, "demo"):
            settings = replace(settings, agent=agent)
            TrustStore(settings).remember(widening(settings), "trusted")
