"""The benchmark's agent as a persona of Jupyter AI, which finds this module in `.jupyter/personas`."""

from __future__ import annotations

import os
import shlex
from typing import Any

from jupyter_ai_acp_client.base_acp_persona import BaseAcpPersona
from jupyter_ai_persona_manager import PersonaDefaults


class Persona(BaseAcpPersona):
    """Nothing of its own but the command."""

    NOTEBOOK_EDITING_GUIDANCE = ""  # would come before `demo:` in the first prompt

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, executable=shlex.split(os.environ["COPILOT_KERNEL_AGENT"]), **options)

    @property
    def defaults(self) -> PersonaDefaults:
        """A name is required, and so is the rest."""
        return PersonaDefaults(name="Agent", description="", avatar_path=__file__, system_prompt="")
