"""Which database a URL names, what of it may be shown, and whether the way there is private."""

import ipaddress
import os
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from shuffledp.errors import InvalidInput

_PATIENCE: Final[dict[str, str | int]] = {
    "connect_timeout": 5, "tcp_user_timeout": 30_000, "keepalives_idle": 30, "keepalives_interval": 10,
    "keepalives_count": 3, "fallback_application_name": "shuffledp",
}  # fmt: skip
"""How long a server that does not answer is waited for, unless the URL says otherwise."""


def parameters(url: str) -> dict[str, str | int]:
    """What libpq makes of a URL. Whatever is wrong with one, no error shows any of it: it may hold a password."""
    try:
        found = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error:
        found = {}
    host, port, database = (str(found.get(name, "")) for name in ("host", "port", "dbname"))
    # a password with a character that should be encoded ends up in these
    if not found or "@" in host[1:] or not f"{port}0".replace(",", "").isdecimal() or set(database) & set("/@:"):
        raise InvalidInput(
            "this is not the URL of a PostgreSQL database. Write postgresql://USER@HOST/DATABASE, with special characters "
            "percent-encoded."
        )
    return {**_PATIENCE, **found}


def shown(url: str) -> str:
    """The URL without password and options."""
    found = parameters(url)
    user, host, port = (str(found.get(name, "")) for name in ("user", "host", "port"))
    place = f"{user}@" * bool(user) + host.replace("/", "%2F") + f":{port}" * bool(port)
    return f"postgresql://{place}/{found.get('dbname', '')}"


def check_privacy(connection: psycopg.Connection) -> None:
    """Refuse to send reports in clear to another machine, unless that was asked for."""
    asked = parameters(connection.info.dsn).get("sslmode", os.environ.get("PGSSLMODE", ""))
    where = (
        connection.info.hostaddr or connection.info.host
    )  # the address in use, whatever the host is called; none for a socket
    if not connection.pgconn.ssl_in_use and asked != "disable" and not _is_here(where):
        raise InvalidInput(
            "the connection to the database is not encrypted, and would show when each report arrives. Add "
            "?sslmode=verify-full to its URL, or sslmode=disable if something else encrypts it."
        )


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a socket, or a loopback address."""
    if host in ("", "localhost") or host[0] in "/@":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
