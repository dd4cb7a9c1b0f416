"""What every store of receipts promises, in memory, SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, List

from punctual.receiver import BusyError, MemoryStore, Outcome, PostgresStore, SQLiteStore
from punctual.receiver.database import sqlstate

from . import postgres
from .support import variable


def done(body: str = "{}") -> Outcome:
    return Outcome(200, body, True, True)


FAILED = Outcome(500, "", False, False)


class Subject:
    """What the tests of all stores need."""

    store: Any
    undoes = True

    def write(self, tx: Any, name: str) -> None:
        raise NotImplementedError

    def names(self) -> List[str]:
        raise NotImplementedError

    def receipts(self) -> int:
        raise NotImplementedError

    def work(self, name: str, outcome: Outcome) -> Callable[[Any], Outcome]:
        def run(tx: Any) -> Outcome:
            self.write(tx, name)
            return outcome

        return run

    def test_handles_an_id_once_and_repeats_its_outcome(self: Any) -> None:
        first = self.store.once("one", self.work("one", done('{"a":1}')))
        self.assertEqual((first.outcome, first.repeated), (done('{"a":1}'), False))
        second = self.store.once("one", self.work("one", done('{"a":2}')))
        self.assertEqual((second.outcome, second.repeated), (done('{"a":1}'), True))
        self.assertEqual(self.names().count("one"), 1)

    def test_handles_an_id_once_among_simultaneous_calls(self: Any) -> None:
        with ThreadPoolExecutor(8) as threads:
            handled = list(threads.map(lambda _: self.store.once("many", self.work("many", done())), range(8)))
        self.assertEqual([one.repeated for one in handled].count(False), 1)
        self.assertEqual(self.names().count("many"), 1)

    def test_handles_an_id_again_after_a_failure_whose_effects_are_gone(self: Any) -> None:
        def broken(tx: Any) -> Outcome:
            self.write(tx, "raised")
            raise KeyError("no")

        with self.assertRaises(KeyError):
            self.store.once("failing", broken)
        self.assertFalse(self.store.once("failing", self.work("failed", FAILED)).repeated)
        self.assertFalse(self.store.once("failing", self.work("good", done())).repeated)
        if self.undoes:
            self.assertEqual([one for one in self.names() if one in ("raised", "failed", "good")], ["good"])

    def test_commits_without_remembering_if_the_outcome_says_so(self: Any) -> None:
        before = self.receipts()
        for _ in range(2):
            self.assertFalse(self.store.once("accepted", self.work("accepted", Outcome(202, "", True, False))).repeated)
        self.assertEqual((self.names().count("accepted"), self.receipts()), (2, before))


class TestMemory(Subject, unittest.TestCase):
    undoes = False

    def setUp(self) -> None:
        self.store = MemoryStore()
        self.written: List[str] = []

    def write(self, tx: Any, name: str) -> None:
        self.written.append(name)

    def names(self) -> List[str]:
        return self.written

    def receipts(self) -> int:
        return len(self.store)

    def test_is_bounded_in_ids_in_bytes_and_in_time(self) -> None:
        few = MemoryStore(max_entries=3)
        for n in range(10):
            few.once(str(n), lambda _: done())
        self.assertEqual(len(few), 3)
        self.assertTrue(few.once("9", lambda _: done()).repeated)
        self.assertFalse(few.once("0", lambda _: done()).repeated)
        small = MemoryStore(max_bytes=100)
        for n in range(10):
            small.once(str(n), lambda _: done("x" * 40))
        self.assertEqual(len(small), 2)
        short = MemoryStore(keep_seconds=-1)
        short.once("1", lambda _: done())
        self.assertFalse(short.once("1", lambda _: done()).repeated)

    def test_refuses_more_at_once_than_it_may_remember(self) -> None:
        store, started, finish = MemoryStore(max_entries=1), threading.Event(), threading.Event()

        def slow(_: Any) -> Outcome:
            started.set()
            finish.wait(60)
            return done()

        thread = threading.Thread(target=lambda: store.once("1", slow))
        thread.start()
        started.wait(60)
        with self.assertRaises(BusyError):
            store.once("2", lambda _: done())
        finish.set()
        thread.join()


class TestSQLite(Subject, unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = Path(directory.name) / "receiver.db"
        self.store = SQLiteStore(self.file, keep_days=1)
        self.connection = sqlite3.connect(str(self.file), isolation_level=None)
        self.addCleanup(self.connection.close)
        self.connection.execute("CREATE TABLE effects (name TEXT)")

    def write(self, tx: Any, name: str) -> None:
        tx.execute("INSERT INTO effects (name) VALUES (?)", (name,))

    def names(self) -> List[str]:
        return [name for (name,) in self.connection.execute("SELECT name FROM effects")]

    def receipts(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM punctual_receipts").fetchone()[0])

    def test_forgets_old_ids(self) -> None:
        self.store.once("old", lambda _: done())
        self.connection.execute("UPDATE punctual_receipts SET received_at = 0")
        self.store.once("new", lambda _: done())
        self.assertEqual(self.receipts(), 1)

    def test_leaves_the_end_of_the_transaction_to_the_receiver(self) -> None:
        def context(tx: Any) -> Outcome:
            with tx:
                return done()

        for broken in (lambda tx: tx.commit(), lambda tx: tx.rollback(), lambda tx: tx.close(), lambda tx: tx.executescript("SELECT 1"), context, lambda tx: (tx.execute("COMMIT"), done())[1]):
            with self.assertRaises(RuntimeError):
                self.store.once("broken", broken)
        self.assertEqual(self.receipts(), 0)

    def test_is_busy_while_another_process_writes(self) -> None:
        store = SQLiteStore(lambda: sqlite3.connect(str(self.file), timeout=0.01))
        self.connection.execute("BEGIN IMMEDIATE")
        with self.assertRaises(BusyError):
            store.once("1", lambda _: done())
        self.connection.execute("ROLLBACK")

    def test_takes_only_plain_names_of_tables(self) -> None:
        for table in ("a b", "a;b", '"a"', "a.b.c", ""):
            with self.assertRaises(ValueError):
                SQLiteStore(self.file, table=table)
        SQLiteStore(self.file, table="main.other").once("1", lambda _: done())
        self.assertEqual(self.connection.execute("SELECT count(*) FROM other").fetchone(), (1,))


class TestPostgres(Subject, unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.url = variable("POSTGRES")
        cls.connection = postgres.connect(cls.url)
        cls.addClassCleanup(cls.connection.close)
        cls.store = PostgresStore(lambda: postgres.connect(cls.url), paramstyle=postgres.paramstyle, keep_days=1)
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda _: cls.store.create_table(), range(2)))

    def setUp(self) -> None:
        self.sql("DROP TABLE IF EXISTS effects")
        self.sql("CREATE TABLE effects (name text)")
        self.sql("DELETE FROM punctual_receipts")

    def sql(self, text: str) -> Any:
        return self.connection.query(text)[0]

    def write(self, tx: Any, name: str) -> None:
        tx.execute("INSERT INTO effects (name) VALUES ($1)", (name,))

    def names(self) -> List[str]:
        return [name for (name,) in self.sql("SELECT name FROM effects")]

    def receipts(self) -> int:
        return int(self.sql("SELECT count(*) FROM punctual_receipts")[0][0])

    def test_forgets_old_ids(self) -> None:
        self.store.once("old", lambda _: done())
        self.sql("UPDATE punctual_receipts SET received_at = 0")
        self.store.once("new", lambda _: done())
        self.assertEqual(self.receipts(), 1)

    def test_notices_work_that_an_error_has_undone(self) -> None:
        def careless(tx: Any) -> Outcome:
            self.write(tx, "careless")
            try:
                tx.execute("SELECT 1/0")
            except postgres.Error:
                pass
            return done()

        with self.assertRaises(postgres.Error):
            self.store.once("careless", careless)
        self.assertEqual((self.names(), self.receipts()), ([], 0))

    def test_notices_that_the_handler_ended_the_transaction(self) -> None:
        with self.assertRaises(RuntimeError):
            self.store.once("ended", lambda tx: (tx.execute("ROLLBACK"), done())[1])
        with self.assertRaises(RuntimeError):
            self.store.once("ended", lambda tx: tx.commit())

    def test_gives_back_its_connections(self) -> None:
        idle = [postgres.connect(self.url)]
        self.addCleanup(lambda: [one.close() for one in idle])
        store = PostgresStore(idle.pop, release=idle.append, paramstyle=postgres.paramstyle)
        for _ in range(3):
            with self.assertRaises(postgres.Error):
                store.once("broken", lambda tx: tx.execute("SELECT 1/0"))
        store.once("good", lambda _: done())
        self.assertEqual((len(idle), idle[0].in_transaction), (1, False))

    def test_refuses_autocommit_and_unknown_styles(self) -> None:
        connection = postgres.connect(self.url)
        connection.autocommit = True
        with self.assertRaises(TypeError):
            PostgresStore(lambda: connection).once("1", lambda _: done())
        with self.assertRaises(ValueError):
            PostgresStore(lambda: connection, paramstyle="other")

    def test_reads_errors_of_all_drivers(self) -> None:
        class Psycopg2(Exception):
            pgcode = "55P03"

        self.assertEqual([sqlstate(Psycopg2()), sqlstate(Exception({"C": "55P03"})), sqlstate(Exception("x")), sqlstate(Exception())], ["55P03", "55P03", None, None])
