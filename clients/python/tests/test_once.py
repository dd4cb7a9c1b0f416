"""Effectively once: receivers are killed before and after their commit, and the service
while it waits for the response. The effect of each job is there once."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

from . import postgres
from .support import ROOT, client, target, variable


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class TestOnce(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.postgres = postgres.connect(variable("POSTGRES"))
        cls.addClassCleanup(cls.postgres.close)
        cls.postgres.query("CREATE TABLE once_effects (name text)")
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        child = subprocess.Popen([sys.executable, "-B", "-m", "tests.once_child", *arguments], cwd=ROOT, stdout=subprocess.PIPE)

        def end() -> None:
            child.kill()
            child.communicate()

        self.addCleanup(end)
        assert child.stdout
        self.assertEqual(child.stdout.readline(), b"listening\n")
        return child

    def effects(self, kind: str, file: Path) -> List[str]:
        if kind == "postgres":
            return [name for (name,) in self.postgres.query("SELECT name FROM once_effects")[0]]
        connection = sqlite3.connect(str(file))
        try:
            return [name for (name,) in connection.execute("SELECT name FROM effects")]
        finally:
            connection.close()

    def check(self, kind: str, die_at: str) -> None:
        port, file, name = str(free_port()), self.directory / f"{kind} {die_at}.db", f"{kind}: {die_at}"
        first = self.start(kind, str(file), port, die_at)
        with client(max_retries=10) as punctual:
            job = punctual.jobs.create({"url": f"{target(int(port))}/", "method": "post", "body": {"effect": name}, "backoff": [1], "retries": 20})
            if die_at != "crash the service":
                first.wait(60)
                self.start(kind, str(file), port, "never")
            self.assertEqual(punctual.jobs.wait(job["id"], within=60)["job"]["state"], "completed")
            sent = punctual.logs.list(job_id=job["job_id"], event="worker.http.request").take(30)
        self.assertGreaterEqual(len(sent), 2, "the service did not send the request again")
        self.assertEqual([one for one in self.effects(kind, file) if one == name], [name])

    def test_sqlite_killed_before_the_commit(self) -> None:
        self.check("sqlite", "before the commit")

    def test_sqlite_killed_before_the_response(self) -> None:
        self.check("sqlite", "before the response")

    def test_sqlite_with_a_service_that_crashes(self) -> None:
        self.check("sqlite", "crash the service")

    def test_postgres_killed_before_the_commit(self) -> None:
        self.check("postgres", "before the commit")

    def test_postgres_killed_before_the_response(self) -> None:
        self.check("postgres", "before the response")

    def test_postgres_with_a_service_that_crashes(self) -> None:
        self.check("postgres", "crash the service")
