"""Receipts in the database in which handlers write."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from typing import Any, Callable, List, Optional, Sequence, Union

from .reply import Outcome
from .store import BusyError, Handled

#: The rows that one message removes at most, once they are old enough.
PRUNE_AT_ONCE = 10
#: How long a repeat waits for the first try to end.
WAIT_FOR_FIRST = "10s"
LOCK_TIMEOUT = "55P03"

Connect = Callable[[], Any]


class Transaction:
    """The connection as handlers get it: the receiver commits, so a handler can't."""

    def __init__(self, connection: Any) -> None:
        #: The connection itself, for libraries that need it. Neither commit nor close it.
        self.connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Executes a statement and returns its cursor."""
        cursor = self.connection.cursor()
        if values:
            cursor.execute(sql, values)
        else:
            cursor.execute(sql)
        return cursor

    def commit(self, *_: object) -> Any:
        """Refuses, as rollback, close, executescript (which commits) and with do."""
        raise RuntimeError("the receiver commits after the handler: raise an exception to roll back")

    rollback = close = executescript = __enter__ = commit

    def __exit__(self, *_: object) -> None:
        """Not reached: __enter__ refuses."""


class _Table:
    """Statements on the table of receipts, which the TypeScript client has too."""

    def __init__(self, table: str, keep_days: float, paramstyle: str) -> None:
        if not re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}", table):
            raise ValueError("table must be a plain identifier")
        if not keep_days > 0:
            raise ValueError("keep_days must be positive")
        if paramstyle not in ("qmark", "format", "pyformat", "numeric", "named", "numeric_dollar"):
            raise ValueError("paramstyle must be that of the driver: its module's paramstyle")
        self.name = table
        self.schema, _, plain = table.rpartition(".")
        self.plain = plain
        self.index = f"{plain}_age"
        self.keep_ms = int(keep_days * 24 * 60 * 60 * 1000)
        self._paramstyle = paramstyle

    def execute(self, connection: Any, sql: str, *values: Any) -> Any:
        """Executes a statement whose parameters are written as ?."""
        cursor = connection.cursor()
        if not values:
            cursor.execute(sql)
        elif self._paramstyle == "named":
            cursor.execute(self._with_parameters(sql), {f"p{n}": value for n, value in enumerate(values, 1)})
        else:
            cursor.execute(self._with_parameters(sql), values)
        return cursor

    def _with_parameters(self, sql: str) -> str:
        first, *rest = sql.split("?")
        marks = {"qmark": "?", "format": "%s", "pyformat": "%s", "numeric": ":{}", "named": ":p{}", "numeric_dollar": "${}"}
        return first + "".join(marks[self._paramstyle].format(n) + part for n, part in enumerate(rest, 1))

    def find(self, connection: Any, id: str) -> Optional[Handled]:
        row = self.execute(connection, f"SELECT status, body FROM {self.name} WHERE id = ?", id).fetchone()
        return None if row is None else Handled(Outcome(int(row[0]), str(row[1]), True, True), True)


class SQLiteStore:
    """Remembers ids in a SQLite database, in the transaction in which the handler writes.

    The handler's second argument is a connection in a transaction, which is used
    for this message only.
    """

    transactional = True

    def __init__(self, database: "Union[str, os.PathLike[str], Connect]", *, table: str = "punctual_receipts", keep_days: float = 30) -> None:
        """Creates the table if there is none.

        database is a file, or a function that opens a connection for one message
        in the thread that calls it. keep_days should be longer than the service
        retries.
        """
        self._table = _Table(table, keep_days, "qmark")
        self._connect: Connect = database if callable(database) else lambda: sqlite3.connect(str(database), timeout=10)
        if database == ":memory:":
            raise ValueError("each message has a connection of its own: name a file")
        connection = self._open()
        try:
            t = self._table
            connection.execute(f"CREATE TABLE IF NOT EXISTS {t.name} (id TEXT PRIMARY KEY, received_at INTEGER NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL)")
            connection.execute(f"CREATE INDEX IF NOT EXISTS {t.schema + '.' if t.schema else ''}{t.index} ON {t.plain} (received_at)")
        finally:
            connection.close()

    def once(self, id: str, work: Callable[[Any], Outcome]) -> Handled:
        connection = self._open()
        try:
            _begin(connection)
            try:
                handled = self._table.find(connection, id) or Handled(self._run(connection, id, work), False)
                if handled.outcome.commit:
                    connection.execute("COMMIT")
                return handled
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        finally:
            connection.close()

    def _open(self) -> sqlite3.Connection:
        connection: sqlite3.Connection = self._connect()
        connection.isolation_level = None  # transactions begin where this says so
        return connection

    def _run(self, connection: sqlite3.Connection, id: str, work: Callable[[Any], Outcome]) -> Outcome:
        outcome = work(Transaction(connection))
        if not connection.in_transaction:
            raise RuntimeError("the handler has ended the transaction, so its effects may happen again: leave COMMIT and ROLLBACK to the receiver")
        if outcome.remember:
            now, t = int(time.time() * 1000), self._table
            t.execute(connection, f"INSERT INTO {t.name} (id, received_at, status, body) VALUES (?, ?, ?, ?)", id, now, outcome.status, outcome.body)
            t.execute(connection, f"DELETE FROM {t.name} WHERE id IN (SELECT id FROM {t.name} WHERE received_at < ? ORDER BY received_at LIMIT {PRUNE_AT_ONCE})", now - t.keep_ms)
        return outcome


def _begin(connection: sqlite3.Connection) -> None:
    """Waits for other processes as long as the connection's timeout says."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if re.search(r"database is (locked|busy)", str(error)):
            raise BusyError("another process is writing to the database") from error
        raise


