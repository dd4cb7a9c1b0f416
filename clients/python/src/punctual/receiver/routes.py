"""Routes for what the service sends."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Sequence, TypeVar, Union

from ..types import AlertMessage, CallbackMessage, JobErrorEvent, JobFinishedEvent, JobRequestEvent, JobResponseEvent, JobStartedEvent
from .delivery import JobDelivery, Message, UnexpectedError, read_job, read_message
from .reply import Outcome, RetryLater, outcome_of
from .signature import SignatureError, Verified, Verifier
from .store import BusyError, MemoryStore, ReceiptStore
from .token import TokenError, TokenVerifier

log = logging.getLogger("punctual.receiver")

#: Messages that wait for a thread, for each thread.
WAITING = 4


class TooLargeError(Exception):
    """Raised when a body is larger than permitted."""


class InvalidLengthError(Exception):
    """Raised when a Content-Length is not a number, or the body is shorter."""


@dataclass(frozen=True)
class PlainResponse:
    """A response that any server can send."""

    status: int
    headers: Dict[str, str]
    body: bytes


#: Reads a body, at most so many bytes; raises TooLargeError if there are more.
ReadBody = Callable[[int], bytes]
ReadBodyAsync = Callable[[int], Awaitable[bytes]]

#: An event sent to a job's webhook_url.
JobEvent = Union[JobStartedEvent, JobRequestEvent, JobResponseEvent, JobErrorEvent, JobFinishedEvent]

Received = TypeVar("Received")
#: With a store in a database, a handler gets the transaction too.
Handler = Union[Callable[[Received], Any], Callable[[Received, Any], Any]]


class Receiver:
    """Makes routes for what the service sends.

    A route verifies the signature, bounds the body, and answers a repeat with the
    response of the first time, without calling the handler. With a store in the
    handler's database, what the handler writes with its second argument happens
    once, whatever crashes.
    """

    def __init__(
        self,
        secrets: Union[str, Sequence[str]],
        *,
        tokens: Optional[TokenVerifier] = None,
        store: Optional[ReceiptStore] = None,
        max_body_bytes: int = 4 << 20,
        tolerance: float = 300,
        threads: int = 32,
        url: Optional[str] = None,
        on_error: Optional[Callable[[BaseException, str], None]] = None,
    ) -> None:
        """secrets is the account's signing secret; during a rotation, the new and the old one.

        tokens also verifies the token that jobs whose auth has oidc send; check the
        sub in the claims of the delivery. Without a store, ids are remembered in this process only. Larger bodies than
        max_body_bytes get a 413. tolerance is in seconds. threads is how many
        messages an ASGI route handles at once; four times as many wait. url is the
        service's public address, to which completions report: PUNCTUAL_URL by default. on_error
        gets errors of handlers and stores, which are answered with 500; by default
        they are logged.
        """
        self.verifier = Verifier(secrets, tolerance=tolerance)
        self.tokens = tokens
        self.store: ReceiptStore = MemoryStore() if store is None else store
        self.max_body_bytes = max_body_bytes
        self.url = url
        self.on_error = on_error or (lambda error, id: log.error("handling %s", id, exc_info=error))
        self._threads = threads
        self._lock = threading.Lock()
        self._pool: Optional[ThreadPoolExecutor] = None
        self._waiting = 0

    def job(self, handler: Handler[JobDelivery]) -> "Route":
        """A route for a job's url: handler(job), or handler(job, tx) with a store in a database.

        What the handler returns is sent as JSON, and steers the job: $set, $next,
        $stop, $fail. None is a 204.
        """
        return Route(self, handler, lambda verified, method, url, headers, raw: read_job(verified, method, url, headers, raw, self.url, self._claims(verified, headers)))

    def callback(self, handler: Handler[Message[CallbackMessage]]) -> "Route":
        """A route for a job's callback_url: its result, once."""
        return self._message(handler, "")

    def event(self, handler: Handler[Message[JobEvent]]) -> "Route":
        """A route for a job's webhook_url: an event for every step."""
        return self._message(handler, "job.")

    def alert(self, handler: Handler[Message[AlertMessage]]) -> "Route":
        """A route for the webhooks of alerts."""
        return self._message(handler, "alert.")

    def _message(self, handler: Callable[..., Any], kind: str) -> "Route":
        return Route(self, handler, lambda verified, _method, _url, _headers, raw: read_message(verified, raw, kind))

    def _claims(self, verified: Verified, headers: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        if self.tokens is None:
            return None
        try:
            claims = self.tokens.verify_request(headers)
        except TokenError:
            raise
        except Exception as error:  # the keys can't be fetched
            self.on_error(error, verified.id)
            raise RetryLater(1) from error
        if claims.get("jti") != verified.id:
            raise TokenError("the token is of another request")
        return claims

    async def in_thread(self, work: Callable[[], PlainResponse]) -> PlainResponse:
        """Runs work in one of the receiver's threads."""
        with self._lock:
            if self._waiting >= self._threads * (1 + WAITING):
                return problem(503, "too many messages are being handled", 1)
            self._waiting += 1
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="punctual-receiver")
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._left())
        return await asyncio.wrap_future(future)

    def _left(self) -> None:
        with self._lock:
            self._waiting -= 1


