"""Links between a program and a server that are slow, break, hang or refuse."""

import asyncio
import http.server
import threading
import time


class Link:
    """Passes connections on to a port, each byte after `delay` seconds; after `most` bytes from the server all are cut."""

    def __init__(self, to, delay=0.0, most=None):
        self.to, self.delay, self.most = to, delay, most
        self.passed = 0
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        start = asyncio.start_server(self._one, "127.0.0.1", 0, limit=1 << 20)
        self.server = asyncio.run_coroutine_threadsafe(start, self.loop).result()
        self.port = self.server.sockets[0].getsockname()[1]

    async def _one(self, reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", self.to, limit=1 << 20)
        except OSError:
            writer.close()
            return
        ways = [(reader, there[1], False), (there[0], writer, True)]
        await asyncio.gather(*(self._way(*way) for way in ways), return_exceptions=True)

    async def _way(self, reader, writer, counts):
        # As much is on its way as the delay holds, not more than a window of 4 MiB.
        queue = asyncio.Queue(maxsize=64)

        async def send():
            try:
                while (item := await queue.get()) is not None:
                    due, data = item
                    wait = due - time.monotonic()
                    if wait > 0:
                        await asyncio.sleep(wait)
                    writer.write(data)
                    await writer.drain()
            except ConnectionError:
                pass  # One side has left, as clients do that have what they want.
            finally:
                writer.close()

        sender = asyncio.ensure_future(send())
        try:
            while not sender.done() and (data := await reader.read(1 << 16)):
                if counts:
                    self.passed += len(data)
                    if self.most is not None and self.passed > self.most:
                        break
                await self._put(queue, (time.monotonic() + self.delay, data), sender)
        except ConnectionError:
            pass
        finally:
            await self._put(queue, None, sender)
            await sender

    @staticmethod
    async def _put(queue, item, sender):
        """Puts an item where there is room, or nobody takes any more."""
        if not queue.full():
            queue.put_nowait(item)
            return
        put = asyncio.ensure_future(queue.put(item))
        await asyncio.wait({put, sender}, return_when=asyncio.FIRST_COMPLETED)
        put.cancel()

    def close(self):
        self.loop.call_soon_threadsafe(self.server.close)


class Files(http.server.BaseHTTPRequestHandler):
    """Files below `folder`, by ranges, with etags, and index pages."""

    folder = None
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.folder / self.path.split("?")[0].strip("/")
        if path.is_dir():
            names = sorted(p.name + "/" * p.is_dir() for p in path.iterdir())
            page = "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()
            return self._head(200, len(page), [("Content-Type", "text/html")]) or self.wfile.write(page)
        if not path.is_file():
            return self._head(404, 0)
        size = path.stat().st_size
        asked = self.headers.get("Range")
        first, last = 0, size - 1
        more = [("ETag", f'"{size}-{path.stat().st_mtime_ns}"'), ("Content-Type", "application/octet-stream")]
        if asked:
            first, last = (int(n) for n in asked.removeprefix("bytes=").split("-"))
            last = min(last, size - 1)
            more.append(("Content-Range", f"bytes {first}-{last}/{size}"))
        self._head(206 if asked else 200, last - first + 1, more)
        if self.command == "HEAD":
            return None
        with path.open("rb") as file:
            file.seek(first)
            left = last - first + 1
            while left > 0:
                sent = self.connection.sendfile(file, file.tell(), left)
                left -= sent
        return None

    def _head(self, status, size, more=()):
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, ValueError):
            pass

    def log_message(self, *_):
        pass


class Refusing(Files):
    """Refuses all, as a store does."""

    def do_GET(self):
        body = b"<Error><Code>AccessDenied</Code><Message>You may not.</Message></Error>"
        self._head(403, len(body), [("Content-Type", "application/xml")])
        if self.command != "HEAD":
            self.wfile.write(body)


class Hanging(Files):
    """Never answers."""

    def do_GET(self):
        time.sleep(120)


def serve(handler, folder=None):
    """Serves on a free port, which it gives."""
    kind = type("Handler", (handler,), {"folder": folder})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
