"""Connections with a time limit for a whole exchange, and those kept for the next."""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import threading
import time
from typing import Any, List, Optional, Tuple

#: Connections kept open, and the seconds until one is not used any more. The
#: service closes idle ones after a minute or more.
MAX_IDLE = 16
MAX_IDLE_SECONDS = 30.0


class Deadline:
    """A time limit for all that happens on a connection; None is no limit."""

    def __init__(self, seconds: Optional[float]) -> None:
        self.restart(seconds)

    def restart(self, seconds: Optional[float]) -> None:
        self._end = None if not seconds else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """The seconds that are left; TimeoutError if there are none."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time ran out")
        return left


class _TimedReader(io.RawIOBase):
    """Reads a socket. A timeout of the socket alone would begin again with each byte."""

    def __init__(self, sock: "_TimedSocket") -> None:
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.begin()
        return self._sock.raw.recv_into(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._sock.end_reader()


class _TimedSocket:
    """What http.client needs of a socket. Like a socket it stays open for its readers."""

    def __init__(self, sock: socket.socket, connection: "Connection") -> None:
        self.raw = sock
        self._connection = connection
        self._readers = 0
        self._closed = False

    def begin(self) -> None:
        self.raw.settimeout(self._connection.deadline.left())

    def sendall(self, data: Any) -> None:
        self.begin()
        self.raw.sendall(data)  # its timeout is for all of the data

    def makefile(self, mode: str) -> io.BufferedReader:
        self._readers += 1
        return io.BufferedReader(_TimedReader(self), 1 << 16)

    def end_reader(self) -> None:
        self._readers -= 1
        if self._closed and self._readers == 0:
            self.raw.close()

    def close(self) -> None:
        self._closed = True
        if self._readers == 0:
            self.raw.close()


class Connection(http.client.HTTPConnection):
    """A connection to the service. Redirects are not followed, proxies not used."""

    def __init__(self, host: str, port: int, context: Optional[ssl.SSLContext]) -> None:
        super().__init__(host, port)
        if context:
            self.default_port = 443  # which the Host header leaves out
        self._context = context
        self._raw: Optional[socket.socket] = None
        self.deadline = Deadline(None)
        self.idle_since = 0.0

    def connect(self) -> None:
        sock = socket.create_connection((self.host, self.port), self.deadline.left())
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(self.deadline.left())
            if self._context:
                sock = self._context.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
        self._raw = sock
        self.sock = _TimedSocket(sock, self)  # type: ignore[assignment]

    def abort(self) -> None:
        """Ends what another thread waits for on this connection."""
        if self._raw is not None:
            try:
                self._raw.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already

    def is_usable(self) -> bool:
        """Whether the service has neither closed it nor sent what nobody asked for."""
        sock: Any = self.sock
        if sock is None or time.monotonic() - self.idle_since > MAX_IDLE_SECONDS:
            return False
        try:
            return not select.select([sock.raw], [], [], 0)[0]
        except (OSError, ValueError):
            return False  # more descriptors than select knows: a new connection works too


class Pool:
    """Connections to one address, used again one after the other."""

    def __init__(self, host: str, port: int, context: Optional[ssl.SSLContext]) -> None:
        self._address = (host, port, context)
        self._lock = threading.Lock()
        self._idle: List[Connection] = []
        self._closed = False

    def take(self, fresh: bool) -> Tuple[Connection, bool]:
        """A connection, and whether it was used before."""
        while not fresh:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if connection.is_usable():
                return connection, True
            connection.close()
        return Connection(*self._address), False

    def give(self, connection: Connection) -> None:
        """Keeps a connection whose response was read whole."""
        connection.idle_since = time.monotonic()
        with self._lock:
            if connection.sock is not None and not self._closed and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
