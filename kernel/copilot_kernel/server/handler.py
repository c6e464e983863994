"""Base of our handlers: Jupyter's own login, host and origin checks, and errors in OpenAI's form.

A body is kept only by handlers that take one, once it is known who sends it, and never beyond the limit. A problem is
reported after the body was read, so that the client sees the answer.
"""

from __future__ import annotations

import sys
from http.client import responses
from typing import Any, ClassVar

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, RequestHandler, stream_request_body

from ..errors import CopilotError
from .context import ServerContext
from .errors import ApiError, api_error, as_json, json_object
from .standalone import CHAT_USER

REQUEST_HEADERS = "Authorization, *"
RESPONSE_HEADERS = "Retry-After, X-Copilot-Session-State"
"""Headers that pages of allowed origins may send (`*` excludes Authorization), and may read."""
MAX_DISCARDED_BODIES = 4
"""Multiple of the largest body that is read and discarded, so that a client sees the answer before the end."""
UNKNOWN_HOST = (
    "This server does not accept the name in the Host header. If it is one of its names, add it to "
    "ServerApp.local_hostnames; ServerApp.allow_remote_access=True accepts every name."
)
WRONG_ORIGIN = "Pages of other origins are not allowed to do this (CopilotApp.cors_origins)."
XSRF = (
    "A cookie alone only allows reading. Also send the value of the cookie _xsrf as X-XSRFToken, or use the token of "
    "this Jupyter server: Authorization: Bearer TOKEN."
)
TOKEN = "Use the token of this Jupyter server as API key: Authorization: Bearer TOKEN."
CHAT_KEY = (
    "The server's token is for the API. The chat needs a key of its own: start the server with "
    "--CopilotApp.chat_key=KEY, and use KEY as the token."
)
HUB_TOKEN = (
    "Use a token of this JupyterHub with the scope {scope} as API key: Authorization: Bearer TOKEN. "
    "You can request one at {page}. With a cookie, also send the value of the cookie _xsrf as X-XSRFToken."
)


