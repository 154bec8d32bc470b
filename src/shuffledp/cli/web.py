"""`shuffledp web`: the planner in the browser."""

import contextlib
import socket
import webbrowser

import click

from shuffledp.cli.command import Command
from shuffledp.cli.numbers import Whole
from shuffledp.cli.output import print_lines
from shuffledp.core.installed import not_installed
from shuffledp.errors import InvalidInput
from shuffledp.service.wire.address import is_loopback


@click.command("web", cls=Command)
@click.option("--port", type=Whole(), default=8017, show_default=True, help="Port; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--name",
    "names",
    multiple=True,
    help="A name or address by which other machines reach --host. Nothing is encrypted. May be repeated.",
)
@click.option("--open/--no-open", "opened", default=False, help="Open the page in the browser.")
def web_command(port: int, host: str, names: tuple[str, ...], opened: bool) -> None:
    """A local page to plan and account with: accuracy first, sliders, certified numbers.

    It works offline, keeps nothing, and answers this machine only. Ctrl-C ends it.
    """
    try:
        from shuffledp.web.processes import Workers

        Workers.warm()
        import uvicorn

        from shuffledp.web.app import app
    except ImportError:
        raise not_installed("the page needs starlette with uvicorn", "web") from None
    if not names and not is_loopback(host):
        raise InvalidInput(
            f"other machines could reach {host}, and nothing is encrypted. Use 127.0.0.1, or give with --name the name they use."
        )
    if not 0 <= port <= 65535:
        raise InvalidInput("a port is a number from 0 to 65535. Use e.g. 8017.")
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listening.getsockname()[1]}"
    print_lines(f"the planner is at {url} (Ctrl-C ends it)")
    if opened:
        webbrowser.open(url)
    config = uvicorn.Config(
        app(names=names), log_level="critical", access_log=False, server_header=False, ws="none", lifespan="off",
        proxy_headers=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InvalidInput(f"cannot listen at {host}, port {port}: {error.strerror}. Choose another --port.") from None
