"""A place for data that is nobody's but the test's, and a server that can be told to fail."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data root that TENT_DATA names."""
    folder = tmp_path / "root"
    folder.mkdir()
    monkeypatch.setenv("TENT_DATA", str(folder))
    return folder


class Server:
    """Files by name over http on this machine, with ranges; `drops` answers in a row end halfway."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.ranges: list[str | None] = []  # what each request asked for
        self.drops = 0
        self.deaf = False  # does not know of ranges
        self.unsatisfiable = False  # answers 416 to every range
        self.endless = False  # says no length, and sends zeros until nobody listens
        self.tags: dict[str, str] = {}
        self.failures: list[int] = []  # status codes to answer with first
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        asked, name = to.headers.get("Range"), to.path.lstrip("/")
        self.ranges.append(asked)
        if self.failures:
            return self._plainly(to, self.failures.pop(0))
        if name not in self.files:
            return self._plainly(to, 404)
        if self.unsatisfiable and asked:
            return self._plainly(to, 416)
        if self.endless:
            return self._endlessly(to)
        body, tag = self.files[name], self.tags.get(name)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and not self.deaf else 0
        if tag and to.headers.get("If-Range") not in (None, tag):
            start = 0
        if start and start >= len(body):
            return self._plainly(to, 416, {"Content-Range": f"bytes */{len(body)}"})
        to.send_response(206 if start else 200)
        if start:
            to.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if tag:
            to.send_header("ETag", tag)
        rest = body[start:]
        to.send_header("Content-Length", str(len(rest)))
        to.end_headers()
        if self.drops:
            self.drops -= 1
            rest = rest[: len(rest) // 2]
        to.wfile.write(rest)
        to.close_connection = True

    @staticmethod
    def _endlessly(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(200):
                to.wfile.write(bytes(1 << 20))
        to.close_connection = True

    @staticmethod
    def _plainly(to: BaseHTTPRequestHandler, status: int, headers: dict[str, str] | None = None) -> None:
        to.send_response(status)
        for key, value in (headers or {}).items():
            to.send_header(key, value)
        to.send_header("Content-Length", "0")
        to.end_headers()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()
    made.thread.join()


@pytest.fixture
def dead_url(monkeypatch: pytest.MonkeyPatch) -> str:
    """An address on this machine where nobody answers."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    probe = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = probe.server_address[1]
    probe.server_close()
    return f"http://127.0.0.1:{port}"
