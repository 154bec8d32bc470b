"""A shuffler on loopback that wants to fill the memory and the time of whoever asks it something."""

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

UNPACKED = 400 << 20
"""Bytes that the compressed answer unpacks to: many times what a client may use."""
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_PIECE = 1 << 20


def _whole(body: bytes, head: bytes = _OK) -> Iterator[bytes]:
    yield head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _bomb() -> Iterator[bytes]:
    """Deflated zeros: a block that is complete by itself, again and again."""
    packer = zlib.compressobj(9, wbits=31)
    first = packer.compress(bytes(_PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(_PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from _whole(first + block * (UNPACKED // _PIECE - 1), _OK + b"Content-Encoding: gzip\r\n")


def _for_ever(start: bytes, piece: bytes) -> Iterator[bytes]:
    yield start
    while True:
        yield piece


BEHAVIOURS: dict[str, Callable[[], Iterator[bytes]]] = {
    "gzip-bomb": _bomb,
    "endless-body": lambda: _for_ever(_OK + b"\r\n", bytes(1 << 16)),
    "endless-chunks": lambda: _for_ever(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + bytes(1 << 16) + b"\r\n"),
    "endless-head": lambda: _for_ever(_OK, b"X-More: " + b"x" * 1000 + b"\r\n"),
    "endless-line": lambda: _for_ever(_OK + b"X-More: ", b"x" * 1000),
    "endless-trailers": lambda: _for_ever(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X-More: " + b"x" * 1000 + b"\r\n"
    ),
    "endless-hints": lambda: _for_ever(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    "dripping-body": lambda: _for_ever(_OK + b"Content-Length: 1000000\r\n\r\n", b" "),
    "dripping-head": lambda: _for_ever(_OK + b"X-More: ", b"x"),
    "dripping-trailers": lambda: _for_ever(_OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-More: ", b"x"),
    "silent": lambda: _for_ever(b"", b""),
    "redirect": lambda: _whole(b"", b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\n"),
    "too-short": lambda: iter([_OK + b"Content-Length: 1000\r\n\r\n{}"]),
    "not-http": lambda: iter([b"\x16\x03\x01\x00\xff" * 100]),
    "deep-json": lambda: _whole(b"[" * 60_000),
    "deep-object": lambda: _whole(b'{"batches":' * 5_000),
    "huge-number": lambda: _whole(b'{"batches": [{"batch": ' + b"1" * 60_000 + b"}]}"),
    "many-lists": lambda: _whole(b'{"batches": [' + b"[]," * 600_000 + b"[]]}"),
    "refusal-with-escapes": lambda: _whole(
        rb'{"title": "no\u001b[2J\r\nepsilon = 0.01\u202e"}', b"HTTP/1.1 404 Not Found\r\n"
    ),
    "cookie": lambda: _whole(b'{"outcomes": []}', _OK + b"Set-Cookie: person=7; Path=/\r\n"),
}  # fmt: skip
"""By what the address begins with."""
DRIPPING = {name for name in BEHAVIOURS if name.startswith("dripping")} | {"silent"}
ENDLESS = DRIPPING | {"endless-hints"}
"""Those that only a deadline ends."""


class HostileShuffler:
    """Answers requests to /<behaviour>/... as its name says, until the client has gone.

    Attributes:
        url: without a behaviour.
        heads: of all requests.
    """

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[tuple[socket.socket, threading.Thread]] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                thread = threading.Thread(target=self._answer, args=(connection,))
                self._connections.append((connection, thread))
                thread.start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                arrived = connection.recv(1 << 16)
                if not arrived:
                    return
                head += arrived
            self.heads.append(head)
            behaviour = head.split(b" ")[1].split(b"/")[1].decode()
            for piece in BEHAVIOURS.get(behaviour, lambda: _whole(b"{}"))():
                connection.sendall(piece)
                if behaviour in DRIPPING:
                    self._over.wait(0.01)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):  # what is still sent to it: an answer must not get lost in a reset
                pass

    def close(self) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for connection, thread in self._connections:
            with suppress(OSError):  # it has ended
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()