class Route:
    """Handles one kind of message. It is both a WSGI and an ASGI application: wsgi and asgi."""

    def __init__(self, receiver: Receiver, handler: Callable[..., Any], read: Callable[[Verified, str, str, Mapping[str, Any], bytes], Union[JobDelivery, Message[Any]]]) -> None:
        self._receiver = receiver
        self._handler = handler
        self._read = read
        self._is_async = inspect.iscoroutinefunction(handler)
        if self._is_async and receiver.store.transactional:
            raise TypeError("with a store in a database the handler must be a plain function, which runs in a thread: the database's driver waits too")

    def receive(self, method: str, url: str, headers: Mapping[str, Any], body: Union[bytes, ReadBody]) -> PlainResponse:
        """Handles a request in a framework without an adapter."""

        def handle() -> PlainResponse:
            self._receiver.verifier.check(headers)  # before anything is read for a stranger
            raw = body if isinstance(body, bytes) else body(self._receiver.max_body_bytes)
            return self._handle(self._receiver.verifier.verify(headers, raw), method, url, headers, raw, asyncio.run)

        return self._guarded(handle)

    async def receive_async(self, method: str, url: str, headers: Mapping[str, Any], read_body: ReadBodyAsync) -> PlainResponse:
        """Handles a request in an event loop. The store and plain handlers run in threads."""
        try:
            self._receiver.verifier.check(headers)
            raw = await read_body(self._receiver.max_body_bytes)
            verified = self._receiver.verifier.verify(headers, raw)  # a thread is for what the service sent
        except (SignatureError, TooLargeError, InvalidLengthError) as error:
            return refusal(error)
        loop = asyncio.get_running_loop()

        def run(coroutine: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

        return await self._receiver.in_thread(lambda: self._guarded(lambda: self._handle(verified, method, url, headers, raw, run)))

    def wsgi(self, environ: Dict[str, Any], start_response: Callable[..., Any]) -> Sequence[bytes]:
        """This route as a WSGI application."""
        from .wsgi import serve

        return serve(self, environ, start_response)

    async def asgi(self, scope: Dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """This route as an ASGI application."""
        from .asgi import serve

        await serve(self, scope, receive, send)

    def _handle(self, verified: Verified, method: str, url: str, headers: Mapping[str, Any], raw: bytes, run: Callable[[Any], Any]) -> PlainResponse:
        try:
            message = self._read(verified, method, url, headers, raw)

            def work(tx: Any) -> Outcome:
                result = self._handler(message, tx) if self._receiver.store.transactional else self._handler(message)
                return outcome_of(run(result) if self._is_async else result)

            outcome = self._receiver.store.once(verified.id, work).outcome
        except (TokenError, UnexpectedError, BusyError, RetryLater):
            raise
        except Exception as error:
            self._receiver.on_error(error, verified.id)
            return problem(500, "the receiver failed; its log says why")
        return PlainResponse(outcome.status, {"content-type": "application/json"} if outcome.body else {}, outcome.body.encode())

    def _guarded(self, handle: Callable[[], PlainResponse]) -> PlainResponse:
        try:
            return handle()
        except (SignatureError, TokenError, TooLargeError, InvalidLengthError, UnexpectedError, BusyError, RetryLater) as error:
            return refusal(error)


def refusal(error: Exception) -> PlainResponse:
    if isinstance(error, BusyError):
        return problem(503, str(error), 1)
    if isinstance(error, RetryLater):
        return problem(503, "try again later", error.after)
    statuses = {SignatureError: 401, TokenError: 401, InvalidLengthError: 400, TooLargeError: 413, UnexpectedError: 422}
    return problem(statuses[type(error)], str(error))


def problem(status: int, detail: str, retry_after: Optional[int] = None) -> PlainResponse:
    headers = {"content-type": "application/problem+json"}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    return PlainResponse(status, headers, json.dumps({"type": "about:blank", "status": status, "detail": detail}).encode())


def too_large(most: int) -> TooLargeError:
    return TooLargeError(f"the body has more than {most} bytes")
