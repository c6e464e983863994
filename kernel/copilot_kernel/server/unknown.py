"""What is not there, below our routes: told in the form of our other errors."""

from __future__ import annotations

from .errors import ApiError
from .handler import Handler, Posted

MISSING = ("embeddings", "audio", "images", "files", "moderations", "fine_tuning", "batches", "assistants", "threads")
"""Parts of OpenAI's API that an agent has nothing for."""
AT_ROOT = ("/v1", "/api/chat", "/api/media")


class Unknown(Handler):
    """404."""

    def get(self, *args: str) -> None:
        """No such thing."""
        raise self.nothing()

    post = put = patch = delete = head = get

    def options(self, *args: str) -> None:
        """The same, unless a browser asks for a page that is welcome: the page is to be told."""
        if not self.is_preflight():
            raise self.nothing()
        super().options(*args)

    def nothing(self) -> ApiError:
        """What the client is told."""
        return ApiError(404, f"There is nothing at {self.request.path}.")


class Missing(Unknown):
    """501."""

    def nothing(self) -> ApiError:
        """What the client is told."""
        words = f"{self.request.path} is not offered: an agent of the Agent Client Protocol has no such thing."
        return ApiError(501, words)


def routes(own: str, at_root: bool) -> list[tuple[str, type[Posted] | type[Handler]]]:
    """What is left over below our own path, and below those of our routes at the root."""
    parts = "|".join((*MISSING, "completions"))
    places = (own, "") if at_root else (own,)
    missing = [(rf"{place}/v1/(?:{parts})(?:/.*)?", Missing) for place in places]
    rest = [(rf"{place}(?:/.*)?", Unknown) for place in (own, *(AT_ROOT if at_root else ()))]
    return [*missing, *rest]
