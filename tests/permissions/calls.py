"""The tables of calls, by what must come of them."""

from .call_rows import Row
from .calls_allowed import MUST_ALLOW
from .calls_asked import MUST_ASK
from .calls_rejected import MUST_REJECT

__all__ = ["MUST_ALLOW", "MUST_ASK", "MUST_REJECT", "Row"]
