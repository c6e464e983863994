"""`GET api/media/NAME`: files that agents produced, so that no browser takes one for a page."""

from __future__ import annotations

import asyncio

from .errors import ApiError
from .handler import Handler

SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A drawing that is opened by itself runs no script and asks for nothing."""


class MediaFile(Handler):
    """One file, by its name on the shelf."""

    route = "/api/media"

    @property
    def content_security_policy(self) -> str:
        """See SANDBOX."""
        return SANDBOX

    async def get(self, key: str) -> None:
        """Pictures and sounds are shown, everything else is saved. Raises ApiError."""
        file = self.app.chat_services.shelf.find(key)
        if file is None:
            raise ApiError(404, "This file is not here any more; files go when the server ends.")
        content = await asyncio.to_thread(file.path.read_bytes)
        how = "inline" if file.inline else "attachment"
        name = file.name.encode("ascii", "replace").decode().replace("?", "_")
        self.set_header("Content-Type", file.served_as)
        self.set_header("Content-Disposition", f'{how}; filename="{name}"')
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cache-Control", "private, max-age=86400, immutable")
        self.finish(content)


ROUTES = [(r"/api/media/([\w.-]+)", MediaFile)]
