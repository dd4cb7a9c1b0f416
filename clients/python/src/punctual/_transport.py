"""Requests with retries, time limits and bounded responses."""

from __future__ import annotations

import http.client
import os
import random
import socket
import ssl
import threading
import time
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple
from urllib.parse import SplitResult, urlencode, urlsplit

from . import _json
from ._connection import Connection, Deadline, Pool
from ._result import Response
from ._version import VERSION
from .errors import PunctualError, parse_retry_after, problem_of

PROBLEM_BYTES = 1 << 20
FIRST_WAIT = 0.25
LONGEST_BACKOFF = 8.0
LONGEST_REFUSED_WAIT = 2.0
MOST_RETRIES = 20
CHUNK = 1 << 16

#: Statuses after which a call that may be repeated is tried again.
TRANSIENT = {408, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Request:
    """One call of the API."""

    method: str
    #: The path and nothing else, percent-encoded.
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    #: Sent as JSON unless None; a body that is null is json_null.
    body: Any = None
    headers: Mapping[str, Optional[str]] = field(default_factory=dict)
    #: Whether the call may be repeated after its outcome was lost. Without it, it
    #: is repeated only if it surely was not carried out.
    repeatable: bool = True
    #: Calls without a key.
    anonymous: bool = False

    @property
    def call(self) -> str:
        return f"{self.method} {self.path}"


class Cancellation:
    """Ends a call from another thread: its wait, or its exchange."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._connection: Optional[Connection] = None

    def cancel(self) -> None:
        with self._lock:
            self.event.set()
            if self._connection is not None:
                self._connection.abort()

    def uses(self, connection: Optional[Connection]) -> None:
        with self._lock:
            self._connection = connection

    def raise_if_set(self, call: str) -> None:
        if self.event.is_set():
            raise PunctualError(call, code="network", detail="the call was cancelled")


#: Set by AsyncClient, for the thread that carries out a call.
cancellation: ContextVar[Optional[Cancellation]] = ContextVar("punctual_cancellation", default=None)


@dataclass(frozen=True)
class Settings:
    timeout: float = 30.0
    max_retries: int = 3
    max_retry_wait: float = 30.0
    max_response_bytes: int = 128 << 20
    refused_for: float = 30.0

    def __post_init__(self) -> None:
        for name in ("timeout", "max_retries", "max_retry_wait", "refused_for", "max_response_bytes"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0")


class Opened:
    """A successful response whose body has not been read."""

    def __init__(self, transport: "Transport", request: Request, connection: Connection, raw: http.client.HTTPResponse) -> None:
        self._transport = transport
        self._connection = connection
        self._raw = raw
        self.request = request
        self.response = Response(raw.status, headers_of(raw))

    def restart(self, seconds: Optional[float]) -> None:
        """Begins the time limit again; None is no limit."""
        self._connection.deadline.restart(seconds)

    def chunks(self) -> Iterator[bytes]:
        """The body, piece by piece. A cut off body is an error."""
        try:
            while True:
                chunk = self._raw.read1(CHUNK)
                if not chunk:
                    break
                yield chunk
            if self._raw.length:  # the connection was closed before the announced length
                raise http.client.IncompleteRead(b"", self._raw.length)
        except (OSError, http.client.HTTPException) as error:
            raise lost(self.request, error) from error

    def read(self, most: int) -> bytes:
        parts: List[bytes] = []
        size = 0
        for chunk in self.chunks():
            size += len(chunk)
            if size > most:
                raise PunctualError(self.request.call, status=self.response.status, code="protocol", detail=f"the response is larger than max_response_bytes ({most})", request_id=self.response.request_id)
            parts.append(chunk)
        return b"".join(parts)

    def close(self) -> None:
        """Releases the connection, for the next call if the body was read whole."""
        current = cancellation.get()
        if current:
            current.uses(None)
        was_read = (self._raw.isclosed() or self._raw.length == 0) and not self._raw.will_close
        self._raw.close()
        if was_read:
            self._transport.pool.give(self._connection)
        else:
            self._connection.close()

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def origin_of(parts: SplitResult) -> Tuple[str, str, int]:
    """The scheme, host and port of an address."""
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


class Transport:
    """Sends requests to one service, from any number of threads."""

    def __init__(self, url: Optional[str], api_key: Optional[str], settings: Settings, context: Optional[ssl.SSLContext] = None, headers: Optional[Mapping[str, str]] = None) -> None:
        url = url or os.environ.get("PUNCTUAL_URL", "")
        if not url:
            raise ValueError("the service's address is missing: pass url, or set PUNCTUAL_URL")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must be an address that begins with https:// or http://")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("url must have no user, query or fragment")
        if parts.scheme == "https" and context is None:
            context = ssl.create_default_context()
        self.origin = origin_of(parts)
        self.pool = Pool(parts.hostname, self.origin[2], context if parts.scheme == "https" else None)
        self.base_path = parts.path.rstrip("/")
        self.settings = settings
        key = os.environ.get("PUNCTUAL_API_KEY", "") if api_key is None else api_key
        if not key.isascii() or not key.isprintable():
            raise ValueError("api_key must be ASCII, without line ends")
        self._key = key
        self._headers = dict(headers or {})

    def with_settings(self, settings: Settings) -> "Transport":
        """The same service and connections with other settings."""
        other = object.__new__(Transport)
        other.__dict__.update(self.__dict__, settings=settings)
        return other

    def send(self, request: Request) -> Tuple[Any, Response]:
        """Sends a request and reads the response as JSON; None if it has no body."""

        def attempt() -> Tuple[Any, Response]:
            with self._try(request) as opened:
                data = opened.read(self.settings.max_response_bytes)
            try:
                return (_json.loads(data) if data else None), opened.response
            except ValueError as error:
                raise PunctualError(request.call, status=opened.response.status, code="protocol", detail="the response is not JSON; is url the address of the service?", request_id=opened.response.request_id) from error

        return self._retrying(request, attempt)

    def open(self, request: Request) -> Opened:
        """Sends a request until it has a successful response, whose body the caller reads."""
        return self._retrying(request, lambda: self._try(request))

    def _retrying(self, request: Request, attempt: Any) -> Any:
        failed = 0
        start = time.monotonic()
        current = cancellation.get()
        while True:
            if current:
                current.raise_if_set(request.call)
            try:
                return attempt()
            except PunctualError as error:
                delay = self._retry_delay(error, failed, request, time.monotonic() - start)
                if delay is None:
                    raise
            failed += 1
            (current.event if current else threading.Event()).wait(delay)

    def _retry_delay(self, error: PunctualError, failed: int, request: Request, elapsed: float) -> Optional[float]:
        """The seconds until the next try; None if there is none."""
        refused = isinstance(error.__cause__, ConnectionRefusedError)
        restarts = refused and self.settings.max_retries > 0 and elapsed < self.settings.refused_for
        if failed >= min(self.settings.max_retries, MOST_RETRIES) and not restarts or not is_transient(error, request.repeatable):
            return None
        backoff = min(FIRST_WAIT * 2 ** min(failed, 10), LONGEST_REFUSED_WAIT if refused else LONGEST_BACKOFF) * (0.5 + random.random() / 2)
        delay = max(backoff, error.retry_after or 0.0)
        return delay if delay <= self.settings.max_retry_wait else None

    def _try(self, request: Request) -> Opened:
        # What may not be repeated is sent on a connection of its own: on one that
        # was used before, a lost request and a lost response look alike.
        connection, used = self.pool.take(fresh=not request.repeatable)
        deadline = Deadline(self.settings.timeout)
        try:
            raw = self._exchange(request, connection, deadline)
        except PunctualError as error:
            connection.close()
            if not used or not isinstance(error.__cause__, (http.client.RemoteDisconnected, ConnectionError)):
                raise
            # The service closed it while it was idle.
            connection, _ = self.pool.take(fresh=True)
            try:
                raw = self._exchange(request, connection, deadline)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            connection.close()
            raise
        opened = Opened(self, request, connection, raw)
        if 200 <= raw.status < 300:
            return opened
        with opened:
            raise self._problem(request, opened)

    def _exchange(self, request: Request, connection: Connection, deadline: Deadline) -> http.client.HTTPResponse:
        current = cancellation.get()
        connection.deadline = deadline
        body = None if request.body is None else _json.dumps(None if request.body is json_null else request.body)
        if current:
            current.uses(connection)
        try:
            if connection.sock is None:
                connection.connect()
        except (OSError, http.client.HTTPException) as error:
            raise lost(request, error, sent=False) from error
        try:
            if current:
                current.raise_if_set(request.call)
            connection.request(request.method, self.base_path + request.path + encode_query(request.query), body, self._headers_for(request))
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise lost(request, error) from error

    def _headers_for(self, request: Request) -> Dict[str, str]:
        headers = {"User-Agent": f"punctual-python/{VERSION}", "Accept": "application/json", **self._headers}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if self._key and not request.anonymous:
            headers["Authorization"] = f"Bearer {self._key}"
        headers.update({name: value for name, value in request.headers.items() if value is not None})
        return headers

    def _problem(self, request: Request, opened: Opened) -> PunctualError:
        response = opened.response
        retry_after = parse_retry_after(response.headers.get("retry-after"))
        problem: Optional[Dict[str, Any]] = None
        try:
            problem = problem_of(_json.loads(opened.read(PROBLEM_BYTES)))
        except (ValueError, PunctualError):
            pass  # not a response of the service, or not a whole one: the status says enough
        if problem is None:
            detail = "the response is not one of the service; a proxy may have sent it"
            if 300 <= response.status < 400:
                detail = f"the server redirects to {response.headers.get('location', 'another address')}; set url to the service's own address"
            problem = {"code": "protocol", "detail": detail}
        return PunctualError(request.call, status=response.status, retry_after=retry_after, request_id=response.request_id, **problem)


class _JSONNull:
    """A body that is null."""


json_null = _JSONNull()


def headers_of(raw: http.client.HTTPResponse) -> Dict[str, str]:
    return {name.lower(): value for name, value in raw.getheaders()}


def lost(request: Request, error: BaseException, sent: bool = True) -> PunctualError:
    """What a call without a whole response raises."""
    if isinstance(error, (TimeoutError, socket.timeout)):
        return PunctualError(request.call, code="timeout", detail="there was no whole response in time", sent=sent)
    if isinstance(error, ssl.SSLCertVerificationError):
        return PunctualError(request.call, code="protocol", detail=f"the service's certificate is not trusted: {error.verify_message}", sent=False)
    return PunctualError(request.call, code="network", detail=f"the service could not be reached, or the connection was lost ({type(error).__name__})", sent=sent)


def is_transient(error: PunctualError, repeatable: bool) -> bool:
    if error.status == 429:
        return True  # nothing was done
    if error.status:
        return repeatable and error.status in TRANSIENT
    return error.code in ("network", "timeout") and (repeatable or not error.sent)


def encode_query(query: Mapping[str, Any]) -> str:
    pairs: List[Tuple[str, str]] = []
    for name, value in query.items():
        if value is None:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):
                one = "true" if one else "false"
            pairs.append((name, _json.timestamp(one) if isinstance(one, datetime) else str(one)))
    return f"?{urlencode(pairs)}" if pairs else ""


def new_key() -> str:
    """A random idempotency key."""
    return str(uuid.uuid4())
