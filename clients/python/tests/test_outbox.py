"""The outbox: a job is committed with the application's data, or never was."""

from __future__ import annotations

import asyncio
import sqlite3
import unittest
from datetime import timedelta
from typing import Any, List, Tuple

from punctual.outbox import enqueue, enqueue_async

TABLE = "CREATE TABLE punctual_outbox (id TEXT PRIMARY KEY, job TEXT NOT NULL, ordering_key TEXT)"
JOB = {"url": "https://shop.example/remind", "body": {"order": 7}, "schedule_in": timedelta(hours=1)}
TEXT = '{"url":"https://shop.example/remind","body":{"order":7},"schedule_in":3600}'


class Recorder:
    """What is executed of a driver."""

    def __init__(self) -> None:
        self.calls: List[Tuple[str, Any]] = []

    def cursor(self) -> "Recorder":
        return self

    def execute(self, sql: str, values: Any) -> None:
        self.calls.append((sql, values))


class AsyncRecorder(Recorder):
    async def execute(self, sql: str, values: Any) -> None:  # type: ignore[override]
        self.calls.append((sql, values))


class OutboxTest(unittest.TestCase):
    def test_commits_with_the_transaction(self) -> None:
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.execute(TABLE)
        db.execute("BEGIN")
        row = enqueue(db, JOB, ordering_key="customer-7")
        db.execute("COMMIT")
        db.execute("BEGIN")
        enqueue(db.cursor(), JOB)
        db.execute("ROLLBACK")
        self.assertRegex(row, "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(db.execute("SELECT * FROM punctual_outbox").fetchall(), [(row, TEXT, "customer-7")])
        db.close()

    def test_knows_drivers(self) -> None:
        recorder, waiting = Recorder(), AsyncRecorder()
        enqueue(recorder, JOB)
        enqueue(recorder, JOB, paramstyle="numeric_dollar", table="app.punctual_outbox")
        asyncio.run(enqueue_async(waiting, JOB))
        self.assertEqual(
            [(sql, values[1:]) for sql, values in recorder.calls + waiting.calls],
            [
                ("INSERT INTO punctual_outbox (id, job, ordering_key) VALUES (%s, %s, %s)", (TEXT, None)),
                ("INSERT INTO app.punctual_outbox (id, job, ordering_key) VALUES ($1, $2, $3)", (TEXT, None)),
                ("INSERT INTO punctual_outbox (id, job, ordering_key) VALUES (%s, %s, %s)", (TEXT, None)),
            ],
        )

    def test_refuses_what_cannot_be_sent(self) -> None:
        for job, options in (({"url": "x", "description": "x" * (1 << 20)}, {}), ({"url": "x", "request_id": "mine"}, {}), ({"url": "x"}, {"table": "a b"})):
            with self.assertRaises(ValueError):
                enqueue(Recorder(), job, **options)  # type: ignore[arg-type]