@stream_request_body
class Handler(JupyterHandler):
    """Methods raise ApiError and CopilotError."""

    auth_resource = "copilot"
    action: ClassVar[str | None] = None
    """Action that the user must be authorised for; None: Jupyter's default for the request's method."""
    route: ClassVar[str] = "other"
    """The name in metrics and logs."""
    is_public: ClassVar[bool] = False
    """No login is needed."""
    is_of_chat: ClassVar[bool] = False
    """True for routes of the chat, which has a key of its own in a server of its own."""
    takes_body: ClassVar[bool] = False
    """The body is kept, for `read_json`."""
    has_head: ClassVar[bool] = True
    """True where there is HEAD, as wherever there is GET."""
    received = 0
    """Bytes of the body so far."""
    failed_status = 0
    """The status for an error that came after the answer had begun."""
    _problem: HTTPError | None = None

    def initialize(self, context: ServerContext) -> None:
        self.context = context
        self._body = bytearray()

    # -- authorisation ---------------------------------------------------------------------------------------------

    async def prepare(self) -> None:  # type: ignore[override]
        """Check host, login and XSRF (Jupyter's), then origin and authorisation, before any of the body is kept."""
        self.request.uri = self.request.path  # keeps the query string out of all logs
        connection: Any = self.request.connection
        connection.set_max_body_size(sys.maxsize)  # the limit is ours, with an error that explains it
        connection.set_body_timeout(self.context.body_seconds)
        try:
            await self._authorise()
        except HTTPError as problem:
            self._fail_after_body(problem)

    async def _authorise(self) -> None:
        if self.is_preflight():
            return
        if not self.check_host():
            raise ApiError(403, UNKNOWN_HOST)
        await super().prepare()
        if not self._finished:
            await self._check_user()

    async def _check_user(self) -> None:
        self._check_login_and_origin()
        if self.is_of_chat and self.context.is_standalone and self.current_user.username != CHAT_USER:
            raise ApiError(403, CHAT_KEY)
        action = self.action or HTTP_METHOD_TO_AUTH_ACTION.get(self.request.method or "", "execute")
        allowed = self.is_public or await ensure_async(
            self.authorizer.is_authorized(self, self.current_user, action, self.auth_resource)
        )
        if not allowed:
            raise ApiError(403, f"You are not authorised to {action} here.")

    def check_xsrf_cookie(self) -> None:
        """Report a missing login or a wrong origin first: those errors say more."""
        if hasattr(self, "_jupyter_current_user"):  # tornado calls this too early; Jupyter calls it again
            self._check_login_and_origin()
        try:
            super().check_xsrf_cookie()
        except HTTPError as error:
            raise ApiError(403, XSRF) from error

    def _check_login_and_origin(self) -> None:
        if not self.is_public and self.current_user is None:
            raise self._unauthenticated()
        if not self.check_origin():
            raise ApiError(403, WRONG_ORIGIN)

    def get_login_url(self) -> str:
        """Raise 401 instead of redirecting: this is an API."""
        raise self._unauthenticated()

    def _unauthenticated(self) -> ApiError:
        hub: Any = getattr(self.identity_provider, "hub_auth", None)
        message = TOKEN
        if hub is not None:
            narrowest = max(hub.access_scopes, key=len, default="access:servers")
            message = HUB_TOKEN.format(scope=narrowest, page=f"{hub.hub_host}{hub.hub_prefix}token")
        return ApiError(401, message, WWW_Authenticate="Bearer")

    # -- bodies ------------------------------------------------------------------------------------------------------

    def data_received(self, chunk: bytes) -> None:
        """Take a piece of the body."""
        self.received += len(chunk)
        limit = self.context.body_limit
        if self.received > limit:
            too_large = ApiError(413, f"The body must not exceed {limit} bytes.")
            self._fail_after_body(too_large)
            if self.received > MAX_DISCARDED_BODIES * limit and not self._finished:
                self.answer_json(too_large.body, 413)
        elif self.takes_body and self._problem is None:
            self._body += chunk

    def read_json(self) -> dict[str, Any]:
        """The body, a JSON object. Raises ApiError and UsageError."""
        kind = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(415, "The body must be JSON: Content-Type: application/json.")
        return json_object(self._body, "The request body")

    def _fail_after_body(self, problem: HTTPError) -> None:
        """The first problem takes the place of the method, which tornado looks up when the body was read."""
        if self._problem is None:
            self._problem = problem
            setattr(self, str(self.request.method).lower(), self._raise_problem)

    def _raise_problem(self, *args: str) -> None:
        assert self._problem is not None
        raise self._problem

    # -- pages of other origins (CORS) -----------------------------------------------------------------------------

    def check_origin(self, origin_to_satisfy_tornado: str = "") -> bool:
        """Jupyter's own check, and the origins of the settings."""
        return self._is_allowed_origin() or bool(super().check_origin(origin_to_satisfy_tornado))

    def set_cors_headers(self) -> None:
        """Unlike Jupyter, do not let every origin read what it requests with a token."""
        if self._is_allowed_origin():
            self.set_header("Access-Control-Allow-Origin", self.request.headers["Origin"])
            self.set_header("Access-Control-Expose-Headers", RESPONSE_HEADERS)
            self.set_header("Vary", "Origin")

    def is_preflight(self) -> bool:
        """Return True if a browser asks what a page of an allowed origin may send."""
        return self.request.method == "OPTIONS" and self._is_allowed_origin()

    @allow_unauthenticated
    def head(self, *args: str) -> Any:
        """Answer as GET does; tornado leaves out the body (RFC 9110, 9.3.2). `_check_user` decides who may do that."""
        if "HEAD" not in self._methods():
            raise HTTPError(405)
        return self.get(*args)

    def options(self, *args: str) -> None:
        """Answer a preflight; otherwise there is no such method."""
        if not self.is_preflight():
            raise HTTPError(405)
        self.set_cors_headers()
        self.set_header("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
        self.set_header("Access-Control-Allow-Headers", REQUEST_HEADERS)
        self.set_status(204)
        self.finish()

    def _is_allowed_origin(self) -> bool:
        return self.request.headers.get("Origin", "") in self.context.cors_origins

    # -- answers ---------------------------------------------------------------------------------------------------

    def answer_json(self, body: Any, status: int = 200) -> None:
        """Finish with this JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(as_json(body))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with an error, ours or tornado's; a page of an allowed origin may read it."""
        self.set_cors_headers()
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        if not isinstance(error, ApiError | CopilotError):
            error = ApiError(status_code, f"{responses.get(status_code, 'Unknown status')}.")
        problem = self.as_api_error(error)
        if problem.status_code == 405:
            self.set_header("Allow", ", ".join(self._methods()))
        for name, value in problem.headers.items():
            self.set_header(name, value)
        self.answer_json(problem.body, problem.status_code)

    def as_api_error(self, error: ApiError | CopilotError) -> ApiError:
        """Return the error for the client; the pool learns of agents that are no longer signed in."""
        if isinstance(error, ApiError):
            return error
        self.context.pool.note_failure(error)
        return api_error(error)

    def on_finish(self) -> None:
        """Update the metrics, and the log if it is wanted."""
        status, seconds = self.failed_status or self.get_status(), self.request.request_time()
        self.context.metrics.requests.labels(self.route, str(status)).inc()
        self.context.metrics.duration.labels(self.route).observe(seconds)
        if self.context.request_log:
            self.log.info("%s %s: %d in %.3f s", self.request.method, self.route, status, seconds)

    def log_exception(self, *info: Any) -> None:
        """Log only the status of an ApiError: its message may quote what the client sent. `api_error` logs the rest."""
        if isinstance(info[1], ApiError):
            self.log.info("%s %s: %d", self.request.method, self.request.path, info[1].status_code)
        elif not isinstance(info[1], CopilotError):
            super().log_exception(*info)

    def _methods(self) -> list[str]:
        missing = RequestHandler._unimplemented_method
        found = [name for name in ("GET", "POST") if getattr(type(self), name.lower()) is not missing]
        return [*found[:1], "HEAD", *found[1:]] if "GET" in found and self.has_head else found


class NotFoundHandler(Handler):
    """404 for every method."""

    def get(self, *args: str) -> None:
        raise self.error()

    post = put = patch = delete = head = get

    def options(self, *args: str) -> None:
        """Answer a preflight, so that a page of an allowed origin sees the error."""
        if not self.is_preflight():
            raise self.error()
        super().options(*args)

    def error(self) -> ApiError:
        return ApiError(404, f"Not found: {self.request.path}.")


class NotOfferedHandler(NotFoundHandler):
    """501, for parts of OpenAI's API."""

    def error(self) -> ApiError:
        message = f"{self.request.path} is not available: the Agent Client Protocol has no equivalent."
        return ApiError(501, message)
