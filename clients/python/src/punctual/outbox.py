"""Adds jobs to an application's own database, in its own transactions.

Commit, and the job will be created; roll back, and it never was. The tables are those
of `punctual outbox schema`.
"""

from __future__ import annotations

import importlib
import os
import re
import time
import uuid
from typing import Any, Mapping, Optional

from . import _json

#: The most bytes of a job as JSON.
MAX_JOB_BYTES = 1 << 20

#: How modules of the DB-API write parameters.
_MARKS = {"format": "%s", "pyformat": "%s", "qmark": "?", "numeric": ":{}", "numeric_dollar": "${}"}
_TABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}")


def enqueue(tx: Any, job: Mapping[str, Any], *, ordering_key: Optional[str] = None, table: str = "punctual_outbox", paramstyle: Optional[str] = None) -> str:
    """Adds a job to the outbox and returns the id of its row.

    tx is a connection or cursor of psycopg, sqlite3 or another module of the DB-API
    (paramstyle is that module's; found by itself for those named here), a cursor of
    Django (connection.cursor()), or a Session or Connection of SQLAlchemy. Rows with one
    ordering_key become jobs in their order. The caller commits.
    """
    values = _row(job, ordering_key)
    if not _TABLE.fullmatch(table):
        raise ValueError("table must be a plain identifier")
    execute = tx.execute if hasattr(tx, "execute") else tx.cursor().execute
    if _module(tx).startswith("sqlalchemy"):
        execute(_sqlalchemy_text(f"INSERT INTO {table} (id, job, ordering_key) VALUES (:id, :job, :ordering_key)"), dict(zip(("id", "job", "ordering_key"), values)))
        return values[0]
    mark = _MARKS[paramstyle or _paramstyle(tx)]
    marks = ", ".join(mark.format(i) for i in (1, 2, 3))
    execute(f"INSERT INTO {table} (id, job, ordering_key) VALUES ({marks})", values)
    return values[0]


async def enqueue_async(tx: Any, job: Mapping[str, Any], *, ordering_key: Optional[str] = None, table: str = "punctual_outbox") -> str:
    """enqueue for an AsyncConnection of psycopg, or an AsyncSession of SQLAlchemy."""
    values = _row(job, ordering_key)
    if not _TABLE.fullmatch(table):
        raise ValueError("table must be a plain identifier")
    if _module(tx).startswith("sqlalchemy"):
        await tx.execute(_sqlalchemy_text(f"INSERT INTO {table} (id, job, ordering_key) VALUES (:id, :job, :ordering_key)"), dict(zip(("id", "job", "ordering_key"), values)))
    else:
        await tx.execute(f"INSERT INTO {table} (id, job, ordering_key) VALUES (%s, %s, %s)", values)
    return values[0]


def _module(tx: Any) -> str:
    return type(tx).__module__


def _sqlalchemy_text(statement: str) -> Any:
    # Who passes a Session has it; others need not.
    return importlib.import_module("sqlalchemy").text(statement)


def _paramstyle(tx: Any) -> str:
    # The wrapper of Django takes %s with every database.
    return "qmark" if _module(tx).split(".")[0] in ("sqlite3", "_sqlite3") else "format"


def _row(job: Mapping[str, Any], ordering_key: Optional[str]) -> "tuple[str, str, Optional[str]]":
    if job.get("request_id") is not None:
        raise ValueError("the outbox sets request_id to the id of the row; leave it out")
    text = _json.dumps(job)
    if len(text) > MAX_JOB_BYTES:
        raise ValueError("the job is larger than 1 MiB; send a reference to its data in place of the data")
    return _time_ordered_id(time.time_ns() // 1_000_000), text.decode(), ordering_key


def _time_ordered_id(milliseconds: int) -> str:
    """A UUID of version 7 (RFC 9562, section 5.7)."""
    value = int.from_bytes(milliseconds.to_bytes(6, "big") + os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))
