"""Which messages were handled."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable, Dict, Protocol, Tuple

from .reply import Outcome


@dataclass(frozen=True)
class Handled:
    """What became of a message."""

    outcome: Outcome
    #: Whether it was handled before, and the outcome is the one of that time.
    repeated: bool


class BusyError(Exception):
    """Raised when a message can't be taken now; the service tries again."""


class ReceiptStore(Protocol):
    """Remembers which messages were handled.

    A store in the receiver's own database makes effects happen once: it records the
    message's id in the transaction in which the handler writes.
    """

    #: Whether work gets a transaction. Handlers must then be synchronous.
    transactional: bool

    def once(self, id: str, work: Callable[[Any], Outcome]) -> Handled:
        """Runs work unless the id has been handled, and returns the outcome of now or of then.

        Of simultaneous calls with one id one runs work at a time. If work raises, or
        its outcome says so, the transaction is rolled back and the id is not recorded.
        """
        ...


#: Seconds that a repeat waits for the first try to end.
WAIT_FOR_FIRST = 10.0


class MemoryStore:
    """Remembers ids in this process: repeats are dropped until it ends or the bounds are reached.

    For effects that must not happen twice use a database.
    """

    transactional = False

    def __init__(self, *, max_entries: int = 10_000, max_bytes: int = 16 << 20, keep_seconds: float = 24 * 60 * 60) -> None:
        """Forgets the oldest ids first: beyond max_entries, beyond max_bytes of responses, and after keep_seconds."""
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._keep_seconds = keep_seconds
        self._lock = threading.Lock()
        self._done: "OrderedDict[str, Tuple[float, Outcome]]" = OrderedDict()
        self._running: Dict[str, threading.Event] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._done)

    def once(self, id: str, work: Callable[[Any], Outcome]) -> Handled:
        end = time.monotonic() + WAIT_FOR_FIRST
        while True:
            with self._lock:
                self._forget_old()
                known = self._done.get(id)
                if known:
                    return Handled(known[1], True)
                running = self._running.get(id)
                if running is None:
                    if len(self._running) >= self._max_entries:
                        raise BusyError("too many messages are being handled")
                    mine = self._running[id] = threading.Event()
                    break
            if not running.wait(max(0.0, end - time.monotonic())):
                raise BusyError("the same message is still being handled")
        try:
            outcome = work(None)
            if outcome.remember:
                with self._lock:
                    self._remember(id, outcome)
            return Handled(outcome, False)
        finally:
            with self._lock:
                del self._running[id]
            mine.set()

    def _remember(self, id: str, outcome: Outcome) -> None:
        self._done[id] = (time.monotonic(), outcome)
        self._bytes += len(outcome.body)
        while len(self._done) > self._max_entries or self._bytes > self._max_bytes:
            self._forget()

    def _forget_old(self) -> None:
        before = time.monotonic() - self._keep_seconds
        while self._done and next(iter(self._done.values()))[0] <= before:
            self._forget()

    def _forget(self) -> None:
        _, (_, outcome) = self._done.popitem(last=False)
        self._bytes -= len(outcome.body)
