from __future__ import annotations

import ssl
from dataclasses import replace
from typing import Any, Dict, Iterator, Mapping, Optional

from ._account import Account
from ._events import AccountEvent, follow
from ._jobs import Jobs
from ._logs import Logs
from ._operations import Operations
from ._resource import Resource, data_of, whole
from ._runs import Runs
from ._schedules import Schedules
from ._settings import Alerts, Groups, Limits, Secrets
from ._transport import Settings, Transport, json_null
from .types import Broadcast


class Client(Resource):
    """A client of one account, for any number of threads.

        client = Client("https://punctual.example.com", "sk_…")
        client.jobs.create({"url": "https://example.com/hook", "schedule_in": [30, "minutes"]})
    """

    def __init__(
        self,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout: float = 30.0,
        max_retries: int = 3,
        max_retry_wait: float = 30.0,
        refused_for: float = 30.0,
        max_response_bytes: int = 128 << 20,
        ssl_context: Optional[ssl.SSLContext] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        """Makes a client; without url and api_key it reads PUNCTUAL_URL and PUNCTUAL_API_KEY.

        timeout is in seconds, for one try, response read whole; 0 is no limit. A
        failed call is repeated max_retries times (at most 20) if that is harmless, and
        for refused_for seconds while nothing listens at the address;
        if the service asks for a longer wait than max_retry_wait seconds, the call
        fails at once. headers are sent with every request.
        """
        settings = Settings(timeout, max_retries, max_retry_wait, max_response_bytes, refused_for)
        self._use(Transport(url, api_key, settings, ssl_context, headers))

    def _use(self, transport: Transport) -> None:
        super().__init__(transport)
        self.jobs = Jobs(transport)
        self.schedules = Schedules(transport)
        self.operations = Operations(transport)
        self.runs = Runs(transport)
        self.logs = Logs(transport)
        self.alerts = Alerts(transport)
        self.groups = Groups(transport)
        self.limits = Limits(transport)
        self.secrets = Secrets(transport)
        self.account = Account(transport)

    def with_options(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None, max_retry_wait: Optional[float] = None, refused_for: Optional[float] = None, max_response_bytes: Optional[int] = None) -> "Client":
        """The same client, and its connections, with other settings."""
        given = {"timeout": timeout, "max_retries": max_retries, "max_retry_wait": max_retry_wait, "refused_for": refused_for, "max_response_bytes": max_response_bytes}
        changed: Dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        other = object.__new__(Client)
        other._use(self._transport.with_settings(replace(self._transport.settings, **changed)))
        return other

    def events(self, *, last_event_id: Optional[str] = None) -> Iterator[AccountEvent]:
        """Follows what happens in the account, from now on.

        With last_event_id the logs after it come first, up to a thousand. The stream
        is opened again when it ends, as it does every 15 minutes; if the service is
        away for about two minutes, that is an error.
        """
        return follow(self._transport, last_event_id)

    def ping(self) -> Dict[str, str]:
        """Whether the service responds; needs no key."""
        return self._call("GET", "/api/ping", read=whole, anonymous=True)

    def echo(self, value: Any) -> Any:
        """Returns what it is sent; needs no key."""
        return self._once("POST", "/api/echo", body=json_null if value is None else value, read=whole, anonymous=True)

    def broadcast(self, message: Broadcast) -> Broadcast:
        """Shows a message on the service's welcome page; needs no key."""
        return self._once("POST", "/api/broadcast", body=message, read=whole, anonymous=True)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        repeatable: Optional[bool] = None,
    ) -> Any:
        """Any other call, whose result stands under data.

        It is repeated after a lost response if repeatable says so, which is the
        default for GET and PUT.
        """
        may = method in ("GET", "PUT") if repeatable is None else repeatable
        return self._call(method, path, query=query or {}, body=body, headers=headers or {}, repeatable=may, read=lambda sent, got: None if got is None else data_of(sent, got))

    def close(self) -> None:
        """Closes the connections that are kept open."""
        self._transport.pool.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
