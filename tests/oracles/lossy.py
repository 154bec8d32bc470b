"""A proxy between client and server that loses requests and responses."""

import asyncio
import random
import threading
from collections import Counter


class LossyProxy:
    """Listens on loopback; of each request it loses some on the way there and some on the way back."""

    def __init__(self, port: int, loss: float, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._target, self._loss, self._random = port, loss, random.Random(seed)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self) -> None:
        async def main() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port: int = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()
            server.close()

        asyncio.run(main())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")), 0
                )
                body = await reader.readexactly(length)
                if self._random.random() < self._loss:
                    self.counts["request lost"] += 1
                    break
                there, back = await asyncio.open_connection("127.0.0.1", self._target)
                back.write(
                    head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n").replace(
                        b"Connection: keep-alive\r\n", b""
                    )
                    + body
                )
                answer = await there.read(-1)
                back.close()
                if self._random.random() < self._loss:
                    self.counts["response lost"] += 1
                    break
                self.counts["passed"] += 1
                writer.write(answer)
                await writer.drain()
                break  # the answer says Connection: close
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