class PostgresStore:
    """Remembers ids in a PostgreSQL database, in the transaction in which the handler writes.

    The handler's second argument is the connection in a transaction. Any driver
    with the DB-API works: psycopg, psycopg2, pg8000.
    """

    transactional = True

    def __init__(self, connect: Connect, *, release: Optional[Callable[[Any], None]] = None, paramstyle: str = "format", table: str = "punctual_receipts", keep_days: float = 30) -> None:
        """connect returns a connection without autocommit, for one message; release takes it back.

        With a pool of psycopg: PostgresStore(pool.getconn, release=pool.putconn).
        Without release the connection is closed.
        """
        self._connect = connect
        self._release = release
        self._table = t = _Table(table, keep_days, paramstyle)
        #: The statements that create the table, for migrations.
        self.schema: List[str] = [
            f"CREATE TABLE IF NOT EXISTS {t.name} (id text PRIMARY KEY, received_at bigint NOT NULL, status integer NOT NULL, body text NOT NULL)",
            f"CREATE INDEX IF NOT EXISTS {t.index} ON {t.name} (received_at)",
        ]

    def create_table(self) -> None:
        """Creates the table if there is none. Several processes may call it at once."""

        def create(connection: Any) -> bool:
            self._table.execute(connection, "SELECT pg_advisory_xact_lock(hashtext(?))", self._table.name)
            for statement in self.schema:
                self._table.execute(connection, statement)
            return True

        self._transaction(create)

    def once(self, id: str, work: Callable[[Any], Outcome]) -> Handled:
        handled: List[Handled] = []

        def handle(connection: Any) -> bool:
            if self._claim(connection, id):
                handled.append(Handled(work(Transaction(connection)), False))
                if handled[0].outcome.commit:
                    self._record(connection, id, handled[0].outcome)
            else:
                known = self._table.find(connection, id)
                if known is None:
                    raise BusyError("the message was just forgotten")  # removed between the two statements
                handled.append(known)
            return handled[0].outcome.commit

        self._transaction(handle)
        return handled[0]

    def _claim(self, connection: Any, id: str) -> bool:
        """Inserts the id; False if it is there. Waits for a transaction that has inserted it."""
        t = self._table
        t.execute(connection, f"SET LOCAL lock_timeout = '{WAIT_FOR_FIRST}'")
        try:
            sql = f"INSERT INTO {t.name} (id, received_at, status, body) VALUES (?, ?, 0, '') ON CONFLICT (id) DO NOTHING RETURNING 1"
            inserted = t.execute(connection, sql, id, int(time.time() * 1000)).fetchone()
        except Exception as error:
            if sqlstate(error) == LOCK_TIMEOUT:
                raise BusyError("the same message is still being handled") from error
            raise
        t.execute(connection, "SET LOCAL lock_timeout TO DEFAULT")  # the handler's statements have the usual one
        return inserted is not None

    def _record(self, connection: Any, id: str, outcome: Outcome) -> None:
        # This fails if the handler went on after an error of the database, which
        # has undone its work: COMMIT alone would then not commit and say nothing.
        t = self._table
        if outcome.remember:
            changed = t.execute(connection, f"UPDATE {t.name} SET status = ?, body = ? WHERE id = ?", outcome.status, outcome.body, id)
        else:
            changed = t.execute(connection, f"DELETE FROM {t.name} WHERE id = ?", id)
        if changed.rowcount == 0:
            raise RuntimeError("the handler has ended the transaction: leave COMMIT and ROLLBACK to the receiver")
        sql = f"DELETE FROM {t.name} WHERE id IN (SELECT id FROM {t.name} WHERE received_at < ? ORDER BY received_at LIMIT {PRUNE_AT_ONCE} FOR UPDATE SKIP LOCKED)"
        t.execute(connection, sql, int(time.time() * 1000) - t.keep_ms)

    def _transaction(self, work: Callable[[Any], bool]) -> None:
        """Runs work in a transaction, which is committed if work returns True."""
        connection = self._connect()
        ended = False  # a connection whose transaction may not have ended is of no use
        try:
            if getattr(connection, "autocommit", False) is True:
                ended = True
                raise TypeError("connect must return connections without autocommit")
            commit = False
            try:
                commit = work(connection)
            finally:
                if commit:
                    connection.commit()
                else:
                    connection.rollback()
                ended = True
        finally:
            if not ended or self._release is None:
                connection.close()
            if self._release is not None:
                self._release(connection)


def sqlstate(error: BaseException) -> Optional[str]:
    """The code of a database's error, as the drivers name it."""
    for name in ("sqlstate", "pgcode"):
        code = getattr(error, name, None)
        if isinstance(code, str):
            return code
    first = error.args[0] if error.args else None
    return first.get("C") if isinstance(first, dict) else None  # pg8000
