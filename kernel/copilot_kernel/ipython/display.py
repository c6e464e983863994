"""A cell's display that asks nothing before it is known whether the front end has widgets."""

from __future__ import annotations

from typing import Any

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..frontend.asking import Asking
from ..frontend.cell import Cell
from ..frontend.display import Display
from ..permissions.question import PermissionAnswer, Question
from .front_end import WidgetSupport


class PatientDisplay(Display):
    """See `Display`."""

    def __init__(self, cell: Cell, asking: Asking, widgets: WidgetSupport, **options: Any) -> None:
        super().__init__(cell, asking, **options)
        self._widgets = widgets

    async def ask(self, question: Question) -> PermissionAnswer:
        """The one answer to `question`."""
        await self._widgets.known()
        return await super().ask(question)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """What the user fills in or agrees to."""
        await self._widgets.known()
        return await super().elicit(request)
