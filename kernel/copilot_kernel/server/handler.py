"""What all our handlers share: Jupyter's own login, host and origin checks, and errors in OpenAI's form.

No body is taken whole before it is known who sends it and how much it is: `Handler` reads past it, `Posted` takes a
JSON object, capped while it comes in. A problem is told when the body was read, so that the client hears of it.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, ClassVar, cast

from jupyter_core.utils import ensure_async
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from tornado.web import HTTPError, stream_request_body

from . import unread
from .errors import ApiError, as_json, error_body, phrase

if TYPE_CHECKING:
    from .app import CopilotApp

SENDABLE = ("Content-Type", "Authorization", "X-Copilot-Session")
READABLE = ("Retry-After", "X-Copilot-Session-State")
"""Headers that pages of welcome origins may send, with those that they ask for, and may read."""
MOST_NAMES = 50
HOST = (
    "This server does not answer to the name in the header Host. If that is a name of yours for it, add the name to "
    "ServerApp.local_hostnames; ServerApp.allow_remote_access=True lets every name in."
)
XSRF = (
    "A cookie alone may only read. Send what the cookie _xsrf holds as X-XSRFToken, too, or the token of this Jupyter "
    "server: Authorization: Bearer TOKEN."
)
TOKEN = "Give the token of this Jupyter server as API key: Authorization: Bearer TOKEN."
HUB_TOKEN = (
    "Give a token of this JupyterHub that has the scope {scope} as API key: Authorization: Bearer TOKEN. "
    "You can request one at {page}. With a cookie, send what the cookie _xsrf holds as X-XSRFToken, too."
)
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
LINGER = 4
"""So many times the largest body are read and thrown away, so that a client hears the answer before the end."""


@stream_request_body
class Handler(ExtensionHandlerMixin, JupyterHandler):
    """`everyone`: no login is needed. Methods raise ApiError or CopilotError's `for_client`."""

    auth_resource = "copilot"
    action: ClassVar[str | None] = None
    """What the user must be authorised to do; None: what Jupyter says of the request's method."""
    route: ClassVar[str] = "other"
    """In figures and logs."""
    received = 0
    """Bytes of the body."""
    failed = 0
    """The status that an answer would have had, which had begun before it went wrong."""
    everyone: ClassVar[bool] = False
    has_head: ClassVar[bool] = True
    """Where there is GET, there is HEAD."""
    _problem: HTTPError | None = None

    @property
    def app(self) -> CopilotApp:
        """The extension: its settings, pool, models, limits and metrics."""
        return cast("CopilotApp", self.extensionapp)

    # -- who may ---------------------------------------------------------------------------------------------------

    async def prepare(self) -> None:  # type: ignore[override]
        """Host, login, XSRF (Jupyter's), then origin and authorisation; no body is read before that is known."""
        self.request.uri = self.request.path  # whatever is logged of a request, its query string is not
        connection: Any = self.request.connection
        connection.set_max_body_size(sys.maxsize)  # counted here, where there are words for it
        connection.set_body_timeout(self.app.body_seconds)
        try:
            await self._let_in()
        except HTTPError as problem:
            self._answer_with(problem)

    async def _let_in(self) -> None:
        if self.is_preflight():
            return
        if not self.check_host():
            raise ApiError(403, HOST)
        await super().prepare()
        if not self._finished:
            await self._admit()

    async def _admit(self) -> None:
        if not self.everyone and self.current_user is None:
            raise self._unknown_user()
        if not self.check_origin():
            raise ApiError(403, "Pages of other origins may not do this.")
        action = self.action or HTTP_METHOD_TO_AUTH_ACTION.get(self.request.method or "", "execute")
        may = self.everyone or await ensure_async(
            self.authorizer.is_authorized(self, self.current_user, action, self.auth_resource)
        )
        if not may:
            raise ApiError(403, f"You are not authorised to {action} here.")

    def check_xsrf_cookie(self) -> None:
        """Who is not known has nothing to forge."""
        if hasattr(self, "_jupyter_current_user") and not self.everyone:
            if self.current_user is None:
                raise self._unknown_user()
            if not self.check_origin():
                raise ApiError(403, "Pages of other origins may not do this.")
        try:
            super().check_xsrf_cookie()
        except HTTPError as error:
            raise ApiError(403, XSRF) from error

    def get_login_url(self) -> str:
        """No redirects: this is an API."""
        raise self._unknown_user()

    def _unknown_user(self) -> ApiError:
        hub: Any = getattr(self.identity_provider, "hub_auth", None)
        words = TOKEN
        if hub is not None:
            narrowest = max(hub.access_scopes, key=len, default="access:servers")
            words = HUB_TOKEN.format(scope=narrowest, page=f"{hub.hub_host}{hub.hub_prefix}token")
        return ApiError(401, words, WWW_Authenticate="Bearer")

    # -- bodies ------------------------------------------------------------------------------------------------------

    def data_received(self, chunk: bytes) -> None:
        """A piece of the body."""
        self.received += len(chunk)
        self.keep(chunk)
        if self.received > self.app.body_limit:
            self._answer_with(self.too_large())
        if self.received > LINGER * self.app.body_limit and not self._finished:
            self.answer_json(self.too_large().body, 413)

    def keep(self, chunk: bytes) -> None:
        """Nobody wants it."""

    def too_large(self) -> ApiError:
        """What the client is told."""
        return ApiError(413, f"The body may have {self.app.body_limit} bytes at most.")

    def _answer_with(self, problem: HTTPError) -> None:
        """The first problem takes the place of the method, which tornado looks up when the body was read."""
        if self._problem is None:
            self._problem = problem
            setattr(self, str(self.request.method).lower(), self._tell_problem)

    def _tell_problem(self, *args: str) -> None:
        assert self._problem is not None
        raise self._problem

    # -- pages of other origins ------------------------------------------------------------------------------------

    def check_origin(self, origin_to_satisfy_tornado: str = "") -> bool:
        """Jupyter's own check, and the origins that the settings name."""
        return self._is_welcome() or bool(super().check_origin(origin_to_satisfy_tornado))

    def set_cors_headers(self) -> None:
        """Jupyter lets every origin read what it asks for with a token; we do not."""
        if self._is_welcome():
            self.set_header("Access-Control-Allow-Origin", self.request.headers["Origin"])
            self.set_header("Access-Control-Expose-Headers", ", ".join(READABLE))
            self.set_header("Vary", "Origin")

    def is_preflight(self) -> bool:
        """A browser asks whether a page may ask."""
        return self.request.method == "OPTIONS" and self._is_welcome()

    def head(self, *args: str) -> Any:
        """What GET answers, without its body, which tornado leaves out (RFC 9110, 9.3.2)."""
        if "HEAD" not in self._methods():
            raise HTTPError(405)
        return self.get(*args)

    def options(self, *args: str) -> None:
        """What a welcome page may ask (CORS); for all others there is no such method."""
        if not self.is_preflight():
            raise HTTPError(405)
        self.set_cors_headers()
        self.set_header("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
        self.set_header("Access-Control-Allow-Headers", ", ".join(self._sendable()))
        self.set_status(204)
        self.finish()

    def _sendable(self) -> list[str]:
        """Ours, and what the page asks for, as far as these are names."""
        asked = self.request.headers.get("Access-Control-Request-Headers", "").split(",")
        known = {name.lower() for name in SENDABLE}
        names = dict.fromkeys(name.strip().lower() for name in asked if _NAME.fullmatch(name.strip()))
        return [*SENDABLE, *(name for name in names if name not in known)][:MOST_NAMES]

    def _is_welcome(self) -> bool:
        return self.request.headers.get("Origin", "") in self.app.cors_origins

    # -- answers ---------------------------------------------------------------------------------------------------

    def answer_json(self, body: Any, status: int = 200) -> None:
        """End with this JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(as_json(body))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Whatever went wrong, ours or tornado's; a welcome page may read it."""
        self.set_cors_headers()
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        if isinstance(error, ApiError):
            for name, value in error.headers.items():
                self.set_header(name, value)
            self.answer_json(error.body, status_code)
            return
        if status_code == 405:
            self.set_header("Allow", ", ".join(self._methods()))
        self.answer_json(error_body(status_code, f"{phrase(status_code)}."), status_code)

    def on_finish(self) -> None:
        """For the figures, and the log if it is wanted."""
        status, seconds = self.failed or self.get_status(), self.request.request_time()
        self.app.metrics.requests.labels(self.route, str(status)).inc()
        self.app.metrics.duration.labels(self.route).observe(seconds)
        if self.app.request_log:
            self.log.info("%s %s: %d in %.3f s", self.request.method, self.route, status, seconds)

    def _methods(self) -> list[str]:
        has = {name: _is_own(getattr(type(self), name.lower())) for name in ("GET", "POST")}
        has["HEAD"] = has["GET"] and self.has_head
        return [name for name in ("GET", "HEAD", "POST") if has[name]]

    def log_exception(self, *info: Any) -> None:
        """What the client is told may quote what it sent, so it stays out of the log."""
        if isinstance(info[1], ApiError):
            self.log.info("%s %s: %d", self.request.method, self.request.path, info[1].status_code)
        else:
            super().log_exception(*info)


def _is_own(method: Any) -> bool:
    return getattr(method, "__qualname__", "").partition(".")[0] != "RequestHandler"


class Posted(Handler):
    """A subclass has `answer`, which gets the body, a JSON object."""

    def initialize(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().initialize(name, *args, **kwargs)
        self._body = bytearray()

    def keep(self, chunk: bytes) -> None:
        """As much as there may be."""
        if self.received <= self.app.body_limit and self._problem is None:
            self._body += chunk

    async def post(self, *args: str) -> None:
        """Read the body, then `answer`. Raises ApiError."""
        if not self._finished:
            await self.answer(self._read())

    async def answer(self, body: dict[str, Any]) -> None:
        """Answer the request. Raises ApiError."""
        raise NotImplementedError

    def _read(self) -> dict[str, Any]:
        kind = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(415, "The body must be JSON: Content-Type: application/json.")
        try:
            body = json.loads(self._body)
        except unread.FAULTS as error:
            raise ApiError(400, f"The body {unread.why(error)}.") from None
        if not isinstance(body, dict):
            raise ApiError(400, "The body must be a JSON object.")
        return body
