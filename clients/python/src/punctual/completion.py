"""Outcomes that are reported after the request."""

from __future__ import annotations

from typing import Any, Optional
from urllib.parse import urlsplit

from ._resource import Resource
from ._transport import Settings, Transport
from .types import CompletionReport, CompletionState


class Completion(Resource):
    """Reports the outcome and the progress of an attempt that was answered with 202."""

    def __init__(self, address: str, *, timeout: float = 30.0, max_retries: int = 3) -> None:
        """The address is the request's header X-Punctual-Complete; treat it like a password."""
        base, found, token = address.rpartition("/api/completions/")
        if not found or not token or urlsplit(address).query or urlsplit(address).fragment:
            raise ValueError("this is not the address of X-Punctual-Complete")
        self._path = found + token
        super().__init__(Transport(base, "", Settings(timeout=timeout, max_retries=max_retries)))

    def succeed(self, result: Any = None) -> CompletionState:
        """Completes the job. In an object, $set, $next and $stop count."""
        return self.report({"result": {} if result is None else result})

    def fail(self, error: str, *, retry: Optional[bool] = None) -> CompletionState:
        """Fails the attempt; with retry=False there is no other one."""
        report: CompletionReport = {"error": error}
        if retry is not None:
            report["retry"] = retry
        return self.report(report)

    def progress(self, percent: float, message: Optional[str] = None) -> CompletionState:
        """A sign of life: percent, 0 to 100, and a message."""
        report: CompletionReport = {"progress": percent}
        if message is not None:
            report["message"] = message
        return self.report(report)

    def report(self, report: CompletionReport) -> CompletionState:
        """Sends a report.

        conflict (409): another outcome was reported before. gone (410): the attempt
        is over, stop working.
        """
        # The same outcome again is accepted, so it may be repeated.
        return self._call("POST", self._path, body=report, anonymous=True)

    def close(self) -> None:
        """Closes the connections that are kept open."""
        self._transport.pool.close()
