"""A program under test, and a year of the service's time."""

from __future__ import annotations

import os
import threading
import unittest
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import List
from unittest import mock

from punctual import testing


class Program(BaseHTTPRequestHandler):
    got: List[str] = []

    def do_POST(self) -> None:
        self.got.append(f"{self.path} {self.headers['x-punctual-scheduled-at']}")
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class TestingTest(unittest.TestCase):
    def test_a_year_of_reminders(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Program)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with testing.start() as service:
                url = f"http://127.0.0.1:{server.server_address[1]}/monthly"
                service.client.jobs.create({"url": url, "method": "post", "cron": "0 9 1 * *"})
                first = service.advance(timedelta(days=1))
                Program.got.clear()
                last = service.advance(timedelta(days=365))
                self.assertGreaterEqual(last - first, timedelta(days=365))
                self.assertEqual(service.env["PUNCTUAL_API_KEY"], service.key)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        self.assertEqual(len(Program.got), 12, Program.got)
        self.assertEqual(Program.got, sorted(Program.got))
        for line in Program.got:
            self.assertRegex(line, r"^/monthly \d{4}-\d{2}-01T09:00:00.000000Z$")

    def test_says_what_is_missing(self) -> None:
        with mock.patch.dict(os.environ, {"PUNCTUAL_BINARY": "", "PATH": ""}):
            self.assertRaisesRegex(FileNotFoundError, "not installed", testing.start)
        with mock.patch.dict(os.environ, {"PUNCTUAL_BINARY": "/bin/false"}):
            self.assertRaisesRegex(RuntimeError, "does not serve", testing.start)
