"""Settings → Copilot: what is in force, and changes to the user's own config file.

The page is the user's, and so is a script of a trusted output. Everything else gets nothing: a request needs a login,
the page's own origin and the XSRF token, also where a token would do for the API, and a standalone server has no such
route.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import Any

from anyio import run_process, to_thread
from copilot_widgets.answers import CALM_SECONDS, GUARD_SECONDS
from tornado.web import HTTPError, RequestHandler

from ..commands.permission_commands import MODES
from ..config import ENVIRONMENT, MODE_NAMES, SETTINGS, Settings, variable
from ..config_reader import load_settings
from ..config_writer import change_setting
from ..kept_files import read_file
from ..mcp_config import describe
from ..permissions.rulebook import KINDS
from ..places import user_file
from ..setting_values import Setting, not_one_of
from .errors import ApiError
from .handler import Handler

XSRF = "Send the value of the cookie _xsrf as X-XSRFToken."
NOTE = (
    "A change applies from the next conversation; a rule that you add to Ask or Deny, or remove from Allow, applies at "
    "once, also in open notebooks. These settings are for kernels that this server starts; those on another machine (a "
    "gateway, another server of a hub) use the file of the account there."
)
WIDENS = "This lets the agent do more. {}: {} → {}"
CHANGED = "The file has changed meanwhile. Open this page again."
AT_ONCE, LATER = "Applies at once, also in open notebooks.", "Applies from the next conversation."
IN_FILE = "Change it in the file: it may hold secrets."
FIXED = "Set by {}, which takes precedence."
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class _OwnPageHandler(Handler):
    """A route for the pages of this server alone."""

    route = "/copilot/settings"
    has_head = False

    def check_xsrf_cookie(self) -> None:
        """Also where Jupyter accepts a token of the API, or a referrer, instead."""
        super().check_xsrf_cookie()
        try:
            RequestHandler.check_xsrf_cookie(self)
        except HTTPError as error:
            raise ApiError(403, XSRF) from error

    def skip_check_origin(self) -> bool:
        """Return False: a token of the API does not spare the check."""
        return False

    def _is_allowed_origin(self) -> bool:
        """Return False: the settings of the API do not count here."""
        return False

    @property
    def _folder(self) -> str:
        return str(self.settings["serverapp"].root_dir)


class SettingsHandler(_OwnPageHandler):
    """`GET copilot/settings`."""

    async def get(self) -> None:
        """Describe every setting."""
        self.check_xsrf_cookie()
        self.answer_json(await to_thread.run_sync(_page, self._folder))


class ReportHandler(_OwnPageHandler):
    """`GET copilot/report`: `copilot-kernel doctor --report`, in a process of its own."""

    async def get(self) -> None:
        """Answer with `{"report": …}`."""
        self.check_xsrf_cookie()
        program = "import sys; from copilot_kernel.cli import main; sys.exit(main())"
        command = [sys.executable, "-P", "-c", program, "doctor", "--report", "--no-start"]
        done = await run_process(command, cwd=self._folder, check=False)
        self.answer_json({"report": done.stdout.decode("utf-8", "replace")})


class SettingHandler(_OwnPageHandler):
    """`POST copilot/settings/NAME` with `{"value": …, "seen": …, "confirmed": …}`; without a value, it is reset."""

    takes_body = True

    async def post(self, name: str) -> None:
        """Answer with the setting as it is then.

        409 if the file no longer says what the page has `seen`, 428 if the user has yet to confirm that the agent may
        do more.
        """
        if name not in SETTINGS:
            raise ApiError(404, f"No such setting: {name}.")
        self.answer_json(await to_thread.run_sync(partial(_change, self._folder, name, self.read_json())))


def _page(folder: str) -> dict[str, Any]:
    settings, error, own = load_settings(start_folder=folder), "", {}
    file = user_file(settings.environment)
    try:
        own = read_file(file)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, RecursionError) as problem:
        error = f"{file} cannot be read: {problem}. Nothing is saved until it can."
    shown = [_described(name, settings, own.get(name)) for name in SETTINGS]
    times = {"guard_seconds": GUARD_SECONDS, "calm_seconds": CALM_SECONDS}
    return {"path": str(file), "error": error, "note": NOTE, **times, "settings": shown}


def _change(folder: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    settings, setting, default = load_settings(start_folder=folder), SETTINGS[name], getattr(Settings, name)
    if fixed := _fixed(name, settings):
        raise ApiError(400, f"{_title(name)}: {fixed}")
    seen = body.get("seen")
    try:
        value = None if body.get("value") is None else setting.parse(body["value"])
        before, after = default if seen is None else setting.parse(seen), default if value is None else value
    except (ValueError, TypeError) as problem:
        raise ApiError(400, f"{_title(name)}: {problem}.") from problem
    if setting.kind == "mode" and after not in setting.choices:  # `parse` leaves that to `in_mode`
        raise ApiError(400, f"{_title(name)}: {not_one_of(after, setting.choices)}.")
    if (more := setting.allows_more(before, after)) and body.get("confirmed") is not True:
        raise ApiError(428, WIDENS.format(_title(name), _words(before), _words(after)))

    def change(present: Any) -> Any:
        if present != seen:
            raise ApiError(409, CHANGED)
        return value

    change_setting(name, change, user_file(settings.environment))
    return {
        **_described(name, load_settings(start_folder=folder), value),
        "applies": AT_ONCE if name in KINDS and not more else LATER,
    }


def _described(name: str, settings: Settings, own: Any) -> dict[str, Any]:
    setting, value = SETTINGS[name], getattr(settings, name)
    if name == "mcp_servers":  # the only one that may hold secrets
        value, own = {each.name: describe(each) for each in value}, None
    return {
        "name": name,
        "title": _title(name),
        "topic": setting.topic,
        "help": _help(setting),
        "kind": "list" if setting.order == "list" else setting.kind,
        "choices": _choices(setting),
        "unit": setting.unit,
        "value": value,
        "own": own,
        "fixed": _fixed(name, settings),
    }


def _fixed(name: str, settings: Settings) -> str:
    """Why the file does not decide; of lists of several places, it is one."""
    origin, file = settings.origins[name], str(user_file(settings.environment))
    if name == "mcp_servers":
        return IN_FILE
    if origin in ("default", file) or file in origin.split(", "):
        return ""
    return FIXED.format(f"{variable(name)} in the server's environment" if origin == ENVIRONMENT else origin)


def _choices(setting: Setting) -> list[dict[str, str]]:
    if setting.kind == "mode":
        return [{"value": each, "text": MODE_NAMES[each], "about": MODES[each]} for each in MODE_NAMES]
    values = ("on", "off") if setting.kind == "switch" else setting.choices
    return [{"value": each, "text": each, "about": ""} for each in values]


def _help(setting: Setting) -> str:
    text = _LINK.sub(r"\1", setting.help).replace("`", "").removeprefix("JSON array of ")
    return f"{text[:1].upper()}{text[1:]}.{' One per line.' if setting.order == 'list' else ''}"


def _title(name: str) -> str:
    return SETTINGS[name].title or name.replace("_", " ").capitalize()


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(value) or "nothing" if isinstance(value, tuple) else str(value) or "the default"
