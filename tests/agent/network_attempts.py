"""Attempts to reach what is not listed, from a sandbox with a list of hosts; each returns `Place.secret` if it does.

Services of the user listen on loopback. Where there is a proxy, most attempts go through it.
"""

import base64
import os
import socket
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, build_opener

from .attempts import FOUND
from .steps import SECONDS, Attempt, Step, enter, perform

NETWORK_FOR_ROOT = {"raw_socket", "network_of_another"}


def proxy(name: str) -> tuple[tuple[str, int], str] | None:
    """Where a proxy listens, and `user:password`."""
    if not (url := urlsplit(os.environ.get(name, ""))).port:
        return None
    return (url.hostname or "", url.port), f"{unquote(url.username or '')}:{url.password}"


def answered(stream: socket.socket, target: str = "/", host: str = "x", more: str = "") -> str:
    """The body of an answer to HTTP's GET."""
    with closing(stream):
        stream.settimeout(SECONDS)
        stream.sendall(f"GET {target} HTTP/1.0\r\nHost: {host}\r\n{more}\r\n".encode())
        text = b"".join(iter(lambda: stream.recv(4096), b"")).decode()
    return text.partition("\r\n\r\n")[2].strip()


def authorization(account: str) -> str:
    return f"Proxy-Authorization: Basic {base64.b64encode(account.encode()).decode()}\r\n"


def fetch(host: str, port: str) -> str:
    """By a connection of its own."""
    return answered(socket.create_connection((host, int(port)), SECONDS))


def fetch_without_variables(url: str) -> str:
    """The variables that name a proxy are left aside."""
    with build_opener(ProxyHandler({})).open(url, timeout=SECONDS) as answer:
        return answer.read().decode()


def fetch_by_tunnel(host: str, port: str) -> str:
    """By CONNECT."""
    if not (found := proxy("HTTPS_PROXY")):
        return fetch(host, port)
    stream = socket.create_connection(found[0], SECONDS)
    stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization(found[1])}\r\n".encode())
    answer = stream.recv(4096).decode()
    if " 200 " not in answer.partition("\r\n")[0]:
        raise ConnectionError(answer)
    return answered(stream)


def fetch_forwarded(service: str, target: str, header: str) -> str:
    """A request whose target is one port, and whose header names another one."""
    if not (found := proxy("HTTP_PROXY")):
        return fetch("127.0.0.1", service)
    url, host = f"http://127.0.0.1:{target}/", f"127.0.0.1:{header}"
    return answered(socket.create_connection(found[0], SECONDS), url, host, authorization(found[1]))


def fetch_by_socks(port: str) -> str:
    if not (found := proxy("FTP_PROXY")):
        return fetch("127.0.0.1", port)
    user, _, password = found[1].partition(":")
    stream = socket.create_connection(found[0], SECONDS)
    stream.sendall(b"\x05\x01\x02")
    assert stream.recv(2) == b"\x05\x02"
    stream.sendall(b"\x01" + bytes([len(user)]) + user.encode() + bytes([len(password)]) + password.encode())
    assert stream.recv(2) == b"\x01\x00"
    stream.sendall(b"\x05\x01\x00\x01" + socket.inet_aton("127.0.0.1") + int(port).to_bytes(2, "big"))
    if (code := stream.recv(10)[1]) != 0:
        raise ConnectionError(f"refused by the proxy: {code}")
    return answered(stream)


def ask(family: int, kind: int, address: Any) -> str:
    """What answers a question mark."""
    with socket.socket(family, kind) as client:
        client.settimeout(SECONDS)
        client.connect(address)
        client.sendall(b"?")
        return client.recv(1000).decode().rpartition("\r\n\r\n")[2]


def ask_datagram(port: str) -> str:
    return ask(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(port)))


def ask_abstract(name: str) -> str:
    return ask(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{name}")


def open_raw() -> None:
    """Only opened: it sees every packet of the network."""
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


STEPS: dict[str, Sequence[Step]] = {
    "service_by_address": [(fetch, "127.0.0.1", "{service}")],
    "service_by_unspecified_address": [(fetch, "0.0.0.0", "{service}")],
    "service_without_proxy_variables": [(fetch_without_variables, "http://127.0.0.1:{service}/")],
    "service_through_proxy": [(fetch_by_tunnel, "127.0.0.1", "{service}")],
    "service_through_proxy_by_name": [(fetch_by_tunnel, "localhost", "{service}")],
    "service_through_proxy_by_number": [(fetch_by_tunnel, "2130706433", "{service}")],
    "service_through_proxy_by_short_address": [(fetch_by_tunnel, "127.1", "{service}")],
    "service_through_proxy_by_unspecified_address": [(fetch_by_tunnel, "0.0.0.0", "{service}")],
    "service_by_request_line": [(fetch_forwarded, "{service}", "{service}", "{listed}")],
    "service_by_host_header": [(fetch_forwarded, "{service}", "{listed}", "{service}")],
    "service_by_socks": [(fetch_by_socks, "{service}")],
    "datagram": [(ask_datagram, "{datagrams}")],  # as to a name server
    "abstract_socket": [(ask_abstract, "{place}")],
    "raw_socket": [(open_raw,), FOUND],
    "network_of_another": [(enter, "/proc/{helper}/ns/net"), (fetch, "127.0.0.1", "{service}")],
}
NETWORK_ATTEMPTS: dict[str, Attempt] = {name: partial(perform, name=name, steps=steps) for name, steps in STEPS.items()}
