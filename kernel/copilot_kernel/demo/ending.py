"""Directives that end the turn, or make trouble."""

from __future__ import annotations

import signal
import sys

import anyio

from ..acp.jsonrpc import RequestFailed
from .script import numbers, unescape
from .stage import Directive, Stage, TurnEnded
from .stage import die as end_process


async def stop(stage: Stage, argument: str) -> None:
    """`stop REASON`: ends the turn with any stop reason."""
    raise TurnEnded(argument or "end_turn")


async def refuse(stage: Stage, argument: str) -> None:
    """`refuse`: ends the turn with the stop reason `refusal`."""
    raise TurnEnded("refusal")


async def error(stage: Stage, argument: str) -> None:
    """`error CODE MESSAGE`: a JSON-RPC error as the prompt's answer."""
    code, _, message = argument.partition(" ")
    (number,) = numbers(code, (-32603,), "error CODE MESSAGE")
    raise RequestFailed(int(number), message or "demo agent: an error, as you asked", None)


async def die(stage: Stage, argument: str) -> None:
    """`die [SIGNAL or exit code]`: ends the process (1)."""
    name = f"SIG{argument.removeprefix('SIG')}"
    if name in signal.Signals.__members__:
        end_process(signal.Signals[name])
    (code,) = numbers(argument, (1,), "die [SIGNAL or exit code]")
    end_process(int(code))


async def wait(stage: Stage, argument: str) -> None:
    """`wait [SECONDS]`: silence; for ever without a number."""
    (seconds,) = numbers(argument, (float("inf"),), "wait [SECONDS]")
    await anyio.sleep(seconds)


async def silent(stage: Stage, argument: str) -> None:
    """`silent SECONDS`: says nothing for that time, then that it is back."""
    (seconds,) = numbers(argument, (11,), "silent SECONDS")
    await anyio.sleep(seconds)
    await stage.say("The demo agent is back.")


async def hang(stage: Stage, argument: str) -> None:
    """`hang [TEXT]`: TEXT, then silence that no cancel ends, only the end of the connection."""
    with anyio.CancelScope(shield=True):
        if argument:
            await stage.say(unescape(argument))
        await stage.connection.closed.wait()


async def rawline(stage: Stage, argument: str) -> None:
    """`rawline TEXT`: that line on the wire, as it is."""
    await stage.transport.send(unescape(argument).encode() + b"\n")


async def stderr(stage: Stage, argument: str) -> None:
    """`stderr TEXT`: a line on stderr."""
    sys.stderr.write(unescape(argument) + "\n")
    sys.stderr.flush()


ENDING: dict[str, Directive] = {
    directive.__name__: directive for directive in (stop, refuse, error, die, wait, silent, hang, rawline, stderr)
}
