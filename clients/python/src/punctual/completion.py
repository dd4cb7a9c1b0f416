"""Outcomes that are reported after the request."""

from __future__ import annotations

import re
from typing import Any, Optional
from urllib.parse import urlsplit

from ._resource import Resource
from ._transport import Settings, Transport, origin_of
from .types import CompletionReport, CompletionState


class Completion(Resource):
    """Reports the outcome and the progress of an attempt that was answered with 202."""

    def __init__(self, address: str, *, url: Optional[str] = None, timeout: float = 30.0, max_retries: int = 3) -> None:
        """The address is the request's header X-Punctual-Complete; treat it like a password.

        url is the service's public address, by default PUNCTUAL_URL. The header isn't
        signed, so an address with another origin is refused: reports go to the service
        only.
        """
        transport = Transport(url, "", Settings(timeout=timeout, max_retries=max_retries))
        try:
            given, origin = urlsplit(address), origin_of(urlsplit(address))
        except ValueError:
            raise ValueError("the address of the completion is not a URL") from None
        if origin != transport.origin:
            raise ValueError(f"the address of the completion is not one of the service at {transport.origin[0]}://{transport.origin[1]}:{transport.origin[2]}; url, or PUNCTUAL_URL, must be the service's public address")
        path = transport.base_path + "/api/completions/"
        token = given.path[len(path) :] if given.path.startswith(path) else ""
        if not re.fullmatch(r"[A-Za-z0-9_-]+", token) or given.query or given.fragment or given.username is not None:
            raise ValueError("this is not the address of X-Punctual-Complete")
        self._path = "/api/completions/" + token
        super().__init__(transport)

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
