"""Addresses of services: plain HTTP only where nobody else can listen."""

import ipaddress
import ssl
from urllib.parse import urlsplit

from shuffledp.errors import InvalidInput


def checked(url: str) -> str:
    """The address without a trailing slash; refused if others could read what is sent there.

    >>> checked("https://shuffler.example/")
    'https://shuffler.example'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or port == 0 or parts.scheme not in ("http", "https"):
        raise InvalidInput(
            "an address begins with https:// and names a host. Write e.g. https://shuffler.example:8470, or "
            "http://127.0.0.1:8470 on this machine."
        )
    if parts.scheme == "http" and not is_loopback(host):
        raise InvalidInput(f"plain HTTP to {host} could be read on the way. Use an https:// address.")
    return url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, whatever its names say.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost.example")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def trusted(url: str) -> ssl.SSLContext | bool:
    """By what an address proves who it is: True is the usual certificates.

    Plain HTTP needs none, and reading them takes longer than a request; an answer that leads to HTTPS is trusted by nothing.
    """
    return urlsplit(url).scheme != "http" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
