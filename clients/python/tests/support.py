"""What the tests share. The Go test in test/clients/python starts the service and sets the variables."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from punctual import Client, PunctualError

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
API = json.loads((ROOT.parent.parent / "api" / "openapi.json").read_text(encoding="utf-8"))
FAR = "2031-06-01T09:00:00Z"


def variable(name: str) -> str:
    value = os.environ.get(f"PUNCTUAL_TEST_{name}")
    if not value:
        raise RuntimeError(f"PUNCTUAL_TEST_{name} is not set: run go test ./test/clients/python")
    return value


def python_with(libraries: str) -> Optional[str]:
    """A Python that has libraries: the system's, which has its packages, may be another one than that of the tests."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", f"import {libraries}"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def target(port: int) -> str:
    """Where the service reaches a port of this machine."""
    return f"{variable('TARGET')}/{port}"


def crash() -> None:
    """Kills the service and starts it again."""
    urllib.request.urlopen(urllib.request.Request(f"{variable('CONTROL')}/crash", method="POST")).close()


def client(**options: Any) -> Client:
    return Client(variable("URL"), options.pop("api_key", variable("KEY")), **options)


def eventually(what: str, condition: Callable[[], T], within: float = 60) -> T:
    """Waits until a condition holds; only a broken program reaches the limit."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {within} s")
        time.sleep(0.02)


class Served:
    """A server in a thread until the test ends."""

    def __init__(self, test: Any, server: socketserver.BaseServer) -> None:
        self.port = server.server_address[1]  # type: ignore[index]
        self.url = f"http://127.0.0.1:{self.port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()

        def end() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(end)


def serve(test: Any, answer: Callable[[BaseHTTPRequestHandler, bytes], Any]) -> Served:
    """Serves what answer writes for each request and its body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            answer(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: Any) -> None:
            pass  # connections that tests break

    return Served(test, Server(("127.0.0.1", 0), Handler))


def respond(handler: BaseHTTPRequestHandler, status: int, body: Any = None, **headers: str) -> None:
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


class QuietWSGIHandler(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class ThreadingWSGIServer(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


def wsgi_server(application: Any, port: int = 0) -> WSGIServer:
    return make_server("127.0.0.1", port, application, ThreadingWSGIServer, QuietWSGIHandler)


def rejected(test: unittest.TestCase, call: Callable[[], Any]) -> PunctualError:
    with test.assertRaises(PunctualError) as caught:
        call()
    return caught.exception
