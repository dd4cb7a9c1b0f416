"""A driver for PostgreSQL with as much of the DB-API as the tests need: nothing has to be installed.

It speaks the extended protocol to a server that trusts its clients, and sends
parameters as text. Its paramstyle is numeric_dollar ($1).
"""

from __future__ import annotations

import socket
import struct
from typing import Any, Dict, List, Optional, Sequence, Tuple
from urllib.parse import parse_qs, urlsplit

paramstyle = "numeric_dollar"


class Error(Exception):
    def __init__(self, fields: Dict[str, str]) -> None:
        super().__init__(fields.get("M", ""))
        self.sqlstate = fields.get("C")


class Cursor:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._rows: List[Tuple[Any, ...]] = []
        self.rowcount = -1

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        if not self._connection.in_transaction:
            self._connection.in_transaction = True
            self._connection.query("BEGIN")
        self._rows, self.rowcount = self._connection.query(sql, values)

    def fetchone(self) -> Optional[Tuple[Any, ...]]:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> List[Tuple[Any, ...]]:
        rows, self._rows = self._rows, []
        return rows


class Connection:
    autocommit = False

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        host = parse_qs(parts.query).get("host", [parts.hostname or "127.0.0.1"])[0]
        self.in_transaction = False
        if host.startswith("/"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(f"{host}/.s.PGSQL.{parts.port or 5432}")
        else:
            self._socket = socket.create_connection((host, parts.port or 5432))
        self._file = self._socket.makefile("rb")
        start = struct.pack("!i", 196608) + b"".join(f"{one}\0".encode() for one in ("user", parts.username or "postgres", "database", parts.path[1:])) + b"\0"
        self._socket.sendall(struct.pack("!i", len(start) + 4) + start)
        self._until_ready()

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _end(self, sql: str) -> None:
        if self.in_transaction:
            self.query(sql)
            self.in_transaction = False

    def query(self, sql: str, values: Sequence[Any] = ()) -> Tuple[List[Tuple[Any, ...]], int]:
        texts = [None if value is None else str(value).encode() for value in values]
        bound = b"".join(struct.pack("!i", -1) if text is None else struct.pack("!i", len(text)) + text for text in texts)
        messages = (
            (b"P", b"\0" + sql.encode() + b"\0\0\0"),
            (b"B", b"\0\0\0\0" + struct.pack("!h", len(texts)) + bound + b"\0\0"),
            (b"E", b"\0" + struct.pack("!i", 0)),
            (b"S", b""),
        )
        self._socket.sendall(b"".join(kind + struct.pack("!i", len(data) + 4) + data for kind, data in messages))
        return self._until_ready()

    def _until_ready(self) -> Tuple[List[Tuple[Any, ...]], int]:
        rows: List[Tuple[Any, ...]] = []
        count = -1
        error: Optional[Error] = None
        while True:
            head = self._file.read(5)
            if len(head) < 5:
                raise ConnectionError("the server closed the connection")
            data = self._file.read(struct.unpack("!i", head[1:])[0] - 4)
            kind = head[:1]
            if kind == b"D":
                rows.append(_row(data))
            elif kind == b"C":
                last = data.rstrip(b"\0").split()[-1]
                count = int(last) if last.isdigit() else -1
            elif kind == b"E":
                error = Error({part[:1].decode(): part[1:].decode() for part in data.split(b"\0") if part})
            elif kind == b"R" and data != b"\0\0\0\0":
                raise ConnectionError("the server wants a password")
            elif kind == b"Z":
                if error:
                    raise error
                return rows, count


def _row(data: bytes) -> Tuple[Any, ...]:
    values: List[Any] = []
    at = 2
    for _ in range(struct.unpack("!h", data[:2])[0]):
        (size,) = struct.unpack("!i", data[at : at + 4])
        at += 4
        values.append(None if size < 0 else data[at : at + size].decode())
        at += max(size, 0)
    return tuple(values)


connect = Connection
