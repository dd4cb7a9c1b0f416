"""Receives what the service sends: requests of jobs, callbacks, events and alerts."""

from ..completion import Completion
from .asgi import ASGIMiddleware
from .database import PostgresStore, SQLiteStore, Transaction
from .delivery import JobDelivery, Message
from .reply import Outcome, Reply, RetryLater
from .routes import JobEvent, PlainResponse, Receiver, Route
from .signature import SignatureError, Verified, Verifier, sign, verify
from .token import TokenError, TokenVerifier
from .store import BusyError, Handled, MemoryStore, ReceiptStore
from .wsgi import wsgi

__all__ = [
    "ASGIMiddleware", "BusyError", "Completion", "Handled", "JobDelivery", "JobEvent", "MemoryStore", "Message", "Outcome", "PlainResponse", "PostgresStore",
    "ReceiptStore", "Receiver", "Reply", "RetryLater", "Route", "SQLiteStore", "SignatureError", "TokenError", "TokenVerifier", "Transaction", "Verified", "Verifier",
    "sign", "verify", "wsgi",
]
