"""Attempts to reach what is not listed, from a sandbox with a list of hosts; each returns `Place.secret` if it does.

Services of the user listen on loopback. Where there is a proxy, most attempts go through it.
"""

import base64
import os
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, build_opener

from .attempts import Attempt, Place, checked, libc

NETWORK_ATTEMPTS: dict[str, Attempt] = {}
NETWORK_FOR_ROOT = {"raw_socket", "network_of_another"}
SECONDS = 5


def attempt(function: Attempt) -> Attempt:
    NETWORK_ATTEMPTS[function.__name__] = function
    return function


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


def tunnel(host: str, port: int) -> socket.socket:
    """A connection by CONNECT."""
    if not (found := proxy("HTTPS_PROXY")):
        return socket.create_connection((host, port), SECONDS)
    stream = socket.create_connection(found[0], SECONDS)
    stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization(found[1])}\r\n".encode())
    answer = stream.recv(4096).decode()
    if " 200 " not in answer.partition("\r\n")[0]:
        raise ConnectionError(answer)
    return stream


def forwarded(place: Place, target: int, header: int) -> str:
    """A request whose target is one port, and whose header names another one."""
    if not (found := proxy("HTTP_PROXY")):
        return answered(socket.create_connection(("127.0.0.1", place.service), SECONDS))
    url, host = f"http://127.0.0.1:{target}/", f"127.0.0.1:{header}"
    return answered(socket.create_connection(found[0], SECONDS), url, host, authorization(found[1]))


@attempt
def service_by_address(place):
    return answered(socket.create_connection(("127.0.0.1", place.service), SECONDS))


@attempt
def service_by_unspecified_address(place):
    return answered(socket.create_connection(("0.0.0.0", place.service), SECONDS))


@attempt
def service_without_proxy_variables(place):
    with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{place.service}/", timeout=SECONDS) as answer:
        return answer.read().decode()


@attempt
def service_through_proxy(place):
    return answered(tunnel("127.0.0.1", place.service))


@attempt
def service_through_proxy_by_name(place):
    return answered(tunnel("localhost", place.service))


@attempt
def service_through_proxy_by_number(place):
    return answered(tunnel("2130706433", place.service))


@attempt
def service_through_proxy_by_short_address(place):
    return answered(tunnel("127.1", place.service))


@attempt
def service_through_proxy_by_unspecified_address(place):
    return answered(tunnel("0.0.0.0", place.service))


@attempt
def service_by_request_line(place):
    return forwarded(place, target=place.service, header=place.listed)


@attempt
def service_by_host_header(place):
    return forwarded(place, target=place.listed, header=place.service)


@attempt
def service_by_socks(place):
    if not (found := proxy("FTP_PROXY")):
        return answered(socket.create_connection(("127.0.0.1", place.service), SECONDS))
    user, _, password = found[1].partition(":")
    stream = socket.create_connection(found[0], SECONDS)
    stream.sendall(b"\x05\x01\x02")
    assert stream.recv(2) == b"\x05\x02"
    stream.sendall(b"\x01" + bytes([len(user)]) + user.encode() + bytes([len(password)]) + password.encode())
    assert stream.recv(2) == b"\x01\x00"
    stream.sendall(b"\x05\x01\x00\x01" + socket.inet_aton("127.0.0.1") + place.service.to_bytes(2, "big"))
    if (code := stream.recv(10)[1]) != 0:
        raise ConnectionError(f"refused by the proxy: {code}")
    return answered(stream)


@attempt
def datagram(place):
    """As to a name server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        client.connect(("127.0.0.1", place.datagrams))
        client.send(b"?")
        return client.recv(1000).decode()


@attempt
def abstract_socket(place):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(f"\0{place.name}")
        client.sendall(b"?")
        return client.recv(1000).decode().partition("\r\n\r\n")[2]


@attempt
def raw_socket(place):
    """Only opened: it sees every packet of the network."""
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    return place.secret


@attempt
def network_of_another(place):
    with Path(f"/proc/{place.helper}/ns/net").open() as namespace:
        checked(libc.setns(namespace.fileno(), 0))
    return answered(socket.create_connection(("127.0.0.1", place.service), SECONDS))
